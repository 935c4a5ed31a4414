//! The trigger: once a minute it sends the messages of the slots that begin in it.
//!
//! **One message for many sources.** The seed sends a message for each slot of its one source. A
//! message is three durable writes, and ten thousand sources have 120 000 slots a minute: sent one
//! by one they would cost more than the calls. So sources that are due for the same window at the
//! same moment share a message, up to 250, and offsets are whole tenths of a second, so that many
//! do. The message of the default source is the seed's, `{from, to}`; others name their sources.
//! What fails of a message goes on as a message of its own (`collect.rs`).
//!
//! **At least once.** Messages are durable before the mark moves, in the transaction that ends the
//! trigger's run: a house that dies between the two sends them again, and writing once makes that
//! harmless. What lies before the mark and was never planned is a gap: it is noted, and caught up
//! with as each source's policy says, by backfills, which have their own workers and never stand
//! before a live slot.

use std::collections::BTreeMap;
use std::time::Duration;

use base::{Monotonic, Timestamp};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use table::TransactItem;

use crate::Collect;
use crate::error::Error;
use crate::items::{Gap, Mark, get_mark, move_mark, put_gap, read_mark};
use crate::jobs;
use crate::limits::{BACKFILL_RATE_MAX, SOURCES_PER_MESSAGE, TRIGGER_PAUSE, TRIGGER_TRIES};
use crate::model::backfill::{Backfill, Progress, Reprocess};
use crate::model::policy::{CatchUp, catch_up};
use crate::model::slot::{MINUTE_S, Planned, Slot, minute_of, plan, spell};
use crate::model::tally::State;
use crate::ops::collect::Ask;

/// The pace of all backfills by which the house catches up.
const CATCH_UP: &str = "catch-up";

/// Wall clocks are slewed by this much in a minute at most; what is more was set.
const CLOCK_STEP: Duration = Duration::from_secs(30);

impl Collect {
    /// Plans the minute of a tick, and what was missed before it; answers what is true with the
    /// end of the run.
    pub(crate) async fn plan_minute(&self, tick: Timestamp) -> Result<Vec<TransactItem>, Error> {
        self.refresh_sources().await?;
        let (now, base) = (self.clock.now(), minute_of(tick));
        let stepped = self.clock_stepped(now);
        let end = base.checked_add(Duration::from_secs(MINUTE_S)).unwrap_or(base);
        let mark = self.load_mark(Mark::Plan).await?;
        let from = mark.unwrap_or(base).max(base);
        if from >= end {
            tracing::info!(base = spell(base), "the minute is planned already");
            return Ok(Vec::new());
        }
        let gap = mark.filter(|mark| *mark < base).map(|mark| (mark, base));
        let all = self.sources.all();
        let living = || {
            let open = all
                .values()
                .filter(|active| active.open_span().is_some_and(|span| span.from <= base));
            open.map(|active| (active.source.name.as_str(), active.source.rhythm))
        };
        let mut planned = plan(base, from, end, living());
        if let Some((gap_from, gap_to)) = gap {
            // Slots of the gap whose time has not come are not missed.
            let coming = plan(base, gap_from, gap_to, living());
            planned.extend(coming.into_iter().filter(|message| message.due > now));
        }
        self.send(planned).await?;
        let mut effect = vec![move_mark(Mark::Plan, end)];
        if let Some((from, to)) = gap {
            self.catch_up(from, to, now).await?;
            tracing::warn!(from = spell(from), to = spell(to), stepped, "slots were not planned");
            effect.push(put_gap(&Gap { from, to, by_clock: stepped }));
        }
        Ok(effect)
    }

    /// How far something is.
    pub(crate) async fn load_mark(&self, mark: Mark) -> Result<Option<Timestamp>, Error> {
        Ok(self.tables.get(get_mark(mark)).await?.as_ref().and_then(read_mark))
    }

    /// Whether the wall clock moved on by much more than time passed since the last run here.
    fn clock_stepped(&self, now: Timestamp) -> bool {
        let here: (Timestamp, Monotonic) = (now, self.clock.instant());
        let last = self.last_run.lock().replace(here);
        last.is_some_and(|(wall, instant)| {
            now.since(wall) > here.1.since(instant).saturating_add(CLOCK_STEP)
        })
    }

    /// Sends messages, each on its own. One that is refused does not stop the others; if all are,
    /// the trigger fails.
    async fn send(&self, planned: Vec<Planned>) -> Result<(), Error> {
        let (total, mut left) = (planned.len(), planned);
        let mut refusal = None;
        for attempt in 0..TRIGGER_TRIES {
            if attempt > 0 {
                self.clock.sleep(TRIGGER_PAUSE).await;
            }
            let sends = std::mem::take(&mut left).into_iter().map(|planned| async {
                let sent = self.send_one(&planned).await;
                (planned, sent)
            });
            let mut sends: FuturesUnordered<_> = sends.collect();
            while let Some((planned, sent)) = sends.next().await {
                let (from, sources) = (spell(planned.slot.from()), planned.sources.len());
                match sent {
                    Ok(()) => tracing::debug!(from, sources, "a message was sent"),
                    Err(error) => {
                        if !matches!(&error, Error::Later(error) if error.is_outage()) {
                            tracing::error!(from, sources, %error, "a message was not sent");
                        }
                        refusal = Some(error);
                        left.push(planned);
                    }
                }
            }
            if left.is_empty() {
                return Ok(());
            }
        }
        match refusal {
            Some(error) if left.len() == total => Err(error),
            Some(_) | None => self.note_unsent(&left).await,
        }
    }

    /// Notes why slots are missing whose messages were refused.
    async fn note_unsent(&self, left: &[Planned]) -> Result<(), Error> {
        for planned in left {
            let ask = Ask { slot: planned.slot, ..Ask::default() };
            for active in planned.sources.iter().filter_map(|name| self.sources.find(name)) {
                let reason = "its message could not be sent";
                self.note_trouble(&active, &ask, State::Missing, reason).await?;
            }
        }
        Ok(())
    }

    async fn send_one(&self, planned: &Planned) -> Result<(), Error> {
        let ask = Ask { slot: planned.slot, ..Ask::default() };
        let message = jobs::ask(&planned.sources, &ask)?;
        self.asks.enqueue(message.due(planned.due)).await?;
        Ok(())
    }

    /// Begins to ask for what was missed from `from` on and before `to`.
    async fn catch_up(&self, from: Timestamp, to: Timestamp, now: Timestamp) -> Result<(), Error> {
        let window = Duration::from_secs(self.options.catch_up_seconds);
        // Sources that miss the same slots share backfills, as they share messages.
        let mut together: BTreeMap<(u64, Timestamp, Timestamp, bool), Vec<String>> =
            BTreeMap::new();
        for active in self.sources.all().values() {
            let rhythm = active.source.rhythm;
            let Some(span) = active.open_span() else { continue };
            let due = rhythm.last_due(now).map_or(from, Slot::to);
            let missed = (from.max(span.from), to.min(due));
            let policy = active.source.misfire;
            if let Some(CatchUp { from, to, at_once }) =
                catch_up(policy, rhythm.interval_s, missed, now, window)
            {
                let names = together.entry((rhythm.interval_s, from, to, at_once)).or_default();
                names.push(active.source.name.clone());
            }
        }
        let parts: Vec<_> = together
            .iter()
            .flat_map(|(missed, names)| {
                names.chunks(SOURCES_PER_MESSAGE).map(move |names| (*missed, names))
            })
            .collect();
        for ((interval_s, from, to, at_once), names) in parts {
            let id = self.ids.ordered().to_string();
            let backfill = Backfill {
                // All that catch up share the rate of the house.
                pace: if at_once { id.clone() } else { CATCH_UP.to_owned() },
                id,
                sources: names.to_vec(),
                from,
                to,
                interval_s,
                newest_first: true,
                rate: if at_once { BACKFILL_RATE_MAX } else { self.options.catch_up_per_second },
                reprocess: Reprocess::None,
                created_at: now,
                progress: Progress::default(),
            };
            self.start_backfill(&backfill).await?;
        }
        Ok(())
    }
}
