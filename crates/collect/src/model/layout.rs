//! Where the rows of a source are. A source that is changed writes elsewhere from then on: under
//! another metric, or in one partition instead of one a day. So each place has a time from which
//! it holds, and the place of a slot is decided by the slot's own time, whenever it is written or
//! read: a slot has one place for ever, and its history stays readable.

use base::Timestamp;

use super::slot::MINUTE_S;
use super::source::{DEFAULT, Source};
use crate::error::Error;
use crate::limits::{LAYOUTS_MAX, ONE_PARTITION_DAYS};

/// Where rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// From when on; the first one holds for all time before it too.
    pub(crate) from: Timestamp,
    /// What they are found under.
    pub(crate) key: String,
    /// Whether there is a partition for each day.
    pub(crate) is_by_day: bool,
}

impl Layout {
    /// That of a source as it is.
    pub(crate) fn of(source: &Source, from: Timestamp) -> Layout {
        // The seed's source has one partition whatever happens.
        let is_by_day = source.name != DEFAULT
            && source.rhythm.interval_s < MINUTE_S
            && source.retention_days.is_none_or(|days| days > ONE_PARTITION_DAYS);
        Layout { from, key: source.key(), is_by_day }
    }

    fn is_same_place(&self, other: &Layout) -> bool {
        self.key == other.key && self.is_by_day == other.is_by_day
    }
}

/// Adds the layout of a source that is changed, if its rows go elsewhere from `from` on.
pub(crate) fn move_to(
    layouts: &mut Vec<Layout>,
    source: &Source,
    from: Timestamp,
) -> Result<(), Error> {
    let next = Layout::of(source, from);
    match layouts.last() {
        Some(last) if last.is_same_place(&next) => return Ok(()),
        Some(last) if last.from == from => {
            layouts.pop();
        }
        Some(_) if layouts.len() >= LAYOUTS_MAX => {
            let told = format!(
                "source `{}` was moved to another metric or partition {LAYOUTS_MAX} times; its \
                 history could not be found after one more",
                source.name
            );
            return Err(Error::invalid(told));
        }
        Some(_) | None => {}
    }
    // What was moved back before the move counted stays where it was.
    if layouts.last().is_none_or(|last| !last.is_same_place(&next)) {
        layouts.push(next);
    }
    Ok(())
}

/// The layout of a slot that begins at `time`.
pub(crate) fn layout_at(layouts: &[Layout], time: Timestamp) -> Option<&Layout> {
    layouts.iter().rfind(|layout| layout.from <= time).or(layouts.first())
}

/// The layouts of the slots that begin from `from` on and before `to`, each with its part of that
/// time, in order.
pub(crate) fn layouts_between(
    layouts: &[Layout],
    from: Timestamp,
    to: Timestamp,
) -> Vec<(&Layout, Timestamp, Timestamp)> {
    let mut ends = layouts.iter().skip(1).map(|layout| layout.from);
    let parts = layouts.iter().enumerate().map(|(nth, layout)| {
        let begin = if nth == 0 { from } else { layout.from.max(from) };
        (layout, begin, ends.next().unwrap_or(to).min(to))
    });
    parts.filter(|(_, begin, end)| begin < end).collect()
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{layout_at, layouts_between, move_to};
    use crate::limits::LAYOUTS_MAX;
    use crate::model::source::{Source, sample};

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn metric(metric: &str) -> Source {
        Source { metric: metric.to_owned(), ..sample("tokyo") }
    }

    #[test]
    fn a_slot_has_one_place_for_ever() {
        let mut layouts = Vec::new();
        for (source, from) in [("a", 0), ("a", 50), ("b", 100), ("c", 200)] {
            move_to(&mut layouts, &metric(source), at(from)).unwrap();
        }
        let keys = |time| layout_at(&layouts, at(time)).unwrap().key.clone();
        assert_eq!(
            [0, 99, 100, 199, 200, 900].map(keys),
            ["a#tokyo", "a#tokyo", "b#tokyo", "b#tokyo", "c#tokyo", "c#tokyo"]
        );
        let parts = layouts_between(&layouts, at(90), at(210));
        let parts: Vec<_> = parts.iter().map(|(it, from, to)| (&*it.key, *from, *to)).collect();
        assert_eq!(
            parts,
            [
                ("a#tokyo", at(90), at(100)),
                ("b#tokyo", at(100), at(200)),
                ("c#tokyo", at(200), at(210))
            ]
        );
        assert_eq!(layouts_between(&layouts, at(120), at(130)).len(), 1);
    }

    #[test]
    fn what_is_moved_and_moved_back_before_it_counts_stays() {
        let mut layouts = Vec::new();
        move_to(&mut layouts, &metric("a"), at(0)).unwrap();
        move_to(&mut layouts, &metric("b"), at(60)).unwrap();
        move_to(&mut layouts, &metric("a"), at(60)).unwrap();
        assert_eq!(layouts.len(), 1);
    }

    #[test]
    fn a_source_is_not_moved_out_of_sight() {
        let mut layouts = Vec::new();
        for nth in 0..LAYOUTS_MAX as u64 {
            move_to(&mut layouts, &metric(&format!("m{nth}")), at(nth * 60)).unwrap();
        }
        let told = move_to(&mut layouts, &metric("more"), at(1_000_000)).unwrap_err().to_string();
        assert!(told.contains("100 times"), "{told}");
    }
}
