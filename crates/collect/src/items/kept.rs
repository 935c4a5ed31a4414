//! What the table knows of a source: its form, when it was asked, where its rows are.

use base::Timestamp;
use table::{Delete, Item, Put, Query, TransactItem, Update, Value, attr};

use super::source::SourceForm;
use super::{ROOM, key, number, text, time};
use crate::error::Error;
use crate::model::kind::Readers;
use crate::model::layout::{Layout, move_to};
use crate::model::slot::{Span, read_time, spell};
use crate::model::source::Source;

/// What the table knows of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) name: String,
    /// Its form, if it came by the API.
    pub(crate) form: Option<String>,
    /// Its last form, if it stands in the settings or is deleted: what its rows are read with.
    pub(crate) was: Option<String>,
    /// When it was deleted.
    pub(crate) deleted: Option<Timestamp>,
    /// Whether its rows are being removed.
    pub(crate) is_purged: bool,
    /// When it was asked.
    pub(crate) spans: Vec<Span>,
    /// Where its rows are; none of a source of an older version that was not changed since.
    pub(crate) layouts: Vec<Layout>,
    /// Moved by every change; 0 for one that is not there.
    pub(crate) ver: u64,
}

impl Kept {
    /// Sets the form of one that came by the API.
    pub(crate) fn set_form(&mut self, source: &Source) {
        self.form = Some(written(&SourceForm::from(source)));
        (self.was, self.deleted) = (None, None);
    }

    /// Sets the last form of one that stands in the settings; whether that changed anything.
    pub(crate) fn note_form(&mut self, source: &Source) -> bool {
        let form = written(&SourceForm::shown(source));
        let is_new = self.was.as_ref() != Some(&form);
        self.was = Some(form);
        is_new
    }

    /// Makes it a deleted one, whose rows are still read.
    pub(crate) fn delete(&mut self, now: Timestamp) {
        self.was = self.form.take().or(self.was.take());
        self.deleted = Some(now);
    }

    /// The rows of this source are elsewhere from `from` on, if it was another one before.
    pub(crate) fn move_to(&mut self, source: &Source, from: Timestamp) -> Result<(), Error> {
        if self.layouts.is_empty() {
            // A source of an older version that moved took no note of it.
            let before = self.last_source().and_then(Result::ok);
            let before = before.unwrap_or_else(|| source.clone());
            self.layouts = vec![Layout::of(&before, Timestamp::EPOCH)];
        }
        move_to(&mut self.layouts, source, from)
    }

    /// The source as it is or was, if that is known.
    pub(crate) fn last_source(&self) -> Option<Result<Source, Error>> {
        let form = self.form.as_deref().or(self.was.as_deref())?;
        let form: Result<SourceForm, _> = serde_json::from_str(form);
        let form = form.map_err(|error| Error::invalid(error.to_string()));
        // Before sources could say who may read them, everybody might.
        Some(form.and_then(|form| form.source(Readers::Everyone)))
    }
}

fn written(form: &SourceForm) -> String {
    serde_json::to_string(form).expect("words and numbers are JSON")
}

/// All sources that the table knows.
pub(crate) fn query_sources() -> Query {
    Query::new(ROOM, "pk", "SOURCES").consistent()
}

/// Reads one.
pub(crate) fn get_source(name: &str) -> table::Get {
    table::Get::new(ROOM, key("SOURCES", name))
}

/// Writes a source, if it is as it was read.
pub(crate) fn put_source(kept: &Kept) -> TransactItem {
    let spans = kept.spans.iter().map(|span| {
        let mut item =
            Item::new().with("from", spell(span.from)).with("intervalSeconds", span.interval_s);
        if let Some(to) = span.to {
            item.insert("to", spell(to));
        }
        Value::M(item)
    });
    let mut item = key("SOURCES", &*kept.name)
        .with("spans", Value::L(spans.collect()))
        .with("ver", kept.ver + 1);
    let layouts = kept.layouts.iter().map(|layout| {
        let item = Item::new()
            .with("from", spell(layout.from))
            .with("key", layout.key.as_str())
            .with("byDay", layout.is_by_day);
        Value::M(item)
    });
    item.insert("layouts", Value::L(layouts.collect()));
    for (name, form) in [("form", &kept.form), ("was", &kept.was)] {
        if let Some(form) = form {
            item.insert(name, form.as_str());
        }
    }
    if let Some(deleted) = kept.deleted {
        item.insert("deletedAt", deleted.to_string());
    }
    if kept.is_purged {
        item.insert("purged", true);
    }
    Put::new(ROOM, item).when(unchanged(kept.ver)).into()
}

/// Forgets a source, if it is as it was read.
pub(crate) fn delete_source(kept: &Kept) -> TransactItem {
    Delete::new(ROOM, key("SOURCES", &*kept.name)).when(unchanged(kept.ver)).into()
}

fn unchanged(ver: u64) -> table::Condition {
    match ver {
        0 => attr("pk").not_exists(),
        _ => attr("ver").eq(ver),
    }
}

/// A source in its row.
pub(crate) fn read_source(item: &Item) -> Option<Kept> {
    let span = |value: &Value| {
        let Value::M(item) = value else { return None };
        let moment = |name| text(item, name).and_then(read_time);
        let interval_s = number(item, "intervalSeconds")?;
        Some(Span { from: moment("from")?, to: moment("to"), interval_s })
    };
    let spans = match item.get("spans")? {
        Value::L(spans) => spans.iter().filter_map(span).collect(),
        _ => return None,
    };
    let layout = |value: &Value| {
        let Value::M(item) = value else { return None };
        Some(Layout {
            from: text(item, "from").and_then(read_time)?,
            key: text(item, "key")?.to_owned(),
            is_by_day: matches!(item.get("byDay"), Some(Value::Bool(true))),
        })
    };
    let layouts = match item.get("layouts") {
        Some(Value::L(layouts)) => layouts.iter().filter_map(layout).collect(),
        _ => Vec::new(),
    };
    Some(Kept {
        name: text(item, "sk")?.to_owned(),
        form: text(item, "form").map(str::to_owned),
        was: text(item, "was").map(str::to_owned),
        deleted: time(item, "deletedAt"),
        is_purged: matches!(item.get("purged"), Some(Value::Bool(true))),
        spans,
        layouts,
        ver: number(item, "ver")?,
    })
}

/// Reads how often sources were changed.
pub(crate) fn get_changes() -> table::Get {
    table::Get::new(ROOM, key("MARKS", "sources"))
}

/// Notes that sources are changed.
pub(crate) fn note_change() -> TransactItem {
    Update::new(ROOM, key("MARKS", "sources")).add("changes", 1).into()
}

/// How often sources were changed.
pub(crate) fn read_changes(item: &Item) -> u64 {
    number(item, "changes").unwrap_or(0)
}
