//! The one table of dispatch, and its rows.
//!
//! ```text
//! pk                   sk               item
//! Q#<queue>#<shard>    <due ms>#<id>    message: body, sent, receives, until (end of the lease)
//! D#<queue>            <died ms>#<id>   dead letter: body, sent, receives, reason
//! C                    <consumer>       subscription of the bus: kinds
//! M#<consumer>         <fact>           mark: the consumer has handled this fact
//! L#<lease>            -                lease: holder, until, token
//! J                    <job>            job: schedule, next, paused, asked
//! H#<job>              <token mod n>    run: tick, began, ended, outcome
//! I                    -                all instances by id: seen, queues
//! ```
//!
//! `gone` is the table's TTL. Times are Unix milliseconds, in sort keys with fifteen digits, so
//! that the first rows of a shard are the first due. A lease is part of the row of its message:
//! there are no index rows, and a message costs three writes in its life.

use base::Timestamp;
use table::{Item, KeyAttribute, KeySpec, TableSpec, Value};

use crate::error::Error;

/// The name of the table.
pub(crate) const TABLE: &str = "dispatch";
/// The attribute with the second at which a row expires.
pub(crate) const GONE: &str = "gone";

/// The declaration of the table.
pub(crate) fn spec() -> TableSpec {
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("sk"));
    TableSpec::new(TABLE, key).expiring_by(GONE)
}

/// A key of the table.
pub(crate) fn key(pk: impl Into<Value>, sk: impl Into<Value>) -> Item {
    Item::with_capacity(2).with("pk", pk).with("sk", sk)
}

/// A time as part of a sort key.
pub(crate) fn sortable(time: Timestamp) -> String {
    format!("{:015}", time.millis())
}

/// A required number of a row.
pub(crate) fn number(item: &Item, name: &str) -> Result<u64, Error> {
    let number = item.get(name).and_then(|value| value.as_n()?.floor_u64());
    number.ok_or_else(|| misfit(item, name))
}

/// An optional time of a row.
pub(crate) fn find_time(item: &Item, name: &str) -> Option<Timestamp> {
    item.get(name)?.as_n()?.floor_u64().map(Timestamp::from_millis)
}

/// A required time of a row.
pub(crate) fn time(item: &Item, name: &str) -> Result<Timestamp, Error> {
    number(item, name).map(Timestamp::from_millis)
}

/// A required text of a row.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Result<&'a str, Error> {
    item.get(name).and_then(Value::as_s).ok_or_else(|| misfit(item, name))
}

/// The error for a row that this code did not write.
pub(crate) fn misfit(item: &Item, name: &str) -> Error {
    let word = |name| item.get(name).and_then(Value::as_s).unwrap_or("?").to_owned();
    Error::Misfit(format!("`{name}` of row `{}` `{}` in `{TABLE}`", word("pk"), word("sk")))
}
