//! The room on the wire.
//!
//! `mock.rs` is the upstream that everybody can check, `read.rs` and `series.rs` what came and what
//! did not, `operate.rs`, `letters.rs` and `stream.rs` the operator's calls, `upstream.rs` the wire of
//! the other side.

mod letters;
pub(crate) mod mock;
pub(crate) mod operate;
mod read;
mod series;
mod stream;
pub(crate) mod upstream;

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use edge::{
    AddressLimit, Client, Cors, Credential, Denied, Failure, Ground, IntoResponse, Json, Operator,
    Policy, Response, Room, StatusCode, Streams, Visitor, header, with_callers,
};
use serde::Serialize;
use utoipa::OpenApi;

use crate::Collect;
use crate::error::Error;
use crate::limits::PAGE_MAX;
use crate::model::kind::Readers;
use crate::model::source::Source;
use crate::pages::Pages;

/// What a key must be allowed to read sources that are for holders of a key.
const READ_SCOPE: &str = "collect:read";

/// What the routes need.
pub(crate) struct Door {
    pub(crate) collect: Arc<Collect>,
    streams: Streams,
    reads: AddressLimit,
}

#[derive(OpenApi)]
#[openapi(info(
    title = "Collect",
    version = "1",
    description = "HTTP APIs, asked every few seconds: what came, and what did not. Each source says \
                   who may read it: everyone, holders of an API key with the scope \
                   `collect:read`, or the operator. The operator's calls need an API key with the \
                   scope `collect:operate`, or the browser of the operator."
))]
struct Api;

/// The routes of the room.
pub(crate) fn room(collect: &Arc<Collect>, ground: &Ground, operator: &Operator) -> Room {
    let Ground { clock, tasks, keys, streams, .. } = ground;
    let policy = |a_second: u32| {
        let reads = Policy::new("collect-reads", a_second, Duration::from_secs(1));
        reads.with_burst(a_second.saturating_mul(2))
    };
    let reads = policy(collect.options.reads_per_second);
    let reads = AddressLimit::new(reads, "collect-reads-connection", clock, tasks);
    let changed = reads.clone();
    ground.dials.add_rate("collect.reads_per_second", move |rate| changed.change(policy(rate)));
    let (collect, streams) = (Arc::clone(collect), streams.clone());
    let door = Arc::new(Door { collect, streams, reads });
    let pages = Pages::new(&door);
    let reads = read::routes(&door).merge(series::routes(&door)).merge(pages.outside());
    let routes = mock::routes("/collect").merge(operator.greet(reads, keys)).merge(pages.assets());
    let inside = operate::routes(&door).merge(letters::routes(&door));
    let inside = inside.merge(stream::routes(&door)).merge(pages.inside());
    let inside = operator.guard_or_key(inside, keys, operate::SCOPE);
    let routes = routes.merge(inside);
    let mut api = Api::openapi();
    let open = with_callers(mock::api(), |_, _| &[Credential::Nothing]);
    // What a reader may see depends on the source, so nothing is enough to ask.
    let readers = [read::api(), series::api()].map(|part| {
        with_callers(part, |_, _| &[Credential::Nothing, Credential::Key, Credential::Operator])
    });
    let of_operator = [operate::api(), letters::api(), stream::api()]
        .map(|part| with_callers(part, |_, _| &[Credential::Operator, Credential::Key]));
    for part in [open].into_iter().chain(readers).chain(of_operator) {
        api.merge(part);
    }
    Room::new("collect", routes)
        .with_api(api)
        .in_japanese(
            "収集",
            "HTTP API を数秒ごとに呼び出し、届いた値も届かなかった値も記録します。",
        )
        .with_cors(Cors::Anyone)
}

impl Door {
    /// Whether a caller may read now.
    pub(crate) fn admit_reader(&self, client: Client) -> Result<(), Failure> {
        drop(self.reads.take(client)?);
        Ok(())
    }
}

/// What a visitor may read.
pub(crate) fn reads_up_to(visitor: &Visitor) -> Readers {
    match visitor {
        Visitor::Stranger => Readers::Everyone,
        Visitor::Program(caller) if caller.may(operate::SCOPE) => Readers::Operator,
        Visitor::Program(caller) if caller.may(READ_SCOPE) => Readers::Key,
        Visitor::Program(_) => Readers::Everyone,
        Visitor::Operator => Readers::Operator,
    }
}

/// Refuses a source that a visitor may not read.
fn check_reader(visitor: &Visitor, source: &Source) -> Result<(), Denied> {
    if source.readers <= reads_up_to(visitor) {
        return Ok(());
    }
    let scope = match source.readers {
        Readers::Everyone | Readers::Key => READ_SCOPE,
        Readers::Operator => operate::SCOPE,
    };
    match visitor {
        Visitor::Program(_) => Err(Denied::Scope(scope)),
        Visitor::Stranger | Visitor::Operator => Err(Denied::Missing),
    }
}

/// An answer that is true now.
fn fresh(answer: &impl Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-cache")], Json(answer)).into_response()
}

/// A time that a caller names, in whole seconds.
fn moment(name: &str, text: &str) -> Result<Timestamp, Error> {
    let time: Option<Timestamp> = text.parse().ok();
    let time = time.and_then(|time| Timestamp::from_seconds(time.seconds()));
    time.ok_or_else(|| {
        Error::invalid(format!("{name} must be a time such as 2025-12-02T10:23:05Z, not `{text}`"))
    })
}

/// How many things a caller wants at once.
fn limit(asked: Option<&str>) -> Result<u64, Error> {
    let Some(asked) = asked else { return Ok(PAGE_MAX) };
    let limit = asked.parse().ok().filter(|limit| (1..=PAGE_MAX).contains(limit));
    limit
        .ok_or_else(|| Error::invalid(format!("limit must be from 1 to {PAGE_MAX}, not `{asked}`")))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let (status, code) = match &error {
            Error::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            Error::NoSuchSource(_) => (StatusCode::NOT_FOUND, "no_such_source"),
            Error::NoDefault => (StatusCode::NOT_FOUND, "no_default_source"),
            Error::NoSuchBackfill(_) => (StatusCode::NOT_FOUND, "no_such_backfill"),
            Error::NoSuchLetter(_) => (StatusCode::NOT_FOUND, "no_such_dead_letter"),
            Error::SourceExists(_) => (StatusCode::CONFLICT, "source_exists"),
            Error::SourcePurged(_) => (StatusCode::CONFLICT, "source_purged"),
            Error::SourceFixed(_) => (StatusCode::CONFLICT, "source_fixed"),
            Error::Contended(_) => (StatusCode::SERVICE_UNAVAILABLE, "contended"),
            Error::Store(error) | Error::Later(dispatch::Error::Table(error)) => {
                return Failure::of_store(error);
            }
            Error::Settings(_) | Error::Later(_) => {
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
