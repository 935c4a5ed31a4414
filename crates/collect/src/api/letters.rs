//! Dead letters on the wire: what was given up, found by source and reason.

use std::sync::Arc;

use base::text::check_plain;
use dispatch::DeadLetter;
use edge::{Failure, IntoResponse, Path, Query, Response, Routes, State, StatusCode, get, post};
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::{Door, fresh, limit};
use crate::error::Error;
use crate::jobs::read_letter;
use crate::model::slot::spell;

#[derive(OpenApi)]
#[openapi(paths(get_dead_letters, post_replay, post_replay_all, delete_dead_letters))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/collect/dead-letters", get(get_dead_letters).delete(delete_dead_letters))
        .route("/collect/dead-letters/replay", post(post_replay_all))
        .route("/collect/dead-letters/{id}/replay", post(post_replay))
        .with_state(Arc::clone(door))
}

/// A slot that was given up.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LetterAnswer {
    id: String,
    message: LetterMessage,
    sent_at: String,
    died_at: String,
    /// What went wrong first.
    #[schema(example = "status 404")]
    reason: String,
}

/// What a dead letter asks for; its text, if it is no such message.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum LetterMessage {
    Ask(LetterAsk),
    Text(String),
}

/// A slot of sources.
#[derive(Serialize, ToSchema)]
struct LetterAsk {
    #[schema(example = "2025-12-02T10:23:00Z")]
    from: String,
    #[schema(example = "2025-12-02T10:23:05Z")]
    to: String,
    sources: Vec<String>,
    /// Calls that were made.
    attempts: u32,
}

/// Dead letters, the oldest first.
#[derive(Serialize, ToSchema)]
struct LettersAnswer {
    letters: Vec<LetterAnswer>,
    /// Where the next part begins; null at the end.
    next: Option<String>,
}

impl From<&DeadLetter> for LetterAnswer {
    fn from(letter: &DeadLetter) -> LetterAnswer {
        let message = match read_letter(&letter.body) {
            Some((sources, ask)) => LetterMessage::Ask(LetterAsk {
                from: spell(ask.slot.from()),
                to: spell(ask.slot.to()),
                sources,
                attempts: ask.attempts,
            }),
            None => LetterMessage::Text(String::from_utf8_lossy(&letter.body).into_owned()),
        };
        LetterAnswer {
            id: letter.id.replace('#', "."),
            message,
            sent_at: letter.sent.to_string(),
            died_at: letter.died.to_string(),
            reason: letter.reason.clone(),
        }
    }
}

#[derive(Deserialize)]
struct Sought {
    source: Option<String>,
    reason: Option<String>,
    cursor: Option<String>,
    limit: Option<String>,
}

impl Sought {
    /// The source and the text in the reason.
    fn wanted(&self) -> Result<(Option<&str>, Option<&str>), Error> {
        for (name, text) in [("source", &self.source), ("reason", &self.reason)] {
            let checked = text.as_deref().map_or(Ok(()), check_plain);
            checked.map_err(|error| Error::invalid(format!("{name}: {error}")))?;
        }
        Ok((self.source.as_deref(), self.reason.as_deref()))
    }
}

/// What was given up, the oldest first.
#[utoipa::path(get, path = "/collect/dead-letters", params(
    ("source" = Option<String>, Query, description = "Only those of this source."),
    ("reason" = Option<String>, Query, description = "Only those with this text in their reason."),
    ("cursor" = Option<String>, Query, description = "The `next` of the page before."),
    ("limit" = Option<u64>, Query, description = "From 1 to 1000, which is usual."),
), responses(
    (status = 200, description = "Messages and reasons. A page of some of them may hold fewer than \
     its limit; `next` says whether more follow.", body = LettersAnswer),
    (status = 400, description = "A parameter is wrong."),
))]
async fn get_dead_letters(
    State(door): State<Arc<Door>>,
    Query(sought): Query<Sought>,
) -> Result<Response, Failure> {
    let after = sought.cursor.as_deref().map(read_cursor).transpose()?;
    let limit = u32::try_from(limit(sought.limit.as_deref())?).unwrap_or(u32::MAX);
    let page = door.collect.list_letters(after.as_deref(), limit, sought.wanted()?).await?;
    Ok(fresh(&LettersAnswer {
        letters: page.letters.iter().map(LetterAnswer::from).collect(),
        next: page.next.map(|next| next.replace('#', ".")),
    }))
}

fn read_cursor(shown: &str) -> Result<String, Error> {
    let id = letter_id(shown);
    if DeadLetter::is_id(&id) {
        return Ok(id);
    }
    Err(Error::invalid(format!("`{shown:.64}` is no cursor of this list")))
}

/// A dead letter's id as the queue knows it: outside it has a point, which can stand in a path.
fn letter_id(shown: &str) -> String {
    shown.replace('.', "#")
}

/// A letter that was sent again.
#[derive(Serialize, ToSchema)]
struct Replayed {
    replayed: String,
}

/// Sends a dead letter again: its slot is tried once more.
#[utoipa::path(post, path = "/collect/dead-letters/{id}/replay", params(("id" = String, Path)),
    responses(
    (status = 202, description = "It is sent.", body = Replayed),
    (status = 404, description = "There is no such dead letter."),
))]
async fn post_replay(
    State(door): State<Arc<Door>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    if !door.collect.asks.replay(&letter_id(&id)).await.map_err(Error::from)? {
        return Err(Error::NoSuchLetter(id).into());
    }
    Ok((StatusCode::ACCEPTED, fresh(&Replayed { replayed: id })).into_response())
}

/// How many letters were sent again.
#[derive(Serialize, ToSchema)]
struct ReplayedAll {
    replayed: u64,
}

/// Sends all dead letters again, or those of a source or with a text in their reason.
#[utoipa::path(post, path = "/collect/dead-letters/replay", params(
    ("source" = Option<String>, Query, description = "Only those of this source."),
    ("reason" = Option<String>, Query, description = "Only those with this text in their reason."),
), responses(
    (status = 202, description = "How many they were.", body = ReplayedAll),
    (status = 400, description = "A parameter is wrong."),
))]
async fn post_replay_all(
    State(door): State<Arc<Door>>,
    Query(sought): Query<Sought>,
) -> Result<Response, Failure> {
    let (source, reason) = sought.wanted()?;
    let replayed = door.collect.replay_letters(source, reason).await?;
    Ok((StatusCode::ACCEPTED, fresh(&ReplayedAll { replayed })).into_response())
}

/// How many letters were removed.
#[derive(Serialize, ToSchema)]
struct Purged {
    purged: u64,
}

/// Removes all dead letters, or those of a source or with a text in their reason. What the ledger
/// knows of their slots stays.
#[utoipa::path(delete, path = "/collect/dead-letters", params(
    ("source" = Option<String>, Query, description = "Only those of this source."),
    ("reason" = Option<String>, Query, description = "Only those with this text in their reason."),
), responses(
    (status = 200, description = "How many they were.", body = Purged),
    (status = 400, description = "A parameter is wrong."),
))]
async fn delete_dead_letters(
    State(door): State<Arc<Door>>,
    Query(sought): Query<Sought>,
) -> Result<Response, Failure> {
    let (source, reason) = sought.wanted()?;
    let purged = door.collect.purge_letters(source, reason).await?;
    Ok(fresh(&Purged { purged }))
}
