//! The pages: the timeline, a user, a post, notifications; and the way in to all of them.
//!
//! Nothing of the room is public, so what the server renders is the same for everybody: forms,
//! empty lists, templates. Modules under `assets/` fill them by the calls that everybody has. A
//! session lies in the storage of its browser and leaves in headers and messages, never in an
//! address or a page.

mod ask;
mod entry;
mod frame;
mod home;
mod icons;
mod lists;
mod user;
mod words;

use std::sync::Arc;

use edge::{
    IntoResponse, Page, Path, Query, Reader, Redirect, Response, Routes, State, StatusCode, get,
};
use kit::{Asset, Assets, Shell};
use maud::Markup;
use serde::{Deserialize, Serialize};

use self::words::{Said, Words};
use crate::model::PostId;
use crate::model::account::check_username;
use crate::options::Registration;

const HOME: &str = "/sns";
const NOTES: &str = "/sns/notifications";
const STYLE: &str = "sns.css";

const FILES: [Asset; 13] = [
    (STYLE, include_str!("pages/assets/sns.css")),
    ("api.js", include_str!("pages/assets/api.js")),
    ("ask.js", include_str!("pages/assets/ask.js")),
    ("frame.js", include_str!("pages/assets/frame.js")),
    ("home.js", include_str!("pages/assets/home.js")),
    ("notes.js", include_str!("pages/assets/notes.js")),
    ("parts.js", include_str!("pages/assets/parts.js")),
    ("people.js", include_str!("pages/assets/people.js")),
    ("post.js", include_str!("pages/assets/post.js")),
    ("posts.js", include_str!("pages/assets/posts.js")),
    ("session.js", include_str!("pages/assets/session.js")),
    ("socket.js", include_str!("pages/assets/socket.js")),
    ("user.js", include_str!("pages/assets/user.js")),
];

/// The pages and what they need.
struct Pages {
    assets: Assets,
    registration: Registration,
}

/// Which page it is, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place<'p> {
    Home,
    Notes,
    User(&'p str, List),
    Post(PostId),
}

/// What is listed of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Posts,
    Likes,
    Followers,
    Following,
    Blocks,
    Mutes,
}

impl List {
    const ALL: [List; 6] =
        [List::Posts, List::Likes, List::Followers, List::Following, List::Blocks, List::Mutes];

    /// Whether only the user itself sees it.
    fn is_private(self) -> bool {
        matches!(self, List::Blocks | List::Mutes)
    }

    /// As the calls name it.
    fn word(self) -> &'static str {
        match self {
            List::Posts => "posts",
            List::Likes => "likes",
            List::Followers => "followers",
            List::Following => "following",
            List::Blocks => "blocks",
            List::Mutes => "mutes",
        }
    }
}

/// What a module is given as data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Given<'g> {
    /// Whose page it is.
    username: Option<&'g str>,
    /// Which of the user's lists.
    list: Option<&'static str>,
    post_id: Option<String>,
    said: &'g Said,
}

/// The routes of the pages and their files.
pub(crate) fn routes(registration: Registration) -> Routes {
    let assets = Assets::new("sns", &FILES);
    let files = assets.routes();
    Routes::new()
        .route(HOME, get(show_home))
        .route(NOTES, get(show_notes))
        .route("/sns/u/{username}", get(show_user))
        .route("/sns/u/{username}/{list}", get(show_list))
        .route("/sns/p/{post}", get(show_post))
        .route("/sns/find", get(find))
        .with_state(Arc::new(Pages { assets, registration }))
        .merge(files)
}

async fn show_home(State(pages): State<Arc<Pages>>, reader: Reader) -> Page {
    pages.page(reader, Place::Home)
}

async fn show_notes(State(pages): State<Arc<Pages>>, reader: Reader) -> Page {
    pages.page(reader, Place::Notes)
}

async fn show_user(
    State(pages): State<Arc<Pages>>,
    Path(username): Path<String>,
    reader: Reader,
) -> Page {
    pages.user(reader, &username, List::Posts.word())
}

async fn show_list(
    State(pages): State<Arc<Pages>>,
    Path((username, list)): Path<(String, String)>,
    reader: Reader,
) -> Page {
    pages.user(reader, &username, &list)
}

async fn show_post(
    State(pages): State<Arc<Pages>>,
    Path(post): Path<String>,
    reader: Reader,
) -> Page {
    match post.parse() {
        Ok(post) => pages.page(reader, Place::Post(post)),
        Err(()) => pages.nothing(reader, words::of(reader.language).no_post),
    }
}

/// Who is looked for.
#[derive(Debug, Deserialize)]
struct Sought {
    username: String,
}

async fn find(
    State(pages): State<Arc<Pages>>,
    Query(sought): Query<Sought>,
    reader: Reader,
) -> Response {
    let username = sought.username.trim().trim_start_matches('@');
    match check_username(username) {
        Ok(username) => Redirect::to(&format!("/sns/u/{username}")).into_response(),
        Err(_) => pages.nothing(reader, words::of(reader.language).no_user).into_response(),
    }
}

impl Pages {
    fn user(&self, reader: Reader, username: &str, list: &str) -> Page {
        let list = List::ALL.into_iter().find(|known| known.word() == list);
        match list.filter(|_| check_username(username).is_ok()) {
            Some(list) => self.page(reader, Place::User(username, list)),
            None => self.nothing(reader, words::of(reader.language).no_user),
        }
    }

    fn page(&self, reader: Reader, place: Place<'_>) -> Page {
        let words = words::of(reader.language);
        let content = match place {
            Place::Home => home::render(words, self.registration),
            Place::Notes => lists::notes(words),
            Place::User(username, list) => user::render(words, username, list),
            Place::Post(_) => lists::one_post(words),
        };
        let content = frame::render(words, self.registration, place, &content);
        let (title, module) = match place {
            Place::Home => (words.home.to_owned(), "home.js"),
            Place::Notes => (words.notes.to_owned(), "notes.js"),
            Place::User(username, _) => (format!("@{username}"), "user.js"),
            Place::Post(_) => (words.post.to_owned(), "post.js"),
        };
        self.shell(reader, &title, module, place, &content)
    }

    /// What an address leads to that nothing can have.
    fn nothing(&self, reader: Reader, told: &str) -> Page {
        let words = words::of(reader.language);
        let content = lists::nothing(words, told);
        let page = self.shell(reader, told, "parts.js", Place::Home, &content);
        page.with_status(StatusCode::NOT_FOUND)
    }

    fn shell(
        &self,
        reader: Reader,
        title: &str,
        module: &str,
        place: Place<'_>,
        content: &Markup,
    ) -> Page {
        let words: &Words = words::of(reader.language);
        let (username, list, post_id) = match place {
            Place::Home | Place::Notes => (None, None, None),
            Place::User(username, list) => (Some(username), Some(list.word()), None),
            Place::Post(post) => (None, None, Some(post.to_string())),
        };
        let shell = Shell {
            reader,
            title,
            home: HOME,
            assets: &self.assets,
            styles: &[STYLE],
            module,
            given: &Given { username, list, post_id, said: &words.said },
            class: "sns",
            is_bare: false,
        };
        shell.around(content)
    }
}
