//! The pages: start or join a room, take part, host, and the wall for the projector.
//!
//! The server renders what is there, so that lists and the form work without script; modules under
//! `assets/` make it live by the same interfaces that everybody has. Who is the host only the
//! browser knows: its credential lies in the browser's storage, is sent in headers and messages,
//! and never stands in an address or a page.

mod ask;
mod host;
mod link;
mod markup;
mod room;
mod start;
mod wall;
mod words;

use std::sync::Arc;

use edge::{
    Address, Bounds, Client, Failure, Form, HeaderMap, IntoResponse, Page, Path, Query, Reader,
    Redirect, Response, Routes, State, StatusCode, bounded, find_cookie, get, header,
};
use kit::{Asset, Assets, Shell};
use maud::Markup;
use serde::{Deserialize, Serialize};

use self::link::Link;
use self::markup::Draft;
use self::words::{Problems, Said, Words};
use crate::api::{Api, Standing};
use crate::error::Error;
use crate::limits::{
    BODY_BYTES_MAX, CODE_LENGTH, COMMENTS_PER_PAGE, NICKNAME_GRAPHEMES_MAX, PARTICIPANT_LIFE,
};
use crate::live::ShownRoom;
use crate::model::{Comment, PostComment, Room};
use crate::ops::{Page as Part, Place};

const HOME: &str = "/live";
/// Where a browser without script keeps its participant, for the form of the participants' page.
const PARTICIPANT: &str = "live_participant";
const STYLE: &str = "live.css";

const FILES: [Asset; 12] = [
    (STYLE, include_str!("pages/assets/live.css")),
    ("api.js", include_str!("pages/assets/api.js")),
    ("compose.js", include_str!("pages/assets/compose.js")),
    ("flow.js", include_str!("pages/assets/flow.js")),
    ("host.js", include_str!("pages/assets/host.js")),
    ("lanes.js", include_str!("pages/assets/lanes.js")),
    ("log.js", include_str!("pages/assets/log.js")),
    ("room.js", include_str!("pages/assets/room.js")),
    ("sample.js", include_str!("pages/assets/sample.js")),
    ("socket.js", include_str!("pages/assets/socket.js")),
    ("start.js", include_str!("pages/assets/start.js")),
    ("wall.js", include_str!("pages/assets/wall.js")),
];

/// The pages and what they need.
struct Pages {
    api: Arc<Api>,
    assets: Assets,
}

/// What a module is given as data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Given<'g> {
    room: Option<ShownRoom>,
    said: &'g Said,
    problems: &'g Problems,
    content_max: usize,
    nickname_max: usize,
}

/// The routes of the pages and their files.
pub(crate) fn routes(api: &Arc<Api>) -> Routes {
    let assets = Assets::new("live", &FILES);
    let files = assets.routes();
    let small = Bounds { body_bytes_max: Some(BODY_BYTES_MAX), ..Bounds::default() };
    Routes::new()
        .route(HOME, get(show_start))
        .route("/live/join", get(join))
        .route("/live/r/{code}", bounded(get(show_room).post(post_comment), small))
        .route("/live/host/{roomId}", get(show_host))
        .route("/live/wall/{roomId}", get(show_wall))
        .with_state(Arc::new(Pages { api: Arc::clone(api), assets }))
        .merge(files)
}

/// Which page of comments is wanted.
#[derive(Debug, Deserialize)]
struct Listed {
    before: Option<String>,
    /// Whether the comment that was just sent is held.
    held: Option<String>,
}

/// What the form of a participant without script sends.
#[derive(Debug, Default, Deserialize)]
struct Written {
    #[serde(default)]
    content: String,
    #[serde(default)]
    nickname: String,
}

#[derive(Debug, Deserialize)]
struct Wanted {
    #[serde(default)]
    code: String,
}

async fn show_start(State(pages): State<Arc<Pages>>, reader: Reader) -> Page {
    let words = words::of(reader.language);
    pages.page(reader, words.title, None, Kind::Start, &start::render(words))
}

/// Leads to a room by its code, however it was typed.
async fn join(Query(wanted): Query<Wanted>) -> Redirect {
    let letters = wanted.code.chars().filter(char::is_ascii_alphanumeric).take(CODE_LENGTH);
    let code: String = letters.map(|letter| letter.to_ascii_uppercase()).collect();
    if code.is_empty() { Redirect::to(HOME) } else { Redirect::to(&room_path(&code)) }
}

async fn show_room(
    State(pages): State<Arc<Pages>>,
    Path(code): Path<String>,
    Query(listed): Query<Listed>,
    reader: Reader,
) -> Response {
    let sent = listed.held.is_some().then(|| words::of(reader.language).said.waits);
    let draft = Draft { sent, ..Draft::default() };
    let shown = pages.room(&code, listed.before.as_deref(), reader, &draft).await;
    pages.answer(shown, reader)
}

/// Says something without script.
async fn post_comment(
    State(pages): State<Arc<Pages>>,
    Path(code): Path<String>,
    client: Client,
    reader: Reader,
    headers: HeaderMap,
    Form(written): Form<Written>,
) -> Response {
    // A browser without script keeps its participant in a cookie.
    let participant = find_cookie(&headers, PARTICIPANT);
    match pages.say(&code, client, participant, &written).await {
        Ok(answer) => answer,
        Err(failure) if failure.status().is_server_error() => failure.into_response(),
        Err(failure) => {
            let told = words::of(reader.language).problems.of(failure.code());
            let Written { content, nickname } = written;
            let draft = Draft { content, nickname, told: Some(told), sent: None };
            let shown = pages.room(&code, None, reader, &draft).await;
            pages.answer(shown.map(|page| page.with_status(failure.status())), reader)
        }
    }
}

async fn show_host(
    State(pages): State<Arc<Pages>>,
    Path(id): Path<String>,
    address: Address,
    reader: Reader,
) -> Response {
    let words = words::of(reader.language);
    let shown = pages.api.live().find_by_name(&id).await.map(|room| {
        let content = host::render(words, &room, &Link::of(&room, &address));
        let title = format!("{} · {}", room.name, words.desk);
        pages.page(reader, &title, Some(&room), Kind::Host, &content)
    });
    pages.answer(shown, reader)
}

async fn show_wall(
    State(pages): State<Arc<Pages>>,
    Path(id): Path<String>,
    address: Address,
    reader: Reader,
) -> Response {
    let shown = pages.wall(&id, &address, reader).await;
    pages.answer(shown, reader)
}

/// Which page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Start,
    Room,
    Host,
    Wall,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Start => "start",
            Kind::Room => "room",
            Kind::Host => "host",
            Kind::Wall => "wall",
        }
    }
}

impl Pages {
    fn page(
        &self,
        reader: Reader,
        title: &str,
        room: Option<&Room>,
        kind: Kind,
        content: &Markup,
    ) -> Page {
        let words: &Words = words::of(reader.language);
        let given = Given {
            room: room.map(ShownRoom::of),
            said: &words.said,
            problems: &words.problems,
            content_max: self.api.live().options.comment_graphemes_max,
            nickname_max: NICKNAME_GRAPHEMES_MAX,
        };
        let shell = Shell {
            reader,
            title,
            home: HOME,
            assets: &self.assets,
            styles: &[STYLE],
            module: &format!("{}.js", kind.word()),
            given: &given,
            class: kind.word(),
            is_bare: kind == Kind::Wall,
        };
        shell.around(content)
    }

    async fn room(
        &self,
        code: &str,
        before: Option<&str>,
        reader: Reader,
        draft: &Draft,
    ) -> Result<Page, Error> {
        let room = self.api.live().find_by_name(code).await?;
        let before = before.filter(|place| !place.is_empty());
        let before = before.map(|place| Place::parse("before", place)).transpose()?;
        let (comments, older) = self.newest(&room, before).await?;
        let words = words::of(reader.language);
        let content = room::render(words, &room, &comments, older.as_deref(), draft);
        Ok(self.page(reader, &room.name, Some(&room), Kind::Room, &content))
    }

    async fn wall(&self, id: &str, address: &Address, reader: Reader) -> Result<Page, Error> {
        let room = self.api.live().find_by_name(id).await?;
        let (comments, _) = self.newest(&room, None).await?;
        let words = words::of(reader.language);
        let content = wall::render(words, &room, &comments, &Link::of(&room, address));
        let title = format!("{} · {}", room.name, words.wall);
        Ok(self.page(reader, &title, Some(&room), Kind::Wall, &content))
    }

    /// The last comments before a place, newest first, and where to go on. Without a place, those
    /// that the room's number knows: a module hears everything behind it.
    async fn newest(
        &self,
        room: &Room,
        before: Option<Place>,
    ) -> Result<(Vec<Comment>, Option<String>), Error> {
        let part = Part {
            after: None,
            before: before.or(Some(Place::Seq(room.seq + 1))),
            limit: COMMENTS_PER_PAGE,
            for_host: false,
        };
        let (mut comments, next) = self.api.live().list_comments(room, &part).await?;
        comments.reverse();
        Ok((comments, next))
    }

    /// Says something for a browser without script, and leads it back to the page. One without a
    /// signed participant gets one with the answer, if its address has one left.
    async fn say(
        &self,
        code: &str,
        client: Client,
        presented: Option<&str>,
        written: &Written,
    ) -> Result<Response, Failure> {
        let room = self.api.live().find_by_name(code).await?;
        let address = client.network();
        let caller = self.api.caller(address, presented, Some(&written.nickname)).await?;
        let post = PostComment {
            content: written.content.clone(),
            nickname: Some(written.nickname.clone()),
            client_id: None,
            participant: caller.participant.clone(),
            host_id: None,
        };
        let comment = self.api.post(address, &room.id, post, &caller).await?;
        let held = if comment.is_held() { "?held=1" } else { "" };
        let answer = Redirect::to(&(room_path(&room.code) + held));
        if caller.standing == Standing::Signed {
            return Ok(answer.into_response());
        }
        let Ok(issued) = self.api.issue(client, None).await else {
            return Ok(answer.into_response());
        };
        let (participant, seconds) = (issued.participant, PARTICIPANT_LIFE.as_secs());
        let cookie = format!(
            "{PARTICIPANT}={participant}; Path=/live/r; Max-Age={seconds}; HttpOnly; SameSite=Lax"
        );
        Ok(([(header::SET_COOKIE, cookie)], answer).into_response())
    }

    /// The page, or one that says that there is no such room.
    fn answer(&self, shown: Result<Page, Error>, reader: Reader) -> Response {
        match shown {
            Ok(page) => page.into_response(),
            Err(Error::RoomNotFound(_)) => {
                let words = words::of(reader.language);
                let content = start::room_gone(words);
                let page = self.page(reader, words.room_gone_title, None, Kind::Start, &content);
                page.with_status(StatusCode::NOT_FOUND).into_response()
            }
            Err(error) => Failure::from(error).into_response(),
        }
    }
}

/// Where participants find a room.
fn room_path(code: &str) -> String {
    format!("/live/r/{code}")
}
