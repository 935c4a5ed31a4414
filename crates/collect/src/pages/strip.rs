//! What a source's row shows of its slots: the strip, and the histogram of lateness.

use base::Timestamp;
use maud::{Markup, html};

use super::words::Words;
use crate::limits::{LATENESS_MS, STRIP_SLOTS};
use crate::model::slot::{Rhythm, Slot, Span, is_expected, slots_between, spell};
use crate::model::tally::{Entry, State};

/// Bars of the histogram: one for each bound, and one for what is beyond.
const BARS: usize = LATENESS_MS.len() + 1;

/// What is shown of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// What the ledger says.
    Known(State),
    /// It is due, and nothing is known yet.
    Waiting,
    /// Nobody expected it.
    Nothing,
}

impl Shown {
    pub(super) fn word(self) -> &'static str {
        match self {
            Shown::Known(state) => state.word(),
            Shown::Waiting => "waiting",
            Shown::Nothing => "none",
        }
    }

    pub(super) fn name(self, words: &Words) -> &'static str {
        match self {
            Shown::Known(state) => words.state(state),
            Shown::Waiting => words.states.waiting,
            Shown::Nothing => words.states.none,
        }
    }
}

/// The last so many slots that are due, in order; none before the first.
pub(super) fn last_slots(rhythm: Rhythm, now: Timestamp, count: u64) -> Vec<Slot> {
    let Some(last) = rhythm.last_due(now) else { return Vec::new() };
    let length = rhythm.interval_s.saturating_mul(count);
    let first = last.to().seconds().saturating_sub(length);
    let first = Timestamp::from_seconds(first).unwrap_or(Timestamp::EPOCH);
    slots_between(rhythm.interval_s, first, last.to()).collect()
}

/// What the strip shows, from the last slots and what the ledger says of them.
pub(super) fn cells<'e>(
    slots: &[Slot],
    spans: &[Span],
    entries: &'e [Entry],
) -> Vec<(Slot, Shown, Option<&'e Entry>)> {
    let skipped = slots.len().saturating_sub(usize::try_from(STRIP_SLOTS).unwrap_or(usize::MAX));
    let cell = |slot: &Slot| {
        let entry = entries.iter().find(|entry| entry.slot == *slot);
        let shown = match entry {
            Some(entry) => Shown::Known(entry.state),
            None if is_expected(spans, *slot) => Shown::Waiting,
            None => Shown::Nothing,
        };
        (*slot, shown, entry)
    };
    slots.iter().skip(skipped).map(cell).collect()
}

/// How many calls were how late.
pub(super) fn bars(entries: &[Entry]) -> [u64; BARS] {
    let mut bars = [0; BARS];
    for lateness in entries.iter().filter_map(|entry| entry.lateness_ms) {
        let bar = LATENESS_MS.iter().position(|bound| lateness <= *bound).unwrap_or(BARS - 1);
        if let Some(bar) = bars.get_mut(bar) {
            *bar += 1;
        }
    }
    bars
}

/// The strip. Signs come from the stylesheet, by state; a reader of screens is told in words.
pub(super) fn strip(words: &Words, cells: &[(Slot, Shown, Option<&Entry>)]) -> Markup {
    let label = words.strip.replace("{n}", &STRIP_SLOTS.to_string());
    html! {
        ol .strip aria-label=(label) {
            @for (slot, shown, entry) in cells {
                @let told = tell(words, *slot, *shown, *entry);
                li data-state=(shown.word()) data-from=(slot.from().seconds()) title=(told) {
                    span .unseen { (told) }
                }
            }
        }
    }
}

/// A slot in words.
pub(super) fn tell(words: &Words, slot: Slot, shown: Shown, entry: Option<&Entry>) -> String {
    let mut told = format!("{} {}", spell(slot.from()), shown.name(words));
    let Some(entry) = entry else { return told };
    let number = |sentence: &str, n: &str| format!(" · {}", sentence.replace("{n}", n));
    if let Some(count) = entry.count {
        told.push_str(&number(words.said.count, &count.to_string()));
    }
    if let Some(other) = entry.other_count {
        told.push_str(&format!(" ≠ {other}"));
    }
    if let Some(lateness) = entry.lateness_ms {
        told.push_str(&number(words.said.late_by, &lateness.to_string()));
    }
    if let Some(reason) = &entry.reason {
        told.push_str(&format!(" · {}", words.reason(reason)));
    }
    told
}

/// All signs and what they mean.
pub(super) fn legend(words: &Words) -> Markup {
    let known = State::ALL.map(Shown::Known).into_iter();
    html! {
        details .legend open {
            summary { (words.legend) }
            ul {
                @for shown in known.chain([Shown::Waiting, Shown::Nothing]) {
                    li { span .sign data-state=(shown.word()) aria-hidden="true" {} (shown.name(words)) }
                }
            }
        }
    }
}

/// The histogram of lateness.
pub(super) fn histogram(words: &Words, bars: &[u64; BARS]) -> Markup {
    let most = bars.iter().copied().max().unwrap_or(0).max(1);
    let bounds = LATENESS_MS.iter().map(|bound| ("≤ ", words.up_to, *bound));
    let beyond = LATENESS_MS.last().map(|bound| ("", words.above, *bound));
    html! {
        ol .histogram {
            @for ((sign, sentence, bound), count) in bounds.chain(beyond).zip(bars) {
                li {
                    span { (sign) (sentence.replace("{n}", &bound.to_string())) }
                    svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                        rect width=(count * 100 / most) height="10" {}
                    }
                    span .number data-slot="bar" { (count) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{Shown, bars, cells, last_slots};
    use crate::limits::STRIP_SLOTS;
    use crate::model::slot::{Rhythm, Span};
    use crate::model::tally::{Entry, State};

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    const RHYTHM: Rhythm = Rhythm { interval_s: 5, lag_s: 6, offset_ms: 0 };

    #[test]
    fn the_last_slots_end_with_the_one_that_is_due() {
        let slots = last_slots(RHYTHM, at(1011), 3);
        assert_eq!(
            slots.iter().map(|slot| slot.from()).collect::<Vec<_>>(),
            [at(995), at(1000), at(1005)]
        );
        assert_eq!(last_slots(RHYTHM, at(1010), 1).first().unwrap().from(), at(1000));
        assert!(last_slots(RHYTHM, at(3), 3).is_empty());
    }

    #[test]
    fn a_slot_without_an_entry_waits_or_was_not_expected() {
        let slots = last_slots(RHYTHM, at(1011), 3);
        let spans = [Span { from: at(1000), to: None, interval_s: 5 }];
        let entry = Entry { state: State::Late, ..Entry::missing(slots[1]) };
        let entries = [entry];
        let shown: Vec<Shown> = cells(&slots, &spans, &entries).iter().map(|cell| cell.1).collect();
        assert_eq!(shown, [Shown::Nothing, Shown::Known(State::Late), Shown::Waiting]);
        let many = last_slots(RHYTHM, at(10_000), STRIP_SLOTS + 7);
        let shown = cells(&many, &spans, &[]);
        assert_eq!(shown.len() as u64, STRIP_SLOTS);
        assert_eq!(shown.last().unwrap().0, *many.last().unwrap());
    }

    #[test]
    fn a_bar_holds_what_is_not_above_its_bound() {
        let slot = last_slots(RHYTHM, at(1011), 1)[0];
        let late = |ms| Entry { lateness_ms: Some(ms), ..Entry::missing(slot) };
        let entries = [late(0), late(10), late(11), late(5000), late(5001), Entry::missing(slot)];
        assert_eq!(bars(&entries), [2, 1, 0, 0, 0, 1, 1]);
    }
}
