//! The pages: the front of the house (`front.rs`), and for the operator the overview
//! (`overview.rs`), the search (`search.rs`), its tables (`tables.rs`), what flows through it
//! (`flow.rs`), and what keeps it (`access.rs`, `settings.rs`, `backups.rs`).
//!
//! The server renders what is there; modules under `assets/` keep it true by one stream of events.

mod access;
mod backups;
mod flow;
mod front;
mod overview;
mod search;
mod settings;
mod tables;
mod waterfall;
mod words;

use std::sync::Arc;

use base::Timestamp;
use edge::{
    Bounds, Draining, Failure, Form, HeaderMap, HeaderValue, Language, Operator, Page, Query,
    Reader, Redirect, Response, Routes, State, StatusCode, Want, bounded, get, post,
};
use hub::{Follow, Policy};
use kit::{Asset, Assets, Shell};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use self::words::Said;
use self::words::overview::OverviewSaid;
use crate::Console;
use crate::limits::{FORM_BYTES_MAX, LONG_WORK, SEARCH_TIME};
use crate::overview::{LINES, Moment};
use crate::watch::TOPIC;

const STYLE: &str = "console.css";
const ACCESS_STYLE: &str = "access.css";
const TABLES_STYLE: &str = "tables.css";
const LAST_EVENT_ID: &str = "last-event-id";

const FILES: [Asset; 12] = [
    (STYLE, include_str!("pages/assets/console.css")),
    (ACCESS_STYLE, include_str!("pages/assets/access.css")),
    ("access.js", include_str!("pages/assets/access.js")),
    ("chart.js", include_str!("pages/assets/chart.js")),
    ("copy.js", include_str!("pages/assets/copy.js")),
    ("front.js", include_str!("pages/assets/front.js")),
    ("lists.js", include_str!("pages/assets/lists.js")),
    ("overview.js", include_str!("pages/assets/overview.js")),
    ("settings.js", include_str!("pages/assets/settings.js")),
    ("show.js", include_str!("pages/assets/show.js")),
    (TABLES_STYLE, include_str!("pages/assets/tables.css")),
    ("tables.js", include_str!("pages/assets/tables.js")),
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
    overview: Option<&'g OverviewSaid>,
    now: Option<&'g Moment>,
    /// The last minute and the last hour of each room, and of the store's writes.
    lines: Vec<Vec<f64>>,
    hours: Vec<Vec<f64>>,
}

/// Which page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Front,
    Overview,
    Search,
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
            Kind::Search => "search",
            Kind::Tables => "tables",
            Kind::Flow => "flow",
            Kind::Access => "access",
            Kind::Backups => "backups",
            Kind::Settings => "settings",
        }
    }

    /// Its entry in the side bar.
    fn desk(self) -> Option<&'static str> {
        Some(match self {
            Kind::Front => return None,
            Kind::Overview => "/console",
            Kind::Search => "/console/search",
            Kind::Tables => "/console/tables",
            Kind::Flow => "/console/flow",
            Kind::Access => "/console/access",
            Kind::Backups => "/console/backups",
            Kind::Settings => "/console/settings",
        })
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
        .route("/console/steps", post(dismiss_step))
        .route("/console/search", get(search::show))
        .route("/console/search/found", get(search::find))
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
    let words = words::front::of(reader.language);
    let now = pages.console.overview.lock().moment();
    let content = front::render(words, &now);
    pages.page(reader, words.title, Kind::Front, &Given::default(), &content)
}

async fn show_overview(State(pages): State<Arc<Pages>>, reader: Reader) -> Page {
    let words = words::of(reader.language);
    let (own, console) = (words::overview::of(reader.language), &pages.console);
    // Somebody who has just done a step comes back here. What is late is seen by the next look.
    let _ = console.clock.timeout(SEARCH_TIME, console.look_for_steps()).await;
    let (now, lines, hours) = {
        let overview = console.overview.lock();
        let all = |of: &dyn Fn(usize) -> Vec<f64>| (0..LINES).map(of).collect::<Vec<_>>();
        let (lines, hours) = (all(&|line| overview.line(line)), all(&|line| overview.hour(line)));
        (overview.moment(), lines, hours)
    };
    let shown = overview::Shown {
        now: &now,
        lines: &lines,
        problems: &console.problems(&now),
        steps: &console.steps.open(),
        is_own: console.store.is_some(),
    };
    let is_ja = reader.language == Language::Ja;
    let content = overview::render(words, own, is_ja, &shown);
    let (said, overview) = (Some(&words.said), Some(&own.said));
    let given = Given { said, overview, now: Some(&now), lines, hours };
    pages.page(reader, words.overview, Kind::Overview, &given, &content)
}

/// A first step that nobody wants to see.
#[derive(Debug, Deserialize)]
struct Dismissed {
    step: String,
}

async fn dismiss_step(
    State(pages): State<Arc<Pages>>,
    Form(dismissed): Form<Dismissed>,
) -> Result<Redirect, Failure> {
    match pages.console.dismiss_step(&dismissed.step).await {
        Ok(true) => Ok(Redirect::to("/console")),
        Ok(false) => {
            let says = format!("there is no first step `{}`", dismissed.step);
            Err(Failure::new(StatusCode::NOT_FOUND, "no_such_step", says))
        }
        Err(error) => Err(Failure::of_store(&error)),
    }
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
        let module = match kind {
            Kind::Front => "front.js",
            Kind::Overview => "overview.js",
            Kind::Tables => "tables.js",
            Kind::Access => "access.js",
            Kind::Settings => "settings.js",
            Kind::Search | Kind::Flow | Kind::Backups => "lists.js",
        };
        let styles: &[&str] = match kind {
            Kind::Tables => &[STYLE, TABLES_STYLE],
            Kind::Access | Kind::Settings => &[STYLE, ACCESS_STYLE],
            _ => &[STYLE],
        };
        let shell = Shell {
            reader,
            title,
            home: "/",
            assets: &self.assets,
            styles,
            module,
            given,
            class: kind.word(),
            is_bare: false,
        };
        match kind.desk() {
            Some(here) => shell.desk(here, content),
            None => shell.around(content),
        }
    }

    /// A page of lists and forms.
    fn plain(&self, reader: Reader, title: &str, kind: Kind, content: &Markup) -> Page {
        let said = &words::of(reader.language).said;
        let given = Given { said: Some(said), ..Given::default() };
        self.page(reader, title, kind, &given, content)
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
