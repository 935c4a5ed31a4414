//! Asking for a slot: call, judge, write once, tell.
//!
//! A message stands for one window of many sources. All are asked at once; what came is written as
//! it comes, each value by one conditional put (the store syncs those together that wait together).
//! What did not come goes on by itself: a message of its own for the next try, or a dead letter. So
//! a message ends when all its slots are settled, and its slow sources hold up nobody.

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::Collect;
use crate::api::upstream::{Preview, whole_millis};
use crate::error::Error;
use crate::items;
use crate::jobs;
use crate::limits::{LATE_AFTER, OVERLAP_PAUSE, REASON, REASON_LETTERS_MAX, ROLL_LATE_AFTER};
use crate::model::kind::Mode;
use crate::model::policy::Overlap;
use crate::model::retry::{Trouble, Verdict, judge};
use crate::model::slot::{MINUTE_S, Slot, spell};
use crate::model::tally::{Entry, State};
use crate::ops::pace::Pace;
use crate::ops::sources::Active;

/// A slot that is to be asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) slot: Slot,
    /// Calls that were made for it.
    pub(crate) attempts: u32,
    /// When it is given up, if that is not decided by its time.
    pub(crate) until: Option<Timestamp>,
    /// What went wrong with the first call.
    pub(crate) cause: Option<String>,
    /// Whether it is no live slot, so that its failures do not stop those.
    pub(crate) is_apart: bool,
    /// Whose turns its calls take.
    pub(crate) pace: Option<Pace>,
}

impl Collect {
    /// Asks sources for a slot.
    ///
    /// # Errors
    /// What became of a slot could not be noted: it must be asked for again.
    pub(crate) async fn ask_all(&self, names: &[String], ask: Ask) -> Result<(), Error> {
        let mut asked: FuturesUnordered<_> =
            names.iter().map(|name| self.ask_one(name, ask.clone())).collect();
        let mut all = Ok(());
        while let Some(outcome) = asked.next().await {
            all = all.and(outcome);
        }
        all
    }

    async fn ask_one(&self, name: &str, ask: Ask) -> Result<(), Error> {
        // What was tried once is tried again, also if it is not expected: by hand, by a backfill.
        let was_tried = ask.attempts > 0 || ask.until.is_some();
        let Some(active) = self.sources.find(name) else {
            return self.leave_out(name, &ask).await;
        };
        if !was_tried && !active.expects(ask.slot) {
            tracing::info!(source = name, slot = spell(ask.slot.from()), "nobody expects it");
            return Ok(());
        }
        let turn = active.pulse.turn.lock().begin(active.source.overlap, ask.slot);
        match turn {
            Overlap::Start => {}
            // A slot that was begun is not left out.
            Overlap::Skip if !was_tried => {
                let reason = "the slot before it was still asked for";
                return self.note_trouble(&active, &ask, State::Missing, reason).await;
            }
            Overlap::Skip | Overlap::Wait => {
                // Not in step with the slots that it waits for.
                let pause = OVERLAP_PAUSE / 2 + self.random.jitter(OVERLAP_PAUSE / 2);
                let again = self.clock.now().checked_add(pause);
                return self.ask_again(&active, &ask, again.unwrap_or_default()).await;
            }
        }
        let running = Running(&active);
        let had = self.try_slot(&active, &ask).await;
        drop(running);
        let entry = self.settle(&active, ask, had).await?;
        self.roll_up_late(&active, &entry).await
    }

    /// A slot of a source that is not asked any more. What was tried of it is not tried again.
    async fn leave_out(&self, name: &str, ask: &Ask) -> Result<(), Error> {
        tracing::info!(source = name, slot = spell(ask.slot.from()), "there is no such source");
        let Some(active) = self.sources.gone().get(name).cloned() else { return Ok(()) };
        match &ask.cause {
            Some(cause) => self.note_trouble(&active, ask, State::Failed, cause).await,
            None => Ok(()),
        }
    }

    /// Asks a source now for the last slot that is due, or the one that goes on if it is instant,
    /// also if it is paused; answers what came.
    pub(crate) async fn trigger(&self, name: &str) -> Result<Entry, Error> {
        let active = self.sources.get(name)?;
        let ask = Ask { slot: self.slot_now(&active)?, ..Ask::default() };
        let had = self.try_slot(&active, &ask).await;
        let entry = self.settle(&active, ask, had).await?;
        self.roll_up_late(&active, &entry).await?;
        Ok(entry)
    }

    /// Asks a source now as [`Collect::trigger`] does, writes nothing, and answers what came as it
    /// came. A breaker does not stop it: somebody looks.
    pub(crate) async fn preview(&self, name: &str) -> Result<Preview, Error> {
        let active = self.sources.get(name)?;
        let slot = self.slot_now(&active)?;
        let _permit = self.calls.acquire().await;
        Ok(self.upstreams.preview(active.whom(), slot).await)
    }

    /// The slot that a call answers now.
    fn slot_now(&self, active: &Active) -> Result<Slot, Error> {
        let (rhythm, now) = (active.source.rhythm, self.clock.now());
        let slot = match active.source.mode {
            Mode::Windowed => rhythm.last_due(now),
            Mode::Instant => Some(Slot::holding(now, rhythm.interval_s)),
        };
        slot.ok_or_else(|| Error::invalid("no slot is due yet"))
    }

    /// One try: the call, and the writing of what came. Whoever asks, and why, a slot of an instant
    /// source that is over is not asked for: the answer would be another moment's.
    pub(crate) async fn try_slot(&self, active: &Active, ask: &Ask) -> Result<Entry, Trouble> {
        let Active { source, pulse, .. } = active;
        let breaker = if ask.is_apart { &pulse.apart } else { &pulse.breaker };
        let is_over = || {
            let end = source.answers_until(ask.slot);
            end.filter(|end| *end <= self.clock.now()).map_or(Ok(()), |end| Err(Trouble::Over(end)))
        };
        is_over()?;
        breaker.lock().admit(self.clock.instant()).map_err(Trouble::Resting)?;
        let permit = self.calls.acquire().await;
        is_over()?;
        let (began, began_at) = (self.clock.instant(), self.clock.now());
        let answer = self.upstreams.ask(active.whom(), ask.slot).await;
        let latency = self.clock.instant().since(began);
        drop(permit);
        match &answer {
            Ok(_) => breaker.lock().succeeded(),
            Err(trouble) if trouble.is_the_upstreams() => {
                breaker.lock().failed(self.clock.instant(), trouble);
            }
            Err(_) => {}
        }
        let outcome = if answer.is_ok() { "ok" } else { "failed" };
        metrics::counter!("nagaya_collect_calls_total", "outcome" => outcome).increment(1);
        let lateness = began_at.since(source.rhythm.due(ask.slot));
        metrics::histogram!("nagaya_collect_lateness_seconds").record(lateness.as_secs_f64());
        let state = if lateness > LATE_AFTER { State::Late } else { State::Ok };
        let entry = Entry {
            slot: ask.slot,
            state,
            count: Some(answer?),
            other_count: None,
            attempts: ask.attempts + 1,
            latency_ms: Some(whole_millis(latency)),
            lateness_ms: Some(whole_millis(lateness)),
            collected_at: Some(self.clock.now()),
            reason: None,
        };
        self.write_once(active, entry).await.map_err(|error| Trouble::Store(error.to_string()))
    }

    /// Writes a value, if there is none. One that says the same is a success; one that says
    /// another is noted beside the first, which stays.
    pub(crate) async fn write_once(&self, active: &Active, entry: Entry) -> Result<Entry, Error> {
        let source = &active.source;
        let slot = spell(entry.slot.from());
        let stored = match self.tables.put(self.values.put(active.placed(), &entry)).await {
            Ok(_) => return Ok(entry),
            Err(table::Error::ConditionFailed { item }) => {
                item.as_deref().and_then(items::read_count)
            }
            Err(error) => return Err(error.into()),
        };
        match (stored, entry.count) {
            // Another reading of an instant source is another moment's.
            (Some(stored), Some(_)) if source.mode == Mode::Instant => {
                tracing::info!(source = source.name, slot, "the slot was read already");
                Ok(Entry { count: Some(stored), ..entry })
            }
            (Some(stored), Some(said)) if stored != said => {
                tracing::warn!(source = source.name, slot, %stored, %said, "a second answer differs");
                let conflict = self.values.note_conflict(active.placed(), entry.slot, said);
                self.tables.update(conflict).await?;
                let state = State::Conflict;
                Ok(Entry { state, count: Some(stored), other_count: Some(said), ..entry })
            }
            _ => {
                tracing::info!(source = source.name, slot, "the value is there already");
                Ok(entry)
            }
        }
    }

    /// Sees to what becomes of a slot after a try; answers what is known of it now.
    pub(crate) async fn settle(
        &self,
        active: &Active,
        ask: Ask,
        had: Result<Entry, Trouble>,
    ) -> Result<Entry, Error> {
        let entry = self.settle_quietly(active, ask, had).await?;
        *active.pulse.last.lock() = Some(entry.state);
        let is_resting = active.pulse.breaker.lock().is_open();
        self.pushes.slot(&active.source.name, &entry, is_resting);
        Ok(entry)
    }

    async fn settle_quietly(
        &self,
        active: &Active,
        ask: Ask,
        had: Result<Entry, Trouble>,
    ) -> Result<Entry, Error> {
        let trouble = match had {
            Ok(entry) => {
                // What went wrong before is forgotten.
                if entry.attempts > 1 || entry.state != State::Ok {
                    self.tables.delete(items::delete_trouble(active.placed(), entry.slot)).await?;
                }
                return Ok(entry);
            }
            Err(trouble) => trouble,
        };
        let (source, is_call) = (&active.source, !trouble.is_before_the_call());
        let attempts = ask.attempts + u32::from(is_call);
        let slot = spell(ask.slot.from());
        tracing::warn!(source = source.name, slot, attempt = attempts, %trouble, "a slot was not had");
        // The first cause stays: later ones are often only what followed from it.
        let cause = ask.cause.clone().or_else(|| is_call.then(|| shortened(&trouble)));
        let reason = cause.clone().unwrap_or_else(|| shortened(&trouble));
        let due = source.rhythm.due(ask.slot);
        let deadline = due.checked_add(Duration::from_secs(source.deadline_s)).unwrap_or(due);
        let deadline = ask.until.unwrap_or(deadline);
        let last = source.answers_until(ask.slot).map_or(deadline, |end| end.min(deadline));
        let pause = self.asks.options().pause(attempts.max(1), &self.random);
        let verdict = judge(&trouble, pause, last, self.clock.now());
        let state = match verdict {
            Verdict::Again(_) => State::Retrying,
            Verdict::GiveUp if cause.is_none() && matches!(trouble, Trouble::Over(_)) => {
                State::Missing
            }
            Verdict::GiveUp => State::Failed,
        };
        let ask = Ask { attempts, until: Some(deadline), cause, ..ask };
        self.note_trouble(active, &ask, state, &reason).await?;
        match verdict {
            Verdict::Again(at) => self.ask_again(active, &ask, at).await?,
            // Nobody could fill it later.
            Verdict::GiveUp if source.mode == Mode::Instant => {}
            Verdict::GiveUp => {
                let name = std::slice::from_ref(&source.name);
                let ask = Ask { until: None, pace: None, is_apart: true, ..ask.clone() };
                self.asks.bury(jobs::ask(name, &ask)?, &reason).await?;
                self.pushes.dead_letter(&source.name);
            }
        }
        Ok(Entry { state, attempts, reason: Some(reason), ..Entry::missing(ask.slot) })
    }

    /// Sums that knew of a hole learn that it is filled.
    pub(crate) async fn roll_up_late(&self, active: &Active, entry: &Entry) -> Result<(), Error> {
        let minute = Slot::holding(entry.slot.from(), MINUTE_S);
        let is_late = self.clock.now().since(minute.to()) >= ROLL_LATE_AFTER;
        if is_late && entry.count.is_some() {
            self.roll_up(active, minute.from(), minute.to()).await?;
        }
        Ok(())
    }

    async fn ask_again(&self, active: &Active, ask: &Ask, at: Timestamp) -> Result<(), Error> {
        let turn = match &ask.pace {
            Some(pace) => self.take_turns(pace, 1).await?,
            None => at,
        };
        let name = std::slice::from_ref(&active.source.name);
        self.asks.enqueue(jobs::ask(name, ask)?.due(at.max(turn))).await?;
        Ok(())
    }

    pub(crate) async fn note_trouble(
        &self,
        active: &Active,
        ask: &Ask,
        state: State,
        reason: &str,
    ) -> Result<(), Error> {
        let reason = REASON.apply(reason).ok();
        let entry = Entry { state, attempts: ask.attempts, reason, ..Entry::missing(ask.slot) };
        self.tables.put(items::put_trouble(active.placed(), &entry)).await?;
        Ok(())
    }
}

/// What went wrong, in a line that the ledger keeps whole.
fn shortened(trouble: &Trouble) -> String {
    let told = trouble.to_string();
    told.chars().filter(|letter| !letter.is_control()).take(REASON_LETTERS_MAX).collect()
}

/// A call under way; over when it is dropped, however that happens.
struct Running<'a>(&'a Arc<Active>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.pulse.turn.lock().end();
    }
}
