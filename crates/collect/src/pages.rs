//! The pages: the last half hour for everybody (`summary.rs`), and the operator's desk (`desk.rs`)
//! with the form of a source (`form.rs`) and what its forms do (`acts.rs`).
//!
//! All of it is rendered here and works without script. Modules under `assets/` make the desk live:
//! strips, histograms and progress move on by one stream of events, charts are drawn, the time to
//! the next call is counted down.

mod acts;
mod ask;
mod desk;
mod form;
mod lists;
mod markup;
mod reasons;
mod strip;
mod summary;
mod words;

use std::sync::Arc;

use edge::{
    Bounds, Client, Failure, IntoResponse, Page, Path, Query, Reader, Response, Routes, State,
    StatusCode, Visitor, bounded, get, post,
};
use kit::{Asset, Assets, CHART, Shell};
use maud::Markup;
use serde::{Deserialize, Serialize};

use self::desk::Notes;
use self::summary::Half;
use self::words::{Said, States, Words};
use crate::Collect;
use crate::api::{Door, reads_up_to};
use crate::error::Error;
use crate::limits::{
    CHART_SLOTS, FORM_BYTES_MAX, LATENESS_MS, LISTED_MAX, MISSING_AFTER, SOURCES_PER_PAGE,
};
use crate::model::kind::Readers;
use crate::ops::sources::Active;

const HOME: &str = "/collect";
const DESK: &str = "/collect/operate";
const STYLE: &str = "collect.css";

const FILES: [Asset; 7] = [
    (STYLE, include_str!("pages/assets/collect.css")),
    ("chart.js", include_str!("pages/assets/chart.js")),
    ("desk.js", include_str!("pages/assets/desk.js")),
    ("form.js", include_str!("pages/assets/form.js")),
    ("reasons.js", include_str!("pages/assets/reasons.js")),
    ("row.js", include_str!("pages/assets/row.js")),
    ("summary.js", include_str!("pages/assets/summary.js")),
];

/// The pages and what they need.
#[derive(Clone)]
pub(crate) struct Pages {
    shared: Arc<Shared>,
}

struct Shared {
    door: Arc<Door>,
    assets: Assets,
}

/// What a module is given as data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Given<'g> {
    said: &'g Said,
    states: &'g States,
    /// The sentences of reasons as they are written, and as they are shown.
    written: &'g [&'static str],
    reasons: &'g [&'static str],
    now_ms: u64,
    chart_slots: u64,
    lateness_ms: &'g [u64],
    missing_after_ms: u128,
}

/// Which part of the sources is looked at.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Listed {
    /// `troubled`, `paused`, or all.
    #[serde(default)]
    pub(super) show: String,
    /// What their names hold.
    #[serde(default)]
    pub(super) q: String,
    /// The last one of the page before.
    #[serde(default)]
    pub(super) after: String,
    /// The source whose dead letters are looked at.
    #[serde(default)]
    pub(super) of: String,
}

impl Listed {
    fn fields(&self) -> [(&'static str, &str); 4] {
        [("show", &self.show), ("q", &self.q), ("after", &self.after), ("of", &self.of)]
    }

    /// The source whose dead letters are looked at, if it is one.
    fn letters_of(&self) -> Option<&str> {
        Some(self.of.trim()).filter(|name| !name.is_empty())
    }

    /// As it stands in an address. What no name can hold is left out of it.
    fn query(&self) -> String {
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || "._-".contains(*letter);
        let set = self.fields().into_iter().filter(|(_, value)| !value.is_empty());
        let pairs = set.map(|(name, value)| {
            format!("{name}={}", value.chars().filter(plain).collect::<String>())
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    /// Whether all are looked at.
    fn is_plain(&self) -> bool {
        self.show.is_empty() && self.q.is_empty() && self.after.is_empty()
    }

    fn wants(&self, active: &Active) -> bool {
        let is_shown = match self.show.as_str() {
            "troubled" => active.is_troubled(),
            "paused" => active.is_paused(),
            _ => true,
        };
        is_shown && active.source.name.contains(self.q.trim().to_ascii_lowercase().as_str())
    }

    /// Those of a page that may be seen by these readers, and whether there are more.
    fn page(&self, collect: &Collect, readers: Readers) -> (Vec<Arc<Active>>, bool) {
        let all = collect.sources.all();
        let behind = all.range::<str, _>((
            std::ops::Bound::Excluded(self.after.as_str()),
            std::ops::Bound::Unbounded,
        ));
        let seen = behind.map(|(_, active)| active).filter(|it| it.source.readers <= readers);
        let mut wanted = seen.filter(|active| self.wants(active));
        let page = wanted.by_ref().take(SOURCES_PER_PAGE).cloned().collect();
        (page, wanted.next().is_some())
    }
}

/// What an address of the desk says beside which sources are looked at.
#[derive(Debug, Default, Deserialize)]
struct Beside {
    told: Option<String>,
    letters: Option<String>,
}

impl Pages {
    pub(crate) fn new(door: &Arc<Door>) -> Pages {
        let assets = Assets::new("collect", &[&FILES[..], &CHART[..]].concat());
        Pages { shared: Arc::new(Shared { door: Arc::clone(door), assets }) }
    }

    /// Routes for everybody, who sees what is for everybody.
    pub(crate) fn outside(&self) -> Routes {
        Routes::new().route(HOME, get(show_summary)).with_state(self.clone())
    }

    /// Files of the pages.
    pub(crate) fn assets(&self) -> Routes {
        self.shared.assets.routes()
    }

    /// Routes for the operator.
    pub(crate) fn inside(&self) -> Routes {
        let small = Bounds { body_bytes_max: Some(FORM_BYTES_MAX), ..Bounds::default() };
        Routes::new()
            .route(DESK, get(show_desk))
            .route("/collect/operate/new", get(show_new))
            .route("/collect/operate/edit/{name}", get(show_edit))
            .route("/collect/operate/source", bounded(post(acts::save), small))
            .route("/collect/operate/act", bounded(post(acts::act), small))
            .route("/collect/operate/backfill", bounded(post(acts::backfill), small))
            .route("/collect/operate/letters", bounded(post(acts::letters), small))
            .with_state(self.clone())
    }

    fn collect(&self) -> &Arc<Collect> {
        &self.shared.door.collect
    }

    /// A page of a kind: its stylesheet, its module.
    fn page(&self, reader: Reader, title: &str, kind: &str, content: &Markup) -> Page {
        let words: &Words = words::of(reader.language);
        let given = Given {
            said: &words.said,
            states: &words.states,
            written: &reasons::WRITTEN,
            reasons: &words.reasons,
            now_ms: self.collect().clock.now().millis(),
            chart_slots: CHART_SLOTS,
            lateness_ms: &LATENESS_MS,
            missing_after_ms: MISSING_AFTER.as_millis(),
        };
        let shell = Shell {
            reader,
            title,
            home: HOME,
            assets: &self.shared.assets,
            styles: if kind == "desk" { &["kit/uplot.css", STYLE] } else { &[STYLE] },
            module: &format!("{kind}.js"),
            given: &given,
            class: kind,
            is_bare: false,
        };
        match kind {
            "summary" => shell.around(content),
            _ => shell.desk(DESK, content),
        }
    }

    /// The desk, with what is to be said at its head.
    async fn desk(&self, reader: Reader, listed: &Listed, notes: Notes) -> Result<Page, Error> {
        let words = words::of(reader.language);
        let collect = self.collect();
        let (page, more) = listed.page(collect, Readers::Operator);
        let mut rows = Vec::with_capacity(page.len());
        for active in page {
            rows.push(desk::Row::load(collect, active).await?);
        }
        let backfills = collect.list_backfills(LISTED_MAX).await?;
        let (after, of) = (notes.letters_after.as_deref(), listed.letters_of());
        let letters = collect.list_letters(after, LISTED_MAX, (of, None)).await?;
        let shown = desk::Desk { listed, rows, more, backfills, letters, notes };
        let content = desk::render(words, collect, &shown);
        Ok(self.page(reader, words.desk, "desk", &content))
    }

    fn form(&self, reader: Reader, fields: &form::Fields, was: &str, told: Option<&str>) -> Page {
        let words = words::of(reader.language);
        let title = if was.is_empty() { words.new_source } else { words.edit_source };
        self.page(reader, title, "form", &form::render(words, title, fields, was, told))
    }
}

async fn show_summary(
    State(pages): State<Pages>,
    client: Client,
    visitor: Visitor,
    Query(listed): Query<Listed>,
    reader: Reader,
) -> Result<Response, Failure> {
    pages.shared.door.admit_reader(client)?;
    let collect = pages.collect();
    let (page, more) = listed.page(collect, reads_up_to(&visitor));
    let mut halves = Vec::with_capacity(page.len());
    for active in page {
        halves.push(Half {
            name: active.source.name.clone(),
            metric: active.source.metric.clone(),
            is_paused: active.is_paused(),
            kind: active.source.kind,
            summary: collect.summarise(&active).await?,
        });
    }
    let words = words::of(reader.language);
    let is_operator = matches!(visitor, Visitor::Operator);
    let content = summary::render(words, &halves, &listed, more, is_operator);
    Ok(pages.page(reader, words.title, "summary", &content).into_response())
}

async fn show_desk(
    State(pages): State<Pages>,
    Query(listed): Query<Listed>,
    Query(beside): Query<Beside>,
    reader: Reader,
) -> Result<Response, Failure> {
    let told = beside.told.and_then(|word| words::of(reader.language).told(&word));
    let notes = Notes {
        told: told.map(str::to_owned),
        letters_after: beside.letters.map(|place| place.replace('.', "#")),
        ..Notes::default()
    };
    Ok(pages.desk(reader, &listed, notes).await?.into_response())
}

async fn show_new(State(pages): State<Pages>, reader: Reader) -> Page {
    pages.form(reader, &form::usual(), "", None)
}

async fn show_edit(
    State(pages): State<Pages>,
    Path(name): Path<String>,
    reader: Reader,
) -> Result<Response, Failure> {
    let active = pages.collect().sources.get(&name)?;
    if active.is_fixed {
        return Err(Error::SourceFixed(name).into());
    }
    let fields = form::fields_of(&active.source);
    Ok(pages.form(reader, &fields, &name, None).with_status(StatusCode::OK).into_response())
}
