//! The pages: the front of the house (`front.rs`), and for the operator the overview
//! (`overview.rs`), its tables (`tables.rs`), what flows through it (`flow.rs`), and what keeps it
//! (`access.rs`, `settings.rs`, `backups.rs`).
//!
//! The server renders what is there; modules under `assets/` keep it true by one stream of events.

mod access;
mod backups;
mod flow;
mod front;
mod overview;
mod settings;
mod tables;
mod waterfall;
mod words;

use std::sync::Arc;

use base::Timestamp;
use edge::{
    Bounds, Draining, Failure, HeaderMap, HeaderValue, Operator, Page, Query, Reader, Response,
    Routes, State, Want, bounded, get, post,
};
use hub::{Follow, Policy};
use kit::{Asset, Assets, Shell};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use self::words::{Said, Words};
use crate::Console;
use crate::limits::{FORM_BYTES_MAX, LONG_WORK};
use crate::overview::Moment;
use crate::watch::TOPIC;

const STYLE: &str = "console.css";
const LAST_EVENT_ID: &str = "last-event-id";

const FILES: [Asset; 9] = [
    (STYLE, include_str!("pages/assets/console.css")),
    ("access.css", include_str!("pages/assets/access.css")),
    ("access.js", include_str!("pages/assets/access.js")),
    ("copy.js", include_str!("pages/assets/copy.js")),
    ("front.js", include_str!("pages/assets/front.js")),
    ("lists.js", include_str!("pages/assets/lists.js")),
    ("overview.js", include_str!("pages/assets/overview.js")),
    ("settings.js", include_str!("pages/assets/settings.js")),
    ("show.js", include_str!("pages/assets/show.js")),
];

/// The pages and what they need.
struct Pages {
    console: Arc<Console>,
    operator: Operator,
    assets: Assets,
}

/// What a module is given as data.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Given<'g> {
    said: Option<&'g Said>,
    now: Option<&'g Moment>,
    lines: Vec<Vec<f64>>,
}

/// Which page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Front,
    Overview,
    Tables,
    Flow,
    Access,
    Backups,
    Settings,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Front => "front",
            Kind::Overview => "overview",
            Kind::Tables => "tables",
            Kind::Flow => "flow",
            Kind::Access => "access",
            Kind::Backups => "backups",
            Kind::Settings => "settings",
        }
    }
}

/// The routes of all pages and their files.
pub(crate) fn routes(console: &Arc<Console>, operator: &Operator) -> Routes {
    let assets = Assets::new("console", &FILES);
    let files = assets.routes();
    let pages =
        Arc::new(Pages { console: Arc::clone(console), operator: operator.clone(), assets });
    let many = Bounds { body_bytes_max: Some(FORM_BYTES_MAX), answer_within: Some(LONG_WORK) };
    let long = Bounds { answer_within: Some(LONG_WORK), ..Bounds::default() };
    let inside = Routes::new()
        .route("/console", get(show_overview))
        .route("/console/stream", get(get_stream))
        .route("/console/tables", get(tables::list))
        .route("/console/tables/{table}", get(tables::show))
        .route(
            "/console/tables/{table}/{act}",
            bounded(post(tables::change), many).get(tables::back),
        )
        .route("/console/tables/{table}/export", get(tables::transfer::export))
        .route("/console/flow", get(flow::show).post(flow::act))
        .route("/console/access", get(access::show).post(access::make_key))
        .route("/console/access/revoke", post(access::revoke_key))
        .route("/console/access/sessions/{id}/end", post(access::end_session))
        .route("/console/backups", bounded(post(backups::act), long).get(backups::show))
        .route("/console/settings", get(settings::show))
        .route("/console/settings/{key}", post(settings::change))
        .with_state(Arc::clone(&pages));
    Routes::new()
        .route("/", get(show_front))
        .with_state(pages)
        .merge(operator.guard(inside))
        .merge(files)
}

async fn show_front(State(pages): State<Arc<Pages>>, reader: Reader) -> Page {
    let words = words::of(reader.language);
    let content = front::render(&words.front);
    pages.page(reader, words.front.title, Kind::Front, &Given::default(), &content)
}

async fn show_overview(State(pages): State<Arc<Pages>>, reader: Reader) -> Page {
    let words = words::of(reader.language);
    let (now, lines) = {
        let overview = pages.console.overview.lock();
        (overview.moment(), (0..5).map(|room| overview.line(room)).collect::<Vec<_>>())
    };
    let content = overview::render(words, &now, &lines, pages.console.store.is_some());
    let given = Given { said: Some(&words.said), now: Some(&now), lines };
    pages.page(reader, words.overview, Kind::Overview, &given, &content)
}

/// Where somebody who comes back stood.
#[derive(Debug, Deserialize)]
struct Heard {
    after: Option<String>,
}

/// What the overview hears: the house, every second.
async fn get_stream(
    State(pages): State<Arc<Pages>>,
    Query(heard): Query<Heard>,
    mut headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    // What a browser says by itself is newer than the address.
    let after = heard.after.and_then(|after| HeaderValue::try_from(after).ok());
    if let (Some(after), false) = (after, headers.contains_key(LAST_EVENT_ID)) {
        headers.insert(LAST_EVENT_ID, after);
    }
    let follow = Follow { policy: Policy::DropOldest, ..Follow::default() };
    let want = Want { channel: pages.console.channel.clone(), topic: TOPIC.to_owned(), follow };
    pages.console.streams.events(&headers, &draining, &[want])
}

impl Pages {
    fn page(
        &self,
        reader: Reader,
        title: &str,
        kind: Kind,
        given: &Given<'_>,
        content: &Markup,
    ) -> Page {
        let words: &Words = words::of(reader.language);
        let content = match kind {
            Kind::Front => content.clone(),
            Kind::Overview
            | Kind::Tables
            | Kind::Flow
            | Kind::Access
            | Kind::Backups
            | Kind::Settings => html! { (tabs(words, kind)) (content) },
        };
        let module = match kind {
            Kind::Front => "front.js",
            Kind::Overview => "overview.js",
            Kind::Access => "access.js",
            Kind::Settings => "settings.js",
            Kind::Tables | Kind::Flow | Kind::Backups => "lists.js",
        };
        let shell = Shell {
            reader,
            title,
            home: "/",
            assets: &self.assets,
            styles: &[STYLE, "access.css"],
            module,
            given,
            class: kind.word(),
            is_bare: false,
        };
        shell.around(&content)
    }

    /// A page of lists and forms.
    fn plain(&self, reader: Reader, title: &str, kind: Kind, content: &Markup) -> Page {
        let said = &words::of(reader.language).said;
        let given = Given { said: Some(said), ..Given::default() };
        self.page(reader, title, kind, &given, content)
    }
}

/// The ways to all that the operator looks after.
fn tabs(words: &Words, here: Kind) -> Markup {
    let tab = |kind: Kind, path: &str, name: &str| {
        html! { a href=(path) aria-current=[(kind == here).then_some("page")] { (name) } }
    };
    html! {
        nav .tabs aria-label=(words.console) {
            (tab(Kind::Overview, "/console", words.overview))
            (tab(Kind::Tables, "/console/tables", words.tables.title))
            (tab(Kind::Flow, "/console/flow", words.flow.title))
            (tab(Kind::Access, "/console/access", words.keep.access))
            (tab(Kind::Backups, "/console/backups", words.keep.backups))
            (tab(Kind::Settings, "/console/settings", words.keep.settings))
            @for (path, name) in words.desks { a href=(path) { (name) } }
            a href="/console/sign-out" { (words.leave) }
        }
    }
}

fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at.to_string()) { (at.to_string()) } }
}

/// Words between backticks are things to type.
fn with_code(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
