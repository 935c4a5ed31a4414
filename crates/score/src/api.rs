//! The room on the wire.
//!
//! `tokens.rs` are the two tokens of a play and its signature, `play.rs` the player's calls with
//! everything that is checked before the store is touched, `ranking.rs` and `distribution.rs` what
//! is read of boards, `operate.rs` the operator's calls, `wire.rs` how headers and queries are read.

pub(crate) mod distribution;
mod operate;
mod play;
pub(crate) mod ranking;
mod tokens;
mod wire;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use edge::{
    Bucket, Client, Cors, Failure, Ground, HeaderMap, Idempotency, Operator, Policy, RateLimit,
    Room, StatusCode, Streams, gated, is_same_secret,
};
use utoipa::OpenApi;

use crate::Score;
use crate::error::Error;
use crate::limits::ANSWER_KEPT;
use crate::pages;

/// What the routes need.
pub(crate) struct Door {
    pub(crate) score: Arc<Score>,
    streams: Streams,
    idempotency: Idempotency,
    submits_by_address: RateLimit,
    submits_by_user: RateLimit,
    reads: RateLimit,
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
    let Ground { tables, clock, ids, tasks, streams, keys, .. } = ground.clone();
    let options = &score.options;
    let second = Duration::from_secs(1);
    let submits = |name| {
        let policy = Policy::new(name, options.submits_per_second, second);
        let burst = NonZeroU32::new(options.submits_at_once).unwrap_or(NonZeroU32::MIN);
        RateLimit::new(Policy { burst, ..policy }, &clock, &tasks)
    };
    let reads = Policy::new("score-reads", options.reads_per_second, second);
    let reads = reads.with_burst(options.reads_per_second.saturating_mul(2));
    let idempotency = Idempotency::new(tables, &clock, ids, &tasks);
    let door = Arc::new(Door {
        score: Arc::clone(score),
        streams,
        idempotency: idempotency.with_header("x-idem-key").keeping(ANSWER_KEPT),
        submits_by_address: submits("score-submits-address"),
        submits_by_user: submits("score-submits-user"),
        reads: RateLimit::new(reads, &clock, &tasks),
    });
    let routes = play::routes(&door).merge(ranking::routes(&door));
    let routes = routes.merge(distribution::routes(&door)).merge(pages::routes(&door));
    let inside = operator.guard_or_key(operate::routes(&door), &keys, operate::SCOPE);
    let through = Arc::clone(&door);
    let inside = gated(inside, move |headers| Ok(through.check_edge(headers)?));
    let routes = routes.merge(inside);
    let mut api = Api::openapi();
    for part in [play::api(), ranking::api(), distribution::api(), operate::api()] {
        api.merge(part);
    }
    Room::new("score", routes)
        .with_api(api)
        .in_japanese("スコア", "厳しい入口を備えた、ゲームのランキング。")
        .with_cors(Cors::Anyone)
}

impl Door {
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
        self.reads.check(&Bucket::Address(client.network()))?;
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
            Error::NoSuchGame(_) => (StatusCode::NOT_FOUND, "no_such_game"),
            Error::NoSuchPlayer { .. } => (StatusCode::NOT_FOUND, "no_such_player"),
            Error::NotBanned(_) => (StatusCode::NOT_FOUND, "not_banned"),
            Error::Spent => (StatusCode::CONFLICT, "session_spent"),
            Error::Archived { .. } => (StatusCode::CONFLICT, "archived"),
            Error::Contended => (StatusCode::SERVICE_UNAVAILABLE, "contended"),
            Error::Store(error) | Error::Later(dispatch::Error::Table(error)) => {
                return Failure::of_store(error);
            }
            Error::NoSuchZone(_) | Error::Keys(_) | Error::Later(_) => {
                return Failure::internal(error.to_string());
            }
        };
        Failure::new(status, code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use edge::Failure;

    use crate::Error;

    #[test]
    fn a_store_that_is_busy_full_or_stopped_is_told_apart() {
        let states = [
            (table::Error::Throttled("slow".to_owned()), (429, "store_busy")),
            (table::Error::DiskFull, (507, "disk_full")),
            (table::Error::Stopped("broken".to_owned()), (503, "store_stopped")),
        ];
        for (state, told) in states {
            let later = dispatch::Error::Table(state.clone());
            for error in [Error::Store(state.clone()), Error::Later(later)] {
                let failure = Failure::from(error);
                assert_eq!((failure.status().as_u16(), failure.code()), told);
            }
        }
    }
}
