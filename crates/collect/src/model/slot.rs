//! Slots: which windows of time there are, how they are spelled, and when they are asked for.
//!
//! A trigger at the beginning of each minute plans the slots that begin in it. Slot `i` of the
//! seed's source begins at `base + 5 i`, and its message is delayed by as much; it is due at
//! `base + lag + delay`, by the wall clock, however late the trigger was.
//!
//! Invariants:
//! - A slot begins at a whole multiple of its length since 1970, so that all instances, and all
//!   restarts, agree on what slots there are.
//! - A time has one spelling, `YYYY-MM-DDTHH:MM:SSZ`: two spellings would be two keys.

use std::collections::BTreeMap;
use std::time::Duration;

use base::Timestamp;

use crate::limits::{CHANGE_SEEN, SOURCES_PER_MESSAGE, SPANS_MAX};

/// What one trigger plans.
pub(crate) const MINUTE_S: u64 = 60;
/// What the coarser roll-up holds.
pub(crate) const HOUR_S: u64 = 3600;
/// The seed's slot.
pub(crate) const USUAL_INTERVAL_S: u64 = 5;

/// A window of time that one value stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    from_s: u64,
    length_s: u64,
}

impl Slot {
    /// The slot of this length in which `time` lies.
    pub(crate) fn holding(time: Timestamp, length_s: u64) -> Slot {
        let length_s = length_s.max(1);
        Slot { from_s: time.seconds() / length_s * length_s, length_s }
    }

    /// The slot from one time to another, if there is one.
    pub(crate) fn between(from: Timestamp, to: Timestamp) -> Option<Slot> {
        let length_s = to.seconds().checked_sub(from.seconds()).filter(|length| *length > 0)?;
        let slot = Slot::holding(from, length_s);
        (slot.from() == from && slot.to() == to).then_some(slot)
    }

    /// The slot that begins at `from`, as long as slots were then; `usual_s` where none was expected.
    pub(crate) fn beginning(from: Timestamp, spans: &[Span], usual_s: u64) -> Slot {
        let span = spans.iter().rfind(|span| span.holds(from));
        let length_s = span.map_or(usual_s, |span| span.interval_s);
        Slot { from_s: from.seconds(), length_s }
    }

    pub(crate) fn from(self) -> Timestamp {
        second(self.from_s)
    }

    pub(crate) fn to(self) -> Timestamp {
        second(self.from_s.saturating_add(self.length_s))
    }
}

/// The slots of this length that begin from `from` on and before `to`.
pub(crate) fn slots_between(
    length_s: u64,
    from: Timestamp,
    to: Timestamp,
) -> impl DoubleEndedIterator<Item = Slot> + ExactSizeIterator + use<> {
    let length_s = length_s.max(1);
    // The first multiple that is not before, in milliseconds, because a time need not be whole.
    let length_ms = length_s.saturating_mul(1000);
    let first = from.millis().div_ceil(length_ms);
    let end = to.millis().div_ceil(length_ms).max(first);
    let count = usize::try_from(end - first).unwrap_or(usize::MAX);
    (0..count).map(move |nth| Slot { from_s: (first + nth as u64) * length_s, length_s })
}

/// When the slots of a source are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rhythm {
    /// Seconds between slots.
    pub(crate) interval_s: u64,
    /// Seconds from a slot's beginning to its call.
    pub(crate) lag_s: u64,
    /// Milliseconds by which this source is asked later than others.
    pub(crate) offset_ms: u64,
}

impl Rhythm {
    /// When a slot is to be asked for.
    pub(crate) fn due(self, slot: Slot) -> Timestamp {
        let delay = Duration::from_secs(self.lag_s) + Duration::from_millis(self.offset_ms);
        slot.from().checked_add(delay).unwrap_or(slot.from())
    }

    /// The last slot that is due at `time`; none before the first.
    pub(crate) fn last_due(self, time: Timestamp) -> Option<Slot> {
        let delay = Duration::from_secs(self.lag_s) + Duration::from_millis(self.offset_ms);
        Some(Slot::holding(time.checked_sub(delay)?, self.interval_s))
    }
}

/// One message of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) slot: Slot,
    /// Seconds from the beginning of its minute: what a queue of the seed's kind delays it by.
    pub(crate) delay_s: u64,
    pub(crate) due: Timestamp,
    /// Who is asked.
    pub(crate) sources: Vec<String>,
}

/// The messages of the slots that begin from `from` on and before `to`, in a minute that begins at
/// `base`. Sources of one rhythm share messages.
pub(crate) fn plan<'a>(
    base: Timestamp,
    from: Timestamp,
    to: Timestamp,
    sources: impl IntoIterator<Item = (&'a str, Rhythm)>,
) -> Vec<Planned> {
    let mut together: BTreeMap<Rhythm, Vec<&str>> = BTreeMap::new();
    for (name, rhythm) in sources {
        together.entry(rhythm).or_default().push(name);
    }
    let mut planned = Vec::new();
    for (rhythm, names) in together {
        for slot in slots_between(rhythm.interval_s, from, to) {
            planned.extend(names.chunks(SOURCES_PER_MESSAGE).map(|batch| Planned {
                slot,
                delay_s: slot.from().since(base).as_secs(),
                due: rhythm.due(slot),
                sources: batch.iter().map(|name| (*name).to_owned()).collect(),
            }));
        }
    }
    planned
}

/// A time in which a source was asked, slot after slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: Timestamp,
    /// None while it goes on.
    pub(crate) to: Option<Timestamp>,
    pub(crate) interval_s: u64,
}

impl Span {
    fn holds(&self, time: Timestamp) -> bool {
        self.from <= time && self.to.is_none_or(|end| time < end)
    }
}

/// Ends the last span, if it goes on. One that ends before it begins holds nothing.
pub(crate) fn end_span(spans: &mut [Span], to: Timestamp) {
    if let Some(last) = spans.last_mut().filter(|last| last.to.is_none()) {
        last.to = Some(to);
    }
}

/// Begins a span, which ends the one before it.
pub(crate) fn begin_span(spans: &mut Vec<Span>, from: Timestamp, interval_s: u64) {
    end_span(spans, from);
    spans.push(Span { from, to: None, interval_s });
    if spans.len() > SPANS_MAX {
        // The oldest are joined: better a hole too many than one too few.
        let oldest = spans.remove(0);
        if let Some(next) = spans.first_mut() {
            next.from = oldest.from;
        }
    }
}

/// Whether the slot should be there.
pub(crate) fn is_expected(spans: &[Span], slot: Slot) -> bool {
    spans.iter().any(|span| span.holds(slot.from()))
}

/// The slots from `from` on and before `to` that should be there, in order.
pub(crate) fn expected(spans: &[Span], from: Timestamp, to: Timestamp) -> Vec<Slot> {
    let slots = spans.iter().flat_map(|span| {
        let end = span.to.unwrap_or(to).min(to);
        slots_between(span.interval_s, span.from.max(from), end)
    });
    slots.collect()
}

/// The time in its one spelling.
pub(crate) fn spell(time: Timestamp) -> String {
    let mut text = time.to_string();
    if let Some(point) = text.find('.') {
        text.truncate(point);
        text.push('Z');
    }
    text
}

/// The time of which this is the one spelling.
pub(crate) fn read_time(text: &str) -> Option<Timestamp> {
    let time: Timestamp = text.parse().ok()?;
    (spell(time) == text).then_some(time)
}

/// The slot time of the seed: the beginning of the five seconds in which `time` lies.
#[cfg(test)]
pub(crate) fn calculate_slot_time(time: Timestamp) -> String {
    spell(Slot::holding(time, USUAL_INTERVAL_S).from())
}

/// The beginning of the minute in which `time` lies.
pub(crate) fn minute_of(time: Timestamp) -> Timestamp {
    Slot::holding(time, MINUTE_S).from()
}

/// The first minute of a source that is changed at `time`: one whose trigger has seen the change.
pub(crate) fn first_minute(time: Timestamp) -> Timestamp {
    let seen = time.checked_add(CHANGE_SEEN).unwrap_or(time);
    Slot::holding(seen, MINUTE_S).to()
}

fn second(seconds: u64) -> Timestamp {
    Timestamp::from_millis(seconds.saturating_mul(1000))
}

#[cfg(test)]
mod tests;
