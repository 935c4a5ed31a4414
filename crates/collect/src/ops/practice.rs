//! The practice source: added with a half hour of slots, so that there is something to see at once,
//! and removed with all of them. It asks the house itself (`model/practice.rs`).

use std::time::Duration;

use base::Timestamp;

use crate::Collect;
use crate::error::Error;
use crate::items::source;
use crate::jobs;
use crate::limits::{PRACTICE_RATE, SUMMARY_MINUTES};
use crate::model::backfill::Reprocess;
use crate::model::practice::{BASE_URL, NAME};
use crate::model::slot::{MINUTE_S, minute_of, slots_between};
use crate::ops::backfill::Order;
use crate::ops::collect::Ask;
use crate::ops::sources::Active;

impl Collect {
    /// Adds the practice source. The half hour before is filled by a backfill, and the slots up to
    /// the first minute that the trigger plans for it are asked for one by one, so that its series
    /// has no hole.
    pub(crate) async fn start_practice(&self) -> Result<(), Error> {
        self.set_source(&source::practice()?, false).await?;
        let active = self.sources.get(NAME)?;
        let now = self.clock.now();
        let shown_ms = SUMMARY_MINUTES * MINUTE_S * 1_000;
        let from = minute_of(Timestamp::from_millis(now.millis().saturating_sub(shown_ms)));
        let order = Order {
            from,
            to: now,
            newest_first: true,
            rate: PRACTICE_RATE,
            reprocess: Reprocess::None,
        };
        let backfill = self.order_backfill(&active, order)?;
        self.start_backfill(&backfill).await?;
        self.ask_until_planned(&active, backfill.to).await
    }

    /// Removes the practice source with all its slots.
    pub(crate) async fn end_practice(&self) -> Result<(), Error> {
        if !self.sources.get(NAME)?.is_practice() {
            return Err(Error::NoSuchSource(NAME.to_owned()));
        }
        self.delete_source(NAME).await?;
        self.purge_source(NAME).await
    }

    /// Asks for the slots from `from` on which no trigger will plan, because the source is newer
    /// than its minute. That they have a deadline says that they are wanted all the same.
    async fn ask_until_planned(&self, active: &Active, from: Timestamp) -> Result<(), Error> {
        let Some(span) = active.open_span() else { return Ok(()) };
        let rhythm = active.source.rhythm;
        let deadline = Duration::from_secs(active.source.deadline_s);
        let name = std::slice::from_ref(&active.source.name);
        for slot in slots_between(rhythm.interval_s, from, span.from) {
            let due = rhythm.due(slot);
            let ask = Ask { slot, until: due.checked_add(deadline), ..Ask::default() };
            self.asks.enqueue(jobs::ask(name, &ask)?.due(due)).await?;
        }
        Ok(())
    }
}

impl Active {
    /// Whether it is the practice source, and not one of the operator's that is called like it.
    pub(crate) fn is_practice(&self) -> bool {
        self.source.name == NAME && self.source.base_url == BASE_URL && !self.is_fixed
    }
}
