//! A room as server-sent events: comments and changes in v1's envelopes, numbered by the room.

use std::sync::Arc;

use edge::{Draining, Failure, HeaderMap, Path, Problem, Response, State, Want};
use hub::{Follow, Since};

use super::Api;
use crate::error::Error;
use crate::live::{EVENTS, render};
use crate::ops::Following;

/// Follows a room. `Last-Event-ID` is a number of the room; what came after it is told first.
#[utoipa::path(get, path = "/live/rooms/{roomId}/stream", params(
    ("roomId" = String, Path, description = "The room's id or join code"),
    ("Last-Event-ID" = Option<u64>, Header, description = "The last number that is known"),
), responses(
    (status = 200, description = "Events until one of the sides closes.", body = String, content_type = "text/event-stream"),
    (status = 400, description = "`Last-Event-ID` is no number.", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "No such room.", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn get_stream(
    State(api): State<Arc<Api>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    let after = last_event_id(&headers)?;
    let room = api.live.find_by_name(&name).await?;
    let start = api.live.find_start(&room, Following { view: EVENTS, after }).await?;
    let mut before: Vec<_> = Vec::new();
    if start.gap {
        before.push(hub::Text::from(format!("{} {{\"v\":1,\"type\":\"gap\"}}", start.seq)));
    }
    let told = start.replay.iter();
    before.extend(told.filter_map(|entry| render(std::slice::from_ref(entry), EVENTS)));
    let follow = Follow { since: Since::After(start.position), view: EVENTS, ..Follow::default() };
    let want = Want { channel: api.live.channel(EVENTS).clone(), topic: room.id, follow };
    api.streams.events_numbered(&draining, want, &before)
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Error> {
    let Some(value) = headers.get("last-event-id").filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let number = text.parse().map_err(|_| {
        Error::invalid(format!("Last-Event-ID must be a number of the room, not `{text}`"))
    })?;
    Ok(Some(number))
}
