//! What happens without a call: the trigger of each minute, messages, backfills, roll-ups, and a
//! look at what other instances did to sources.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dispatch::{Dispatch, Failed, Job, Message, NewMessage, QueueOptions, Run, Schedule};
use edge::WatchedFile;
use serde::{Deserialize, Serialize};
use table::TransactItem;

use crate::Collect;
use crate::error::Error;
use crate::limits::{
    BACKFILLS_AT_ONCE, MESSAGES_AT_ONCE, RECEIVES_MAX, RETRY_FIRST, RETRY_LONGEST,
    SOURCES_FILE_BYTES_MAX, SOURCES_REFRESH, VISIBILITY,
};
use crate::model::slot::{MINUTE_S, Slot, read_time, spell};
use crate::model::source::DEFAULT;
use crate::ops::collect::Ask;
use crate::ops::pace::Pace;

/// The queue of slots that are to be asked for.
pub(crate) const ASKS: &str = "collect-asks";
/// The queue of backfills.
pub(crate) const BACKFILLS: &str = "collect-backfills";
/// The job that plans a minute.
pub(crate) const TRIGGER: &str = "collect-trigger";
/// The job that adds up.
const ROLL_UP: &str = "collect-rollup";

/// How both queues treat their messages.
pub(crate) fn queue_options() -> QueueOptions {
    QueueOptions {
        visibility: VISIBILITY,
        max_receives: RECEIVES_MAX,
        retry_first: RETRY_FIRST,
        retry_longest: RETRY_LONGEST,
    }
}

/// A message: ask for a slot. That of the seed is `{from, to}`, and means the default source.
#[derive(Debug, Serialize, Deserialize)]
struct AskForm {
    from: String,
    to: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// What went wrong with the first call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    /// Whether it is no live slot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    apart: bool,
    /// Whose turns its calls take, and at which rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pace: Option<(String, u64)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the derive asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A message: do a backfill, or purge a source.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WorkForm {
    Backfill(String),
    Purge(String),
}

/// The message that asks sources for a slot.
pub(crate) fn ask(sources: &[String], ask: &Ask) -> Result<NewMessage, Error> {
    let is_the_seeds = matches!(sources, [only] if only == DEFAULT);
    let form = AskForm {
        from: spell(ask.slot.from()),
        to: spell(ask.slot.to()),
        sources: if is_the_seeds { Vec::new() } else { sources.to_vec() },
        attempts: ask.attempts,
        until: ask.until.map(|until| until.to_string()),
        cause: ask.cause.clone(),
        apart: ask.is_apart,
        pace: ask.pace.clone().map(|pace| (pace.id, pace.rate)),
    };
    Ok(NewMessage::json(&form)?)
}

/// The message that does a backfill.
pub(crate) fn backfill(id: &str) -> Result<NewMessage, Error> {
    Ok(NewMessage::json(&WorkForm::Backfill(id.to_owned()))?)
}

/// The message that purges a source.
pub(crate) fn purge(name: &str) -> Result<NewMessage, Error> {
    Ok(NewMessage::json(&WorkForm::Purge(name.to_owned()))?)
}

/// Whom and what a dead letter asked for; none for what is no such message.
pub(crate) fn read_letter(body: &[u8]) -> Option<(Vec<String>, Ask)> {
    read_form(serde_json::from_slice(body).ok()?)
}

/// Who is to be asked for what; none for what is no such message.
fn read_ask(message: &Message) -> Option<(Vec<String>, Ask)> {
    read_form(message.read_json().ok()?)
}

fn read_form(form: AskForm) -> Option<(Vec<String>, Ask)> {
    let slot = Slot::between(read_time(&form.from)?, read_time(&form.to)?)?;
    let until = form.until.map(|until| until.parse()).transpose().ok()?;
    let sources = match form.sources.is_empty() {
        true => vec![DEFAULT.to_owned()],
        false => form.sources,
    };
    let ask = Ask {
        slot,
        attempts: form.attempts,
        until,
        cause: form.cause,
        is_apart: form.apart,
        pace: form.pace.map(|(id, rate)| Pace { id, rate }),
    };
    Some((sources, ask))
}

impl Collect {
    /// Starts everything that runs by itself.
    pub(crate) async fn start_jobs(self: &Arc<Self>, dispatch: &Dispatch) -> Result<(), Error> {
        self.watch_sources();
        self.watch_asks();
        self.watch_backfills();
        let minute = Schedule::every(Duration::from_secs(MINUTE_S))?;
        self.start_job(dispatch, Job::new(TRIGGER, minute), |collect, run| async move {
            collect.plan_minute(run.tick).await
        })
        .await?;
        // Not at the moment when a minute's messages are sent.
        let half_past = Schedule::cron("30 * * * * *", "UTC")?;
        self.start_job(dispatch, Job::new(ROLL_UP, half_past), |collect, _run| async move {
            collect.roll_up_all().await
        })
        .await
    }

    /// Runs a verb at the times of a job, on one instance.
    async fn start_job<F>(
        self: &Arc<Self>,
        dispatch: &Dispatch,
        job: Job,
        verb: impl Fn(Arc<Collect>, Run) -> F + Send + Sync + Copy + 'static,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<Vec<TransactItem>, Error>> + Send + 'static,
    {
        let collect = Arc::clone(self);
        let handler = move |run| {
            let collect = Arc::clone(&collect);
            async move { verb(collect, run).await.map_err(|error| Failed::retry(error.to_string())) }
        };
        dispatch.scheduler().start(job, handler).await?;
        Ok(())
    }

    fn watch_asks(self: &Arc<Self>) {
        let collect = Arc::clone(self);
        self.asks.work(MESSAGES_AT_ONCE, move |message| {
            let collect = Arc::clone(&collect);
            async move {
                let Some((sources, ask)) = read_ask(&message) else {
                    return Err(Failed::for_good("the message asks for no slot"));
                };
                let asked = collect.ask_all(&sources, ask).await;
                asked.map_err(|error| Failed::retry(error.to_string()))
            }
        });
    }

    fn watch_backfills(self: &Arc<Self>) {
        let collect = Arc::clone(self);
        self.backfills.work(BACKFILLS_AT_ONCE, move |message| {
            let collect = Arc::clone(&collect);
            async move {
                let done = match message.read_json::<WorkForm>() {
                    Ok(WorkForm::Backfill(id)) => collect.run_backfill(&id).await,
                    Ok(WorkForm::Purge(name)) => collect.run_purge(&name).await,
                    Err(_) => return Err(Failed::for_good("the message names no work")),
                };
                match done {
                    // It was forgotten, so nobody waits for it.
                    Ok(()) | Err(Error::NoSuchBackfill(_)) => Ok(()),
                    Err(error) => Err(Failed::retry(error.to_string())),
                }
            }
        });
    }

    /// Looks for what other instances did to sources, and whether their file or a secret has changed.
    fn watch_sources(self: &Arc<Self>) {
        let collect = Arc::clone(self);
        let mut ticks = self.tasks.ticks(&self.clock, SOURCES_REFRESH);
        let path = self.options.sources_file.clone();
        let mut file = path.map(|path| WatchedFile::new(path, SOURCES_FILE_BYTES_MAX));
        self.tasks.spawn("collect sources", async move {
            let mut is_adopted = true;
            while ticks.next().await {
                let looked = match file.as_mut().and_then(WatchedFile::look) {
                    Some(text) => collect.take_file(text).await,
                    None if is_adopted => collect.refresh_sources().await,
                    None => collect.adopt_sources().await,
                };
                is_adopted = looked.is_ok();
                for looked in [looked, collect.refresh_secrets().await] {
                    if let Err(error) = looked {
                        tracing::warn!(%error, "cannot read the sources");
                    }
                }
            }
        });
    }
}
