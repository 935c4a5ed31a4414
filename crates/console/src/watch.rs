//! Looks at the house every second, remembers what it saw, and tells whoever watches.

use std::path::Path;
use std::sync::Arc;

use base::{Tasks, Timestamp};
use edge::Certificate;
use kit::Problem;
use serde::Serialize;

use crate::Console;
use crate::limits::{LOOK, LOOK_FOR_BACKUPS, LOOK_FOR_STEPS};
use crate::numbers::Numbers;
use crate::overview::Moment;
use crate::problems::{Outlook, find_problems};

/// The topic of what is told.
pub(crate) const TOPIC: &str = "house";

/// Starts to watch, until the tasks end.
pub(crate) fn start(console: &Arc<Console>, tasks: &Tasks) {
    let (mut looks, mut backups) =
        (console.clock.interval(LOOK), console.clock.interval(LOOK_FOR_BACKUPS));
    let mut steps = console.clock.interval(LOOK_FOR_STEPS);
    let (console, shutdown) = (Arc::clone(console), tasks.shutdown().begun());
    tasks.spawn("console watch", async move {
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => return,
                () = backups.tick() => {
                    console.look_for_backups().await;
                    console.look_around().await;
                }
                () = steps.tick() => console.look_for_steps().await,
                () = looks.tick() => console.look(),
            }
        }
    });
}

/// The house in one moment, with what its operator should do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Told<'c> {
    #[serde(flatten)]
    pub(crate) moment: &'c Moment,
    pub(crate) problems: Vec<ToldProblem>,
    /// The first steps that are still to be done.
    pub(crate) steps: Vec<&'static str>,
    /// The rates of the minute that has just ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) minute: Option<Vec<f64>>,
}

/// A problem, as browsers are told of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToldProblem {
    id: &'static str,
    is_urgent: bool,
    path: &'static str,
    en: String,
    ja: String,
}

impl From<Problem> for ToldProblem {
    fn from(problem: Problem) -> ToldProblem {
        let Problem { id, is_urgent, en, ja, path } = problem;
        ToldProblem { id, is_urgent, path, en, ja }
    }
}

impl Console {
    /// Everything that is wrong in a moment.
    pub(crate) fn problems(&self, moment: &Moment) -> Vec<Problem> {
        let of_rooms = self.rooms.iter().flat_map(|room| room.problems()).collect();
        find_problems(moment, &self.outlook.lock(), of_rooms)
    }

    /// Looks at what changes by the day: the disk and the certificate.
    pub(crate) async fn look_around(&self) {
        let path = self.store.as_ref().and_then(|_| self.setting("store.path").map(str::to_owned));
        let certificate = self.setting("http.tls_certificate").map(Into::into);
        let key = self.setting("http.tls_key").map(Into::into);
        let looked = tokio::task::spawn_blocking(move || {
            let space = path.and_then(|path| table::space_at(Path::new(&path)).ok());
            let options =
                edge::Options { tls_certificate: certificate, tls_key: key, ..Default::default() };
            let certificate = Certificate::find(&options).unwrap_or_default();
            Outlook { space, certificate }
        });
        match looked.await {
            Ok(outlook) => *self.outlook.lock() = outlook,
            Err(cause) => tracing::warn!(%cause, "disk and certificate cannot be looked at"),
        }
    }

    /// One look. Its work grows with routes and queues, never with what the house holds.
    pub(crate) fn look(&self) {
        let began = self.clock.instant();
        let numbers = Numbers::read(&self.metrics.render());
        let (moment, minute) = {
            let mut overview = self.overview.lock();
            let minute = overview.look(self.clock.now(), numbers);
            (overview.moment(), minute)
        };
        let problems = self.problems(&moment).into_iter().map(ToldProblem::from).collect();
        let told = Told { moment: &moment, problems, steps: self.steps.open(), minute };
        let told = serde_json::to_string(&told).expect("numbers have a JSON form");
        self.channel.publish(TOPIC, told);
        let lasted = self.clock.instant().since(began);
        metrics::histogram!("nagaya_console_look_seconds").record(lasted.as_secs_f64());
    }

    /// Finds out when the newest backup was made.
    pub(crate) async fn look_for_backups(&self) {
        let Some(store) = self.store.clone() else { return };
        let listed = tokio::task::spawn_blocking(move || store.backups().list()).await;
        match listed {
            Ok(Ok(backups)) => {
                let newest = backups.last().map(|backup| Timestamp::from_millis(backup.created_ms));
                self.overview.lock().newest_backup = newest;
            }
            Ok(Err(cause)) => tracing::warn!(%cause, "the backups cannot be listed"),
            Err(cause) => tracing::warn!(%cause, "the backups cannot be listed"),
        }
    }
}
