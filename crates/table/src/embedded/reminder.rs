//! Reminders: in which second which rows are to be looked at, because they may expire then.
//!
//! A change that writes a hundred rows which expire in one second writes one reminder. A reminder
//! does not move with its rows: whoever comes to it looks at each, removes it or is reminded anew
//! (`sweep.rs`). So rows that are postponed all the time cost nothing until then.
//!
//! Invariant: a row that expires has a reminder at its second or before it.
//!
//! Its value are the keys of the rows, as `alike.rs` writes them.

use bytes::Bytes;

use super::alike;
use super::keys::expiry_key;
use super::state::EPHEMERAL_BIT;
use crate::limits::{EXPIRY_AGE_SECONDS_MAX, TRANSACT_MAX};

/// Rows of one reminder: as many as are removed in one go.
const ROWS_MAX: usize = TRANSACT_MAX;
/// So many are looked at for one that takes another row: a transaction has few seconds, a new
/// declaration may remind of any number.
const LOOKED_AT: usize = 8;

/// The reminders of one change.
#[derive(Debug, Default)]
pub(crate) struct Reminders {
    all: Vec<Reminder>,
    first: u32,
}

#[derive(Debug)]
struct Reminder {
    table: u32,
    second: u64,
    count: usize,
    last: Bytes,
    value: Vec<u8>,
}

impl Reminders {
    /// Those of one part of a change whose parts are applied on their own: no two of them have the
    /// same key.
    pub(crate) fn of_part(part: u8) -> Reminders {
        Reminders { first: u32::from(part) << 24, ..Reminders::default() }
    }

    /// The row is to be looked at in that second.
    pub(crate) fn add(&mut self, table: u32, second: u64, row_key: &Bytes) {
        let mut last = self.all.iter_mut().rev().take(LOOKED_AT);
        let open =
            last.find(|open| open.table == table && open.second == second && open.count < ROWS_MAX);
        if let Some(open) = open {
            return open.add(row_key);
        }
        let mut new = Reminder { table, second, count: 0, last: Bytes::new(), value: Vec::new() };
        new.add(row_key);
        self.all.push(new);
    }

    /// A row expires at another second than before; 0 is never. One that is postponed has its
    /// reminder, unless that one lies so far back that nobody comes to it.
    pub(crate) fn postpone(&mut self, table: u32, from: u64, to: u64, row_key: &Bytes) {
        let reminded = from > 0 && from <= to && to - from < EXPIRY_AGE_SECONDS_MAX;
        if to > 0 && !reminded {
            self.add(table, to, row_key);
        }
    }

    /// Whether there is one in a table that outlives a restart.
    pub(crate) fn has_durable(&self) -> bool {
        self.all.iter().any(|reminder| reminder.table & EPHEMERAL_BIT == 0)
    }

    /// Keys and values of the reminders of change `seq`.
    pub(crate) fn into_rows(self, seq: u64) -> impl Iterator<Item = (Bytes, Bytes)> {
        (self.first..).zip(self.all).map(move |(number, reminder)| {
            let key = expiry_key(reminder.table, reminder.second, seq, number);
            (Bytes::from(key), Bytes::from(reminder.value))
        })
    }
}

impl Reminder {
    fn add(&mut self, row_key: &Bytes) {
        alike::push(&self.last, row_key, &mut self.value);
        self.last = row_key.clone();
        self.count += 1;
    }
}

/// The keys of the rows that a reminder speaks of; none if it cannot be read.
pub(crate) fn rows_of(mut value: &[u8]) -> Option<Vec<Bytes>> {
    let mut rows: Vec<Bytes> = Vec::new();
    while !value.is_empty() {
        let last: &[u8] = rows.last().map_or(&[], |last| last);
        rows.push(Bytes::from(alike::take(last, &mut value)?));
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};
    use proptest::{prop_assert, prop_assert_eq};

    use super::{Bytes, ROWS_MAX, Reminders, rows_of};
    use crate::embedded::keys::second_of;

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_reminder_names_the_rows_that_it_was_told(
            rows in vec(("[ab]{0,6}", 1..4_u64), 1..300),
        ) {
            let mut reminders = Reminders::default();
            for (row, second) in &rows {
                reminders.add(7, *second, &Bytes::copy_from_slice(row.as_bytes()));
            }
            let mut named: Vec<(Bytes, u64)> = Vec::new();
            let mut keys = Vec::new();
            for (key, value) in reminders.into_rows(9) {
                let some = rows_of(&value).unwrap();
                prop_assert!((1..=ROWS_MAX).contains(&some.len()));
                let second = second_of(&key).unwrap();
                named.extend(some.into_iter().map(|row| (row, second)));
                keys.push(key);
            }
            let told = rows.into_iter().map(|(row, second)| (Bytes::from(row), second));
            let mut told: Vec<(Bytes, u64)> = told.collect();
            named.sort();
            told.sort();
            prop_assert_eq!(named, told);
            let all = keys.len();
            keys.sort();
            keys.dedup();
            prop_assert_eq!(keys.len(), all);
        }

        #[test]
        fn no_bytes_make_it_panic(value in vec(any::<u8>(), 0..60)) {
            rows_of(&value);
        }
    }

    #[test]
    fn only_what_comes_nearer_needs_another_reminder() {
        let reminds = |from: u64, to: u64| {
            let mut reminders = Reminders::default();
            reminders.postpone(7, from, to, &Bytes::from_static(b"row"));
            reminders.into_rows(1).count() == 1
        };
        assert!(reminds(0, 100) && reminds(200, 100), "new, and nearer");
        assert!(!reminds(100, 100) && !reminds(100, 200), "the same, and later");
        assert!(!reminds(100, 0) && !reminds(0, 0), "never any more, and never");
        assert!(reminds(5, 1_700_000_000), "nobody comes to a second in 1970");
    }
}
