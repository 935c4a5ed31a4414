//! Small pages of the house itself, which need no script: the frame of what the operator sees
//! before the console, and what a person sees whose request failed.
//!
//! Programs are told of a failure as a problem (`failure.rs`); who asks for a page gets one that
//! says the same, in the reader's language, with a way out.

mod words;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};

use crate::failure::{Asked, Told};
use crate::tagged::fingerprint;
use crate::{ICON, Language, Page, Reader, Tagged};

const STYLE: &str = include_str!("notice.css");
const CSS: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");
const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");
const ICON_PATH: &str = "/house/icon.svg";

/// Where the style lies: its address names its content.
static STYLE_PATH: LazyLock<String> =
    LazyLock::new(|| format!("/house/{}.css", fingerprint(STYLE.as_bytes())));

/// The files of the pages.
pub(crate) fn routes() -> Router {
    let style = Arc::new(Tagged::new(CSS, STYLE).for_ever());
    let icon = Arc::new(Tagged::new(SVG, ICON));
    Router::new()
        .route(&STYLE_PATH, get(get_file).with_state(style))
        .route(ICON_PATH, get(get_file).with_state(icon))
}

async fn get_file(State(file): State<Arc<Tagged>>, headers: HeaderMap) -> Response {
    file.answer(&headers)
}

/// Whether a person looks at the answer: a page was opened, or a form without script sent. Who also
/// names JSON is a program that takes what it gets.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accepts.is_some_and(|accept| accept.contains("text/html") && !accept.contains("json"))
}

/// A document in the frame. `query` is what the address must say besides the language.
pub(crate) fn frame(reader: Reader, title: &str, query: &str, content: &Markup) -> Page {
    let others = Language::ALL.into_iter().filter(|other| *other != reader.language);
    let document = html! {
        (DOCTYPE)
        html lang=(reader.language.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Nagaya" }
                link rel="icon" type="image/svg+xml" href=(ICON_PATH);
                link rel="stylesheet" href=(*STYLE_PATH);
            }
            body {
                main {
                    header {
                        (roof()) p { "Nagaya" }
                        nav { @for other in others {
                            a href={ "?" (query) "lang=" (other.tag()) } lang=(other.tag())
                                hreflang=(other.tag()) { (other.name()) }
                        } }
                    }
                    h1 { (title) }
                    (content)
                }
            }
        }
    };
    Page::new(document).with_reader(reader)
}

/// Turns the answer of a failure into a page that tells of it. What its headers say stays.
pub(crate) fn show(response: &mut Response, told: &Told, asked: &Asked<'_>, reader: Reader) {
    let page = failure(told, asked, reader).into_response();
    let (parts, body) = page.into_parts();
    for (name, value) in &parts.headers {
        response.headers_mut().insert(name, value.clone());
    }
    *response.body_mut() = Body::new(body);
}

fn failure(told: &Told, asked: &Asked<'_>, reader: Reader) -> Page {
    let words = words::of(reader.language);
    let (title, lead) = words.of_status(told.status);
    let message = told.message(Some(reader.language));
    let content = html! {
        p .lead { (lead) }
        p .hint { (told.status.as_u16()) " " code { (told.code) } br; (with_code(message)) }
        @if told.status != StatusCode::NOT_FOUND && let Some(trace) = asked.trace_id {
            p .hint { (words.trace) " " code { (trace) } }
        }
        a .way href="/" { (words.home) }
    };
    frame(reader, title, "", &content).with_status(told.status)
}

/// A long house: one roof, five doors.
fn roof() -> Markup {
    html! {
        svg viewBox="0 0 64 32" width="64" height="32" aria-hidden="true" {
            path .roof d="M2 14 L10 3 H54 L62 14 Z" {}
            path .wall d="M5 14 H59 V30 H5 Z" {}
            @for door in 0..5 {
                rect .door x=(9 + door * 10) y="19" width="6" height="11" {}
            }
        }
    }
}

/// Words between backticks are things to type.
pub(crate) fn with_code(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
