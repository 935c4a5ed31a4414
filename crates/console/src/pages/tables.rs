//! Tables: what there is, what is in it, and the ways to change it. Forms that work without script.

use std::sync::Arc;

use edge::{
    Body, Failure, Form, IntoResponse, Page, Path, Query, Reader, Redirect, Response, State,
    StatusCode, header,
};
use futures_util::StreamExt;
use maud::{Markup, html};
use serde::Deserialize;
use table::{
    BatchWrite, Delete, Error, Item, KeySpec, KeyType, Put, Scan, TableDescription, TableSpec,
    Tables, item_to_json,
};

use super::words::{Words, of};
use super::{Kind, Pages};
use crate::browse::{Asked, Found, key_of, key_text, read_item, read_items, spoken, spoken_key};
use crate::limits::EXPORT_PAGE_ITEMS;

/// What happened before the page, and what is on it beside the items.
#[derive(Default)]
struct Beside {
    told: Option<&'static str>,
    problem: Option<String>,
    /// An item that could not be saved.
    draft: Option<String>,
}

pub(super) async fn list(State(pages): State<Arc<Pages>>, reader: Reader) -> Result<Page, Failure> {
    let words = of(reader.language);
    let mut tables = Vec::new();
    for name in pages.console.tables.list_tables().await.map_err(failure)? {
        tables.push(pages.console.tables.describe_table(&name).await.map_err(failure)?);
    }
    let content = html! {
        div .stack {
            h1 { (words.tables.title) }
            div .scroll tabindex="0" role="region" aria-label=(words.tables.title) { table .listing {
                thead { tr {
                    th { (words.tables.name) } th { (words.tables.key) }
                    th .number { (words.tables.items) } th .number { (words.tables.bytes) }
                    th { (words.tables.indexes) } th { (words.tables.ttl) }
                } }
                tbody { @for table in &tables { (row(words, table)) } }
            } }
        }
    };
    Ok(pages.plain(reader, words.tables.title, Kind::Tables, &content))
}

fn row(words: &Words, table: &TableDescription) -> Markup {
    let spec = &table.spec;
    let indexes = spec.indexes.iter().map(|index| index.name.as_str()).collect::<Vec<_>>();
    html! { tr {
        th scope="row" {
            @if spec.name == edge::CREDENTIALS { (spec.name) " " span .badge { (words.tables.secret) } }
            @else { a href={ "/console/tables/" (spec.name) } { (spec.name) } }
        }
        td { (spoken_spec(&spec.key)) }
        td .number data-number=(table.items) { (table.items) }
        td .number data-bytes=(table.bytes) { (table.bytes) }
        td { (indexes.join(", ")) }
        td { (spec.ttl.as_deref().unwrap_or("–")) }
    } }
}

/// `pk (S), sk (N)`
fn spoken_spec(key: &KeySpec) -> String {
    let spoken = key.attributes().map(|attribute| {
        let kind = match attribute.kind {
            KeyType::S => "S",
            KeyType::N => "N",
            KeyType::B => "B",
        };
        format!("{} ({kind})", attribute.name)
    });
    spoken.collect::<Vec<_>>().join(", ")
}

/// An address of a table: what is looked for, and what was done before.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Looked {
    #[serde(flatten)]
    asked: Asked,
    #[serde(default)]
    told: String,
}

pub(super) async fn show(
    State(pages): State<Arc<Pages>>,
    Path(table): Path<String>,
    Query(looked): Query<Looked>,
    reader: Reader,
) -> Result<Response, Failure> {
    let words = of(reader.language);
    let told = match looked.told.as_str() {
        "saved" => Some(words.tables.saved),
        "deleted" => Some(words.tables.deleted),
        "imported" => Some(words.tables.imported),
        _ => None,
    };
    pages.table(reader, &table, &looked.asked, Beside { told, ..Beside::default() }).await
}

/// An item that is written.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    item: String,
}

pub(super) async fn put(
    State(pages): State<Arc<Pages>>,
    Path(table): Path<String>,
    reader: Reader,
    Form(written): Form<Written>,
) -> Result<Response, Failure> {
    pages.visible(&table).await?;
    let done = match read_item(&written.item) {
        Ok(item) => pages.console.tables.put(Put::new(&table, item)).await.map(drop),
        Err(error) => Err(error),
    };
    pages.done(reader, &table, done, "saved", Some(written.item)).await
}

pub(super) async fn delete(
    State(pages): State<Arc<Pages>>,
    Path(table): Path<String>,
    reader: Reader,
    Form(written): Form<Written>,
) -> Result<Response, Failure> {
    pages.visible(&table).await?;
    let done = match read_item(&written.item) {
        Ok(key) => pages.console.tables.delete(Delete::new(&table, key)).await.map(drop),
        Err(error) => Err(error),
    };
    pages.done(reader, &table, done, "deleted", None).await
}

pub(super) async fn import(
    State(pages): State<Arc<Pages>>,
    Path(table): Path<String>,
    reader: Reader,
    Form(written): Form<Written>,
) -> Result<Response, Failure> {
    pages.visible(&table).await?;
    let done = match read_items(&written.item) {
        Ok(items) => put_all(&*pages.console.tables, &table, items).await,
        Err(error) => Err(error),
    };
    pages.done(reader, &table, done, "imported", None).await
}

async fn put_all(tables: &dyn Tables, table: &str, items: Vec<Item>) -> Result<(), Error> {
    let put = |item: Item| BatchWrite::Put { table: table.to_owned(), item };
    let mut writes = items.into_iter().map(put).collect::<Vec<_>>();
    while !writes.is_empty() {
        let rest = writes.split_off(writes.len().min(table::limits::BATCH_WRITE_MAX));
        writes = tables.batch_write(writes).await?;
        writes.extend(rest);
    }
    Ok(())
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Exported {
    #[serde(default)]
    form: String,
}

/// All items, page by page: a line for each, or one document as DynamoDB's tools print it.
pub(super) async fn export(
    State(pages): State<Arc<Pages>>,
    Path(table): Path<String>,
    Query(exported): Query<Exported>,
) -> Result<Response, Failure> {
    let spec = pages.visible(&table).await?;
    let is_document = exported.form == "dynamodb";
    let (kind, end) =
        if is_document { ("application/json", "json") } else { ("application/x-ndjson", "ndjson") };
    let name = format!("attachment; filename=\"{}.{end}\"", spec.name);
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)];
    let walk = Walk {
        tables: Arc::clone(&pages.console.tables),
        table,
        after: None,
        is_document,
        is_begun: false,
        is_over: false,
    };
    let stream = futures_util::stream::unfold(walk, Walk::next).fuse();
    Ok((headers, Body::from_stream(stream)).into_response())
}

/// A walk over a table.
struct Walk {
    tables: Arc<dyn Tables>,
    table: String,
    after: Option<Item>,
    is_document: bool,
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
        let page = match self.tables.scan(scan).await {
            Ok(page) => page,
            Err(error) => {
                self.is_over = true;
                return Some((Err(error), self));
            }
        };
        let mut text = String::new();
        for item in &page.items {
            let json = item_to_json(item);
            if self.is_document {
                text.push_str(if self.is_begun { ",\n" } else { "{\"Items\":[\n" });
                text.push_str(&json.to_string());
            } else {
                text.push_str(&format!("{{\"Item\":{json}}}\n"));
            }
            self.is_begun = true;
        }
        self.after = page.last_key;
        self.is_over = self.after.is_none();
        if self.is_over && self.is_document {
            text.push_str(if self.is_begun { "\n]}\n" } else { "{\"Items\":[]}\n" });
        }
        Some((Ok(text), self))
    }
}

impl Pages {
    /// The declaration of a table whose items may be seen.
    async fn visible(&self, table: &str) -> Result<TableSpec, Failure> {
        if table == edge::CREDENTIALS {
            let told = "what proves who somebody is is no business of a console";
            return Err(Failure::new(StatusCode::FORBIDDEN, "secret_table", told));
        }
        Ok(self.console.tables.describe_table(table).await.map_err(failure)?.spec)
    }

    async fn done(
        &self,
        reader: Reader,
        table: &str,
        done: Result<(), Error>,
        told: &str,
        draft: Option<String>,
    ) -> Result<Response, Failure> {
        match done {
            Ok(()) => {
                Ok(Redirect::to(&format!("/console/tables/{table}?told={told}")).into_response())
            }
            Err(error) => {
                let beside = Beside { problem: Some(error.to_string()), draft, told: None };
                self.table(reader, table, &Asked::default(), beside).await
            }
        }
    }

    async fn table(
        &self,
        reader: Reader,
        table: &str,
        asked: &Asked,
        mut beside: Beside,
    ) -> Result<Response, Failure> {
        let spec = self.visible(table).await?;
        let words = of(reader.language);
        let found = match self.console.browse(&spec, asked).await {
            Ok(found) => found,
            Err(error @ Error::Invalid(_)) => {
                beside.problem = Some(error.to_string());
                Found::default()
            }
            Err(error) => return Err(failure(error)),
        };
        let is_wrong = beside.problem.is_some();
        let content = render(words, &spec, asked, &found, &beside);
        let page = self.plain(reader, &spec.name, Kind::Tables, &content);
        let status = if is_wrong { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        Ok(page.with_status(status).into_response())
    }
}

fn render(
    words: &Words,
    spec: &TableSpec,
    asked: &Asked,
    found: &Found,
    beside: &Beside,
) -> Markup {
    let words = &words.tables;
    let path = format!("/console/tables/{}", spec.name);
    html! {
        div .stack {
            p { a href="/console/tables" { "← " (words.title) } }
            h1 .wrap { (spec.name) }
            @if let Some(told) = beside.told { p .notice role="status" { (told) } }
            @if let Some(problem) = &beside.problem { p .notice .alert role="alert" { (problem) } }
            (builder(words, spec, asked, &path))
            p .row .hint {
                span { (words.looked_at) " " (found.page.scanned) }
                span { (words.units) " " (found.units()) }
                span { (found.page.bytes) " B" }
            }
            @if found.is_scan { p .notice { (words.scan_warning) } }
            ul .items {
                @for item in &found.page.items { (item_card(words, spec, item, &path)) }
            }
            p .empty { (words.no_items) }
            @if let Some(last) = &found.page.last_key { (next_page(words, asked, last, &path)) }
            (ways(words, &path, beside))
        }
    }
}

/// The query builder.
fn builder(
    words: &super::words::TableWords,
    spec: &TableSpec,
    asked: &Asked,
    path: &str,
) -> Markup {
    let key = key_of(spec, &asked.index).unwrap_or(&spec.key);
    let sort = key.sort.as_ref();
    let option = |value: &str, name: &str, chosen: &str| {
        html! { option value=(value) selected[value == chosen] { (name) } }
    };
    html! {
        form .card .builder method="get" action=(path) {
            div .pair {
                div .field { label for="index" { (words.where_) }
                    select #index name="index" {
                        (option("", &format!("{} — {}", spec.name, spoken_spec(&spec.key)), &asked.index))
                        @for index in &spec.indexes {
                            (option(&index.name, &format!("{} — {}", index.name, spoken_spec(&index.key)), &asked.index))
                        }
                    } }
                div .field { label for="partition" { (key.partition.name) " =" }
                    input #partition name="partition" value=(asked.partition) placeholder=(words.all); }
                div .field { label for="sort" { (sort.map_or(words.sort_key, |sort| sort.name.as_str())) }
                    div .row .tight {
                        select name="op" aria-label=(words.compares) {
                            @for (value, name) in [("eq", "="), ("begins", words.begins), ("lt", "<"), ("le", "≤"), ("gt", ">"), ("ge", "≥"), ("between", words.between)] {
                                (option(value, name, &asked.op))
                            }
                        }
                        input #sort name="sort" value=(asked.sort);
                        input name="until" value=(asked.until) aria-label=(words.until) placeholder=(words.until);
                    } }
                div .field { label for="order" { (words.order) }
                    select #order name="order" {
                        (option("", words.up, &asked.order)) (option("down", words.down, &asked.order))
                    } }
            }
            div .row { button .primary { (words.query) } a .button href=(path) { (words.clear) } }
        }
    }
}

fn item_card(
    words: &super::words::TableWords,
    spec: &TableSpec,
    item: &Item,
    path: &str,
) -> Markup {
    let ttl = spec.ttl.as_deref().and_then(|name| item.get(name)?.as_n()?.floor_u64());
    let text = serde_json::to_string_pretty(&item_to_json(item)).unwrap_or_default();
    html! {
        li { details .card {
            summary { span .wrap { strong { (spoken_key(spec, item)) } }
                @if let Some(ttl) = ttl { " " span .badge data-ttl=(ttl) { (words.expires) } } }
            table .attributes { tbody {
                @for (name, value) in item.iter() {
                    tr { th scope="row" { (name) } td { span .badge { (value.kind().name()) } } td .wrap { (spoken(value)) } }
                }
            } }
            form .field method="post" action={ (path) "/put" } {
                label { (words.edit) textarea .code name="item" rows="8" spellcheck="false" { (text) } }
                div .row { button .small { (words.save) } }
            }
            form method="post" action={ (path) "/delete" } data-confirm=(words.confirm_delete) {
                input type="hidden" name="item" value=(key_text(spec, item));
                button .danger .small { (words.delete) }
            }
        } }
    }
}

fn next_page(words: &super::words::TableWords, asked: &Asked, last: &Item, path: &str) -> Markup {
    let fields = [
        ("index", &asked.index),
        ("partition", &asked.partition),
        ("op", &asked.op),
        ("sort", &asked.sort),
        ("until", &asked.until),
        ("order", &asked.order),
    ];
    html! {
        form method="get" action=(path) {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            input type="hidden" name="after" value=(item_to_json(last).to_string());
            button { (words.next) }
        }
    }
}

/// New items, and the ways out and in for many.
fn ways(words: &super::words::TableWords, path: &str, beside: &Beside) -> Markup {
    html! {
        details .card open[beside.draft.is_some()] {
            summary { (words.new_item) }
            form .field method="post" action={ (path) "/put" } {
                label { (words.new_hint)
                    textarea .code name="item" rows="6" spellcheck="false" required {
                        (beside.draft.as_deref().unwrap_or_default())
                    } }
                div .row { button { (words.save) } }
            }
        }
        details .card {
            summary { (words.transfer) }
            p .row {
                a .button .small href={ (path) "/export?form=ndjson" } { (words.export) " NDJSON" }
                a .button .small href={ (path) "/export?form=dynamodb" } { (words.export) " DynamoDB JSON" }
            }
            form .field method="post" action={ (path) "/import" } {
                label .scripted { (words.file) input type="file" accept=".json,.ndjson,.jsonl"; }
                label { (words.import_hint) textarea .code name="item" rows="6" spellcheck="false" required {} }
                div .row { button { (words.import) } }
            }
        }
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::NoSuchTable(name) => Failure::new(
            StatusCode::NOT_FOUND,
            "no_such_table",
            format!("there is no table `{name}`"),
        ),
        Error::Invalid(told) => Failure::new(StatusCode::BAD_REQUEST, "invalid", told),
        other => Failure::internal(other.to_string()),
    }
}
