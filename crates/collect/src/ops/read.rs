//! What came, and what did not.

use std::collections::BTreeMap;
use std::time::Duration;

use base::Timestamp;
use table::query_all;

use crate::Collect;
use crate::error::Error;
use crate::items::{
    Gap, Mark, Step, query_gaps, query_tallies, query_troubles, read_gap, read_tally, read_trouble,
    read_value,
};
use crate::limits::{GAPS_SHOWN, MINUTES_KEPT_TIMES, MISSING_AFTER, ROLL_AFTER, SUMMARY_MINUTES};
use crate::model::slot::{MINUTE_S, Slot, expected, slots_between};
use crate::model::tally::{Entry, State, Tally, minutes_before};
use crate::ops::sources::Active;

/// What the last half hour says.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) at: Timestamp,
    /// Whole minutes that are over, the oldest first.
    pub(crate) minutes: Vec<(Timestamp, Tally)>,
}

impl Collect {
    /// The ledger of the slots that begin from `from` on and before `to`, in order: what came, what
    /// went wrong, and what is missing.
    pub(crate) async fn list_entries(
        &self,
        active: &Active,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Entry>, Error> {
        if from >= to {
            return Ok(Vec::new());
        }
        let (source, spans) = (&active.source, &active.spans);
        let now = self.clock.now();
        let known_by = now.checked_sub(MISSING_AFTER).unwrap_or_default();
        // What was forgotten is not missing.
        let missing = expected(spans, from.max(source.kept_since(now, 1)), to).into_iter();
        let missing = missing.filter(|slot| source.rhythm.due(*slot) <= known_by);
        let mut entries: BTreeMap<Timestamp, Entry> =
            missing.map(|slot| (slot.from(), Entry::missing(slot))).collect();
        let mut troubles = Vec::new();
        for query in query_troubles(active.placed(), from, to) {
            troubles.extend(query_all(&*self.tables, query).await?);
        }
        let troubles = troubles.iter().filter_map(|item| read_trouble(item, source, spans));
        let values = self.load_values(active, from, to).await?;
        // A value counts more than what went wrong before it.
        entries.extend(troubles.chain(values).map(|entry| (entry.slot.from(), entry)));
        let mut entries: Vec<Entry> = entries.into_values().collect();
        self.explain_gaps(&mut entries).await?;
        Ok(entries)
    }

    /// Says of slots of which nothing is known that nobody planned, where that is why.
    async fn explain_gaps(&self, entries: &mut [Entry]) -> Result<(), Error> {
        let is_unknown = |entry: &Entry| entry.state == State::Missing && entry.reason.is_none();
        if !entries.iter().any(is_unknown) {
            return Ok(());
        }
        let (_, gaps) = self.explain().await?;
        for entry in entries.iter_mut().filter(|entry| is_unknown(entry)) {
            let from = entry.slot.from();
            let gap = gaps.iter().find(|gap| gap.from <= from && from < gap.to);
            entry.reason = gap.map(|gap| gap.cause().to_owned());
        }
        Ok(())
    }

    /// The values of the slots that begin from `from` on and before `to`, in order.
    pub(crate) async fn load_values(
        &self,
        active: &Active,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        for query in self.values.query(active.placed(), from, to) {
            let items = query_all(&*self.tables, query).await?;
            let read = |item| read_value(item, &active.source, &active.spans);
            entries.extend(items.iter().filter_map(read));
        }
        Ok(entries)
    }

    /// The sums of the windows that begin from `from` on and before `to` and are over.
    pub(crate) async fn list_tallies(
        &self,
        active: &Active,
        step: Step,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Timestamp, Tally)>, Error> {
        if from >= to {
            return Ok(Vec::new());
        }
        let mut rolled = self.load_tallies(active, step, from, to).await?;
        let now = self.clock.now();
        // By twice that time the roll-up has been there.
        let rolled_by = now.checked_sub(ROLL_AFTER * 2).unwrap_or_default();
        let forgotten_by = match step {
            Step::Minute => active.source.kept_since(now, MINUTES_KEPT_TIMES),
            Step::Hour => Timestamp::EPOCH,
        };
        let mut tallies = Vec::new();
        for window in slots_between(step.seconds(), from, to) {
            if window.to() > now {
                break;
            }
            let tally = match rolled.remove(&window.from()) {
                Some(tally) if window.to() <= rolled_by => tally,
                None if window.from() < forgotten_by => Tally::default(),
                None if window.to() <= rolled_by => Tally::new(active.count_expected(window), []),
                Some(_) | None => self.tally_slots(active, window).await?,
            };
            tallies.push((window.from(), tally));
        }
        Ok(tallies)
    }

    /// The roll-ups of the windows that begin from `from` on and before `to`.
    pub(crate) async fn load_tallies(
        &self,
        active: &Active,
        step: Step,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<BTreeMap<Timestamp, Tally>, Error> {
        let mut tallies = BTreeMap::new();
        for query in query_tallies(active.placed(), step, from, to) {
            let items = query_all(&*self.tables, query).await?;
            tallies.extend(items.iter().filter_map(read_tally));
        }
        Ok(tallies)
    }

    /// The last half hour of a source, in minutes whose slots have all been due.
    pub(crate) async fn summarise(&self, active: &Active) -> Result<Summary, Error> {
        let (at, rhythm) = (self.clock.now(), active.source.rhythm);
        let lag = Duration::from_secs(rhythm.lag_s) + Duration::from_millis(rhythm.offset_ms);
        let minutes = minutes_before(at.checked_sub(lag).unwrap_or_default(), SUMMARY_MINUTES);
        let mut summary = Summary { at, minutes: Vec::new() };
        let (Some(first), Some(last)) = (minutes.first(), minutes.last()) else {
            return Ok(summary);
        };
        let end = Slot::holding(*last, MINUTE_S).to();
        let values = self.load_values(active, *first, end).await?;
        for minute in minutes {
            let window = Slot::holding(minute, MINUTE_S);
            let inside = values
                .iter()
                .filter(|entry| (window.from()..window.to()).contains(&entry.slot.from()));
            let tally =
                Tally::new(active.count_expected(window), inside.filter_map(|entry| entry.count));
            summary.minutes.push((minute, tally));
        }
        Ok(summary)
    }

    /// Up to when slots are planned, and the last times in which nobody did.
    pub(crate) async fn explain(&self) -> Result<(Option<Timestamp>, Vec<Gap>), Error> {
        let planned = self.load_mark(Mark::Plan).await?;
        let gaps = self.tables.query(query_gaps(GAPS_SHOWN)).await?;
        Ok((planned, gaps.items.iter().filter_map(read_gap).collect()))
    }
}

impl Summary {
    /// All minutes together.
    pub(crate) fn total(&self) -> Tally {
        self.minutes.iter().fold(Tally::default(), |all, (_, tally)| all.and(tally))
    }
}
