//! Tables: what there is, what is in it, and the ways to change it. Lists and forms that work without
//! script; what is shown stands in the address.
//!
//! The query bar is in `tables/bar.rs`, the list of items in `tables/grid.rs`, the item that is open
//! beside it in `tables/item.rs`, its versions in `tables/history.rs`. How one item is changed is in
//! `tables/edit.rs`, the ways out and in for many in `tables/transfer.rs`.

mod bar;
mod edit;
mod grid;
mod history;
mod item;
pub(super) mod transfer;

use std::sync::Arc;

use base::Timestamp;
use edge::{
    Failure, Form, IntoResponse, Page, Path, Query, Reader, Redirect, Response, State, StatusCode,
    Uri,
};
use maud::{Markup, html};
use serde::Deserialize;
use table::{Delete, Durability, Error, Item, Reach, TableDescription, TableSpec, item_to_json};

use super::words::{TableWords, Words, of};
use super::{Kind, Pages};
use crate::Console;
use crate::browse::{Asked, Found, key_text, read_item};
use crate::past::Opened;

/// What happened before the page, and what is on it beside the items.
#[derive(Default)]
struct Beside {
    told: Option<&'static str>,
    problem: Option<Problem>,
    draft: Option<Draft>,
}

/// Why something was not done, and whether that is about the item that is open.
struct Problem {
    text: String,
    is_of_item: bool,
}

/// An item that could not be saved.
struct Draft {
    text: String,
    /// As it was loaded; nothing for a new one.
    was: String,
}

impl Beside {
    /// What could not be saved of the item that is open, or of a new one.
    fn draft_of(&self, is_new: bool) -> Option<&Draft> {
        self.draft.as_ref().filter(|draft| draft.was.is_empty() == is_new)
    }
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
            @if spec.durability == Durability::Ephemeral { " " span .badge { (words.tables.ephemeral) } }
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
        "restored" => Some(words.tables.restored),
        _ => None,
    };
    pages.table(reader, &table, looked.asked, Beside { told, ..Beside::default() }).await
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
    /// What the page showed, to come back to.
    #[serde(default)]
    back: String,
}

/// Who was told why something failed and asks again, in another language say, is shown the table.
pub(super) async fn back(Path((table, _)): Path<(String, String)>, uri: Uri) -> Redirect {
    let asked = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Redirect::to(&format!("/console/tables/{table}{asked}"))
}

/// Saves an item, restores or deletes one, or takes in many.
pub(super) async fn change(
    State(pages): State<Arc<Pages>>,
    Path((table, act)): Path<(String, String)>,
    reader: Reader,
    Form(written): Form<Written>,
) -> Result<Response, Failure> {
    let spec = pages.visible(&table).await?;
    let asked = Asked::of_form(&written.back);
    match pages.act(&spec, &act, &written, &asked).await {
        Ok((told, next)) => {
            let query = next.to_query();
            let and = if query.is_empty() { "" } else { "&" };
            let path = format!("/console/tables/{table}?{query}{and}told={told}");
            Ok(Redirect::to(&path).into_response())
        }
        Err(error) => {
            let is_of_item = !asked.open.is_empty() && act != "import";
            let problem = Some(Problem { text: error.to_string(), is_of_item });
            let draft = (act == "put").then_some(Draft { text: written.item, was: written.was });
            pages.table(reader, &table, asked, Beside { problem, draft, told: None }).await
        }
    }
}

impl Pages {
    /// Does what a form asks for. Answers what was done, and what is shown next.
    async fn act(
        &self,
        spec: &TableSpec,
        act: &str,
        written: &Written,
        asked: &Asked,
    ) -> Result<(&'static str, Asked), Error> {
        let Console { tables, secrets, .. } = &*self.console;
        match act {
            "put" => {
                let key = edit::save(&**tables, secrets, spec, &written.item, &written.was).await?;
                Ok(("saved", asked.now().opening(key)))
            }
            "delete" => {
                tables.delete(Delete::new(&spec.name, read_item(&written.item)?)).await?;
                Ok(("deleted", asked.closed()))
            }
            "restore" => {
                let key = read_item(&written.item)?;
                self.console.restore(spec, &key, asked, &written.was).await?;
                Ok(("restored", asked.now().opening(key_text(spec, &key))))
            }
            "import" => {
                let is_plain = written.form == "plain";
                transfer::put_all(&self.console, spec, &written.item, is_plain).await?;
                Ok(("imported", asked.closed()))
            }
            other => Err(Error::Invalid(format!("nothing is done by `{other}`"))),
        }
    }

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
        mut asked: Asked,
        mut beside: Beside,
    ) -> Result<Response, Failure> {
        let spec = self.visible(table).await?;
        let now = self.console.clock.now();
        let at = asked.instant(now);
        // What is asked of five minutes ago stays that instant on the next page.
        if let Ok(Some(at)) = &at {
            asked.at = at.to_string();
        }
        let looked = async {
            let at = at?;
            let found = self.console.browse(&spec, &asked, at).await?;
            Ok((at, found, self.console.open_item(&spec, &asked, at).await?))
        };
        let seen = match looked.await {
            Ok((at, found, opened)) => Some(Seen { at, found, opened }),
            Err(error @ (Error::Invalid(_) | Error::NoSuchIndex { .. })) => {
                beside.problem = Some(Problem { text: error.to_string(), is_of_item: false });
                None
            }
            Err(error) => return Err(failure(error)),
        };
        let is_wrong = beside.problem.is_some();
        let reach = match &self.console.store {
            Some(store) => Some(store.reach().await.map_err(failure)?),
            None => None,
        };
        let words = &of(reader.language).tables;
        let view = View { words, spec: &spec, asked: &asked, now, reach, beside: &beside };
        let page = self.plain(reader, &spec.name, Kind::Tables, &view.render(seen.as_ref()));
        let status = if is_wrong { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        Ok(page.with_status(status).into_response())
    }
}

/// What was found.
struct Seen {
    at: Option<Timestamp>,
    found: Found,
    opened: Option<Opened>,
}

/// A page about a table.
struct View<'v> {
    words: &'v TableWords,
    spec: &'v TableSpec,
    asked: &'v Asked,
    now: Timestamp,
    /// How far back looks reach, if the store has a past at all.
    reach: Option<Option<Reach>>,
    beside: &'v Beside,
}

impl View<'_> {
    fn render(&self, seen: Option<&Seen>) -> Markup {
        let (words, spec) = (self.words, self.spec);
        html! {
            div .stack {
                p { a href="/console/tables" { "← " (words.title) } }
                h1 .wrap { (spec.name) }
                @if let Some(told) = self.beside.told { p .notice role="status" { (told) } }
                @if let Some(problem) = self.beside.problem.as_ref().filter(|one| !one.is_of_item || seen.is_none_or(|seen| seen.opened.is_none())) {
                    p .notice .alert role="alert" { (problem.text) }
                }
                (self.bar())
                @if let Some(seen) = seen { (self.seen(seen)) }
                (self.new_item())
                (transfer::ways(words, &self.path(), self.asked))
            }
        }
    }

    /// The items that were found, what they cost, and the one that is open.
    fn seen(&self, seen: &Seen) -> Markup {
        let (words, found) = (self.words, &seen.found);
        html! {
            @if let Some(at) = seen.at {
                p .notice .then { span { (words.past.shown_as_of) " " strong { (exact(at)) } }
                    span { (words.past.read_only) }
                    a href=(self.address(&self.asked.now())) { (words.past.back_to_now) } }
            }
            @if found.is_scan { p .notice { (words.scan_warning) } }
            div .beside {
                div .list {
                    p .row .hint {
                        span { (words.shown) " " (found.page.items.len()) }
                        span { (words.looked_at) " " (found.page.scanned) }
                        @if seen.at.is_none() {
                            span { (words.units) " " (found.units()) }
                            span data-bytes=(found.page.bytes) { (found.page.bytes) " B" }
                        }
                    }
                    (self.grid(seen))
                    @if let Some(last) = &found.page.last_key { (self.next_page(last)) }
                }
                @if let Some(opened) = &seen.opened { (self.opened(seen, opened)) }
            }
        }
    }

    fn next_page(&self, last: &Item) -> Markup {
        let next = Asked { after: item_to_json(last).to_string(), ..self.asked.closed() };
        html! { p { a .button rel="next" href=(self.address(&next)) { (self.words.next) } } }
    }

    fn new_item(&self) -> Markup {
        let (words, draft) = (self.words, self.beside.draft_of(true));
        html! {
            details .card open[draft.is_some()] {
                summary { (words.new_item) }
                form .field method="post" action={ (self.path()) "/put" } {
                    (self.way_back(&self.asked.closed()))
                    label { (words.new_hint)
                        textarea .code name="item" rows="6" spellcheck="false" required {
                            (draft.map_or("", |draft| draft.text.as_str()))
                        } }
                    div .row { button { (words.save) } }
                }
            }
        }
    }

    fn path(&self) -> String {
        format!("/console/tables/{}", self.spec.name)
    }

    fn address(&self, asked: &Asked) -> String {
        match asked.to_query().as_str() {
            "" => self.path(),
            query => format!("{}?{query}", self.path()),
        }
    }

    /// What a form brings back, so that the page is found again as it was.
    fn way_back(&self, asked: &Asked) -> Markup {
        html! { input type="hidden" name="back" value=(asked.to_form()); }
    }
}

/// An instant to the second or finer, in the reader's zone where there is a script.
fn exact(at: Timestamp) -> Markup {
    html! { time data-exact datetime=(at.to_string()) { (at.to_string()) } }
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
