//! The room on the wire.
//!
//! `tokens.rs` are the two tokens of a play and its signature, `play.rs` how a play begins and ends,
//! `submit.rs` how it is submitted, with everything that is checked before the store is touched,
//! `ranking.rs`, `distribution.rs` and `threshold.rs` what is read of boards, `operate.rs`, `bans.rs` and
//! `records.rs` the operator's calls, `wire.rs` how headers and queries are read.

mod bans;
pub(crate) mod distribution;
mod operate;
mod play;
pub(crate) mod ranking;
mod records;
mod submit;
mod threshold;
pub(crate) mod tokens;
mod wire;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use edge::{
    AddressLimit, Bucket, Client, Cors, Credential, Failure, Ground, HeaderMap, Idempotency,
    Operator, Policy, RateLimit, Room, StatusCode, Streams, gated, is_same_secret, secret_digest,
    with_callers,
};
use utoipa::OpenApi;

use crate::Score;
use crate::error::Error;
use crate::limits::{ANSWER_KEPT, CLAIMS_BURST, CLAIMS_PER_SECOND, PLAYS_BURST, PLAYS_PER_SECOND};
use crate::pages;

const SUBMITS_OF_SESSION: &str = "score-submits-session";
const SUBMITS_OF_USER: &str = "score-submits-user";
const SUBMITS_OF_ADDRESS: &str = "score-submits-address";
const PLAYS_OF_ADDRESS: &str = "score-plays-address";
const READS: &str = "score-reads";

/// What the routes need.
pub(crate) struct Door {
    pub(crate) score: Arc<Score>,
    streams: Streams,
    idempotency: Idempotency,
    /// Submissions of one session.
    submits_by_session: RateLimit,
    /// Submissions of one user to one game.
    submits_by_user: RateLimit,
    /// Submissions of one address to one game, whoever plays there.
    submits_by_address: RateLimit,
    /// Beginnings of plays of one user.
    plays_by_user: RateLimit,
    /// Ends of one play.
    plays_by_session: RateLimit,
    /// Beginnings and ends of plays of one address.
    plays_by_address: AddressLimit,
    /// New claims of one address.
    claims_by_address: AddressLimit,
    /// Reads of boards by one address: who reads says nothing of itself.
    reads: AddressLimit,
}

#[derive(OpenApi)]
#[openapi(info(
    title = "Score",
    version = "1",
    description = "Game rankings: signed plays in, boards out. The operator's calls need an API \
                   key with the scope `score:operate`, or the browser of the operator."
))]
struct Api;

/// The routes of the room.
pub(crate) fn room(score: &Arc<Score>, ground: &Ground, operator: &Operator) -> Room {
    let keys = ground.keys.clone();
    let door = Arc::new(Door::new(score, ground));
    door.add_dials(ground);
    let routes = play::routes(&door).merge(submit::routes(&door)).merge(ranking::routes(&door));
    let routes = routes.merge(distribution::routes(&door)).merge(threshold::routes(&door));
    let routes = routes.merge(pages::routes(&door));
    let inside = operate::routes(&door).merge(bans::routes(&door)).merge(records::routes(&door));
    let inside = operator.guard_or_key(inside, &keys, operate::SCOPE);
    let through = Arc::clone(&door);
    let inside = gated(inside, move |headers| Ok(through.check_edge(headers)?));
    let routes = routes.merge(inside);
    let mut api = Api::openapi();
    let open = [play::api(), submit::api(), ranking::api(), distribution::api(), threshold::api()]
        .map(|part| with_callers(part, |_, _| &[Credential::Nothing]));
    let of_operator = [operate::api(), bans::api(), records::api()]
        .map(|part| with_callers(part, |_, _| &[Credential::Operator, Credential::Key]));
    open.into_iter().chain(of_operator).for_each(|part| api.merge(part));
    Room::new("score", routes)
        .with_api(api)
        .in_japanese("スコア", "厳しい入口を備えた、ゲームのランキング。")
        .with_cors(Cors::Anyone)
}

fn policy(name: &'static str, count: u32, burst: u32) -> Policy {
    let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
    Policy { burst, ..Policy::new(name, count, Duration::from_secs(1)) }
}

/// Twice as many at once.
fn twice(name: &'static str, count: u32) -> Policy {
    policy(name, count, count.saturating_mul(2))
}

impl Door {
    fn new(score: &Arc<Score>, ground: &Ground) -> Door {
        let Ground { tables, clock, ids, tasks, streams, .. } = ground.clone();
        let options = &score.options;
        let limit = |policy| RateLimit::new(policy, &clock, &tasks);
        let of_address = |policy, share| AddressLimit::new(policy, share, &clock, &tasks);
        let (submits, at_once) = (options.submits_per_second, options.submits_at_once);
        let reads = options.reads_per_second;
        let claims = policy("score-claims-address", CLAIMS_PER_SECOND, CLAIMS_BURST);
        let idempotency = Idempotency::new(tables, &clock, ids, &tasks);
        Door {
            score: Arc::clone(score),
            streams,
            idempotency: idempotency.with_header("x-idem-key").keeping(ANSWER_KEPT),
            submits_by_session: limit(policy(SUBMITS_OF_SESSION, submits, at_once)),
            submits_by_user: limit(policy(SUBMITS_OF_USER, submits, at_once)),
            submits_by_address: limit(twice(
                SUBMITS_OF_ADDRESS,
                options.address_submits_per_second,
            )),
            plays_by_user: limit(policy("score-plays-user", PLAYS_PER_SECOND, PLAYS_BURST)),
            plays_by_session: limit(policy("score-plays-session", PLAYS_PER_SECOND, PLAYS_BURST)),
            claims_by_address: of_address(claims, "score-claims-connection"),
            plays_by_address: of_address(twice(PLAYS_OF_ADDRESS, reads), "score-plays-connection"),
            reads: of_address(twice(READS, reads), "score-reads-connection"),
        }
    }

    /// Lets the operator change rates while the room is open. The two numbers about submissions
    /// belong together, so they need a restart.
    fn add_dials(&self, ground: &Ground) {
        let submits = self.submits_by_address.clone();
        let change = move |rate| submits.change(twice(SUBMITS_OF_ADDRESS, rate));
        ground.dials.add_rate("score.address_submits_per_second", change);
        let (plays, reads) = (self.plays_by_address.clone(), self.reads.clone());
        ground.dials.add_rate("score.reads_per_second", move |rate| {
            plays.change(twice(PLAYS_OF_ADDRESS, rate));
            reads.change(twice(READS, rate));
        });
    }

    /// Whether the request came through the proxy in front, if there must be one.
    fn check_edge(&self, headers: &HeaderMap) -> Result<(), Error> {
        let expected = self.score.options.edge_auth.as_bytes();
        let presented = headers.get("x-edge-auth").map_or(&b""[..], |value| value.as_bytes());
        if expected.is_empty() || is_same_secret(presented, expected) {
            return Ok(());
        }
        Err(Error::NotThroughTheEdge)
    }

    /// Whether a caller may read now.
    pub(crate) fn admit_reader(&self, headers: &HeaderMap, client: Client) -> Result<(), Failure> {
        self.check_edge(headers)?;
        drop(self.reads.take(client)?);
        Ok(())
    }

    /// Whether a caller may begin a play now. `user` is whom it names, if anybody; the address and
    /// the secret are part of its bucket, because anybody can name anybody.
    fn admit_player(
        &self,
        client: Client,
        user: Option<&str>,
        secret: Option<&str>,
    ) -> Result<(), Failure> {
        match user {
            Some(user) => {
                let address = client.network();
                let owner = secret.map(secret_digest).unwrap_or_default();
                let own = Bucket::Subject(format!("{address}/{user}/{owner}").into());
                drop(self.plays_by_user.take(&own, &self.plays_by_address.places(client))?);
            }
            None => drop(self.plays_by_address.take(client)?),
        }
        Ok(())
    }

    /// Whether a caller may end the play of a session now.
    fn admit_session(&self, client: Client, sid: &str) -> Result<(), Failure> {
        let own = Bucket::Subject(sid.into());
        drop(self.plays_by_session.take(&own, &self.plays_by_address.places(client))?);
        Ok(())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::from(&error)
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        let (status, code) = match error {
            Error::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            Error::OtherSession => (StatusCode::UNAUTHORIZED, "session_mismatch"),
            Error::BadToken { .. } => (StatusCode::FORBIDDEN, "token_invalid"),
            Error::BadSignature => (StatusCode::FORBIDDEN, "signature_invalid"),
            Error::Implausible(why) => (StatusCode::FORBIDDEN, why.word()),
            Error::OtherOrigin { .. } => (StatusCode::FORBIDDEN, "origin_refused"),
            Error::NotThroughTheEdge => (StatusCode::FORBIDDEN, "edge_auth_invalid"),
            Error::Banned(_) => (StatusCode::FORBIDDEN, "banned"),
            Error::NotOwner(_) => (StatusCode::FORBIDDEN, "player_secret_invalid"),
            Error::ClaimNeeded(_) => (StatusCode::FORBIDDEN, "claim_needed"),
            Error::PlayerTaken(_) => (StatusCode::CONFLICT, "player_taken"),
            Error::NoSuchGame(_) => (StatusCode::NOT_FOUND, "no_such_game"),
            Error::NoSuchPlayer { .. } => (StatusCode::NOT_FOUND, "no_such_player"),
            Error::NotBanned(_) => (StatusCode::NOT_FOUND, "not_banned"),
            Error::Spent => (StatusCode::CONFLICT, "session_spent"),
            Error::Archived { .. } => (StatusCode::CONFLICT, "archived"),
            Error::Contended => (StatusCode::SERVICE_UNAVAILABLE, "contended"),
            Error::Store(error) | Error::Later(dispatch::Error::Table(error)) => {
                return Failure::of_store(error);
            }
            Error::NoSuchZone(_) | Error::GamesFile { .. } | Error::Keys(_) | Error::Later(_) => {
                return Failure::internal(error.to_string());
            }
        };
        Failure::new(status, code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use crate::Error;

    #[test]
    fn failures_of_the_store_keep_their_codes() {
        testkit::assert_store_codes(|state| {
            let later = dispatch::Error::Table(state.clone());
            [Error::Store(state), Error::Later(later)]
        });
    }
}
