//! Where slots live.
//!
//! ```text
//!   table AiResponseMetrics (the seed's; its name can be set)
//!   metricName            slotTime               item
//!   <metric>              2025-12-02T10:23:05Z   count; status, attempts, latencyMs, latenessMs,
//!   <metric>#<source>                            collectedAt, otherCount, expiresAt
//!   <metric>#<source>#<day>
//!
//!   table collect (what the room knows besides)
//!   pk          sk            item
//!   SOURCES     <name>        a source: its form if it came by the API, and its spans
//!   MARKS       plan          the minute up to which slots are planned
//!   MARKS       rolled        the minute up to which slots are rolled up
//!   MARKS       sources       moved by every change of a source
//!   GAPS        <from>        a time in which nobody planned, up to when and why
//!   L#<key>     <slot time>   a slot that has no value: its state, tries and reason
//!   M#<key>     <minute>      the roll-up of a minute
//!   H#<key>     <hour>        the roll-up of an hour
//!   BACKFILLS   <id>          a backfill and how far it is
//! ```
//!
//! A row of the seed's table is a value that came: a slot without one has no row there, so that a
//! reader of the table meets no holes that look like zeros. What went wrong stands in the ledger
//! (`L#`); where both are, the value counts. Invariant: a value is written once; a second answer
//! changes `status` and `otherCount`, never `count`.

pub(crate) mod backfill;
pub(crate) mod files;
pub(crate) mod source;

use base::Timestamp;
use table::{
    Delete, Get, Item, KeyAttribute, KeySpec, Put, Query, SortCondition, TableSpec, TransactItem,
    Update, attr,
};

use crate::limits::{GAP_KEPT_DAYS, MINUTES_KEPT_TIMES, ONE_PARTITION_DAYS};
use crate::model::slot::{HOUR_S, MINUTE_S, Slot, Span, read_time, slots_between, spell};
use crate::model::source::{DEFAULT, Source};
use crate::model::tally::{Entry, State, Tally};

const ROOM: &str = "collect";
const DAY_S: u64 = 24 * HOUR_S;

/// The table of values.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    table: String,
}

/// The room's own table, for the store to make.
pub(crate) fn table() -> TableSpec {
    TableSpec::new(ROOM, KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("sk")))
        .expiring_by("ttl")
}

impl Values {
    pub(crate) fn new(table: &str) -> Values {
        Values { table: table.to_owned() }
    }

    /// The table, for the store to make.
    pub(crate) fn table(&self) -> TableSpec {
        let key = KeySpec::composite(KeyAttribute::s("metricName"), KeyAttribute::s("slotTime"));
        TableSpec::new(self.table.as_str(), key).expiring_by("expiresAt")
    }

    /// Writes a value, if there is none.
    pub(crate) fn put(&self, source: &Source, entry: &Entry) -> Put {
        let mut item = value_key(source, entry.slot)
            .with("status", entry.state.word())
            .with("attempts", entry.attempts);
        let numbers = [
            ("count", entry.count),
            ("latencyMs", entry.latency_ms),
            ("latenessMs", entry.lateness_ms),
            ("expiresAt", expiry(entry.slot.from(), source.retention_days)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                item.insert(name, number);
            }
        }
        if let Some(time) = entry.collected_at {
            item.insert("collectedAt", time.to_string());
        }
        Put::new(self.table.as_str(), item).when(attr("metricName").not_exists()).telling()
    }

    /// Notes that a later answer said something else than the value that is there.
    pub(crate) fn note_conflict(&self, source: &Source, slot: Slot, other: u64) -> Update {
        Update::new(self.table.as_str(), value_key(source, slot))
            .set("status", State::Conflict.word())
            .set("otherCount", other)
            .when(attr("count").exists())
    }

    /// The values of the slots that begin from `from` on and before `to`: a query for each of
    /// their partitions, in order.
    pub(crate) fn query(&self, source: &Source, from: Timestamp, to: Timestamp) -> Vec<Query> {
        let days: Vec<String> = match is_by_day(source) {
            false => vec![source.key()],
            true => slots_between(DAY_S, Slot::holding(from, DAY_S).from(), to)
                .map(|day| partition(source, day.from()))
                .collect(),
        };
        let query = |key: String| {
            Query::new(self.table.as_str(), "metricName", key)
                .sort("slotTime", between(from, to))
                .consistent()
        };
        days.into_iter().map(query).collect()
    }
}

/// The value in a row.
pub(crate) fn read_value(item: &Item, source: &Source, spans: &[Span]) -> Option<Entry> {
    let from = read_time(item.get("slotTime")?.as_s()?)?;
    Some(Entry {
        slot: Slot::beginning(from, spans, source.rhythm.interval_s),
        // A row of somebody who knows only the seed's attributes is good.
        state: text(item, "status").and_then(State::parse).unwrap_or(State::Ok),
        count: Some(number(item, "count")?),
        other_count: number(item, "otherCount"),
        attempts: attempts(item),
        latency_ms: number(item, "latencyMs"),
        lateness_ms: number(item, "latenessMs"),
        collected_at: time(item, "collectedAt"),
        reason: None,
    })
}

/// The count in a row that was found where a value was to be written.
pub(crate) fn read_count(item: &Item) -> Option<u64> {
    number(item, "count")
}

fn value_key(source: &Source, slot: Slot) -> Item {
    Item::new()
        .with("metricName", partition(source, slot.from()))
        .with("slotTime", spell(slot.from()))
}

fn partition(source: &Source, time: Timestamp) -> String {
    let mut key = source.key();
    if is_by_day(source) {
        key.push('#');
        key.extend(spell(time).chars().take("YYYY-MM-DD".len()));
    }
    key
}

/// Whether a source has a partition for each day. The seed's never has.
fn is_by_day(source: &Source) -> bool {
    source.name != DEFAULT
        && source.rhythm.interval_s < MINUTE_S
        && source.retention_days.is_none_or(|days| days > ONE_PARTITION_DAYS)
}

// The ledger

/// Notes a slot that has no value.
pub(crate) fn put_trouble(source: &Source, entry: &Entry) -> Put {
    let mut item = key(format!("L#{}", source.key()), spell(entry.slot.from()))
        .with("state", entry.state.word())
        .with("attempts", entry.attempts);
    if let Some(reason) = &entry.reason {
        item.insert("reason", reason.as_str());
    }
    keep(&mut item, entry.slot.from(), source.retention_days);
    Put::new(ROOM, item)
}

/// Forgets what went wrong with a slot.
pub(crate) fn delete_trouble(source: &Source, slot: Slot) -> Delete {
    Delete::new(ROOM, key(format!("L#{}", source.key()), spell(slot.from())))
}

/// What went wrong with the slots that begin from `from` on and before `to`.
pub(crate) fn query_troubles(source: &Source, from: Timestamp, to: Timestamp) -> Query {
    Query::new(ROOM, "pk", format!("L#{}", source.key())).sort("sk", between(from, to)).consistent()
}

/// What went wrong with a slot, in its row.
pub(crate) fn read_trouble(item: &Item, source: &Source, spans: &[Span]) -> Option<Entry> {
    let from = read_time(text(item, "sk")?)?;
    let slot = Slot::beginning(from, spans, source.rhythm.interval_s);
    Some(Entry {
        state: State::parse(text(item, "state")?)?,
        attempts: attempts(item),
        reason: text(item, "reason").map(str::to_owned),
        ..Entry::missing(slot)
    })
}

// Roll-ups

/// How coarse a roll-up is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Minute,
    Hour,
}

impl Step {
    pub(crate) fn seconds(self) -> u64 {
        match self {
            Step::Minute => MINUTE_S,
            Step::Hour => HOUR_S,
        }
    }

    fn partition(self, source: &Source) -> String {
        match self {
            Step::Minute => format!("M#{}", source.key()),
            Step::Hour => format!("H#{}", source.key()),
        }
    }
}

/// Writes a roll-up, unless one is there that knows more: values come and never go, so the one
/// with more of them was made later.
pub(crate) fn put_tally(source: &Source, step: Step, from: Timestamp, tally: &Tally) -> Put {
    let mut item = key(step.partition(source), spell(from))
        .with("expected", tally.expected)
        .with("collected", tally.collected)
        .with("sum", tally.sum);
    for (name, bound) in [("min", tally.min), ("max", tally.max)] {
        if let Some(bound) = bound {
            item.insert(name, bound);
        }
    }
    if step == Step::Minute {
        let days = source.retention_days.map(|days| days.saturating_mul(MINUTES_KEPT_TIMES));
        keep(&mut item, from, days);
    }
    let knows_less = attr("collected").not_exists().or(attr("collected").le(tally.collected));
    Put::new(ROOM, item).when(knows_less)
}

/// The roll-ups from `from` on and before `to`.
pub(crate) fn query_tallies(source: &Source, step: Step, from: Timestamp, to: Timestamp) -> Query {
    Query::new(ROOM, "pk", step.partition(source)).sort("sk", between(from, to)).consistent()
}

/// A roll-up in its row.
pub(crate) fn read_tally(item: &Item) -> Option<(Timestamp, Tally)> {
    let tally = Tally {
        expected: number(item, "expected")?,
        collected: number(item, "collected")?,
        sum: number(item, "sum")?,
        min: number(item, "min"),
        max: number(item, "max"),
    };
    Some((read_time(text(item, "sk")?)?, tally))
}

// Marks and gaps

/// How far something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Plan,
    Rolled,
}

impl Mark {
    fn key(self) -> Item {
        match self {
            Mark::Plan => key("MARKS", "plan"),
            Mark::Rolled => key("MARKS", "rolled"),
        }
    }
}

/// Reads how far something is.
pub(crate) fn get_mark(mark: Mark) -> Get {
    Get::new(ROOM, mark.key())
}

/// Moves a mark forward; it never moves back.
pub(crate) fn move_mark(mark: Mark, until: Timestamp) -> TransactItem {
    let until = spell(until);
    let before = attr("until").not_exists().or(attr("until").lt(until.as_str()));
    Update::new(ROOM, mark.key()).set("until", until).when(before).into()
}

/// A mark in its row.
pub(crate) fn read_mark(item: &Item) -> Option<Timestamp> {
    read_time(text(item, "until")?)
}

/// A time in which nobody planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// Whether the clock was set, instead of the house being closed.
    pub(crate) by_clock: bool,
}

/// Notes a gap.
pub(crate) fn put_gap(gap: &Gap) -> TransactItem {
    let mut item =
        key("GAPS", spell(gap.from)).with("until", spell(gap.to)).with("byClock", gap.by_clock);
    keep(&mut item, gap.to, Some(GAP_KEPT_DAYS));
    Put::new(ROOM, item).into()
}

/// The last gaps, the newest first.
pub(crate) fn query_gaps(limit: u32) -> Query {
    Query::new(ROOM, "pk", "GAPS").descending().limit(limit).consistent()
}

/// A gap in its row.
pub(crate) fn read_gap(item: &Item) -> Option<Gap> {
    let by_clock = matches!(item.get("byClock"), Some(table::Value::Bool(true)));
    Some(Gap { from: read_time(text(item, "sk")?)?, to: read_mark(item)?, by_clock })
}

// Helpers

fn key(pk: impl Into<String>, sk: impl Into<String>) -> Item {
    Item::new().with("pk", pk.into()).with("sk", sk.into())
}

/// Sort keys from `from` on and before `to`: whole seconds, the one before the other.
fn between(from: Timestamp, to: Timestamp) -> SortCondition {
    let last = Timestamp::from_millis(to.millis().saturating_sub(1));
    SortCondition::Between(spell(from).into(), spell(last).into())
}

fn keep(item: &mut Item, since: Timestamp, days: Option<u64>) {
    if let Some(second) = expiry(since, days) {
        item.insert("ttl", second);
    }
}

/// The second from which something is gone.
fn expiry(since: Timestamp, days: Option<u64>) -> Option<u64> {
    days.map(|days| since.seconds().saturating_add(days.saturating_mul(DAY_S)))
}

fn text<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.get(name)?.as_s()
}

fn number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n()?.floor_u64()
}

fn time(item: &Item, name: &str) -> Option<Timestamp> {
    text(item, name)?.parse().ok()
}

fn attempts(item: &Item) -> u32 {
    number(item, "attempts").and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or(1)
}
