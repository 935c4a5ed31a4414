//! Many items at once: out as a file, in from a text or a file.

use std::sync::Arc;

use edge::{Body, Failure, IntoResponse, Path, Query, Response, State, header};
use futures_util::StreamExt;
use maud::{Markup, html};
use serde::Deserialize;
use table::{BatchWrite, Error, Item, Scan, TableSpec, item_to_json, plain, put_shown};

use crate::Console;
use crate::browse::{Asked, read_items, read_plain};
use crate::limits::EXPORT_PAGE_ITEMS;
use crate::pages::Pages;
use crate::pages::words::TableWords;

/// Writes the items of a text.
pub(super) async fn put_all(
    console: &Console,
    spec: &TableSpec,
    text: &str,
    is_plain: bool,
) -> Result<(), Error> {
    let Console { tables, clock, secrets, .. } = console;
    let items = if is_plain { read_plain(text, spec)? } else { read_items(text)? };
    if secrets.touches_table(&spec.name) {
        // Each is looked at first, so that it keeps its secrets.
        for item in items {
            put_shown(&**tables, secrets, spec, item).await?;
        }
        return Ok(());
    }
    let put = |item: Item| BatchWrite::Put { table: spec.name.clone(), item };
    table::write_all(&**tables, clock, items.into_iter().map(put).collect()).await
}

/// How items are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::pages) enum Form {
    /// An item a line, in DynamoDB's JSON.
    #[default]
    Ndjson,
    /// One document in DynamoDB's JSON, as its tools print a scan.
    Dynamodb,
    /// An item a line, in plain JSON: what most programs read, without the types.
    Plain,
}

#[derive(Debug, Default, Deserialize)]
pub(in crate::pages) struct Exported {
    #[serde(default)]
    form: Form,
}

/// All items, page by page.
pub(in crate::pages) async fn export(
    State(pages): State<Arc<Pages>>,
    Path(table): Path<String>,
    Query(Exported { form }): Query<Exported>,
) -> Result<Response, Failure> {
    let spec = pages.visible(&table).await?;
    let (kind, end) = match form {
        Form::Dynamodb => ("application/json", "json"),
        Form::Ndjson | Form::Plain => ("application/x-ndjson", "ndjson"),
    };
    let name = format!("attachment; filename=\"{}.{end}\"", spec.name);
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)];
    let console = Arc::clone(&pages.console);
    let walk = Walk { console, table, after: None, form, is_begun: false, is_over: false };
    let stream = futures_util::stream::unfold(walk, Walk::next).fuse();
    Ok((headers, Body::from_stream(stream)).into_response())
}

/// A walk over a table.
struct Walk {
    console: Arc<Console>,
    table: String,
    after: Option<Item>,
    form: Form,
    is_begun: bool,
    is_over: bool,
}

impl Walk {
    async fn next(mut self) -> Option<(Result<String, Error>, Walk)> {
        if self.is_over {
            return None;
        }
        let mut scan = Scan::new(&self.table).limit(EXPORT_PAGE_ITEMS);
        scan.start_after = self.after.take();
        let page = match self.console.tables.scan(scan).await {
            Ok(page) => page,
            Err(error) => {
                self.is_over = true;
                return Some((Err(error), self));
            }
        };
        let mut text = String::new();
        for item in &page.items {
            let item = &*self.console.secrets.shown(&self.table, item);
            match self.form {
                Form::Dynamodb => {
                    text.push_str(if self.is_begun { ",\n" } else { "{\"Items\":[\n" });
                    text.push_str(&item_to_json(item).to_string());
                }
                Form::Ndjson => text.push_str(&format!("{{\"Item\":{}}}\n", item_to_json(item))),
                Form::Plain => text.push_str(&format!("{}\n", plain::write(item))),
            }
            self.is_begun = true;
        }
        self.after = page.last_key;
        self.is_over = self.after.is_none();
        if self.is_over && self.form == Form::Dynamodb {
            text.push_str(if self.is_begun { "\n]}\n" } else { "{\"Items\":[]}\n" });
        }
        Some((Ok(text), self))
    }
}

/// The ways out and in for many.
pub(super) fn ways(words: &TableWords, path: &str, asked: &Asked) -> Markup {
    html! {
        details .card {
            summary { (words.transfer) }
            p .row {
                a .button .small href={ (path) "/export?form=plain" } { (words.export) " NDJSON" }
                a .button .small href={ (path) "/export?form=ndjson" } { (words.export) " DynamoDB NDJSON" }
                a .button .small href={ (path) "/export?form=dynamodb" } { (words.export) " DynamoDB JSON" }
            }
            form .field method="post" action={ (path) "/import" } {
                input type="hidden" name="back" value=(asked.closed().to_form());
                label .scripted { (words.file) input type="file" accept=".json,.ndjson,.jsonl"; }
                label { (words.import_hint) textarea .code name="item" rows="6" spellcheck="false" required {} }
                div .row {
                    label { (words.form) " " select name="form" {
                        option value="" { "DynamoDB JSON" } option value="plain" { "NDJSON" }
                    } }
                    button { (words.import) }
                }
            }
        }
    }
}
