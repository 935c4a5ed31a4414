//! A room as server-sent events: comments and changes in v1's envelopes, numbered by the room, and
//! between them, without a number, what counts only now. The host hears what only the host sees.

use std::sync::Arc;

use edge::{Client, Draining, Failure, HeaderMap, Path, Query, Response, State, Want};
use hub::{Follow, Policy, Since};
use serde::Deserialize;

use super::participants::participant_header;
use super::{Api, bearer};
use crate::error::Error;
use crate::live::{EVENTS, HOST_EVENTS, render};
use crate::ops::Following;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    after: Option<String>,
}

/// Follows a room. `Last-Event-ID`, or `after` where a client cannot set it, is a number of the room;
/// what came after it is told first.
#[utoipa::path(get, path = "/live/rooms/{roomId}/stream", params(
    ("roomId" = String, Path, description = "The room's id or join code"),
    ("after" = Option<u64>, Query, description = "The last number that is known, if `Last-Event-ID` does not say it"),
    ("Last-Event-ID" = Option<u64>, Header, description = "The last number that is known"),
    ("Authorization" = Option<String>, Header, description = "`Bearer` and the host's credential, to hear what the host hears"),
), responses(
    (status = 200, description = "Events until one of the sides closes.", body = String, content_type = "text/event-stream"),
    (status = 400, description = "The number is none, or the id is too long."),
    (status = 403, description = "The credential is another's."),
    (status = 404, description = "No such room."),
    (status = 429, description = "Too many joins of this address; `Retry-After` says when."),
))]
pub(super) async fn get_stream(
    State(api): State<Arc<Api>>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
    client: Client,
    headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    let after = after(&headers, asked.after.as_deref())?;
    let room = api.live.find_by_name(&name).await?;
    let credential = bearer(&headers);
    if credential.is_some() {
        room.check_host(credential.as_deref())?;
    }
    let address = client.network();
    let caller = api.caller(address, participant_header(&headers), None).await?;
    api.pace.follow(address, &caller)?;
    let view = if credential.is_some() { HOST_EVENTS } else { EVENTS };
    let start = api.live.find_start(&room, Following { view, after }).await?;
    let mut before: Vec<_> = Vec::new();
    if start.gap {
        before.push(hub::Text::from(format!("{} {{\"v\":1,\"type\":\"gap\"}}", start.seq)));
    }
    let told = start.replay.iter();
    before.extend(told.filter_map(|entry| render(std::slice::from_ref(entry), view)));
    let follow = Follow { since: Since::After(start.position), view, ..Follow::default() };
    let entries = Want { channel: api.live.channel(view).clone(), topic: room.id.clone(), follow };
    let follow = Follow { policy: Policy::DropOldest, ..Follow::default() };
    let moments = Want { channel: api.live.stages.moment().clone(), topic: room.id, follow };
    api.streams.events_numbered(&draining, &[entries, moments], &before)
}

/// The last number that the caller knows. What a browser says by itself is newer than the address.
fn after(headers: &HeaderMap, asked: Option<&str>) -> Result<Option<u64>, Error> {
    let said = headers.get("last-event-id").filter(|value| !value.is_empty());
    let said = said.map(|value| value.to_str().unwrap_or("?")).or(asked);
    let number = said.map(|text| {
        text.parse().map_err(|_| {
            Error::invalid(format!("Last-Event-ID must be a number of the room, not `{text}`"))
        })
    });
    number.transpose()
}
