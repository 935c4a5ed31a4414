//! The sample game and its client module, as they lie in `examples/score-game`: one file is the
//! example, what the house serves, and what the tests play.

use std::sync::Arc;

use edge::{HeaderMap, HeaderValue, Page, Redirect, Response, Routes, State, Tagged, get};
use maud::PreEscaped;

use crate::items::game::{GameForm, sample_game};

/// Where the sample game is played.
pub(super) const SAMPLE: &str = "/score/play/";

/// The game that it plays.
pub(super) const SAMPLE_GAME: &str = "akari";

const PAGE: &str = include_str!("../../../../examples/score-game/index.html");

const JS: &str = "text/javascript; charset=utf-8";

const FILES: [(&str, &str, &str); 4] = [
    ("client.js", JS, include_str!("../../../../examples/score-game/client.js")),
    ("game.js", JS, include_str!("../../../../examples/score-game/game.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../../../examples/score-game/icon.svg")),
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("../../../../examples/score-game/style.css"),
    ),
];

/// The config of the sample game.
pub(super) fn config() -> Option<GameForm> {
    sample_game().as_ref().map(GameForm::from)
}

pub(super) fn routes() -> Routes {
    let page = Routes::new()
        .route(SAMPLE, get(async || Page::new(PreEscaped(PAGE.to_owned()))))
        .route("/score/play", get(async || Redirect::to(SAMPLE)));
    FILES.iter().fold(page, |routes, (name, kind, text)| {
        let file = Arc::new(Tagged::new(HeaderValue::from_static(kind), *text));
        routes.route(&format!("{SAMPLE}{name}"), get(get_file).with_state(file))
    })
}

async fn get_file(State(file): State<Arc<Tagged>>, headers: HeaderMap) -> Response {
    file.answer(&headers)
}
