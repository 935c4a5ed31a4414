//! A topic's history: the newest pushes, bounded by count, bytes and age.
//!
//! Invariants: serials are contiguous, offsets grow, and every push of the topic with an offset
//! above `floor` is here. `floor` only grows
//! within one numbering.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base::Monotonic;

use crate::push::{Push, Text};

/// How much of a topic is kept for those who come back or come late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Pushes kept.
    pub pushes: usize,
    /// Bytes kept.
    pub bytes: usize,
    /// How long a push is kept.
    pub age: Duration,
}

impl History {
    /// Nothing is kept: who was away is told of the gap.
    pub const NONE: History = History { pushes: 0, bytes: 0, age: Duration::ZERO };

    pub(crate) fn is_none(&self) -> bool {
        self.pushes == 0 || self.bytes == 0 || self.age.is_zero()
    }
}

#[derive(Debug)]
pub(crate) struct Ring {
    history: History,
    pushes: VecDeque<Arc<Push>>,
    bytes: usize,
    /// The offset of the newest push that is not here any more.
    floor: u64,
    /// The offset of the newest push of all.
    head: u64,
    next_serial: u64,
}

impl Ring {
    /// Of a topic all of whose pushes after `floor` will come here.
    pub(crate) fn new(history: History, floor: u64) -> Ring {
        Ring { history, pushes: VecDeque::new(), bytes: 0, floor, head: floor, next_serial: 0 }
    }

    /// Adds a push with this number; `None` when the topic is past it already.
    pub(crate) fn append(&mut self, offset: u64, at: Monotonic, text: Text) -> Option<Arc<Push>> {
        if offset <= self.head {
            return None;
        }
        let push = Arc::new(Push::new(offset, self.next_serial, at, text));
        self.head = offset;
        self.next_serial += 1;
        self.bytes += push.text.len();
        self.pushes.push_back(push.clone());
        self.trim(at);
        Some(push)
    }

    /// Notes that pushes up to this number may be missing: what is kept is no whole history any
    /// more. Whether that is news.
    pub(crate) fn lose(&mut self, offset: u64) -> bool {
        let is_news = offset > self.head;
        if is_news {
            self.renumber(offset);
        }
        is_news
    }

    /// Begins anew behind this number, which need not be above the last.
    pub(crate) fn renumber(&mut self, offset: u64) {
        self.pushes = VecDeque::new();
        self.bytes = 0;
        (self.floor, self.head) = (offset, offset);
        // The serial of the push that nobody saw.
        self.next_serial += 1;
    }

    /// Lets go of what is past a bound.
    pub(crate) fn trim(&mut self, now: Monotonic) {
        while let Some(oldest) = self.pushes.front() {
            let kept = self.pushes.len() <= self.history.pushes
                && self.bytes <= self.history.bytes
                && now.since(oldest.at) < self.history.age;
            if kept {
                return;
            }
            self.bytes -= oldest.text.len();
            self.floor = oldest.offset;
            self.pushes.pop_front();
        }
        // A quiet topic holds no memory for a busy past.
        self.pushes.shrink_to_fit();
    }

    /// The serial of the first push behind `offset`; `None` when some of those are gone. `newest` is
    /// the newest number of all topics.
    pub(crate) fn find_serial_after(&self, offset: u64, newest: u64) -> Option<u64> {
        // A number that was never given out is another life's, whatever its epoch says; one that
        // another topic got is where another instance had forgotten this one.
        if offset < self.floor || offset > newest.max(self.head) {
            return None;
        }
        let at = self.pushes.partition_point(|push| push.offset <= offset);
        Some(self.first_serial() + at as u64)
    }

    /// The pushes from this serial on.
    pub(crate) fn since_serial(&self, serial: u64) -> impl Iterator<Item = &Arc<Push>> {
        let skip = serial.saturating_sub(self.first_serial());
        self.pushes.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX))
    }

    /// The serial of the oldest push here, or of the next to come.
    pub(crate) fn first_serial(&self) -> u64 {
        self.next_serial - self.pushes.len() as u64
    }

    /// The serial of the next push to come.
    pub(crate) fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// Behind the newest push.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// Behind the newest push that is gone.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pushes.is_empty()
    }
}
