//! The player's calls: a play begins, ends and is submitted.
//!
//! A submission passes, in this order: the proxy's word, the game and its origins, tokens, cookie,
//! signature, the rates of the user and of the address, the ban, the body, what can have been played, the
//! threshold. One that is refused takes nothing from the rate of its address. Invariant: nothing of
//! this writes, and a caller cannot make it read for each of its requests: a board that is not in
//! memory is read once for all who ask, and an unknown key is looked for once a second. Only a play
//! that passed it all is written, with its idempotency key first.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Timestamp;
use bytes::Bytes;
use edge::{
    Bounds, Client, Failure, HeaderMap, IntoResponse, Json, MacKey, Path, Query, Response, Routes,
    State, Taken, Unread, bounded, get, header, put,
};
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::tokens::{self, VER};
use super::wire;
use crate::Score;
use crate::error::Error;
use crate::limits::{PLAY_SECONDS_MAX, SID_LETTERS, SUBMIT_BYTES_MAX, TIME_TOLERANCE_MS};
use crate::model::board::Standing;
use crate::model::check_id;
use crate::model::game::{Game, PlayRules};
use crate::model::period::Period;
use crate::model::play::{Claim, End, Start, check_tokens, judge, measure};
use crate::ops::submit::{Outcome, Submission};

#[derive(OpenApi)]
#[openapi(paths(get_start, get_end, put_score))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    let bounds = Bounds { body_bytes_max: Some(SUBMIT_BYTES_MAX), ..Bounds::default() };
    Routes::new()
        .route("/score/get-start", get(get_start))
        .route("/score/get-end", get(get_end))
        .route("/score/scores/{game}/{period}/{user}", bounded(put(put_score), bounds))
        .with_state(Arc::clone(door))
}

const NO_STORE: [(header::HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// Whose play begins, if that is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Starting {
    game_id: Option<String>,
    user_id: Option<String>,
}

/// A play that begins.
#[derive(Serialize, ToSchema)]
struct Started {
    token_start: String,
    /// When, by the house's clock.
    t_start: String,
    /// How long a play may last.
    max_dur_s: u64,
    sid: String,
    ver: u32,
}

/// Begins a play.
#[utoipa::path(get, path = "/score/get-start", params(
    ("gameId" = Option<String>, Query, description = "Binds the play to a game."),
    ("userId" = Option<String>, Query, description = "Binds the play to a user."),
), responses(
    (status = 200, description = "A token, and the cookie `game_sid`.", body = Started),
    (status = 400, description = "An id is none."),
    (status = 404, description = "There is no such game."),
))]
async fn get_start(
    State(door): State<Arc<Door>>,
    Query(starting): Query<Starting>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.check_edge(&headers)?;
    if let Some(user) = &starting.user_id {
        check_id("userId", user)?;
    }
    door.admit_player(client, starting.user_id.as_deref())?;
    if let Some(game) = &starting.game_id {
        check_id("gameId", game)?;
        door.score.get_game(game)?;
    }
    let start = Start {
        game: starting.game_id,
        user: starting.user_id,
        sid: door.score.ids.alphanumeric(SID_LETTERS),
        started: door.score.clock.now(),
        max_seconds: PLAY_SECONDS_MAX,
    };
    let token_start = tokens::seal_start(&start, &door.score.ring.current());
    let (sid, secure) = (&start.sid, if client.is_secure() { "; Secure" } else { "" });
    let cookie = format!(
        "game_sid={sid}; Path=/; HttpOnly; SameSite=Strict; Max-Age={PLAY_SECONDS_MAX}{secure}"
    );
    let started = Started {
        token_start,
        t_start: start.started.to_string(),
        max_dur_s: start.max_seconds,
        sid: start.sid,
        ver: VER,
    };
    Ok((NO_STORE, [(header::SET_COOKIE, cookie)], Json(started)).into_response())
}

#[derive(Deserialize)]
struct Ending {
    token_start: Option<String>,
}

/// A play that has ended.
#[derive(Serialize, ToSchema)]
struct Ended {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_end: Option<String>,
    /// When, by the house's clock.
    t_end: String,
    fraud: Fraud,
    threshold: Threshold,
}

/// Whether the play can have been as it is told.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Fraud {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The claimed time less the measured one, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    drift: Option<i64>,
    allowed_drift_ms: i64,
}

/// Whether submitting is worth it.
#[derive(Default, Serialize, ToSchema)]
struct Threshold {
    checked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    passed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// Ends a play.
#[utoipa::path(get, path = "/score/get-end", params(
    ("token_start" = Option<String>, Query, description = "The token of the play's beginning; \
     the header X-Token-Start does as well."),
    ("X-Score" = Option<i64>, Header, description = "With X-Time-Ms: what will be submitted."),
    ("X-Time-Ms" = Option<i64>, Header, description = "With X-Score."),
), responses(
    (status = 200, description = "The end token, or why there is none.", body = Ended),
    (status = 400, description = "There is no token, or a number is none."),
))]
async fn get_end(
    State(door): State<Arc<Door>>,
    Query(ending): Query<Ending>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.check_edge(&headers)?;
    door.admit_player(client, None)?;
    let by_header = wire::find_header(&headers, "X-Token-Start")?;
    let token = ending.token_start.as_deref().or(by_header);
    let token = token.ok_or_else(|| Error::invalid("token_start is needed"))?;
    let claim = wire::find_claim(&headers)?;
    let now = door.score.clock.now();
    let ended = match tokens::open_start(&door.score.ring, token).await {
        Ok((start, key)) => end_play(&door.score, start, &key, claim, now).await?,
        Err(Error::BadToken { .. }) => {
            let fraud = Fraud {
                valid: false,
                reason: Some("token_invalid"),
                drift: None,
                allowed_drift_ms: TIME_TOLERANCE_MS,
            };
            let threshold = Threshold::default();
            Ended { ok: false, token_end: None, t_end: now.to_string(), fraud, threshold }
        }
        Err(error) => return Err(error.into()),
    };
    Ok((NO_STORE, Json(ended)).into_response())
}

async fn end_play(
    score: &Arc<Score>,
    start: Start,
    key: &MacKey,
    claim: Option<Claim>,
    now: Timestamp,
) -> Result<Ended, Error> {
    let game = start.game.as_deref().and_then(|game| score.get_game(game).ok());
    let rules = game.as_ref().map_or_else(PlayRules::default, |game| game.rules);
    let played = measure(start.started, now, start.max_seconds);
    let judged = played.and_then(|played| claim.map_or(Ok(()), |it| it.judge(played, &rules)));
    // That a play lasted too long says nothing about who played it; a claim does.
    if let (Some(game), Some(claim), Ok(_), Err(why)) = (&game, claim, played, judged) {
        score.suspect(&game.name, start.user.as_deref(), claim, why);
    }
    let fraud = Fraud {
        valid: judged.is_ok(),
        reason: judged.err().map(|why| why.word()),
        drift: played.ok().and_then(|played| Some(claim?.time_ms - played)),
        allowed_drift_ms: rules.time_tolerance_ms,
    };
    let threshold = match (&game, &claim) {
        (None, _) => Threshold { reason: Some("no-game"), ..Threshold::default() },
        (Some(_), None) => Threshold { reason: Some("no-score"), ..Threshold::default() },
        (Some(game), Some(claim)) => {
            let is_below = score.find_below(game, claim, now, true).await?.is_some();
            let reason = is_below.then_some(BELOW);
            Threshold { checked: true, passed: Some(!is_below), reason }
        }
    };
    let end = End {
        game: start.game,
        user: start.user,
        sid: start.sid,
        started: start.started,
        ended: now,
    };
    let token_end = fraud.valid.then(|| tokens::seal_end(&end, key));
    Ok(Ended { ok: fraud.valid, token_end, t_end: now.to_string(), fraud, threshold })
}

/// Why a play was not stored.
const BELOW: &str = "below-threshold";

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
            reason: Some(BELOW),
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
    ("X-Idem-Key" = Option<String>, Header, description = "Idempotency-Key does as well."),
), request_body(content = Option<serde_json::Value>, description = "`{\"meta\": {…}}`, or nothing.",
    content_type = "application/json"), responses(
    (status = 200, description = "What is stored now.", body = Submitted),
    (status = 400, description = "A header, an id or the body is not what it must be."),
    (status = 401, description = "The cookie is of another session."),
    (status = 403, description = "A token or the signature does not fit, or the play cannot have \
     been."),
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
    let filtered = door.filter(&game, &period, &user, client, &headers, body).await?;
    let (submission, body, taken) = match filtered {
        (Filtered::Good(submission), body, taken) => (submission, body, taken),
        (Filtered::Below(standing), ..) => {
            return Ok((NO_STORE, Json(Submitted::below(&standing))).into_response());
        }
    };
    let score = Arc::clone(&door.score);
    let work = async move {
        let outcomes = taken.settle(score.submit(&submission).await)?;
        let submitted = Submitted::new(&outcomes, &submission.period);
        Ok((NO_STORE, Json(submitted)).into_response())
    };
    let Some(key) = key else { return door.score.to_the_end("submission", work).await };
    let identity = ["score", &game, &period, &user, &key].map(str::as_bytes);
    let said = ["x-token-start", "x-token-end", "x-score", "x-time-ms", "x-player"];
    let mut payload: Vec<&[u8]> =
        said.iter().map(|name| headers.get(*name).map_or(&b""[..], |it| it.as_bytes())).collect();
    payload.push(&body);
    let work = async move { work.await.unwrap_or_else(|failure: Failure| failure.into_response()) };
    door.idempotency.once(&identity, &payload, work).await
}

/// What becomes of a submission that is in order.
enum Filtered {
    Good(Submission),
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

impl Door {
    /// The play, if there is nothing against it, the body, which is read when the tokens fit, and
    /// the play's places in the rates.
    async fn filter(
        &self,
        game: &str,
        period: &str,
        user: &str,
        client: Client,
        headers: &HeaderMap,
        body: Unread,
    ) -> Result<(Filtered, Bytes, Taken), Failure> {
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
        // Only now is it certain that somebody has played as this user.
        let taken = self.admit_submission(client, &game.name, user)?;
        let user = user.to_owned();
        let tried = Tried { game, period, user, claim, start, end };
        match self.judge_play(tried, headers, body).await {
            Ok((filtered, body)) => Ok((filtered, body, taken)),
            Err(failure) => taken.settle(Err(failure)),
        }
    }

    /// Whether the play of good tokens can have been, and is worth storing.
    async fn judge_play(
        &self,
        tried: Tried,
        headers: &HeaderMap,
        body: Unread,
    ) -> Result<(Filtered, Bytes), Failure> {
        let Tried { game, period, user, claim, start, end } = tried;
        if self.score.games.now().bans.contains_key(&user) {
            return Err(Error::Banned(user).into());
        }
        let body = body.read().await?;
        let (name, meta) = (wire::player(headers)?, wire::body_meta(&body)?);
        self.score.month_of(&period, &end)?;
        let now = self.score.clock.now();
        if let Err(why) = judge(&start, &end, &claim, &game, now) {
            self.score.suspect(&game.name, Some(&user), claim, why);
            return Err(Error::Implausible(why).into());
        }
        let in_all_time = period == Period::all();
        let below = self.score.find_below(&game, &claim, end.ended, in_all_time).await?;
        if let Some(standing) = below {
            return Ok((Filtered::Below(standing), body));
        }
        let submission = Submission { game, period, user, name, claim, end, meta };
        Ok((Filtered::Good(submission), body))
    }

    /// The tokens of a play, which fit each other, the path, the cookie and the signature.
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
        if wire::cookie_sid(headers).is_some_and(|sid| sid != end.sid) {
            return Err(Error::OtherSession);
        }
        if !tokens::is_signed(token_end, user, claim, period.as_str(), signature) {
            return Err(Error::BadSignature);
        }
        Ok((start, end))
    }
}
