//! The messages of one queue that this instance knows: which is to be taken next, and when.
//!
//! A message is ready at its due time, or when its lease ends. What is here is a guess about the
//! table: a lease is decided there, by a condition. Filled by what is sent here and by reading
//! the table (`keeper.rs`).
//!
//! Invariants:
//! - Every message that this instance has sent or read and that is due before `admitted_until` is
//!   here until it is gone.
//! - A message is handed to one taker at a time.
//! - Bounded in number and weight: what is due last stays in the table.

use std::collections::{BTreeSet, HashMap};

use base::Timestamp;

use super::message::{Message, MessageId};
use crate::limits::{KNOWN_BYTES_MAX, KNOWN_MAX};

/// Messages in the order in which they become ready.
#[derive(Default)]
pub(crate) struct Known {
    entries: HashMap<MessageId, Entry>,
    order: BTreeSet<(Timestamp, MessageId)>,
    bytes: usize,
    /// Messages due from here on stay in the table. At the beginning that is all.
    admitted_until: Timestamp,
    /// Whether `admitted_until` is there because of the bounds.
    crowded: bool,
}

struct Entry {
    message: Message,
    /// None while a taker has it.
    ready: Option<Timestamp>,
}

impl Known {
    /// Takes in a message as it was seen in the table, held until `until`. Answers whether it is
    /// now the first.
    pub(crate) fn admit(&mut self, message: Message, until: Timestamp) -> bool {
        if message.due() >= self.admitted_until {
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
                self.admitted_until = message.due();
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
        self.crowded && self.entries.len() <= KNOWN_MAX / 2 && self.bytes <= KNOWN_BYTES_MAX / 2
    }

    /// The table is going to be read up to there; what is sent meanwhile may not be missed.
    pub(crate) fn begin_reading(&mut self, to: Timestamp) {
        self.admitted_until = self.admitted_until.max(to);
        self.crowded = false;
    }

    /// The table was read, whole only up to `read_to`.
    pub(crate) fn end_reading(&mut self, read_to: Timestamp) {
        if read_to >= self.admitted_until {
            return;
        }
        self.admitted_until = read_to;
        self.crowded = true;
        let beyond = |(ready, id): &&(Timestamp, MessageId)| {
            // What is leased stays: its end is known only here.
            *ready == id.due() && id.due() >= read_to
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
        while self.entries.len() >= KNOWN_MAX || self.bytes + message.weight() > KNOWN_BYTES_MAX {
            let last = self.order.iter().rev().take(LOOKED_OVER);
            let last = last.map(|(ready, id)| (*ready, *id)).find(|(ready, id)| *ready == id.due());
            match last {
                Some((_, id)) if id > message.id => {
                    self.forget(id);
                    self.admitted_until = id.due();
                    self.crowded = true;
                }
                Some(_) | None => return false,
            }
        }
        true
    }
}
