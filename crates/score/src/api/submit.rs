//! A play is submitted.
//!
//! A submission passes, in this order: the proxy's word, the game and its origins, tokens, cookie,
//! the player's secret, signature, the rate of its session, the body, the kept answer of its
//! idempotency key, the rates of the user and of the address, the ban, what can have been played,
//! the threshold. One that is refused takes nothing from the rates of its user and its address.
//!
//! Invariant: nothing of this writes, and a caller cannot make it read faster than its session may
//! submit: a board that is not in memory is read once for all who ask, an unknown key is looked for
//! once a second, the answer of an idempotency key is read once for a request, and the owner of an
//! id only if its play cannot have been. Only a play that passed it all is written, with its
//! idempotency key first.

use std::collections::BTreeMap;
use std::sync::Arc;

use edge::{
    Bounds, Bucket, Client, Exceeded, Failure, HeaderMap, IntoResponse, Json, Path, Response,
    Routes, State, Taken, Unread, bounded, header, put, secret_digest,
};
use serde::Serialize;
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::play::NO_STORE;
use super::tokens;
use super::wire;
use crate::error::Error;
use crate::limits::SUBMIT_BYTES_MAX;
use crate::model::board::Standing;
use crate::model::check_id;
use crate::model::game::Game;
use crate::model::period::Period;
use crate::model::play::{Claim, End, Start, check_tokens, judge};
use crate::ops::submit::{Outcome, Submission};

#[derive(OpenApi)]
#[openapi(paths(put_score))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    let bounds = Bounds { body_bytes_max: Some(SUBMIT_BYTES_MAX), ..Bounds::default() };
    Routes::new()
        .route("/score/scores/{game}/{period}/{user}", bounded(put(put_score), bounds))
        .with_state(Arc::clone(door))
}

/// Why a play was not stored.
pub(super) const BELOW_THRESHOLD: &str = "below-threshold";

/// What a play may bring along.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes a body that is read by hand, for the digits of numbers")]
#[schema(example = json!({ "meta": { "stage": 3 } }))]
struct SubmitForm {
    /// Any JSON object of at most 2 KB and 5 levels.
    #[schema(value_type = Option<Object>)]
    meta: Option<serde_json::Value>,
}

/// What became of a submission.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Submitted {
    /// Whether it was better than what was there.
    updated: bool,
    /// The stored score of the period that the path names.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    /// From 1. Below the threshold, where the play would stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    /// Whether trimmed rows were counted into that rank by estimate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    estimate: bool,
    /// Why it was not stored: `below-threshold` or `not-better`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Both periods that it counts in.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    periods: BTreeMap<String, InPeriod>,
}

/// What became of it in one period.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct InPeriod {
    updated: bool,
    score: i64,
    time_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
}

impl Submitted {
    fn below(standing: &Standing) -> Submitted {
        Submitted {
            updated: false,
            score: None,
            time_ms: None,
            updated_at: None,
            rank: usize::try_from(standing.ordinal).ok(),
            estimate: standing.is_estimate,
            reason: Some(BELOW_THRESHOLD),
            periods: BTreeMap::new(),
        }
    }

    fn new(outcomes: &[Outcome], period: &Period) -> Submitted {
        // A path may name the month in which the play began: it counts in that of its end.
        let is_named = |of: &Period| (*of == Period::all()) == (*period == Period::all());
        let named = outcomes.iter().find(|outcome| is_named(&outcome.period));
        let updated = named.is_some_and(|outcome| outcome.updated);
        let in_period = |outcome: &Outcome| InPeriod {
            updated: outcome.updated,
            score: outcome.row.value.score,
            time_ms: outcome.row.value.time_ms,
            rank: outcome.rank,
        };
        let each = |outcome: &Outcome| (outcome.period.to_string(), in_period(outcome));
        Submitted {
            updated,
            score: named.map(|outcome| outcome.row.value.score),
            time_ms: named.map(|outcome| outcome.row.value.time_ms),
            updated_at: named.map(|outcome| outcome.row.value.updated_at.to_string()),
            rank: named.and_then(|outcome| outcome.rank),
            estimate: false,
            reason: (!updated).then_some("not-better"),
            periods: outcomes.iter().map(each).collect(),
        }
    }
}

/// Submits a play. It counts in its month and in all time, whichever the path names.
#[utoipa::path(put, path = "/score/scores/{gameId}/{period}/{userId}", params(
    ("gameId" = String, Path), ("period" = String, Path), ("userId" = String, Path),
    ("X-Token-Start" = String, Header), ("X-Token-End" = String, Header),
    ("X-Sig" = String, Header, description = "HMAC-SHA256 of `{userId}|{score}|{timeMs}|{period}` \
     with the text of the end token as key, in base64url without padding or in hexadecimal."),
    ("X-Score" = i64, Header), ("X-Time-Ms" = i64, Header),
    ("X-Player" = String, Header, description = "The name to show, UTF-8 in percent-encoding."),
    ("X-Player-Secret" = Option<String>, Header, description = "The secret of a claimed id."),
    ("X-Idem-Key" = Option<String>, Header, description = "Idempotency-Key does as well. The same \
     request with the same key gets the same answer for three minutes."),
), request_body(content = Option<SubmitForm>, description = "`{\"meta\": {…}}`, or nothing.",
    content_type = "application/json"), responses(
    (status = 200, description = "What is stored now.", body = Submitted),
    (status = 400, description = "A header, an id or the body is not what it must be."),
    (status = 401, description = "The cookie is of another session."),
    (status = 403, description = "A token, the signature or the player's secret does not fit, the \
     player is banned, or the play cannot have been."),
    (status = 404, description = "There is no such game."),
    (status = 409, description = "The session was used, or the same key is running."),
    (status = 413, description = "The body is too large."),
    (status = 422, description = "The key was used with another payload."),
    (status = 429, description = "Too many submissions."),
))]
async fn put_score(
    State(door): State<Arc<Door>>,
    Path((game, period, user)): Path<(String, String, String)>,
    client: Client,
    headers: HeaderMap,
    body: Unread,
) -> Result<Response, Failure> {
    let key = door.idempotency.find_key(&headers)?;
    let tried = door.open_play(&game, &period, &user, &headers).await?;
    door.submits_by_session.check(&Bucket::Subject(tried.end.sid.as_str().into()))?;
    let body = body.read().await?;
    let repeated = key.as_ref().map(|key| tried.repeated(key, &headers, &body));
    // Before anything is judged: by now the board may be full, the play too old, the player banned.
    if let Some(Repeated { identity, payload }) = &repeated
        && let Some(answer) = door.idempotency.find(identity, payload).await?
    {
        return Ok(answer);
    }
    let taken = door.admit_submission(client, &tried)?;
    let filtered = match door.judge_play(&tried, &headers, &body).await {
        Ok(filtered) => filtered,
        Err(failure) => return taken.settle(Err(failure)),
    };
    let score = Arc::clone(&door.score);
    let work = async move {
        let submitted = match filtered {
            Filtered::Below(standing) => Submitted::below(&standing),
            Filtered::Good(submission) => {
                let outcomes = taken.settle(score.submit(&submission).await)?;
                Submitted::new(&outcomes, &submission.period)
            }
        };
        Ok((NO_STORE, Json(submitted)).into_response())
    };
    let Some(Repeated { identity, payload }) = repeated else {
        return door.score.to_the_end("submission", work).await;
    };
    let work = async move { work.await.unwrap_or_else(|failure: Failure| failure.into_response()) };
    door.idempotency.once(&identity, &payload, work).await
}

/// What a request with an idempotency key is, and what must be the same when it is repeated.
struct Repeated<'r> {
    identity: [&'r [u8]; 6],
    payload: [&'r [u8]; 6],
}

/// What becomes of a submission that is in order.
enum Filtered {
    Good(Box<Submission>),
    /// It is below every board, and would stand there.
    Below(Standing),
}

/// A play whose tokens are good.
struct Tried {
    game: Arc<Game>,
    period: Period,
    user: String,
    claim: Claim,
    start: Start,
    end: End,
}

impl Tried {
    /// The request under its idempotency key. Keys of a claimed id are its owner's alone.
    fn repeated<'r>(
        &'r self,
        key: &'r str,
        headers: &'r HeaderMap,
        body: &'r [u8],
    ) -> Repeated<'r> {
        let owner = self.start.owner.as_deref().unwrap_or_default();
        let (game, period) = (self.game.name.as_str(), self.period.as_str());
        let identity = ["score", game, period, &self.user, key, owner].map(str::as_bytes);
        let said = |name| headers.get(name).map_or(&b""[..], |value| value.as_bytes());
        let [start, end, score, time, player] =
            ["x-token-start", "x-token-end", "x-score", "x-time-ms", "x-player"].map(said);
        Repeated { identity, payload: [start, end, score, time, player, body] }
    }
}

impl Door {
    /// A play whose tokens, secret and signature are good.
    async fn open_play(
        &self,
        game: &str,
        period: &str,
        user: &str,
        headers: &HeaderMap,
    ) -> Result<Tried, Failure> {
        self.check_edge(headers)?;
        check_id("gameId", game)?;
        check_id("userId", user)?;
        let period: Period = period.parse()?;
        let game = self.score.get_game(game)?;
        let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
        game.check_origin(origin)?;
        let claim = wire::find_claim(headers)?;
        let claim = claim.ok_or_else(|| Error::invalid("the header X-Score is needed"))?;
        let (start, end) = self.open_tokens(&game, &period, user, &claim, headers).await?;
        Ok(Tried { game, period, user: user.to_owned(), claim, start, end })
    }

    /// Places for a play in the rate of its user and of its address. Owners have a rate of their
    /// own, which nobody else uses up by naming their id.
    fn admit_submission(&self, client: Client, tried: &Tried) -> Result<Taken, Exceeded> {
        let Tried { game, user, start, .. } = tried;
        let whose = |who: &str| Bucket::Subject(format!("{}/{who}", game.name).into());
        let user = match start.owner {
            Some(_) => format!("{user}/owner"),
            None => user.clone(),
        };
        Taken::of(&[
            (&self.submits_by_user, whose(&user)),
            (&self.submits_by_address, whose(&client.network().to_string())),
        ])
    }

    /// Whether the play of good tokens can have been, and is worth storing.
    async fn judge_play(
        &self,
        tried: &Tried,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Filtered, Failure> {
        let Tried { game, period, user, claim, start, end } = tried;
        if self.score.games.now().bans.contains_key(user) {
            return Err(Error::Banned(user.clone()).into());
        }
        let (name, meta) = (wire::player(headers)?, wire::body_meta(body)?);
        self.score.month_of(period, end)?;
        if let Err(why) = judge(start, end, claim, game, self.score.clock.now()) {
            let is_proven = start.owner.is_some();
            // What strangers do under a claimed id says nothing about its owner.
            if !is_proven && self.score.is_claimed(user).await? {
                return Err(Error::NotOwner(user.clone()).into());
            }
            self.score.suspect(&game.name, Some(user), is_proven, *claim, why);
            return Err(Error::Implausible(why).into());
        }
        let in_all_time = *period == Period::all();
        let below = self.score.find_below(game, claim, end.ended, in_all_time).await?;
        if let Some(standing) = below {
            return Ok(Filtered::Below(standing));
        }
        Ok(Filtered::Good(Box::new(Submission {
            game: Arc::clone(game),
            period: period.clone(),
            user: user.clone(),
            name,
            owner: start.owner.clone(),
            claim: *claim,
            end: end.clone(),
            meta,
        })))
    }

    /// The tokens of a play, which fit each other, the path, the cookie, the player's secret and the
    /// signature.
    async fn open_tokens(
        &self,
        game: &Game,
        period: &Period,
        user: &str,
        claim: &Claim,
        headers: &HeaderMap,
    ) -> Result<(Start, End), Error> {
        let token_start = wire::header(headers, "X-Token-Start")?;
        let token_end = wire::header(headers, "X-Token-End")?;
        let signature = wire::header(headers, "X-Sig")?;
        let (start, _) = tokens::open_start(&self.score.ring, token_start).await?;
        let end = tokens::open_end(&self.score.ring, token_end).await?;
        check_tokens(&start, &end, &game.name, user)?;
        if wire::cookie_sid(headers).is_some_and(|sid| sid != start.cookie()) {
            return Err(Error::OtherSession);
        }
        let secret = wire::find_header(headers, wire::PLAYER_SECRET)?;
        match &start.owner {
            Some(owner) if secret.map(secret_digest).as_ref() != Some(owner) => {
                return Err(Error::NotOwner(user.to_owned()));
            }
            None if game.requires_claim => return Err(Error::ClaimNeeded(game.name.clone())),
            Some(_) | None => {}
        }
        if !tokens::is_signed(token_end, user, claim, period.as_str(), signature) {
            return Err(Error::BadSignature);
        }
        Ok((start, end))
    }
}
