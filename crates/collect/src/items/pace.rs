//! Paces: when the next of the calls that share a rate may be made, on whichever instance.

use base::Timestamp;
use table::{Item, Return, Update, attr};

use super::{DAY_S, ROOM, key, number};
use crate::limits::BACKFILL_KEPT_DAYS;

/// Takes the next `calls_ms` milliseconds of a pace, from `now` on, where earlier calls have taken
/// more than that; the answer tells when they end.
pub(crate) fn extend_pace(id: &str, calls_ms: u64, now: Timestamp) -> Update {
    Update::new(ROOM, key("PACES", id))
        .add("free", calls_ms)
        .set("ttl", pace_expiry(now))
        .when(attr("free").ge(now.millis()))
        .returning(Return::UpdatedNew)
}

/// The same where nobody has taken so much.
pub(crate) fn begin_pace(id: &str, calls_ms: u64, now: Timestamp) -> Update {
    Update::new(ROOM, key("PACES", id))
        .set("free", now.millis().saturating_add(calls_ms))
        .set("ttl", pace_expiry(now))
        .when(attr("free").not_exists().or(attr("free").lt(now.millis())))
        .returning(Return::UpdatedNew)
}

/// When the pace is free again.
pub(crate) fn read_pace(item: &Item) -> Option<u64> {
    number(item, "free")
}

fn pace_expiry(now: Timestamp) -> u64 {
    now.seconds().saturating_add(BACKFILL_KEPT_DAYS.saturating_mul(DAY_S))
}
