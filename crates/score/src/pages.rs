//! The pages: all games, a board, the operator's desk, and the sample game.
//!
//! The server renders what is there, so that boards are whole without script; modules under
//! `assets/` make them live by the interfaces that everybody has. The desk opens for the operator who
//! is signed in, and for a key, which is typed into it, lies in the storage of its tab, leaves in a
//! header, and never stands in an address or a page.

mod ask;
mod board;
mod chart;
mod games;
mod operate;
mod play;
mod words;

use std::sync::Arc;

use edge::{
    Client, Failure, HeaderMap, IntoResponse, Page, Path, Query, Reader, Redirect, Response,
    Routes, State, StatusCode, get,
};
use kit::{Asset, Assets, Shell};
use maud::Markup;
use serde::{Deserialize, Serialize};

use self::board::{Shown, Sought};
use self::words::{Said, Words};
use crate::api::Door;
use crate::error::Error;
use crate::items::game::GameForm;
use crate::model::check_id;
use crate::model::period::Period;

const HOME: &str = "/score";
const STYLE: &str = "score.css";

const FILES: [Asset; 9] = [
    (STYLE, include_str!("pages/assets/score.css")),
    ("api.js", include_str!("pages/assets/api.js")),
    ("board.js", include_str!("pages/assets/board.js")),
    ("chart.js", include_str!("pages/assets/chart.js")),
    ("games.js", include_str!("pages/assets/games.js")),
    ("games-form.js", include_str!("pages/assets/games-form.js")),
    ("operate.js", include_str!("pages/assets/operate.js")),
    ("rows.js", include_str!("pages/assets/rows.js")),
    ("show.js", include_str!("pages/assets/show.js")),
];

/// The pages and what they need.
struct Pages {
    door: Arc<Door>,
    assets: Assets,
}

/// What a module is given as data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Given<'g> {
    /// The board that is shown.
    game: Option<&'g str>,
    period: Option<&'g str>,
    said: &'g Said,
    /// The config of the sample game.
    sample: Option<GameForm>,
}

/// The routes of the pages and their files.
pub(crate) fn routes(door: &Arc<Door>) -> Routes {
    let assets = Assets::new("score", &FILES);
    let files = assets.routes();
    Routes::new()
        .route(HOME, get(show_games))
        .route("/score/board/{game}", get(show_all_time))
        .route("/score/board/{game}/{period}", get(show_board))
        .route("/score/operate", get(show_operate))
        .with_state(Arc::new(Pages { door: Arc::clone(door), assets }))
        .merge(files)
        .merge(play::routes())
}

/// Which part of a board is looked at.
#[derive(Debug, Deserialize)]
struct Looked {
    me: Option<String>,
}

async fn show_games(
    State(pages): State<Arc<Pages>>,
    client: Client,
    headers: HeaderMap,
    reader: Reader,
) -> Result<Page, Failure> {
    pages.door.admit_reader(&headers, client)?;
    let words = words::of(reader.language);
    let content = games::render(words, &pages.door.score.games.now());
    Ok(pages.page(reader, words.title, Kind::Games, None, &content))
}

/// Leads to the board of all time. The period is part of the address, so that it stays when the
/// language is chosen.
async fn show_all_time(Path(game): Path<String>) -> Result<Redirect, Failure> {
    check_id("gameId", &game)?;
    Ok(Redirect::to(&board_path(&game, Period::all().as_str())))
}

async fn show_board(
    State(pages): State<Arc<Pages>>,
    Path((game, period)): Path<(String, String)>,
    Query(looked): Query<Looked>,
    client: Client,
    headers: HeaderMap,
    reader: Reader,
) -> Result<Response, Failure> {
    pages.door.admit_reader(&headers, client)?;
    match pages.board(&game, &period, &looked, reader).await {
        Ok(page) => Ok(page.into_response()),
        Err(Error::NoSuchGame(_)) => {
            let words = words::of(reader.language);
            let content = games::no_such_game(words, &game);
            let page = pages.page(reader, words.no_game_title, Kind::Games, None, &content);
            Ok(page.with_status(StatusCode::NOT_FOUND).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

async fn show_operate(
    State(pages): State<Arc<Pages>>,
    client: Client,
    headers: HeaderMap,
    reader: Reader,
) -> Result<Page, Failure> {
    pages.door.admit_reader(&headers, client)?;
    let words = words::of(reader.language);
    let content = operate::render(words);
    Ok(pages.page(reader, words.desk_title, Kind::Operate, None, &content))
}

/// Which page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Games,
    Board,
    Operate,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Games => "games",
            Kind::Board => "board",
            Kind::Operate => "operate",
        }
    }
}

impl Pages {
    fn page(
        &self,
        reader: Reader,
        title: &str,
        kind: Kind,
        board: Option<(&str, &str)>,
        content: &Markup,
    ) -> Page {
        let words: &Words = words::of(reader.language);
        let (game, period) = board.unzip();
        let shell = Shell {
            reader,
            title,
            home: HOME,
            assets: &self.assets,
            styles: &[STYLE],
            module: &format!("{}.js", kind.word()),
            given: &Given { game, period, said: &words.said, sample: play::config() },
            class: kind.word(),
            is_bare: false,
        };
        match kind {
            Kind::Operate => shell.desk("/score/operate", content),
            Kind::Games | Kind::Board => shell.around(content),
        }
    }

    async fn board(
        &self,
        game: &str,
        period: &str,
        looked: &Looked,
        reader: Reader,
    ) -> Result<Page, Error> {
        let (game, period) = self.door.board_of(game, period)?;
        let me = looked.me.as_deref().map(str::trim).filter(|me| !me.is_empty());
        let me = me.map(|me| check_id("me", me).map(|()| me)).transpose()?;
        let score = &self.door.score;
        let periods = score.list_periods(&game.name).await?;
        let slot = score.board(&game, &period).await?;
        let shown = slot.read(|board| Shown::of(&game, board, me));
        let words = words::of(reader.language);
        let sought = Sought { game: &game, period: &period, periods: &periods, me };
        let content = board::render(words, &sought, &shown);
        let title = format!("{} · {}", game.name, words.title);
        let board = Some((game.name.as_str(), period.as_str()));
        Ok(self.page(reader, &title, Kind::Board, board, &content))
    }
}

/// Where a board is found.
fn board_path(game: &str, period: &str) -> String {
    format!("/score/board/{game}/{period}")
}
