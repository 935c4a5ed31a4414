//! Backfills: slots that are asked for again, at a pace, part after part. A part is noted when it is
//! behind, so that a house that dies goes on with the next; what it had asked of a part is asked
//! again, which changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use futures_util::stream::{self, FuturesUnordered};
use futures_util::{StreamExt, TryStreamExt};
use table::commit;

use crate::Collect;
use crate::error::Error;
use crate::items::backfill::{
    get_backfill, note_progress, put_backfill, query_backfills, read_backfill,
};
use crate::jobs;
use crate::limits::{BACKFILL_PART_MAX, BACKFILL_RATE_MAX, BACKFILL_SLOTS_MAX, ROLLS_AT_ONCE};
use crate::model::backfill::{Backfill, Progress, Reprocess};
use crate::model::kind::Mode;
use crate::model::retry::Trouble;
use crate::model::slot::{MINUTE_S, Slot, minute_of, slots_between, spell};
use crate::model::tally::{Entry, State};
use crate::ops::collect::Ask;
use crate::ops::pace::Pace;
use crate::ops::sources::Active;

/// What is to be asked for again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) newest_first: bool,
    pub(crate) rate: u64,
    pub(crate) reprocess: Reprocess,
}

impl Collect {
    /// The backfill of an order, which is not begun.
    pub(crate) fn order_backfill(&self, active: &Active, order: Order) -> Result<Backfill, Error> {
        let (rhythm, now) = (active.source.rhythm, self.clock.now());
        // What is not due yet will come by itself.
        let due = rhythm.last_due(now).map_or(Timestamp::EPOCH, Slot::to);
        let to = order.to.min(due);
        if order.from >= to {
            let (from, to) = (spell(order.from), spell(to));
            return Err(Error::invalid(format!("from must be before to and {to}, not {from}")));
        }
        let kept = active.source.kept_since(now, 1);
        if order.from < kept {
            let (from, kept) = (spell(order.from), spell(kept));
            return Err(Error::invalid(format!(
                "from is {from}, and slots before {kept} are not kept"
            )));
        }
        if !(1..=BACKFILL_RATE_MAX).contains(&order.rate) {
            let told = format!("rate must be from 1 to {BACKFILL_RATE_MAX}, not {}", order.rate);
            return Err(Error::invalid(told));
        }
        let id = self.ids.ordered().to_string();
        let backfill = Backfill {
            pace: id.clone(),
            id,
            sources: vec![active.source.name.clone()],
            from: order.from,
            to,
            interval_s: rhythm.interval_s,
            newest_first: order.newest_first,
            rate: order.rate,
            reprocess: order.reprocess,
            created_at: now,
            progress: Progress::default(),
        };
        let windows = backfill.windows();
        if windows > BACKFILL_SLOTS_MAX {
            let told = format!("{windows} slots, at most {BACKFILL_SLOTS_MAX} in one backfill");
            return Err(Error::invalid(told));
        }
        Ok(backfill)
    }

    /// How many slots a backfill would ask for.
    pub(crate) async fn count_wanted(&self, backfill: &Backfill) -> Result<u64, Error> {
        let mut wanted = 0;
        for name in &backfill.sources {
            let active = self.sources.get(name)?;
            let slots = slots_between(backfill.interval_s, backfill.from, backfill.to);
            let slots: Vec<Slot> = slots.collect();
            wanted += self.wanted(&active, backfill, &slots).await?.len() as u64;
        }
        Ok(wanted)
    }

    /// Begins a backfill: it is known, and its message is sent, or neither.
    pub(crate) async fn start_backfill(&self, backfill: &Backfill) -> Result<(), Error> {
        let message = self.backfills.prepare(jobs::backfill(&backfill.id)?)?;
        commit(&*self.tables, vec![put_backfill(backfill).into(), message.write()]).await?;
        message.committed();
        self.pushes.backfill(backfill);
        Ok(())
    }

    pub(crate) async fn get_backfill(&self, id: &str) -> Result<Backfill, Error> {
        let item = self.tables.get(get_backfill(id)).await?;
        let backfill = item.as_ref().and_then(read_backfill);
        backfill.ok_or_else(|| Error::NoSuchBackfill(id.to_owned()))
    }

    pub(crate) async fn list_backfills(&self, limit: u32) -> Result<Vec<Backfill>, Error> {
        let page = self.tables.query(query_backfills(limit)).await?;
        Ok(page.items.iter().filter_map(read_backfill).collect())
    }

    /// Does a backfill, from where it is to its end.
    pub(crate) async fn run_backfill(&self, id: &str) -> Result<(), Error> {
        let mut backfill = self.get_backfill(id).await?;
        while !backfill.is_done() {
            if self.tasks.shutdown().has_begun() {
                // Its message stays, and with it what is left to do.
                return Err(dispatch::Error::Closing.into());
            }
            let before = backfill.progress;
            // About a second's worth.
            let slots = usize::try_from(backfill.rate).unwrap_or(usize::MAX).min(BACKFILL_PART_MAX);
            let windows = slots / backfill.sources.len().max(1);
            self.run_part(&mut backfill, windows.max(1)).await?;
            match self.tables.update(note_progress(&backfill, &before)).await {
                Ok(_) => self.pushes.backfill(&backfill),
                // Somebody else is at it, who was thought dead or thought us so.
                Err(table::Error::ConditionFailed { .. }) => {
                    backfill = self.get_backfill(id).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn run_part(&self, backfill: &mut Backfill, windows: usize) -> Result<(), Error> {
        let slots = backfill.next_windows(windows);
        // A source that is gone meanwhile is asked nothing.
        let known = backfill.sources.iter().filter_map(|name| self.sources.find(name));
        let looks = known.map(|active| async {
            let slots = self.wanted(&active, backfill, &slots).await?;
            Ok::<_, Error>((active, slots))
        });
        let looks: Vec<_> = looks.collect();
        let wanted = stream::iter(looks).buffered(ROLLS_AT_ONCE);
        let wanted: Vec<(Arc<Active>, BTreeSet<Slot>)> = wanted.try_collect().await?;
        // Windows in the backfill's order, each of all sources.
        let asks = slots.iter().flat_map(|slot| {
            let asked = wanted.iter().filter(|(_, slots)| slots.contains(slot));
            asked.map(move |(active, _)| (active, *slot))
        });
        let now = self.clock.now();
        let over = |active: &Active, slot| {
            active.source.answers_until(slot).filter(|end| *end <= now).map(Trouble::Over)
        };
        let (gaps, asks): (Vec<_>, Vec<_>) =
            asks.partition(|(active, slot)| over(active, *slot).is_some());
        let all = (slots.len() * backfill.sources.len()) as u64;
        backfill.progress.skipped += all - (gaps.len() + asks.len()) as u64;
        backfill.progress.failed += gaps.len() as u64;
        let gaps =
            gaps.into_iter().filter_map(|(active, slot)| Some((active, slot, over(active, slot)?)));
        let notes: Vec<_> =
            gaps.map(|(active, slot, over)| self.note_gap(active, slot, over)).collect();
        stream::iter(notes).buffer_unordered(ROLLS_AT_ONCE).try_collect::<()>().await?;
        self.call_part(backfill, asks).await?;
        backfill.progress.next += slots.len() as u64;
        let rolls = wanted.iter().filter_map(|(active, slots)| {
            let (first, last) = (slots.first()?, slots.last()?);
            let end = Slot::holding(last.from(), MINUTE_S).to();
            Some(self.roll_up(active, minute_of(first.from()), end))
        });
        let rolls: Vec<_> = rolls.collect();
        stream::iter(rolls).buffer_unordered(ROLLS_AT_ONCE).try_collect().await
    }

    /// Makes the calls of a part, each in its turn.
    async fn call_part(
        &self,
        backfill: &mut Backfill,
        asks: Vec<(&Arc<Active>, Slot)>,
    ) -> Result<(), Error> {
        if asks.is_empty() {
            return Ok(());
        }
        let pace = Pace { id: backfill.pace.clone(), rate: backfill.rate };
        let turns = self.take_turns(&pace, asks.len() as u64).await?;
        let (wait, pause) = (turns.since(self.clock.now()), pace.pause());
        let pace = &pace;
        let mut calls: FuturesUnordered<_> = (0_u32..)
            .zip(asks)
            .map(|(nth, (active, slot))| async move {
                let shutdown = self.tasks.shutdown().begun();
                tokio::select! {
                    // A slow part does not hold up the closing; it is done again.
                    () = shutdown => Err(dispatch::Error::Closing.into()),
                    () = self.clock.sleep(wait + pause.saturating_mul(nth)) => {
                        self.ask_for_backfill(active, slot, pace).await
                    }
                }
            })
            .collect();
        while let Some(settled) = calls.next().await {
            match settled?.state {
                State::Ok | State::Late | State::Conflict => backfill.progress.done += 1,
                State::Retrying | State::Failed | State::Missing => backfill.progress.failed += 1,
            }
        }
        Ok(())
    }

    /// Notes that a slot can have no value any more.
    async fn note_gap(&self, active: &Active, slot: Slot, over: Trouble) -> Result<(), Error> {
        let ask = Ask { slot, ..Ask::default() };
        self.note_trouble(active, &ask, State::Missing, &over.to_string()).await
    }

    async fn ask_for_backfill(
        &self,
        active: &Active,
        slot: Slot,
        pace: &Pace,
    ) -> Result<Entry, Error> {
        let deadline = Duration::from_secs(active.source.deadline_s);
        let until = self.clock.now().checked_add(deadline);
        let pace = Some(pace.clone());
        let ask = Ask { slot, until, is_apart: true, pace, ..Ask::default() };
        let permit = self.backfill_calls.acquire().await;
        let had = self.try_slot(active, &ask).await;
        drop(permit);
        self.settle(active, ask, had).await
    }

    /// Which of the slots a backfill asks for.
    async fn wanted(
        &self,
        active: &Active,
        backfill: &Backfill,
        slots: &[Slot],
    ) -> Result<BTreeSet<Slot>, Error> {
        let (Some(first), Some(last)) = (slots.iter().min(), slots.iter().max()) else {
            return Ok(BTreeSet::new());
        };
        let known = self.list_entries(active, first.from(), last.to()).await?;
        let known: BTreeMap<Timestamp, State> =
            known.into_iter().map(|entry| (entry.slot.from(), entry.state)).collect();
        let state = |slot: &Slot| known.get(&slot.from()).copied().unwrap_or(State::Missing);
        let wanted = slots.iter().filter(|slot| match active.source.mode {
            Mode::Windowed => backfill.reprocess.wants(state(slot)),
            // It can get no value: what is expected of it gets its reason.
            Mode::Instant => active.expects(**slot) && state(slot) == State::Missing,
        });
        Ok(wanted.copied().collect())
    }
}
