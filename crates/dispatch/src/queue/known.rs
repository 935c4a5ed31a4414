//! The messages of one queue that this instance knows: which is to be taken next, and when.
//!
//! A message is ready at its due time, or when its lease ends. What is here is a guess about the
//! table: a lease is decided there, by a condition. Filled by what is sent here and by reading
//! the table (`keeper.rs`).
//!
//! Invariants:
//! - Every message that this instance has sent or read and that stands before `admitted_until` is
//!   here until it is gone.
//! - A message is handed to one taker at a time.
//! - Bounded in number and weight: what is due last stays in the table.

use std::collections::{BTreeSet, HashMap};

use base::Timestamp;

use super::message::{Message, MessageId};
use crate::limits::{KNOWN_BYTES_MAX, KNOWN_MAX};

/// Messages in the order in which they become ready.
pub(crate) struct Known {
    count_max: usize,
    bytes_max: usize,
    entries: HashMap<MessageId, Entry>,
    order: BTreeSet<(Timestamp, MessageId)>,
    bytes: usize,
    /// Messages from here on stay in the table; at the beginning that is all. A place among
    /// messages, not a time: more than fit may be due at one time.
    admitted_until: MessageId,
    /// Whether `admitted_until` is there because of the bounds.
    crowded: bool,
}

struct Entry {
    message: Message,
    /// None while a taker has it.
    ready: Option<Timestamp>,
}

impl Default for Known {
    fn default() -> Known {
        Known::bounded(KNOWN_MAX, KNOWN_BYTES_MAX)
    }
}

impl Known {
    /// Knows at most so many messages of so many bytes.
    fn bounded(count_max: usize, bytes_max: usize) -> Known {
        Known {
            count_max,
            bytes_max,
            entries: HashMap::new(),
            order: BTreeSet::new(),
            bytes: 0,
            admitted_until: MessageId::before(Timestamp::EPOCH),
            crowded: false,
        }
    }

    /// Takes in a message as it was seen in the table, held until `until`. Answers whether it is
    /// now the first.
    pub(crate) fn admit(&mut self, message: Message, until: Timestamp) -> bool {
        if message.id >= self.admitted_until {
            return false;
        }
        let id = message.id;
        let ready = message.due().max(until);
        if let Some(entry) = self.entries.get_mut(&id) {
            // What a taker has, or what is newer than what was seen, stays.
            let Some(held) = entry.ready else { return false };
            let (seen, known) = ((message.receives, ready), (entry.message.receives, held));
            if seen <= known {
                return false;
            }
            entry.message = message;
            self.set_ready(id, Some(ready));
        } else {
            if !self.make_room(&message) {
                self.admitted_until = id;
                self.crowded = true;
                return false;
            }
            self.bytes += message.weight();
            self.entries.insert(id, Entry { message, ready: Some(ready) });
            self.order.insert((ready, id));
        }
        self.order.first() == Some(&(ready, id))
    }

    /// Hands out up to `max` messages that are ready, in order.
    pub(crate) fn take(&mut self, now: Timestamp, max: usize) -> Vec<Message> {
        let mut taken = Vec::new();
        while taken.len() < max
            && let Some((ready, id)) = self.order.first().copied()
            && ready <= now
        {
            self.order.pop_first();
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.ready = None;
                taken.push(entry.message.clone());
            }
        }
        taken
    }

    /// A taker has leased the message until then.
    pub(crate) fn leased(&mut self, id: MessageId, receives: u32, until: Timestamp) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.message.receives = receives;
            self.set_ready(id, Some(until));
        }
    }

    /// The lease, if it is still that of `receives`, lasts until then.
    pub(crate) fn extended(&mut self, id: MessageId, receives: u32, until: Timestamp) {
        let same = |entry: &Entry| entry.message.receives == receives && entry.ready.is_some();
        if self.entries.get(&id).is_some_and(same) {
            self.set_ready(id, Some(until));
        }
    }

    /// A taker could not take the message, and does not know why.
    pub(crate) fn give_back(&mut self, id: MessageId, ready: Timestamp) {
        if self.entries.get(&id).is_some_and(|entry| entry.ready.is_none()) {
            self.set_ready(id, Some(ready));
        }
    }

    /// The message is gone.
    pub(crate) fn forget(&mut self, id: MessageId) {
        if let Some(entry) = self.entries.remove(&id) {
            self.bytes -= entry.message.weight();
            if let Some(ready) = entry.ready {
                self.order.remove(&(ready, id));
            }
        }
    }

    /// When the next is ready.
    pub(crate) fn next_ready(&self) -> Option<Timestamp> {
        self.order.first().map(|(ready, _)| *ready)
    }

    /// Whether there is room again for what stayed in the table because of the bounds.
    pub(crate) fn wants_more(&self) -> bool {
        let room = self.entries.len() <= self.count_max / 2 && self.bytes <= self.bytes_max / 2;
        self.crowded && room
    }

    /// Whether a message that is due now stays in the table although there is room: the wall clock
    /// was set ahead, past everything that was read.
    pub(crate) fn is_overtaken(&self, now: Timestamp) -> bool {
        !self.crowded && self.admitted_until <= MessageId::before(now)
    }

    /// The table is going to be read up to there; what is sent meanwhile may not be missed.
    pub(crate) fn begin_reading(&mut self, to: Timestamp) {
        self.admitted_until = self.admitted_until.max(MessageId::before(to));
        self.crowded = false;
    }

    /// The table was read, whole only up to `read_to`.
    pub(crate) fn end_reading(&mut self, read_to: MessageId) {
        if read_to >= self.admitted_until {
            return;
        }
        self.admitted_until = read_to;
        self.crowded = true;
        let beyond = |(ready, id): &&(Timestamp, MessageId)| {
            // What is leased stays: its end is known only here.
            *ready == id.due() && *id >= read_to
        };
        let beyond: Vec<MessageId> = self.order.iter().filter(beyond).map(|(_, id)| *id).collect();
        beyond.into_iter().for_each(|id| self.forget(id));
    }

    fn set_ready(&mut self, id: MessageId, ready: Option<Timestamp>) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if let Some(before) = std::mem::replace(&mut entry.ready, ready) {
            self.order.remove(&(before, id));
        }
        if let Some(ready) = ready {
            self.order.insert((ready, id));
        }
    }

    /// Lets messages that are due later than `message` fall back into the table until it fits.
    fn make_room(&mut self, message: &Message) -> bool {
        /// Leased messages among the last, which cannot go, are looked over up to this many.
        const LOOKED_OVER: usize = 256;
        while self.entries.len() >= self.count_max || self.bytes + message.weight() > self.bytes_max
        {
            let last = self.order.iter().rev().take(LOOKED_OVER);
            let last = last.map(|(ready, id)| (*ready, *id)).find(|(ready, id)| *ready == id.due());
            match last {
                Some((_, id)) if id > message.id => {
                    self.forget(id);
                    self.admitted_until = id;
                    self.crowded = true;
                }
                Some(_) | None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base::{Timestamp, Uuid};
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::Known;
    use crate::queue::message::{Message, MessageId, NewMessage};

    const COUNT_MAX: usize = 8;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn message(number: u128, due: u64) -> Message {
        let message = NewMessage::new(vec![0; 10]).due(at(due));
        message.send(Uuid::from_u128(number), 0, at(0)).unwrap()
    }

    #[test]
    fn what_a_taker_has_is_not_handed_out_again_until_it_is_given_back() {
        let mut known = Known::default();
        known.begin_reading(at(100));
        assert!(known.admit(message(1, 10), at(0)));
        assert_eq!(known.take(at(9), 5), []);
        let taken = known.take(at(10), 5);
        assert_eq!(taken.len(), 1);
        // Somebody reads the row as it was.
        assert!(!known.admit(message(1, 10), at(0)));
        assert_eq!(known.take(at(50), 5), []);
        known.give_back(taken[0].id, at(20));
        assert_eq!((known.take(at(19), 5).len(), known.take(at(20), 5).len()), (0, 1));
        known.leased(taken[0].id, 1, at(60));
        known.give_back(taken[0].id, at(20));
        known.extended(taken[0].id, 0, at(30));
        assert_eq!(known.next_ready(), Some(at(60)));
    }

    #[test]
    fn what_does_not_fit_stays_in_the_table_and_is_asked_for_when_there_is_room() {
        let mut known = Known::bounded(usize::MAX, 1_000);
        known.begin_reading(at(100));
        // Each weighs 210.
        for number in 1..=6 {
            known.admit(message(number, 50 - u64::try_from(number).unwrap()), at(0));
        }
        let dues: Vec<u64> =
            known.take(at(99), 9).iter().map(|message| message.due().millis()).collect();
        assert_eq!(dues, [44, 45, 46, 47]);
        assert!(!known.wants_more());
        known.forget(message(6, 44).id);
        known.forget(message(5, 45).id);
        assert!(known.wants_more());
    }

    /// Reads the table as the keeper does: in order, up to `share` rows.
    fn refresh(known: &mut Known, table: &BTreeMap<MessageId, (Message, u64)>, share: usize) {
        known.begin_reading(at(1_000));
        let mut read_to = MessageId::before(at(1_000));
        for (row, (message, until)) in table.values().enumerate() {
            if row == share {
                read_to = message.id;
                break;
            }
            known.admit(message.clone(), at(*until));
        }
        known.end_reading(read_to);
    }

    #[test]
    fn more_than_fit_may_be_due_at_one_time() {
        let mut known = Known::bounded(COUNT_MAX, usize::MAX);
        let rows = (1..=40).map(|number| message(number, 7));
        let mut table: BTreeMap<_, _> = rows.map(|row| (row.id, (row, 0))).collect();
        refresh(&mut known, &table, COUNT_MAX);
        for _ in 0..40 {
            for taken in known.take(at(7), 1) {
                table.remove(&taken.id);
                known.forget(taken.id);
            }
            if known.wants_more() {
                refresh(&mut known, &table, COUNT_MAX);
            }
        }
        assert_eq!(table.len(), 0);
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(200))]

        #[test]
        fn nothing_is_forgotten_and_nothing_is_ready_too_early(
            steps in vec((0..4_u8, any::<u16>()), 1..120),
        ) {
            let mut known = Known::bounded(COUNT_MAX, usize::MAX);
            let mut table: BTreeMap<MessageId, (Message, u64)> = BTreeMap::new();
            refresh(&mut known, &table, COUNT_MAX);
            let mut now = 0;
            for (number, (step, draw)) in steps.into_iter().enumerate() {
                let draw = u64::from(draw);
                match step {
                    0 | 1 => {
                        let new = message(u128::try_from(number).unwrap(), now + draw % 50);
                        table.insert(new.id, (new.clone(), 0));
                        known.admit(new, at(0));
                    }
                    2 => now += draw % 20,
                    _ => {
                        for mut taken in known.take(at(now), 3) {
                            let (row, until) = table.get_mut(&taken.id).unwrap();
                            prop_assert!(*until <= now && taken.due().millis() <= now);
                            taken.receives += 1;
                            (*row, *until) = (taken.clone(), now + 10);
                            known.leased(taken.id, taken.receives, at(now + 10));
                            if draw % 2 == 0 {
                                table.remove(&taken.id);
                                known.forget(taken.id);
                            }
                        }
                    }
                }
                prop_assert!(known.order.len() <= COUNT_MAX);
                if known.wants_more() {
                    refresh(&mut known, &table, COUNT_MAX);
                }
            }
            // Whoever goes on taking and refreshing gets everything.
            for _ in 0..200 {
                now += 20;
                for taken in known.take(at(now), 3) {
                    table.remove(&taken.id);
                    known.forget(taken.id);
                }
                if known.wants_more() {
                    refresh(&mut known, &table, COUNT_MAX);
                }
            }
            prop_assert_eq!(table.len(), 0);
        }
    }
}
