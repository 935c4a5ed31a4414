//! What goes on with some sources, as server-sent events: slots as they are settled, changes of
//! sources, backfills, dead letters.

use std::sync::Arc;

use edge::{
    Draining, Failure, HeaderMap, HeaderValue, Path, Query, Response, Routes, State, Want, get,
};
use hub::{Follow, Policy};
use serde::Deserialize;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Described;

use super::Door;
use crate::error::Error;
use crate::limits::SOURCES_PER_PAGE;
use crate::live::{ROOM, slots_topic};

const LAST_EVENT_ID: &str = "last-event-id";

#[derive(OpenApi)]
#[openapi(paths(get_stream))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new().route("/collect/stream/{sources}", get(get_stream)).with_state(Arc::clone(door))
}

#[derive(Deserialize)]
struct Asked {
    after: Option<String>,
}

/// Follows sources. Who comes back with `Last-Event-ID`, or with `after` where a client cannot set
/// it, is told by an event `gap` if something was missed: then the ledger is to be read again.
#[utoipa::path(get, path = "/collect/stream/{sources}", params(
    ("sources" = String, Path, description = "Names of sources, with commas between them; at most 12."),
    ("after" = Option<String>, Query, description = "The last event's id, if `Last-Event-ID` does not say it."),
    ("Last-Event-ID" = Option<String>, Header, description = "The last event's id."),
), responses(
    (status = 200, description = "Events until one of the sides closes.", body = String,
     content_type = "text/event-stream"),
    (status = 400, description = "Too many sources, or the id is none."),
    (status = 404, description = "There is no such source."),
))]
async fn get_stream(
    State(door): State<Arc<Door>>,
    Path(sources): Path<String>,
    Query(asked): Query<Asked>,
    mut headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    let names: Vec<&str> = sources.split(',').collect();
    if names.len() > SOURCES_PER_PAGE {
        let told = format!("{} sources, at most {SOURCES_PER_PAGE} in one stream", names.len());
        return Err(Error::invalid(told).into());
    }
    let mut topics = vec![ROOM.to_owned()];
    for name in names {
        topics.push(slots_topic(&door.collect.sources.get(name)?.source.name));
    }
    // What a browser says by itself is newer than the address.
    let after = asked.after.and_then(|after| HeaderValue::try_from(after).ok());
    if let (Some(after), false) = (after, headers.contains_key(LAST_EVENT_ID)) {
        headers.insert(LAST_EVENT_ID, after);
    }
    let follow = Follow { policy: Policy::DropOldest, ..Follow::default() };
    let channel = door.collect.pushes.channel();
    let want = |topic| Want { channel: channel.clone(), topic, follow: follow.clone() };
    let wants: Vec<Want> = topics.into_iter().map(want).collect();
    door.streams.events(&headers, &draining, &wants)
}
