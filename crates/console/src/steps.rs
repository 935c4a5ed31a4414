//! The first steps of a new house: what its operator has not tried yet.
//!
//! ```text
//!   table console_steps
//!   step       item
//!   <step>     that it was done, or that nobody wants to see it: `state`
//! ```
//!
//! A step that was done stays done, also when what it left behind has expired.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use table::{Error, Item, KeyAttribute, KeySpec, Put, Scan, TableSpec, Tables};

use crate::Console;

const TABLE: &str = "console_steps";

/// The steps, in the order in which they are shown. The first five are the rooms' own.
pub(crate) const STEPS: [&str; 7] = ["mesh", "live", "collect", "score", "sns", "backup", "tls"];

/// The steps that are over.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    over: Mutex<BTreeSet<&'static str>>,
}

/// The table of the steps, for the store to make.
pub fn table() -> TableSpec {
    TableSpec::new(TABLE, KeySpec::simple(KeyAttribute::s("step")))
}

impl Steps {
    /// The steps as they are kept.
    pub(crate) async fn load(tables: &dyn Tables) -> Result<Steps, Error> {
        tables.ensure_table(table()).await?;
        let page = tables.scan(Scan::new(TABLE)).await?;
        let names = page.items.iter().filter_map(|item| known(item.get("step")?.as_s()?));
        Ok(Steps { over: Mutex::new(names.collect()) })
    }

    /// Those that are still to be done, in their order.
    pub(crate) fn open(&self) -> Vec<&'static str> {
        let over = self.over.lock();
        STEPS.into_iter().filter(|step| !over.contains(step)).collect()
    }

    async fn end(&self, tables: &dyn Tables, step: &'static str, state: &str) -> Result<(), Error> {
        let item = Item::new().with("step", step).with("state", state);
        tables.put(Put::new(TABLE, item)).await?;
        self.over.lock().insert(step);
        Ok(())
    }
}

impl Console {
    /// Finds out which steps were done meanwhile.
    pub(crate) async fn look_for_steps(&self) {
        for step in self.steps.open() {
            if self.is_done(step).await
                && let Err(cause) = self.steps.end(&*self.tables, step, "done").await
            {
                tracing::warn!(%cause, step, "a first step cannot be noted");
                return;
            }
        }
    }

    /// Shows a step no more. Whether there is such a step.
    pub(crate) async fn dismiss_step(&self, step: &str) -> Result<bool, Error> {
        let Some(step) = known(step) else { return Ok(false) };
        self.steps.end(&*self.tables, step, "dismissed").await?;
        Ok(true)
    }

    async fn is_done(&self, step: &str) -> bool {
        match step {
            // Where the data is elsewhere, so are its backups.
            "backup" => self.store.is_none() || self.overview.lock().newest_backup.is_some(),
            "tls" => self.speaks_tls(),
            room => match self.rooms.iter().find(|asked| asked.name() == room) {
                Some(room) => room.was_used().await,
                None => false,
            },
        }
    }

    /// Whether browsers reach the house by TLS: its own, or that of a proxy in front of it.
    fn speaks_tls(&self) -> bool {
        let has_own = self.setting("http.tls_certificate").is_some();
        let addresses = ["operator.url", "http.public_url"];
        let mut urls = addresses.iter().filter_map(|key| self.setting(key));
        has_own || urls.any(|url| url.starts_with("https://"))
    }
}

fn known(step: &str) -> Option<&'static str> {
    STEPS.into_iter().find(|known| *known == step)
}

#[cfg(test)]
mod tests {
    use base::{Clock, Tasks};
    use table::Embedded;

    use super::{STEPS, Steps};

    #[testkit::test]
    async fn a_step_that_is_over_stays_over_after_a_restart() {
        let (clock, tasks) = (Clock::real(), Tasks::new());
        let store = Embedded::in_memory(clock.clone(), &tasks).await.unwrap();
        let steps = Steps::load(&store).await.unwrap();
        assert_eq!(steps.open(), STEPS);
        steps.end(&store, "live", "done").await.unwrap();
        steps.end(&store, "tls", "dismissed").await.unwrap();
        let again = Steps::load(&store).await.unwrap();
        assert_eq!(again.open(), ["mesh", "collect", "score", "sns", "backup"]);
        tasks.finish(&clock, std::time::Duration::from_secs(10)).await.unwrap();
    }
}
