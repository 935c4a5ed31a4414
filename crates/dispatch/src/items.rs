//! Where everything that is dispatched lives: one table.
//!
//! ```text
//! pk                   sk               item
//! Q#<queue>#<shard>    <due ms>#<id>    message: body, sent, receives, until (of its lease)
//! D#<queue>            <died ms>#<id>   dead letter: body, sent, receives, reason
//! C                    <consumer>       subscription of the bus: kinds
//! M#<consumer>         <fact>           mark: the consumer has done this fact
//! L#<lease>            -                lease: holder, until, token
//! J                    <job>            job: schedule, next, paused, asked
//! H#<job>              <token mod n>    run: tick, began, ended, outcome
//! I                    -                all instances by their ids: seen, queues
//! ```
//!
//! `gone` is the table's TTL. Times are milliseconds of Unix time, in sort keys with fifteen
//! digits, so that the first rows of a shard are those due first. A lease is written into the
//! row of its message: no index rows, and a message costs three writes in its life.

use base::Timestamp;
use table::{Item, KeyAttribute, KeySpec, TableSpec, Value};

use crate::error::Error;

/// The table.
pub(crate) const TABLE: &str = "dispatch";
/// The attribute that holds the second from which a row is gone.
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

/// A time in a sort key.
pub(crate) fn sortable(time: Timestamp) -> String {
    format!("{:015}", time.millis())
}

/// A number of a row.
pub(crate) fn number(item: &Item, name: &str) -> Result<u64, Error> {
    let number = item.get(name).and_then(|value| value.as_n()?.floor_u64());
    number.ok_or_else(|| misfit(item, name))
}

/// A time of a row that may not be there.
pub(crate) fn find_time(item: &Item, name: &str) -> Option<Timestamp> {
    item.get(name)?.as_n()?.floor_u64().map(Timestamp::from_millis)
}

/// A time of a row.
pub(crate) fn time(item: &Item, name: &str) -> Result<Timestamp, Error> {
    number(item, name).map(Timestamp::from_millis)
}

/// A text of a row.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Result<&'a str, Error> {
    item.get(name).and_then(Value::as_s).ok_or_else(|| misfit(item, name))
}

/// A row that somebody else must have written.
pub(crate) fn misfit(item: &Item, name: &str) -> Error {
    let word = |name| item.get(name).and_then(Value::as_s).unwrap_or("?").to_owned();
    Error::Misfit(format!("`{name}` of row `{}` `{}` in `{TABLE}`", word("pk"), word("sk")))
}
