//! Adding up: minutes from slots, hours from minutes.
//!
//! A roll-up is always made anew from what lies below it, so doing it twice changes nothing, and
//! what comes late is added by doing it again. A window in which nothing came has no row: a hole
//! is not a zero.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use futures_util::{StreamExt, TryStreamExt, stream};
use table::TransactItem;

use crate::Collect;
use crate::error::Error;
use crate::items::{Mark, Step, move_mark, put_tally};
use crate::limits::{ROLL_AFTER, ROLL_BACK_MAX, ROLL_LATE_AFTER, ROLLS_AT_ONCE};
use crate::model::decimal::Decimal;
use crate::model::slot::{HOUR_S, MINUTE_S, Slot, minute_of, slots_between};
use crate::model::tally::Tally;
use crate::ops::sources::Active;

impl Collect {
    /// Rolls up the minutes that are over for all sources; answers what is true with the end of
    /// the run.
    pub(crate) async fn roll_up_all(&self) -> Result<Vec<TransactItem>, Error> {
        let now = self.clock.now();
        let to = minute_of(now.checked_sub(ROLL_AFTER).unwrap_or(Timestamp::EPOCH));
        let oldest = minute_of(to.checked_sub(ROLL_BACK_MAX).unwrap_or(Timestamp::EPOCH));
        let last = minute_of(to.checked_sub(Duration::from_millis(1)).unwrap_or(Timestamp::EPOCH));
        let from = self.load_mark(Mark::Rolled).await?.unwrap_or(last).max(oldest);
        if from >= to {
            return Ok(Vec::new());
        }
        let mut all: Vec<Arc<Active>> = self.sources.all().values().cloned().collect();
        // The last minutes of one that was deleted meanwhile.
        for active in self.sources.gone().values() {
            if active.deleted.is_some_and(|at| at >= from) {
                all.push(Arc::clone(active));
            }
        }
        let rolls =
            all.into_iter().map(|active| async move { self.roll_up(&active, from, to).await });
        stream::iter(rolls).buffer_unordered(ROLLS_AT_ONCE).try_collect::<()>().await?;
        Ok(vec![move_mark(Mark::Rolled, to)])
    }

    /// Rolls up the minutes from `from` on and before `to`, and the hours of them that are over.
    pub(crate) async fn roll_up(
        &self,
        active: &Active,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<(), Error> {
        let mut minutes: BTreeMap<Slot, Vec<Decimal>> = BTreeMap::new();
        for entry in self.load_values(active, from, to).await? {
            let minute = minutes.entry(Slot::holding(entry.slot.from(), MINUTE_S)).or_default();
            minute.extend(entry.count);
        }
        for (minute, counts) in minutes {
            let tally = Tally::new(active.count_expected(minute), counts);
            self.put_tally(active, Step::Minute, minute, tally).await?;
        }
        let first = Slot::holding(from, HOUR_S).from();
        for hour in slots_between(HOUR_S, first, to) {
            if self.clock.now().since(hour.to()) < ROLL_LATE_AFTER {
                break;
            }
            let minutes = self.load_tallies(active, Step::Minute, hour.from(), hour.to()).await?;
            let minutes = minutes.into_values();
            let tally = minutes.fold(Tally::default(), |all, minute| all.and(&minute));
            let tally = Tally { expected: active.count_expected(hour), ..tally };
            self.put_tally(active, Step::Hour, hour, tally).await?;
        }
        Ok(())
    }

    /// The sum of a window's slots.
    pub(crate) async fn tally_slots(&self, active: &Active, window: Slot) -> Result<Tally, Error> {
        let values = self.load_values(active, window.from(), window.to()).await?;
        let counts = values.iter().filter_map(|entry| entry.count);
        Ok(Tally::new(active.count_expected(window), counts))
    }

    async fn put_tally(
        &self,
        active: &Active,
        step: Step,
        window: Slot,
        tally: Tally,
    ) -> Result<(), Error> {
        if tally.collected == 0 {
            return Ok(());
        }
        match self.tables.put(put_tally(active.placed(), step, window.from(), &tally)).await {
            Ok(_) | Err(table::Error::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
