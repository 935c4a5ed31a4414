//! Looks at the house every second, remembers what it saw, and tells whoever watches.

use std::sync::Arc;

use base::{Tasks, Timestamp};

use crate::Console;
use crate::limits::{LOOK, LOOK_FOR_BACKUPS};
use crate::numbers::Numbers;

/// The topic of what is told.
pub(crate) const TOPIC: &str = "house";

/// Starts to watch, until the tasks end.
pub(crate) fn start(console: &Arc<Console>, tasks: &Tasks) {
    let (mut looks, mut backups) =
        (console.clock.interval(LOOK), console.clock.interval(LOOK_FOR_BACKUPS));
    let (console, shutdown) = (Arc::clone(console), tasks.shutdown().begun());
    tasks.spawn("console watch", async move {
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => return,
                () = backups.tick() => console.look_for_backups().await,
                () = looks.tick() => console.look(),
            }
        }
    });
}

impl Console {
    /// One look. Its work grows with routes and queues, never with what the house holds.
    pub(crate) fn look(&self) {
        let began = self.clock.instant();
        let numbers = Numbers::read(&self.metrics.render());
        let moment = {
            let mut overview = self.overview.lock();
            overview.look(self.clock.now(), numbers);
            overview.moment()
        };
        let told = serde_json::to_string(&moment).expect("numbers have a JSON form");
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
