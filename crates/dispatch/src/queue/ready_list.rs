//! The ready list: the messages of one queue that this instance knows, in the order in which they
//! become ready.
//!
//! A message is ready at its due time, or when its lease ends. The list is only a guess about the
//! table: a condition in the table decides each lease. The list is filled by sending and by reading
//! the table (`keeper.rs`).
//!
//! Invariants:
//! - Every message that this instance has sent or read and that sorts before `admitted_until` is in
//!   the list until it is gone.
//! - Only one taker gets a message at a time.
//! - The list is bounded in count and bytes: the messages due last stay in the table.

use std::collections::{BTreeSet, HashMap};

use base::Timestamp;

use super::message::{Message, MessageId};
use crate::limits::{READY_LIST_BYTES_MAX, READY_LIST_MAX};

/// Messages in the order in which they become ready.
pub(crate) struct ReadyList {
    count_max: usize,
    bytes_max: usize,
    entries: HashMap<MessageId, Entry>,
    order: BTreeSet<(Timestamp, MessageId)>,
    bytes: usize,
    /// Messages from this id on stay in the table; at the start that is all of them. An id and
    /// not a time, because more messages than fit may be due at one time.
    admitted_until: MessageId,
    /// Whether the limits set `admitted_until`.
    crowded: bool,
}

struct Entry {
    message: Message,
    /// None while a taker has it.
    ready: Option<Timestamp>,
}

impl Default for ReadyList {
    fn default() -> ReadyList {
        ReadyList::bounded(READY_LIST_MAX, READY_LIST_BYTES_MAX)
    }
}

impl ReadyList {
    /// A list with these limits.
    fn bounded(count_max: usize, bytes_max: usize) -> ReadyList {
        ReadyList {
            count_max,
            bytes_max,
            entries: HashMap::new(),
            order: BTreeSet::new(),
            bytes: 0,
            admitted_until: MessageId::before(Timestamp::EPOCH),
            crowded: false,
        }
    }

    /// Adds a message as it was read from the table, held until `until`. Returns whether it is now
    /// the first.
    pub(crate) fn admit(&mut self, message: Message, until: Timestamp) -> bool {
        if message.id >= self.admitted_until {
            return false;
        }
        let id = message.id;
        let ready = message.due().max(until);
        if let Some(entry) = self.entries.get_mut(&id) {
            // An entry that a taker has, or that is newer than the row that was read, stays.
            let Some(held) = entry.ready else { return false };
            let (seen, listed) = ((message.receives, ready), (entry.message.receives, held));
            if seen <= listed {
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

    /// Takes up to `max` ready messages, in order.
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

    /// A taker has leased the message until this time.
    pub(crate) fn leased(&mut self, id: MessageId, receives: u32, until: Timestamp) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.message.receives = receives;
            self.set_ready(id, Some(until));
        }
    }

    /// Moves the end of a lease, if `receives` still names it.
    pub(crate) fn extended(&mut self, id: MessageId, receives: u32, until: Timestamp) {
        let same = |entry: &Entry| entry.message.receives == receives && entry.ready.is_some();
        if self.entries.get(&id).is_some_and(same) {
            self.set_ready(id, Some(until));
        }
    }

    /// A taker failed to lease the message for an unknown reason.
    pub(crate) fn give_back(&mut self, id: MessageId, ready: Timestamp) {
        if self.entries.get(&id).is_some_and(|entry| entry.ready.is_none()) {
            self.set_ready(id, Some(ready));
        }
    }

    /// Removes a message that is gone.
    pub(crate) fn forget(&mut self, id: MessageId) {
        if let Some(entry) = self.entries.remove(&id) {
            self.bytes -= entry.message.weight();
            if let Some(ready) = entry.ready {
                self.order.remove(&(ready, id));
            }
        }
    }

    /// The time at which the next message is ready.
    pub(crate) fn next_ready(&self) -> Option<Timestamp> {
        self.order.first().map(|(ready, _)| *ready)
    }

    /// Whether there is room again for messages that the limits kept in the table.
    pub(crate) fn wants_more(&self) -> bool {
        let room = self.entries.len() <= self.count_max / 2 && self.bytes <= self.bytes_max / 2;
        self.crowded && room
    }

    /// Whether a due message may be in the table although there is room: the wall clock was set
    /// ahead, past all that was read.
    pub(crate) fn is_overtaken(&self, now: Timestamp) -> bool {
        !self.crowded && self.admitted_until <= MessageId::before(now)
    }

    /// Prepares for a read of the table up to `to`. Messages sent during that read are admitted
    /// too.
    pub(crate) fn begin_reading(&mut self, to: Timestamp) {
        self.admitted_until = self.admitted_until.max(MessageId::before(to));
        self.crowded = false;
    }

    /// Ends a read of the table that was complete only up to `read_to`.
    pub(crate) fn end_reading(&mut self, read_to: MessageId) {
        if read_to >= self.admitted_until {
            return;
        }
        self.admitted_until = read_to;
        self.crowded = true;
        let beyond = |(ready, id): &&(Timestamp, MessageId)| {
            // A leased message stays: only this list knows the end of its lease.
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

    /// Removes messages that are due later than `message`, until it fits. They stay in the table.
    fn make_room(&mut self, message: &Message) -> bool {
        /// Leased messages cannot be removed. This bounds how many of them are skipped.
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

    use super::ReadyList;
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
    fn a_taken_message_is_not_handed_out_again_until_it_is_given_back() {
        let mut ready_list = ReadyList::default();
        ready_list.begin_reading(at(100));
        assert!(ready_list.admit(message(1, 10), at(0)));
        assert_eq!(ready_list.take(at(9), 5), []);
        let taken = ready_list.take(at(10), 5);
        assert_eq!(taken.len(), 1);
        // Another reader sees the row as it was.
        assert!(!ready_list.admit(message(1, 10), at(0)));
        assert_eq!(ready_list.take(at(50), 5), []);
        ready_list.give_back(taken[0].id, at(20));
        assert_eq!((ready_list.take(at(19), 5).len(), ready_list.take(at(20), 5).len()), (0, 1));
        ready_list.leased(taken[0].id, 1, at(60));
        ready_list.give_back(taken[0].id, at(20));
        ready_list.extended(taken[0].id, 0, at(30));
        assert_eq!(ready_list.next_ready(), Some(at(60)));
    }

    #[test]
    fn messages_that_do_not_fit_stay_in_the_table_and_are_loaded_when_there_is_room() {
        let mut ready_list = ReadyList::bounded(usize::MAX, 1_000);
        ready_list.begin_reading(at(100));
        // Each has 210 bytes.
        for number in 1..=6 {
            ready_list.admit(message(number, 50 - u64::try_from(number).unwrap()), at(0));
        }
        let dues: Vec<u64> =
            ready_list.take(at(99), 9).iter().map(|message| message.due().millis()).collect();
        assert_eq!(dues, [44, 45, 46, 47]);
        assert!(!ready_list.wants_more());
        ready_list.forget(message(6, 44).id);
        ready_list.forget(message(5, 45).id);
        assert!(ready_list.wants_more());
    }

    /// Reads the table as the keeper does: in order, up to `share` rows.
    fn refresh(
        ready_list: &mut ReadyList,
        table: &BTreeMap<MessageId, (Message, u64)>,
        share: usize,
    ) {
        ready_list.begin_reading(at(1_000));
        let mut read_to = MessageId::before(at(1_000));
        for (row, (message, until)) in table.values().enumerate() {
            if row == share {
                read_to = message.id;
                break;
            }
            ready_list.admit(message.clone(), at(*until));
        }
        ready_list.end_reading(read_to);
    }

    #[test]
    fn more_than_fit_may_be_due_at_one_time() {
        let mut ready_list = ReadyList::bounded(COUNT_MAX, usize::MAX);
        let rows = (1..=40).map(|number| message(number, 7));
        let mut table: BTreeMap<_, _> = rows.map(|row| (row.id, (row, 0))).collect();
        refresh(&mut ready_list, &table, COUNT_MAX);
        for _ in 0..40 {
            for taken in ready_list.take(at(7), 1) {
                table.remove(&taken.id);
                ready_list.forget(taken.id);
            }
            if ready_list.wants_more() {
                refresh(&mut ready_list, &table, COUNT_MAX);
            }
        }
        assert_eq!(table.len(), 0);
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(200))]

        #[test]
        fn no_message_is_lost_and_none_is_ready_too_early(
            steps in vec((0..4_u8, any::<u16>()), 1..120),
        ) {
            let mut ready_list = ReadyList::bounded(COUNT_MAX, usize::MAX);
            let mut table: BTreeMap<MessageId, (Message, u64)> = BTreeMap::new();
            refresh(&mut ready_list, &table, COUNT_MAX);
            let mut now = 0;
            for (number, (step, draw)) in steps.into_iter().enumerate() {
                let draw = u64::from(draw);
                match step {
                    0 | 1 => {
                        let new = message(u128::try_from(number).unwrap(), now + draw % 50);
                        table.insert(new.id, (new.clone(), 0));
                        ready_list.admit(new, at(0));
                    }
                    2 => now += draw % 20,
                    _ => {
                        for mut taken in ready_list.take(at(now), 3) {
                            let (row, until) = table.get_mut(&taken.id).unwrap();
                            prop_assert!(*until <= now && taken.due().millis() <= now);
                            taken.receives += 1;
                            (*row, *until) = (taken.clone(), now + 10);
                            ready_list.leased(taken.id, taken.receives, at(now + 10));
                            if draw % 2 == 0 {
                                table.remove(&taken.id);
                                ready_list.forget(taken.id);
                            }
                        }
                    }
                }
                prop_assert!(ready_list.order.len() <= COUNT_MAX);
                if ready_list.wants_more() {
                    refresh(&mut ready_list, &table, COUNT_MAX);
                }
            }
            // A consumer that keeps taking and refreshing gets every message.
            for _ in 0..200 {
                now += 20;
                for taken in ready_list.take(at(now), 3) {
                    table.remove(&taken.id);
                    ready_list.forget(taken.id);
                }
                if ready_list.wants_more() {
                    refresh(&mut ready_list, &table, COUNT_MAX);
                }
            }
            prop_assert_eq!(table.len(), 0);
        }
    }
}
