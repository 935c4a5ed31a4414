//! The page of a class (`/mesh/class`), for its teacher: groups as they are now, what their nodes
//! report, how pupils join, and the ways to name and remove nodes and to end groups. The page for
//! pupils (`/mesh/join`) says whether their device reaches the server.
//!
//! Lists and forms are rendered here and work without script. The modules draw the groups: the host
//! in the middle and members around it, or a grid of tiles for a large group, each node with a ring
//! for how long ago it was heard of.

mod ask;
mod class;
mod entry;
mod join;
mod practice;
mod shown;
mod words;

use std::sync::Arc;

use edge::{
    Address, Draining, Failure, Form, HeaderMap, HeaderValue, IntoResponse, Json, Operator, Page,
    Query, Reader, Redirect, Response, Routes, State, StatusCode, Streams, Want, get, post,
};
use hub::{Follow, Policy};
use kit::{Asset, Assets, Shell};
use serde::{Deserialize, Serialize};

use self::entry::{Entry, encoded};
use self::practice::{PRACTICE, Practice};
use self::shown::Shown;
use self::words::{JoinSaid, Said};
use crate::Mesh;
use crate::error::Error;
use crate::limits::CLASS_GROUPS_MAX;
use crate::live::select::Selection;
use crate::live::{Selected, topic};
use crate::model::{GroupKey, domain};

const CLASS: &str = "/mesh/class";
const JOIN: &str = "/mesh/join";
const STYLE: &str = "class.css";
const LAST_EVENT_ID: &str = "last-event-id";

const FILES: [Asset; 8] = [
    (STYLE, include_str!("pages/assets/class.css")),
    ("class.js", include_str!("pages/assets/class.js")),
    ("client.js", include_str!("pages/assets/client.js")),
    ("copying.js", include_str!("pages/assets/copying.js")),
    ("graph.js", include_str!("pages/assets/graph.js")),
    ("join.js", include_str!("pages/assets/join.js")),
    ("practice.js", include_str!("pages/assets/practice.js")),
    ("tiles.js", include_str!("pages/assets/tiles.js")),
];

/// The pages and what they need.
struct Pages {
    mesh: Arc<Mesh>,
    streams: Streams,
    assets: Assets,
    /// The domain of callers at the site.
    site: String,
    /// Everything of a push.
    whole: Selected,
}

/// What the module is given as data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Given<'g> {
    said: &'g Said,
    domain: &'g str,
    state: &'g Shown,
    /// The key, with which the page plays the practice group as a client.
    key: &'g str,
    practice: &'g Practice,
}

/// What the module of the page for pupils is given.
#[derive(Serialize)]
struct JoinGiven<'g> {
    said: &'g JoinSaid,
}

/// The routes of the pages: the class for the operator, and the page for pupils for everybody.
pub(crate) fn routes(mesh: &Arc<Mesh>, streams: &Streams, operator: &Operator) -> Routes {
    let assets = Assets::new("mesh", &FILES);
    let files = assets.routes();
    let whole = mesh.selections.hold(Selection::whole());
    let site = domain::of_site(&mesh.options);
    let pages = Pages { mesh: Arc::clone(mesh), streams: streams.clone(), assets, site, whole };
    let inside = Routes::new()
        .route(CLASS, get(show_class))
        .route("/mesh/class/state", get(get_state))
        .route("/mesh/class/stream", get(get_stream))
        .route("/mesh/class/end", post(end_class))
        .route("/mesh/class/end-all", post(end_all_groups))
        .route("/mesh/class/name", post(name_node))
        .route("/mesh/class/remove", post(remove_node));
    let pages = Arc::new(pages);
    let outside = Routes::new().route(JOIN, get(show_join));
    let inside = operator.guard(inside.with_state(Arc::clone(&pages)));
    inside.merge(outside.with_state(pages)).merge(files)
}

/// Which class is looked at.
#[derive(Debug, Default, Deserialize)]
struct Looked {
    domain: Option<String>,
    /// Groups to follow, separated by commas.
    #[serde(default)]
    groups: String,
    /// The last event's id, if `Last-Event-ID` does not say it.
    after: Option<String>,
}

/// What a button says.
#[derive(Debug, Deserialize)]
struct Act {
    domain: String,
    group: String,
    #[serde(default)]
    node: String,
}

/// The class whose groups all end.
#[derive(Debug, Deserialize)]
struct EndAll {
    domain: String,
}

/// A name that a teacher gives to a node.
#[derive(Debug, Deserialize)]
struct NameNode {
    domain: String,
    node: String,
    name: String,
}

async fn show_class(
    State(pages): State<Arc<Pages>>,
    Query(looked): Query<Looked>,
    reader: Reader,
    Address(address): Address,
) -> Result<Page, Failure> {
    let domain = pages.domain(&looked);
    let state = pages.state(domain).await?;
    let words = words::of(reader);
    let entry = pages.entry(&address);
    let content = class::render(words, domain, &state, &entry);
    let shell = Shell {
        reader,
        title: words.title,
        home: "/",
        assets: &pages.assets,
        styles: &[STYLE],
        module: "class.js",
        given: &Given {
            said: &words.said,
            domain,
            state: &state,
            key: entry.key,
            practice: &PRACTICE,
        },
        class: "class",
        is_bare: false,
    };
    Ok(shell.desk(CLASS, &content))
}

async fn show_join(
    State(pages): State<Arc<Pages>>,
    reader: Reader,
    Address(address): Address,
) -> Page {
    let words = words::of(reader);
    // Everybody may read this page, so it has no key.
    let content = join::render(words, &Entry { address: &address, key: "" });
    let shell = Shell {
        reader,
        title: words.join.title,
        home: JOIN,
        assets: &pages.assets,
        styles: &[STYLE],
        module: "join.js",
        given: &JoinGiven { said: &words.join.said },
        class: "join",
        is_bare: false,
    };
    shell.around(&content)
}

async fn get_state(
    State(pages): State<Arc<Pages>>,
    Query(looked): Query<Looked>,
) -> Result<Response, Failure> {
    Ok(Json(pages.state(pages.domain(&looked)).await?).into_response())
}

async fn get_stream(
    State(pages): State<Arc<Pages>>,
    Query(looked): Query<Looked>,
    mut headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    let domain = pages.domain(&looked);
    let ids: Vec<&str> = looked.groups.split(',').filter(|id| !id.is_empty()).collect();
    if ids.len() > CLASS_GROUPS_MAX {
        let told = format!("a page follows at most {CLASS_GROUPS_MAX} groups, not {}", ids.len());
        return Err(Failure::new(StatusCode::BAD_REQUEST, "too_many_groups", told));
    }
    let mut wants = Vec::new();
    for id in ids {
        let key = GroupKey::new(id.to_owned(), domain.to_owned()).map_err(failure)?;
        let view = pages.whole.view;
        let follow = Follow { view, policy: Policy::DropOldest, ..Follow::default() };
        wants.push(Want { channel: pages.mesh.groups.clone(), topic: topic(&key), follow });
    }
    // What a browser says by itself is newer than the address.
    let after = looked.after.and_then(|after| HeaderValue::try_from(after).ok());
    if let (Some(after), false) = (after, headers.contains_key(LAST_EVENT_ID)) {
        headers.insert(LAST_EVENT_ID, after);
    }
    pages.streams.events(&headers, &draining, &wants)
}

async fn end_class(
    State(pages): State<Arc<Pages>>,
    Form(act): Form<Act>,
) -> Result<Redirect, Failure> {
    let key = GroupKey::new(act.group, act.domain).map_err(failure)?;
    match pages.mesh.end_class(&key).await {
        // It has ended by itself meanwhile.
        Ok(_) | Err(Error::GroupNotFound(_)) => Ok(back(&key.domain)),
        Err(error) => Err(failure(error)),
    }
}

async fn end_all_groups(
    State(pages): State<Arc<Pages>>,
    Form(EndAll { domain }): Form<EndAll>,
) -> Result<Redirect, Failure> {
    pages.mesh.end_all_groups(&domain).await.map_err(failure)?;
    Ok(back(&domain))
}

async fn name_node(
    State(pages): State<Arc<Pages>>,
    Form(NameNode { domain, node, name }): Form<NameNode>,
) -> Result<Redirect, Failure> {
    pages.mesh.name_node(&domain, &node, &name).await.map_err(failure)?;
    Ok(back(&domain))
}

async fn remove_node(
    State(pages): State<Arc<Pages>>,
    Form(act): Form<Act>,
) -> Result<Redirect, Failure> {
    let key = GroupKey::new(act.group, act.domain).map_err(failure)?;
    pages.mesh.leave_group(&key, &act.node).await.map_err(failure)?;
    Ok(back(&key.domain))
}

impl Pages {
    /// The class of the site, unless another is named.
    fn domain<'d>(&'d self, looked: &'d Looked) -> &'d str {
        let named = looked.domain.as_deref().map(str::trim).filter(|domain| !domain.is_empty());
        named.unwrap_or(&self.site)
    }

    async fn state(&self, domain: &str) -> Result<Shown, Failure> {
        let labels = self.mesh.list_labels(domain).await.map_err(failure)?;
        let found = self.mesh.list_gatherings(domain).await.map_err(failure)?;
        Ok(Shown::of(&found, &labels, &self.mesh.terms, self.mesh.clock.now()))
    }

    /// How pupils come in, at the address that people use.
    fn entry<'e>(&'e self, address: &'e str) -> Entry<'e> {
        Entry { address, key: self.mesh.api_key() }
    }
}

/// Back to the class.
fn back(domain: &str) -> Redirect {
    Redirect::to(&format!("{CLASS}?domain={}", encoded(domain)))
}

fn failure(error: Error) -> Failure {
    let (status, code) = match &error {
        Error::GroupNotFound(_) | Error::GroupExpired { .. } | Error::HeartbeatExpired(_) => {
            (StatusCode::NOT_FOUND, "no_such_group")
        }
        Error::NodeNotFound => (StatusCode::NOT_FOUND, "no_such_node"),
        Error::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
        Error::AnswerTooLarge(_) => (StatusCode::BAD_REQUEST, "answer_too_large"),
        Error::NotAMember(_) | Error::NotTheHost(_) => (StatusCode::FORBIDDEN, "forbidden"),
        Error::TooFast => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
        Error::Contended => (StatusCode::SERVICE_UNAVAILABLE, "contended"),
        Error::Store(error) | Error::Later(dispatch::Error::Table(error)) => {
            return Failure::of_store(error);
        }
        Error::Later(_) => return Failure::internal(error.to_string()),
    };
    Failure::new(status, code, error.to_string())
}
