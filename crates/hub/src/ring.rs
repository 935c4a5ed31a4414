//! The history of a topic: its newest pushes, bounded in count, bytes and age.
//!
//! Beyond these limits it holds pushes for draining readers, for a moment and up to limits of its
//! own. `topic.rs` decides from which push on.
//!
//! Invariants: serials are contiguous, offsets grow, and every push of the topic with an offset
//! above `floor` is here. `floor` only grows within one numbering.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base::Monotonic;

use crate::limits;
use crate::push::{Push, Text};

/// How much of a topic is kept for readers that resume or start late.
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
    /// Keeps nothing: a resuming reader gets a gap.
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
    /// The offset of the newest push that was removed.
    floor: u64,
    /// The offset of the newest push of all.
    head: u64,
    next_serial: u64,
    /// Pushes from this serial on are held for draining readers.
    held: Option<u64>,
}

impl Ring {
    /// The history of a topic that gets all pushes after `floor`.
    pub(crate) fn new(history: History, floor: u64) -> Ring {
        let pushes = VecDeque::new();
        Ring { history, pushes, bytes: 0, floor, head: floor, next_serial: 0, held: None }
    }

    /// Adds a push with this number; `None` if the topic has this or a later number already.
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

    /// Marks pushes up to this number as possibly lost: the history has a hole now. Returns whether
    /// this was news.
    pub(crate) fn lose(&mut self, offset: u64) -> bool {
        let is_news = offset > self.head;
        if is_news {
            self.renumber(offset);
        }
        is_news
    }

    /// Restarts the offsets after `offset`, which may be lower than before.
    pub(crate) fn renumber(&mut self, offset: u64) {
        self.pushes = VecDeque::new();
        self.bytes = 0;
        (self.floor, self.head) = (offset, offset);
        // Stands for the lost push, so that members notice the hole.
        self.next_serial += 1;
    }

    /// Holds pushes from this serial on, or none, until the next call.
    pub(crate) fn hold(&mut self, from: Option<u64>) {
        self.held = from;
    }

    /// Holds pushes from this serial on, in addition to those already held.
    pub(crate) fn hold_too(&mut self, from: u64) {
        self.held = Some(self.held.map_or(from, |held| held.min(from)));
    }

    /// Removes pushes past a limit.
    pub(crate) fn trim(&mut self, now: Monotonic) {
        while let Some(oldest) = self.pushes.front() {
            if self.is_kept(oldest, now) {
                return;
            }
            self.bytes -= oldest.text.len();
            self.floor = oldest.offset;
            self.pushes.pop_front();
        }
        // A quiet topic gives back the memory of its busy past.
        self.pushes.shrink_to_fit();
    }

    /// Whether the oldest push stays.
    fn is_kept(&self, oldest: &Push, now: Monotonic) -> bool {
        let (count, age) = (self.pushes.len(), now.since(oldest.at));
        let History { pushes, bytes, age: age_max } = self.history;
        if count <= pushes && self.bytes <= bytes && age < age_max {
            return true;
        }
        // A channel without history holds nothing.
        !self.history.is_none()
            && self.held.is_some_and(|held| oldest.serial >= held)
            && count <= pushes.saturating_add(limits::HELD_PUSHES)
            && self.bytes <= bytes.saturating_add(limits::HELD_BYTES)
            && age < limits::GRACE.min(age_max)
    }

    /// The serial of the first push after `offset`; `None` if some of these are gone. `newest` is
    /// the highest number of all topics.
    pub(crate) fn find_serial_after(&self, offset: u64, newest: u64) -> Option<u64> {
        // A number that was never given out comes from another lifetime, whatever its epoch says. A
        // number of another topic is valid: another instance had removed this topic and stood
        // there.
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

    /// The serial of the oldest push here, or of the next push if there is none.
    pub(crate) fn first_serial(&self) -> u64 {
        self.next_serial - self.pushes.len() as u64
    }

    /// The serial of the next push.
    pub(crate) fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// The offset of the newest push.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// The offset of the newest removed push.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pushes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{GRACE, HELD_BYTES, HELD_PUSHES};

    const KEPT: History = History { pushes: 10, bytes: 1_000, age: Duration::from_secs(60) };

    /// A ring that holds everything from its first push on, after this number of pushes.
    fn holding(history: History, pushes: usize, text: &str, at: Monotonic) -> Ring {
        let mut ring = Ring::new(history, 0);
        ring.hold(Some(0));
        for _ in 0..pushes {
            ring.append(ring.head() + 1, at, Text::from(text.to_owned())).unwrap();
        }
        ring
    }

    fn start() -> Monotonic {
        base::Clock::virtual_at(base::Timestamp::EPOCH).0.instant()
    }

    #[test]
    fn held_pushes_outlive_history_until_they_are_released() {
        let mut ring = holding(KEPT, 100, "x", start());
        assert_eq!((ring.pushes.len(), ring.first_serial()), (100, 0));
        ring.hold(Some(60));
        ring.trim(start());
        assert_eq!((ring.pushes.len(), ring.first_serial()), (40, 60));
        ring.hold(None);
        ring.trim(start());
        assert_eq!((ring.pushes.len(), ring.first_serial(), ring.floor()), (10, 90, 90));
    }

    #[test]
    fn held_pushes_are_bounded_in_count_and_bytes() {
        let ring = holding(KEPT, HELD_PUSHES + 100, "", start());
        assert_eq!(ring.pushes.len(), HELD_PUSHES + KEPT.pushes);
        let megabyte = "x".repeat(1 << 20);
        let ring = holding(KEPT, 20, &megabyte, start());
        assert_eq!(ring.pushes.len(), HELD_BYTES >> 20);
    }

    #[test]
    fn held_pushes_are_kept_for_a_moment_only() {
        let begin = start();
        let mut ring = holding(KEPT, 100, "x", begin);
        ring.trim(begin.after(GRACE - Duration::from_millis(1)));
        assert_eq!(ring.pushes.len(), 100);
        ring.trim(begin.after(GRACE));
        assert_eq!(ring.pushes.len(), KEPT.pushes);
    }

    #[test]
    fn a_channel_without_history_holds_nothing() {
        assert!(holding(History::NONE, 3, "x", start()).is_empty());
    }
}
