//! The search: its page, which needs no script, and its results for the dialog above every page.

use std::sync::Arc;

use edge::{IntoResponse, Json, Page, Query, Reader, Response, State};
use kit::QUESTION_LETTERS_MAX;
use maud::html;
use serde::{Deserialize, Serialize};

use super::words::overview;
use super::{Kind, Pages};

/// What is asked for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    q: String,
}

/// Results, for the dialog.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    found: Vec<ToldFound>,
    is_more: bool,
    is_late: bool,
}

#[derive(Debug, Serialize)]
struct ToldFound {
    kind: &'static str,
    name: String,
    hint: String,
    path: String,
}

pub(super) async fn show(
    State(pages): State<Arc<Pages>>,
    Query(asked): Query<Asked>,
    reader: Reader,
) -> Page {
    let words = overview::of(reader.language);
    let results = pages.console.search(&asked.q, reader.language).await;
    let content = html! {
        div .stack {
            h1 { (words.search) }
            form .row role="search" {
                input .grow name="q" type="search" value=(asked.q) maxlength=(QUESTION_LETTERS_MAX)
                    aria-label=(words.search_label) placeholder=(words.search_label) autofocus;
                button .primary { (words.search) }
            }
            @if results.is_late { p .notice { (words.search_late) } }
            ul .found.card {
                @for found in &results.found {
                    li {
                        a href=(found.path) { (found.name) }
                        span .hint { (found.hint) }
                        span .badge { (found.kind.name(reader.language)) }
                    }
                }
            }
            @if results.found.is_empty() { p .empty { (words.search_none) } }
            @if results.is_more { p .hint { (words.search_more) } }
        }
    };
    pages.plain(reader, words.search, Kind::Search, &content)
}

pub(super) async fn find(
    State(pages): State<Arc<Pages>>,
    Query(asked): Query<Asked>,
    reader: Reader,
) -> Response {
    let results = pages.console.search(&asked.q, reader.language).await;
    let found = results.found.into_iter().map(|found| ToldFound {
        kind: found.kind.name(reader.language),
        name: found.name,
        hint: found.hint,
        path: found.path,
    });
    let (found, is_more, is_late) = (found.collect(), results.is_more, results.is_late);
    Json(Told { found, is_more, is_late }).into_response()
}
