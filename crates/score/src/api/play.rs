//! A play begins and ends. `submit.rs` is where it is submitted.
//!
//! A play that names a user is begun by the owner of the id, if it is claimed: the start token then
//! holds the digest of the secret, and a submission is compared with it without a look at the store.
//! A browser keeps its first cookie: plays in several tabs are all of the same browser.

use std::sync::Arc;

use base::Timestamp;
use edge::{
    Client, Failure, HeaderMap, IntoResponse, Json, MacKey, Query, Response, Routes, State, get,
    header, secret_digest,
};
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::submit::BELOW_THRESHOLD;
use super::tokens::{self, VER};
use super::wire;
use crate::Score;
use crate::error::Error;
use crate::limits::{PLAY_SECONDS_MAX, SECRET_LETTERS, SID_LETTERS, TIME_TOLERANCE_MS};
use crate::model::check_id;
use crate::model::play::{Claim, End, Start, measure};
use crate::model::player::check_secret;

#[derive(OpenApi)]
#[openapi(paths(get_start, get_end))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/score/get-start", get(get_start))
        .route("/score/get-end", get(get_end))
        .with_state(Arc::clone(door))
}

pub(super) const NO_STORE: [(header::HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// Whose play begins, if that is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Starting {
    game_id: Option<String>,
    user_id: Option<String>,
    /// Whether the user's id is claimed, if nobody has.
    #[serde(default)]
    claim: bool,
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
    /// The secret of an id that was claimed by this call. Keep it: it is told once, and plays of
    /// this id need it from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    player_secret: Option<String>,
}

/// Begins a play.
#[utoipa::path(get, path = "/score/get-start", params(
    ("gameId" = Option<String>, Query, description = "Binds the play to a game."),
    ("userId" = Option<String>, Query, description = "Binds the play to a user."),
    ("claim" = Option<bool>, Query, description = "Claims the user's id, if nobody has: the answer \
     holds its secret."),
    ("X-Player-Secret" = Option<String>, Header, description = "The secret of a claimed id. With \
     `claim`, 32 to 128 letters of the client's own making: then a claim whose answer was lost can \
     be repeated."),
), responses(
    (status = 200, description = "A token, and the cookie `game_sid`.", body = Started),
    (status = 400, description = "An id or the secret is none."),
    (status = 403, description = "The id is claimed and the secret is missing or wrong, or the \
     game is played with claimed ids only."),
    (status = 404, description = "There is no such game."),
    (status = 409, description = "The id was played without a claim and cannot be claimed."),
    (status = 429, description = "Too many plays, or too many claims."),
))]
async fn get_start(
    State(door): State<Arc<Door>>,
    Query(starting): Query<Starting>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.check_edge(&headers)?;
    let secret = wire::find_header(&headers, wire::PLAYER_SECRET)?;
    let user = starting.user_id.as_deref();
    user.map(|user| check_id("userId", user)).transpose()?;
    door.admit_player(client, user, secret)?;
    let game = starting.game_id.as_deref();
    game.map(|game| check_id("gameId", game)).transpose()?;
    let game = game.map(|game| door.score.get_game(game)).transpose()?;
    let Owned { owner, player_secret } =
        door.find_owner(client, user, secret, starting.claim).await?;
    if let Some(game) = game.filter(|game| game.requires_claim && owner.is_none()) {
        return Err(Error::ClaimNeeded(game.name.clone()).into());
    }
    let start = Start {
        game: starting.game_id,
        user: starting.user_id,
        sid: door.score.ids.alphanumeric(SID_LETTERS),
        browser: wire::cookie_sid(&headers).filter(|sid| is_sid(sid)).map(str::to_owned),
        owner,
        started: door.score.clock.now(),
        max_seconds: PLAY_SECONDS_MAX,
    };
    let token_start = tokens::seal_start(&start, &door.score.ring.current());
    let (sid, secure) = (start.cookie(), if client.is_secure() { "; Secure" } else { "" });
    let cookie = format!(
        "game_sid={sid}; Path=/; HttpOnly; SameSite=Strict; Max-Age={PLAY_SECONDS_MAX}{secure}"
    );
    let started = Started {
        token_start,
        t_start: start.started.to_string(),
        max_dur_s: start.max_seconds,
        sid: start.sid,
        ver: VER,
        player_secret,
    };
    Ok((NO_STORE, [(header::SET_COOKIE, cookie)], Json(started)).into_response())
}

/// Whether a cookie is one that a house gives.
fn is_sid(text: &str) -> bool {
    text.len() == SID_LETTERS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Who owns the id of a play.
#[derive(Default)]
struct Owned {
    /// The digest of the secret; none for an id that nobody has claimed.
    owner: Option<String>,
    /// The secret, if the id was claimed by this call.
    player_secret: Option<String>,
}

impl Door {
    /// Who owns the id of a play that begins. It is claimed, if nobody has and the caller wants it.
    async fn find_owner(
        &self,
        client: Client,
        user: Option<&str>,
        secret: Option<&str>,
        claims: bool,
    ) -> Result<Owned, Failure> {
        let Some(user) = user else {
            let told = "a claim needs the userId that is claimed";
            return if claims { Err(Error::invalid(told).into()) } else { Ok(Owned::default()) };
        };
        let digest = secret.map(secret_digest);
        let owner = self.score.prove_owner(user, digest.as_deref()).await?;
        if owner.is_some() || !claims {
            return Ok(Owned { owner, player_secret: None });
        }
        drop(self.claims_by_address.take(client)?);
        secret.map_or(Ok(()), check_secret)?;
        let made = || self.score.ids.alphanumeric(SECRET_LETTERS);
        let secret = secret.map_or_else(made, str::to_owned);
        let owner = secret_digest(&secret);
        self.score.claim_player(user, &owner).await?;
        Ok(Owned { owner: Some(owner), player_secret: Some(secret) })
    }
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
    let by_header = wire::find_header(&headers, "X-Token-Start")?;
    let token = ending.token_start.as_deref().or(by_header);
    let token = token.ok_or_else(|| Error::invalid("token_start is needed"))?;
    let claim = wire::find_claim(&headers)?;
    let now = door.score.clock.now();
    let ended = match tokens::open_start(&door.score.ring, token).await {
        Ok((start, key)) => {
            door.admit_session(client, &start.sid)?;
            end_play(&door.score, start, &key, claim, now).await?
        }
        Err(Error::BadToken { .. }) => {
            door.admit_player(client, None, None)?;
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
    let tolerance = game.as_ref().map_or(TIME_TOLERANCE_MS, |game| game.rules.time_tolerance_ms);
    let played = measure(start.started, now, start.max_seconds);
    let judged = played.and_then(|played| match (claim, &game) {
        (None, _) => Ok(()),
        (Some(claim), Some(game)) => claim.judge(played, game),
        (Some(claim), None) => claim.judge_time(played, tolerance),
    });
    // That a play lasted too long says nothing about who played it; a claim does.
    if let (Some(game), Some(claim), Ok(_), Err(why)) = (&game, claim, played, judged) {
        let is_proven = start.owner.is_some();
        // Anybody can have begun a play for an id before it was claimed: its owner did not.
        let user = match &start.user {
            Some(user) if !is_proven && score.is_claimed(user).await? => None,
            user => user.as_deref(),
        };
        score.suspect(&game.name, user, is_proven, claim, why);
    }
    let fraud = Fraud {
        valid: judged.is_ok(),
        reason: judged.err().map(|why| why.word()),
        drift: played.ok().and_then(|played| Some(claim?.time_ms - played)),
        allowed_drift_ms: tolerance,
    };
    let threshold = match (&game, &claim) {
        (None, _) => Threshold { reason: Some("no-game"), ..Threshold::default() },
        (Some(_), None) => Threshold { reason: Some("no-score"), ..Threshold::default() },
        (Some(game), Some(claim)) => {
            let is_below = score.find_below(game, claim, now, true).await?.is_some();
            let reason = is_below.then_some(BELOW_THRESHOLD);
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
