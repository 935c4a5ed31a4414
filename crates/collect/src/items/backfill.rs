//! A backfill: what is asked again, and how far that is.

use base::Timestamp;
use table::{Get, Item, Put, Query, Update, Value, attr};

use super::{ROOM, keep, key, number, text, time};
use crate::limits::BACKFILL_KEPT_DAYS;
use crate::model::backfill::{Backfill, Progress, Reprocess};
use crate::model::slot::{read_time, spell};

/// Writes a new backfill.
pub(crate) fn put_backfill(backfill: &Backfill) -> Put {
    let names = backfill.sources.iter().map(|name| Value::from(name.as_str()));
    let mut item = backfill_key(&backfill.id)
        .with("sources", Value::L(names.collect()))
        .with("from", spell(backfill.from))
        .with("to", spell(backfill.to))
        .with("intervalSeconds", backfill.interval_s)
        .with("newestFirst", backfill.newest_first)
        .with("rate", backfill.rate)
        .with("pace", backfill.pace.as_str())
        .with("reprocess", backfill.reprocess.word())
        .with("createdAt", backfill.created_at.to_string());
    for (name, number) in numbers(&backfill.progress) {
        item.insert(name, number);
    }
    keep(&mut item, backfill.created_at, Some(BACKFILL_KEPT_DAYS));
    Put::new(ROOM, item)
}

/// Notes how far a backfill is, if nobody else is further.
pub(crate) fn note_progress(backfill: &Backfill, before: &Progress) -> Update {
    let update = Update::new(ROOM, backfill_key(&backfill.id));
    let moved = numbers(&backfill.progress).into_iter();
    let update = moved.fold(update, |update, (name, number)| update.set(name, number));
    update.when(attr("next").eq(before.next))
}

/// Reads a backfill.
pub(crate) fn get_backfill(id: &str) -> Get {
    Get::new(ROOM, backfill_key(id))
}

/// The last backfills, the newest first.
pub(crate) fn query_backfills(limit: u32) -> Query {
    Query::new(ROOM, "pk", "BACKFILLS").descending().limit(limit).consistent()
}

/// A backfill in its row.
pub(crate) fn read_backfill(item: &Item) -> Option<Backfill> {
    let sources = match item.get("sources")? {
        Value::L(names) => names.iter().filter_map(Value::as_s).map(str::to_owned).collect(),
        _ => return None,
    };
    let moment = |name| -> Option<Timestamp> { read_time(text(item, name)?) };
    let id = text(item, "sk")?.to_owned();
    Some(Backfill {
        // Each backfill of an older version had a pace of its own.
        pace: text(item, "pace").map_or_else(|| id.clone(), str::to_owned),
        id,
        sources,
        from: moment("from")?,
        to: moment("to")?,
        interval_s: number(item, "intervalSeconds")?,
        newest_first: matches!(item.get("newestFirst"), Some(Value::Bool(true))),
        rate: number(item, "rate")?,
        reprocess: Reprocess::parse(text(item, "reprocess")?)?,
        created_at: time(item, "createdAt")?,
        progress: Progress {
            next: number(item, "next")?,
            done: number(item, "done")?,
            failed: number(item, "failed")?,
            skipped: number(item, "skipped")?,
        },
    })
}

fn numbers(progress: &Progress) -> [(&'static str, u64); 4] {
    [
        ("next", progress.next),
        ("done", progress.done),
        ("failed", progress.failed),
        ("skipped", progress.skipped),
    ]
}

fn backfill_key(id: &str) -> Item {
    key("BACKFILLS", id)
}
