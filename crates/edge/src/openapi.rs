//! What the rooms say about themselves: OpenAPI 3.1 for programs, one page for people.
//!
//! The page is made from the same documents that programs read, so that the two cannot differ. It
//! needs no script.

mod operation;
mod page;
mod schema;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;

use crate::tagged::hash;
use crate::{Client, Page, Room, Tagged};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const CSS: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");
const STYLE: &str = include_str!("openapi/style.css");

/// One room's document.
struct Document {
    room: &'static str,
    api: Value,
}

/// What the page is made of.
struct Documents {
    list: Vec<Document>,
    style_path: String,
}

/// `/{room}/openapi.json` for each room, and `/openapi` with all of them.
pub(crate) fn routes(rooms: &[Room]) -> Router {
    let mut routes = Router::new();
    let mut list = Vec::new();
    for Room { name, api, .. } in rooms {
        let api = serde_json::to_value(api).expect("a description of an API is JSON");
        let document = Arc::new(Tagged::new(JSON, api.to_string()));
        routes = routes.route(&path(name), get(get_tagged).with_state(document));
        list.push(Document { room: name, api });
    }
    let style_path = format!("/openapi/{}.css", hash(STYLE.as_bytes()));
    let style = Arc::new(Tagged::new(CSS, STYLE).for_ever());
    let documents = Arc::new(Documents { list, style_path: style_path.clone() });
    routes
        .route(&style_path, get(get_tagged).with_state(style))
        .route("/openapi", get(get_page).with_state(documents))
}

fn path(room: &str) -> String {
    format!("/{room}/openapi.json")
}

async fn get_tagged(State(tagged): State<Arc<Tagged>>, headers: HeaderMap) -> Response {
    tagged.answer(&headers)
}

async fn get_page(
    State(documents): State<Arc<Documents>>,
    client: Client,
    request: axum::extract::Request,
) -> Response {
    let scheme = if client.is_secure() { "https" } else { "http" };
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    // HTTP/2 names the host in the target.
    let host = named.or_else(|| request.uri().authority().map(|host| host.as_str()));
    let base = format!("{scheme}://{}", host.filter(|host| is_host(host)).unwrap_or("localhost"));
    Page::new(page::render(&documents, &base)).into_response()
}

/// Letters that need no care on a command line.
fn is_host(text: &str) -> bool {
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    !text.is_empty() && text.bytes().all(in_host)
}
