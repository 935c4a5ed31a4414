//! What the rooms say about themselves: OpenAPI 3.1 for programs, one page for people.
//!
//! The page is made from the same documents that programs read, so that the two cannot differ. It
//! can be read without script; a module folds and searches it and sends calls (`page.js`). It is
//! large, so it is rendered once in each language; only the address in its examples is the caller's
//! (`template.rs`).

pub(crate) mod callers;
pub(crate) mod graphql;
mod operation;
mod page;
mod schema;
mod template;
mod trial;
mod words;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use utoipa::openapi::{Content, OpenApi, PathItem, Ref, RefOr, Server};
use utoipa::{PartialSchema, ToSchema};

use self::graphql::GraphQl;
use self::template::Template;
use crate::failure::{PROBLEM, Problem};
use crate::tagged::{fingerprint, is_known};
use crate::{Address, ICON, Language, Page, Reader, Room, Tagged};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const CSS: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");
const JS: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");
const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");
/// A browser may keep the page if it asks each time whether it is still right. Others may not: the
/// reader's language and address are in it.
const REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const ICON_PATH: &str = "/openapi/icon.svg";
const STYLE: &str = include_str!("openapi/style.css");
const MODULE: &str = include_str!("openapi/page.js");

/// One room's document.
struct Document {
    room: &'static str,
    api: Value,
    japanese: Option<(&'static str, &'static str)>,
    graphql: Option<GraphQl>,
}

/// What the page is made of, and the page.
struct Documents {
    list: Vec<Document>,
    style_path: String,
    module_path: String,
    english: OnceLock<Template>,
    japanese: OnceLock<Template>,
}

impl Documents {
    /// The page in a language, rendered by the first request.
    fn template(&self, language: Language) -> &Template {
        let template = match language {
            Language::En => &self.english,
            Language::Ja => &self.japanese,
        };
        template.get_or_init(|| Template::new(|base| page::render(self, words::of(language), base)))
    }
}

/// `/{room}/openapi.json` for each room, and `/openapi` with all of them.
pub(crate) fn routes(rooms: &[Room]) -> Router {
    let mut routes = Router::new();
    let mut list = Vec::new();
    for Room { name, api, japanese, graphql, .. } in rooms {
        let mut api = serde_json::to_value(api).expect("a description of an API is JSON");
        give_examples(&mut api);
        let document = Arc::new(Tagged::new(JSON, api.to_string()));
        routes = routes.route(&path(name), get(get_tagged).with_state(document));
        list.push(Document { room: name, api, japanese: *japanese, graphql: graphql.clone() });
    }
    let style_path = format!("/openapi/{}.css", fingerprint(STYLE.as_bytes()));
    let style = Arc::new(Tagged::new(CSS, STYLE).for_ever());
    let module_path = format!("/openapi/{}.js", fingerprint(MODULE.as_bytes()));
    let module = Arc::new(Tagged::new(JS, MODULE).for_ever());
    let icon = Arc::new(Tagged::new(SVG, ICON));
    let documents = Arc::new(Documents {
        list,
        style_path: style_path.clone(),
        module_path: module_path.clone(),
        english: OnceLock::new(),
        japanese: OnceLock::new(),
    });
    routes
        .route(ICON_PATH, get(get_tagged).with_state(icon))
        .route(&style_path, get(get_tagged).with_state(style))
        .route(&module_path, get(get_tagged).with_state(module))
        .route("/openapi", get(get_page).with_state(documents))
}

/// Gives every JSON body that an operation takes an example: its own, or one made of its schema.
fn give_examples(api: &mut Value) {
    let whole = api.clone();
    let paths = api.get_mut("paths").and_then(Value::as_object_mut);
    let items = paths.into_iter().flat_map(|paths| paths.values_mut());
    let operations = items.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut());
    let contents = operations.filter_map(|operation| operation.pointer_mut("/requestBody/content"));
    for (kind, media) in contents.filter_map(Value::as_object_mut).flatten() {
        let Some(media) = media.as_object_mut().filter(|_| kind.ends_with("json")) else {
            continue;
        };
        if !media.contains_key("example") && !media.contains_key("examples") {
            let example = schema::example(&whole, media.get("schema"));
            media.insert("example".to_owned(), example);
        }
    }
}

/// The description with what holds for all rooms alike. Its server is where the document was found.
/// A failure without a body of its own is a [`Problem`], so that no operation repeats it.
pub(crate) fn with_customs(mut api: OpenApi) -> OpenApi {
    api.servers.get_or_insert_with(|| vec![Server::new("/")]);
    for item in api.paths.paths.values_mut() {
        let PathItem { get, put, post, delete, options, head, patch, .. } = item;
        let operations = [get, put, post, delete, options, head, patch].into_iter().flatten();
        let responses = operations.flat_map(|operation| &mut operation.responses.responses);
        for (status, response) in responses {
            if let RefOr::T(response) = response
                && status.starts_with(['4', '5'])
                && response.content.is_empty()
            {
                let problem = Content::new(Some(Ref::from_schema_name(Problem::name())));
                response.content.insert(PROBLEM.to_owned(), problem.into());
            }
        }
    }
    let schemas = &mut api.components.get_or_insert_default().schemas;
    schemas.insert(Problem::name().into_owned(), Problem::schema());
    api
}

fn path(room: &str) -> String {
    format!("/{room}/openapi.json")
}

async fn get_tagged(State(tagged): State<Arc<Tagged>>, headers: HeaderMap) -> Response {
    tagged.answer(&headers)
}

async fn get_page(
    State(documents): State<Arc<Documents>>,
    Address(base): Address,
    reader: Reader,
    headers: HeaderMap,
) -> Response {
    let template = documents.template(reader.language);
    let tag = template.tag(&base);
    let is_known = is_known(&tag, &headers);
    let kept = [(header::ETAG, tag), (header::CACHE_CONTROL, REVALIDATE)];
    if is_known {
        // The choice of a language may be newer than the page that the browser has.
        let cookie = reader.cookie().map(|cookie| [(header::SET_COOKIE, cookie)]);
        return (StatusCode::NOT_MODIFIED, kept, cookie, ()).into_response();
    }
    (kept, Page::new(template.markup(&base)).with_reader(reader)).into_response()
}
