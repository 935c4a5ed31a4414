//! Where slots live.
//!
//! ```text
//!   table AiResponseMetrics (the seed's; its name can be set)
//!   metricName            slotTime               item
//!   <metric>              2025-12-02T10:23:05Z   count; status, attempts, latencyMs, latenessMs,
//!   <metric>#<source>                            collectedAt, otherCount, expiresAt
//!   <metric>#<source>#<day>
//!
//!   Which of them holds a slot is decided by the slot's time (`model/layout.rs`).
//!
//!   table collect (what the room knows besides)
//!   pk          sk            item
//!   SOURCES     <name>        a source: its form if it came by the API, its last form if it stands in
//!                             the settings or is deleted, its spans, where its rows are
//!   MARKS       plan          the minute up to which slots are planned
//!   MARKS       rolled        the minute up to which slots are rolled up
//!   MARKS       sources       moved by every change of a source
//!   GAPS        <from>        a time in which nobody planned, up to when and why
//!   L#<key>     <slot time>   a slot that has no value: its state, tries and reason
//!   M#<key>     <minute>      the roll-up of a minute
//!   H#<key>     <hour>        the roll-up of an hour
//!   BACKFILLS   <id>          a backfill and how far it is
//!   PACES       <id>          when the next call of those that share a rate may be made
//! ```
//!
//! A row of the seed's table is a value that came: a slot without one has no row there, so that a
//! reader of the table meets no holes that look like zeros. What went wrong stands in the ledger
//! (`L#`); where both are, the value counts. Invariant: a value is written once; a second answer
//! changes `status` and `otherCount`, never `count`.

pub(crate) mod backfill;
pub(crate) mod files;
pub(crate) mod kept;
pub(crate) mod pace;
pub(crate) mod source;

use base::Timestamp;
use table::{
    Delete, Get, Item, KeyAttribute, KeySpec, Number, Put, Query, Scan, Secret, SortCondition,
    TableSpec, TransactItem, Update, attr,
};

use crate::limits::{GAP_KEPT_DAYS, MINUTES_KEPT_TIMES};
use crate::model::decimal::Decimal;
use crate::model::layout::{Layout, layout_at, layouts_between};
use crate::model::slot::{HOUR_S, MINUTE_S, Slot, Span, read_time, slots_between, spell};
use crate::model::source::Source;
use crate::model::tally::{Entry, State, Tally};

const ROOM: &str = "collect";
const DAY_S: u64 = 24 * HOUR_S;

/// Forms of sources may have secrets written into their URLs.
pub const SECRETS: &[Secret] = &[Secret::attributes(ROOM, &["form", "was"])];

/// A source, and where its rows are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) source: &'a Source,
    pub(crate) layouts: &'a [Layout],
}

impl Placed<'_> {
    /// What the rows of a slot that begins then are found under.
    fn key(self, time: Timestamp) -> String {
        layout_at(self.layouts, time).map_or_else(|| self.source.key(), |it| it.key.clone())
    }
}

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
    /// One value, if there is any.
    pub(crate) fn scan_first(&self) -> Scan {
        Scan::new(&self.table).limit(1)
    }

    pub(crate) fn new(table: &str) -> Values {
        Values { table: table.to_owned() }
    }

    /// The table, for the store to make.
    pub(crate) fn table(&self) -> TableSpec {
        let key = KeySpec::composite(KeyAttribute::s("metricName"), KeyAttribute::s("slotTime"));
        TableSpec::new(self.table.as_str(), key).expiring_by("expiresAt")
    }

    /// Writes a value, if there is none.
    pub(crate) fn put(&self, placed: Placed<'_>, entry: &Entry) -> Put {
        let mut item = value_key(placed, entry.slot)
            .with("status", entry.state.word())
            .with("attempts", entry.attempts);
        if let Some(count) = entry.count {
            item.insert("count", stored(count));
        }
        let numbers = [
            ("latencyMs", entry.latency_ms),
            ("latenessMs", entry.lateness_ms),
            ("expiresAt", expiry(entry.slot.from(), placed.source.retention_days)),
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
    pub(crate) fn note_conflict(&self, placed: Placed<'_>, slot: Slot, other: Decimal) -> Update {
        Update::new(self.table.as_str(), value_key(placed, slot))
            .set("status", State::Conflict.word())
            .set("otherCount", stored(other))
            .when(attr("count").exists())
    }

    /// The values of the slots that begin from `from` on and before `to`: a query for each of
    /// their partitions, in order.
    pub(crate) fn query(&self, placed: Placed<'_>, from: Timestamp, to: Timestamp) -> Vec<Query> {
        let parts = layouts_between(placed.layouts, from, to).into_iter();
        let queries = parts.flat_map(|(layout, from, to)| {
            let days: Vec<String> = match layout.is_by_day {
                false => vec![layout.key.clone()],
                true => slots_between(DAY_S, Slot::holding(from, DAY_S).from(), to)
                    .map(|day| partition(layout, day.from()))
                    .collect(),
            };
            days.into_iter().map(move |key| {
                Query::new(self.table.as_str(), "metricName", key)
                    .sort("slotTime", between(from, to))
                    .consistent()
            })
        });
        queries.collect()
    }
}

impl Values {
    pub(crate) fn table_name(&self) -> &str {
        &self.table
    }

    /// The keys of all values of a source, of which none is before `from`: a query for each of
    /// their partitions.
    pub(crate) fn query_keys(
        &self,
        placed: Placed<'_>,
        from: Timestamp,
        to: Timestamp,
    ) -> Vec<Query> {
        let partitions = placed.layouts.iter().flat_map(|layout| match layout.is_by_day {
            false => vec![layout.key.clone()],
            true => slots_between(DAY_S, Slot::holding(from, DAY_S).from(), to)
                .map(|day| partition(layout, day.from()))
                .collect(),
        });
        let query = |key| {
            let query = Query::new(self.table.as_str(), "metricName", key);
            query.project(["metricName", "slotTime"]).consistent()
        };
        partitions.map(query).collect()
    }
}

/// The room's own table, by its name.
pub(crate) fn room_table() -> &'static str {
    ROOM
}

/// The value in a row.
pub(crate) fn read_value(item: &Item, source: &Source, spans: &[Span]) -> Option<Entry> {
    let from = read_time(item.get("slotTime")?.as_s()?)?;
    Some(Entry {
        slot: Slot::beginning(from, spans, source.rhythm.interval_s),
        // A row of somebody who knows only the seed's attributes is good.
        state: text(item, "status").and_then(State::parse).unwrap_or(State::Ok),
        count: Some(decimal(item, "count")?),
        other_count: decimal(item, "otherCount"),
        attempts: attempts(item),
        latency_ms: number(item, "latencyMs"),
        lateness_ms: number(item, "latenessMs"),
        collected_at: time(item, "collectedAt"),
        reason: None,
    })
}

/// The count in a row that was found where a value was to be written.
pub(crate) fn read_count(item: &Item) -> Option<Decimal> {
    decimal(item, "count")
}

fn value_key(placed: Placed<'_>, slot: Slot) -> Item {
    let layout = layout_at(placed.layouts, slot.from());
    let partition = layout.map_or_else(|| placed.source.key(), |it| partition(it, slot.from()));
    Item::new().with("metricName", partition).with("slotTime", spell(slot.from()))
}

fn partition(layout: &Layout, time: Timestamp) -> String {
    let mut key = layout.key.clone();
    if layout.is_by_day {
        key.push('#');
        key.extend(spell(time).chars().take("YYYY-MM-DD".len()));
    }
    key
}

// The ledger

/// Notes a slot that has no value.
pub(crate) fn put_trouble(placed: Placed<'_>, entry: &Entry) -> Put {
    let mut item = trouble_key(placed, entry.slot)
        .with("state", entry.state.word())
        .with("attempts", entry.attempts);
    if let Some(reason) = &entry.reason {
        item.insert("reason", reason.as_str());
    }
    keep(&mut item, entry.slot.from(), placed.source.retention_days);
    Put::new(ROOM, item)
}

fn trouble_key(placed: Placed<'_>, slot: Slot) -> Item {
    key(format!("L#{}", placed.key(slot.from())), spell(slot.from()))
}

/// Forgets what went wrong with a slot.
pub(crate) fn delete_trouble(placed: Placed<'_>, slot: Slot) -> Delete {
    Delete::new(ROOM, trouble_key(placed, slot))
}

/// What went wrong with the slots that begin from `from` on and before `to`, by their places.
pub(crate) fn query_troubles(placed: Placed<'_>, from: Timestamp, to: Timestamp) -> Vec<Query> {
    query_room("L", placed, from, to)
}

/// The rows of a kind from `from` on and before `to`: a query for each of their places, in order.
fn query_room(kind: &str, placed: Placed<'_>, from: Timestamp, to: Timestamp) -> Vec<Query> {
    let parts = layouts_between(placed.layouts, from, to).into_iter();
    let queries = parts.map(|(layout, from, to)| {
        Query::new(ROOM, "pk", format!("{kind}#{}", layout.key))
            .sort("sk", between(from, to))
            .consistent()
    });
    queries.collect()
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

    /// What the keys of its rows begin with.
    fn kind(self) -> &'static str {
        match self {
            Step::Minute => "M",
            Step::Hour => "H",
        }
    }
}

/// Writes a roll-up, unless one is there that knows more: values come and never go, so the one
/// with more of them was made later.
pub(crate) fn put_tally(placed: Placed<'_>, step: Step, from: Timestamp, tally: &Tally) -> Put {
    let mut item = key(format!("{}#{}", step.kind(), placed.key(from)), spell(from))
        .with("expected", tally.expected)
        .with("collected", tally.collected)
        .with("sum", stored(tally.sum));
    for (name, value) in [("min", tally.min), ("max", tally.max), ("last", tally.last)] {
        if let Some(value) = value {
            item.insert(name, stored(value));
        }
    }
    if step == Step::Minute {
        let days = placed.source.retention_days.map(|days| days.saturating_mul(MINUTES_KEPT_TIMES));
        keep(&mut item, from, days);
    }
    let knows_less = attr("collected").not_exists().or(attr("collected").le(tally.collected));
    Put::new(ROOM, item).when(knows_less)
}

/// The roll-ups from `from` on and before `to`, by their places.
pub(crate) fn query_tallies(
    placed: Placed<'_>,
    step: Step,
    from: Timestamp,
    to: Timestamp,
) -> Vec<Query> {
    query_room(step.kind(), placed, from, to)
}

/// The first roll-up of each place of a source.
pub(crate) fn query_first_tally(placed: Placed<'_>, step: Step) -> Vec<Query> {
    let keys = placed.layouts.iter().map(|layout| format!("{}#{}", step.kind(), layout.key));
    keys.map(|key| Query::new(ROOM, "pk", key).limit(1).consistent()).collect()
}

/// Everything that the room keeps of a source besides its values, by its places.
pub(crate) fn query_remains(placed: Placed<'_>) -> Vec<Query> {
    let kinds = ["L", "M", "H"].into_iter();
    let queries = kinds.flat_map(|kind| {
        placed.layouts.iter().map(move |layout| {
            let query = Query::new(ROOM, "pk", format!("{kind}#{}", layout.key));
            query.project(["pk", "sk"]).consistent()
        })
    });
    queries.collect()
}

/// A roll-up in its row.
pub(crate) fn read_tally(item: &Item) -> Option<(Timestamp, Tally)> {
    let tally = Tally {
        expected: number(item, "expected")?,
        collected: number(item, "collected")?,
        sum: decimal(item, "sum")?,
        min: decimal(item, "min"),
        max: decimal(item, "max"),
        // Older versions did not write it.
        last: decimal(item, "last"),
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

impl Gap {
    /// Why nobody planned.
    pub(crate) fn cause(&self) -> &'static str {
        if self.by_clock { "the clock was set" } else { "nobody planned" }
    }
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

fn decimal(item: &Item, name: &str) -> Option<Decimal> {
    Decimal::parse(&item.get(name)?.as_n()?.to_string())
}

/// A value as the store keeps numbers.
fn stored(value: Decimal) -> Number {
    Number::parse(&value.to_string()).expect("a decimal has at most 38 digits")
}

fn time(item: &Item, name: &str) -> Option<Timestamp> {
    text(item, name)?.parse().ok()
}

fn attempts(item: &Item) -> u32 {
    number(item, "attempts").and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or(1)
}
