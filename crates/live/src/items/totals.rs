//! How much the whole house holds: one row of the marks, under `TOTAL`.
//!
//! Invariant: `rooms` moves in the transaction that opens or removes a room, so it is exact at every
//! instance and after every restart. `comments` is what the last census counted.

use base::Timestamp;
use table::{Get, Item, TransactItem, Update, attr};

use super::{Layout, number};

const ROOMS: &str = "rooms";
const COMMENTS: &str = "comments";
const COUNTED: &str = "countedMs";

/// What the house holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) rooms: u64,
    /// Comments and changes of all rooms, at the last census.
    pub(crate) comments: u64,
    /// When that was; 0 before the first one.
    pub(crate) counted_ms: u64,
}

impl Layout {
    /// Reads what the house holds.
    pub(crate) fn get_totals(&self) -> Get {
        Get::new(&self.marks, total_key())
    }

    /// Counts one more room, if there are fewer than `max`.
    pub(super) fn count_room(&self, max: u64) -> TransactItem {
        let free = attr(ROOMS).not_exists().or(attr(ROOMS).lt(max));
        Update::new(&self.marks, total_key()).add(ROOMS, 1_u64).when(free).into()
    }

    /// Counts one room less.
    pub(super) fn discount_room(&self) -> TransactItem {
        Update::new(&self.marks, total_key()).add(ROOMS, -1_i64).into()
    }

    /// Notes the comments of a census.
    pub(crate) fn put_census(&self, comments: u64, now: Timestamp) -> Update {
        let update = Update::new(&self.marks, total_key());
        update.set(COMMENTS, comments).set(COUNTED, now.millis())
    }

    /// Corrects the number of rooms to what was counted, if it is still the one that was read.
    pub(crate) fn correct_rooms(&self, counted: u64, read: Option<u64>) -> Update {
        let unchanged = match read {
            Some(read) => attr(ROOMS).eq(read),
            None => attr(ROOMS).not_exists(),
        };
        Update::new(&self.marks, total_key()).set(ROOMS, counted).when(unchanged)
    }
}

/// What the house holds; no number of rooms if it was never counted.
pub(crate) fn read_totals(item: &Item) -> (Totals, bool) {
    let rooms = number(item, ROOMS);
    let comments = number(item, COMMENTS).unwrap_or_default();
    let counted_ms = number(item, COUNTED).unwrap_or_default();
    (Totals { rooms: rooms.unwrap_or_default(), comments, counted_ms }, rooms.is_some())
}

fn total_key() -> Item {
    Item::new().with("pk", "TOTAL").with("sk", "TOTAL")
}
