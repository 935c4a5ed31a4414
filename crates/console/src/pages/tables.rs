//! Tables: what there is, what is in it, and the ways to change it. Forms that work without script.
//! How one item is changed is in `tables/edit.rs`, the ways out and in for many in
//! `tables/transfer.rs`.

mod edit;
pub(super) mod transfer;

use std::sync::Arc;

use base::Timestamp;
use edge::{
    Failure, Form, IntoResponse, Page, Path, Query, Reader, Redirect, Response, State, StatusCode,
    Uri,
};
use maud::{Markup, html};
use serde::Deserialize;
use table::{Delete, Error, Item, KeySpec, TableDescription, TableSpec, item_to_json};

use super::words::{TableWords, Words, of};
use super::{Kind, Pages};
use crate::browse::{Asked, Found, key_of, key_text, read_item, spoken, spoken_key};

/// What happened before the page, and what is on it beside the items.
#[derive(Default)]
struct Beside {
    told: Option<&'static str>,
    problem: Option<String>,
    draft: Option<Draft>,
}

/// An item that could not be saved.
struct Draft {
    text: String,
    /// As it was loaded; nothing for a new one.
    was: String,
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
                tbody { @for table in &tables {
                    (row(words, table, pages.console.secrets.hides_table(&table.spec.name)))
                } }
            } }
        }
    };
    Ok(pages.plain(reader, words.tables.title, Kind::Tables, &content))
}

fn row(words: &Words, table: &TableDescription, is_secret: bool) -> Markup {
    let spec = &table.spec;
    let indexes = spec.indexes.iter().map(|index| index.name.as_str()).collect::<Vec<_>>();
    html! { tr {
        th scope="row" {
            @if is_secret { (spec.name) " " span .badge { (words.tables.secret) } }
            @else { a href={ "/console/tables/" (spec.name) } { (spec.name) } }
        }
        td { (spec.key) }
        td .number data-number=(table.items) { (table.items) }
        td .number data-bytes=(table.bytes) { (table.bytes) }
        td { (indexes.join(", ")) }
        td { (spec.ttl.as_deref().unwrap_or("–")) }
    } }
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
    if let Err(Error::NoSuchTable(_)) = pages.console.tables.describe_table(&table).await {
        return Ok(pages.no_table(reader, &table).into_response());
    }
    let told = match looked.told.as_str() {
        "saved" => Some(words.tables.saved),
        "deleted" => Some(words.tables.deleted),
        "imported" => Some(words.tables.imported),
        _ => None,
    };
    pages.table(reader, &table, &looked.asked, Beside { told, ..Beside::default() }).await
}

/// What is written in a form.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    item: String,
    /// The item that is changed, as it was loaded.
    #[serde(default)]
    was: String,
    /// How items that come in are written.
    #[serde(default)]
    form: String,
}

/// Who was told why something failed and asks again, in another language say, is shown the table.
pub(super) async fn back(Path((table, _)): Path<(String, String)>, uri: Uri) -> Redirect {
    let asked = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Redirect::to(&format!("/console/tables/{table}{asked}"))
}

/// Saves an item, deletes one, or takes in many.
pub(super) async fn change(
    State(pages): State<Arc<Pages>>,
    Path((table, act)): Path<(String, String)>,
    reader: Reader,
    Form(written): Form<Written>,
) -> Result<Response, Failure> {
    let spec = pages.visible(&table).await?;
    let (tables, secrets) = (&pages.console.tables, &pages.console.secrets);
    let changed: Result<&str, Error> = async {
        match act.as_str() {
            "put" => {
                edit::save(&**tables, secrets, &spec, &written.item, &written.was).await?;
                Ok("saved")
            }
            "delete" => {
                tables.delete(Delete::new(&table, read_item(&written.item)?)).await?;
                Ok("deleted")
            }
            "import" => {
                let is_plain = written.form == "plain";
                transfer::put_all(&pages.console, &spec, &written.item, is_plain).await?;
                Ok("imported")
            }
            other => Err(Error::Invalid(format!("nothing is done by `{other}`"))),
        }
    }
    .await;
    match changed {
        Ok(told) => {
            Ok(Redirect::to(&format!("/console/tables/{table}?told={told}")).into_response())
        }
        Err(error) => {
            let draft = (act == "put").then_some(Draft { text: written.item, was: written.was });
            let beside = Beside { problem: Some(error.to_string()), draft, told: None };
            pages.table(reader, &table, &Asked::default(), beside).await
        }
    }
}

impl Pages {
    /// The declaration of a table whose items may be seen.
    async fn visible(&self, table: &str) -> Result<TableSpec, Failure> {
        if self.console.secrets.hides_table(table) {
            let told = format!("table `{table}` holds secrets, which no page shows");
            let failure = Failure::new(StatusCode::FORBIDDEN, "secret_table", told);
            return Err(failure.in_japanese("このテーブルには秘密の値があるため、表示しません"));
        }
        Ok(self.console.tables.describe_table(table).await.map_err(failure)?.spec)
    }

    /// What stands where somebody looks for a table that there is not.
    fn no_table(&self, reader: Reader, table: &str) -> Page {
        let words = &of(reader.language).tables;
        let content = html! {
            div .stack {
                p { a href="/console/tables" { "← " (words.title) } }
                h1 .wrap { (table) }
                p .notice .alert role="alert" { (words.no_table) }
            }
        };
        self.plain(reader, table, Kind::Tables, &content).with_status(StatusCode::NOT_FOUND)
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
            Ok(found) => Some(found),
            Err(error @ Error::Invalid(_)) => {
                beside.problem = Some(error.to_string());
                None
            }
            Err(error) => return Err(failure(error)),
        };
        let is_wrong = beside.problem.is_some();
        let content = render(words, &spec, asked, found.as_ref(), &beside);
        let page = self.plain(reader, &spec.name, Kind::Tables, &content);
        let status = if is_wrong { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        Ok(page.with_status(status).into_response())
    }
}

fn render(
    words: &Words,
    spec: &TableSpec,
    asked: &Asked,
    found: Option<&Found>,
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
            @if let Some(found) = found { (list_found(words, spec, asked, found, &path)) }
            (transfer::ways(words, &path, beside))
        }
    }
}

/// What was found, and what it cost.
fn list_found(
    words: &TableWords,
    spec: &TableSpec,
    asked: &Asked,
    found: &Found,
    path: &str,
) -> Markup {
    html! {
        p .row .hint {
            span { (words.looked_at) " " (found.page.scanned) }
            span { (words.units) " " (found.units()) }
            span { (found.page.bytes) " B" }
        }
        @if found.is_scan { p .notice { (words.scan_warning) } }
        ul .items { @for item in &found.page.items { (item_card(words, spec, item, path)) } }
        p .empty { (words.no_items) }
        @if let Some(last) = &found.page.last_key { (next_page(words, asked, last, path)) }
    }
}

/// The query builder.
fn builder(words: &TableWords, spec: &TableSpec, asked: &Asked, path: &str) -> Markup {
    let key = key_of(spec, &asked.index).unwrap_or(&spec.key);
    let sort = key.sort.as_ref();
    let option = |value: &str, name: &str, chosen: &str| {
        html! { option value=(value) selected[value == chosen] { (name) } }
    };
    // Choosing another one changes what is asked for: a module writes the names of its key.
    let place = |value: &str, name: &str, key: &KeySpec| {
        let sort = key.sort.as_ref().map(|sort| sort.name.as_str());
        html! {
            option value=(value) selected[value == asked.index] data-partition=(key.partition.name)
                data-sort=[sort] { (name) " — " (key) }
        }
    };
    html! {
        form .card .builder method="get" action=(path) {
            div .pair {
                div .field { label for="index" { (words.where_) }
                    select #index name="index" {
                        (place("", &spec.name, &spec.key))
                        @for index in &spec.indexes { (place(&index.name, &index.name, &index.key)) }
                    } }
                div .field { label for="partition" { span #partition-name { (key.partition.name) } " =" }
                    input #partition name="partition" value=(asked.partition) placeholder=(words.all); }
                div .field { label for="sort" #sort-name data-none=(words.no_sort_key) { (sort.map_or(words.no_sort_key, |sort| sort.name.as_str())) }
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

fn item_card(words: &TableWords, spec: &TableSpec, item: &Item, path: &str) -> Markup {
    let ttl = spec.ttl.as_deref().and_then(|name| item.get(name)?.as_n()?.floor_u64());
    let text = serde_json::to_string_pretty(&item_to_json(item)).unwrap_or_default();
    html! {
        li { details .card {
            summary { span .wrap { strong { (spoken_key(spec, item)) } }
                @if let Some(ttl) = ttl { " " span .badge { (words.expires) " " span data-ttl=(ttl) { (expiry(ttl)) } } } }
            table .attributes { tbody {
                @for (name, value) in item.iter() {
                    tr { th scope="row" { (name) } td { span .badge { (value.kind().name()) } } td .wrap { (spoken(value)) } }
                }
            } }
            form .field method="post" action={ (path) "/put" } {
                input type="hidden" name="was" value=(item_to_json(item).to_string());
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

/// When an item ends, for who has no script to count down.
fn expiry(ttl: u64) -> String {
    Timestamp::from_millis(ttl.saturating_mul(1_000)).to_string()
}

fn next_page(words: &TableWords, asked: &Asked, last: &Item, path: &str) -> Markup {
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

fn failure(error: Error) -> Failure {
    match error {
        Error::NoSuchTable(name) => Failure::new(
            StatusCode::NOT_FOUND,
            "no_such_table",
            format!("there is no table `{name}`"),
        ),
        Error::Invalid(told) => Failure::new(StatusCode::BAD_REQUEST, "invalid", told),
        other => Failure::of_store(&other),
    }
}
