//! Rooms over REST.

use std::sync::Arc;

use bytes::Bytes;
use edge::{
    Client, Failure, HeaderMap, IntoResponse, Json, Path, Query, Response, State, StatusCode,
    read_json,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::participants::participant_header;
use super::{Api, bearer, bounded_limit};
use crate::error::Error;
use crate::limits::{ROOMS_PER_PAGE, ROOMS_PER_PAGE_MAX};
use crate::live::ShownRoom;
use crate::model::{
    ChangeBlocks, ChangeRoom, ChangeWall, CreateRoom, ListChange, Moderation, Room, Status,
    WallArea, WallJoin, check_host_id, check_new_host_id,
};

/// What it takes to open a room.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "name": "Keynote",
    "hostId": "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10"
}))]
pub(super) struct NewRoom {
    /// What the room is called.
    #[schema(example = "Keynote", max_length = 100)]
    name: String,
    /// The host's credential: make it random, and keep it. 16 to 128 printed ASCII characters.
    #[schema(example = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10", min_length = 16, max_length = 128)]
    host_id: String,
}

/// A room for who opened it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OpenedRoom {
    /// The credential that opened it.
    host_id: String,
    #[serde(flatten)]
    room: ShownRoom,
}

/// A room with how many are in it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ViewedRoom {
    #[serde(flatten)]
    room: ShownRoom,
    /// How many are connected.
    viewers: usize,
    /// For the host: words that hold a comment back.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_words: Option<Vec<String>>,
    /// For the host: authors whose comments nobody sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_users: Option<Vec<String>>,
    /// For the host: the version of both lists, to be sent with a whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_version: Option<u64>,
}

/// A page of rooms.
#[derive(Debug, Serialize, ToSchema)]
struct RoomPage {
    /// Newest first.
    rooms: Vec<ShownRoom>,
    /// Where to go on.
    next: Option<String>,
}

/// Opens a room.
#[utoipa::path(post, path = "/live/rooms", request_body = NewRoom, responses(
    (status = 201, description = "The room, with its join code.", body = OpenedRoom),
    (status = 400, description = "A value breaks its bound."),
    (status = 413, description = "The body is too large."),
    (status = 429, description = "Too many rooms; `Retry-After` says when."),
    (status = 507, description = "The house holds as many rooms as it may."),
))]
pub(super) async fn create_room(
    State(api): State<Arc<Api>>,
    client: Client,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, Failure> {
    let NewRoom { name, host_id } = read_json(&bytes)?;
    check_new_host_id(&host_id)?;
    let address = client.network();
    let caller = api.caller(address, participant_header(&headers), None).await?;
    let taken = api.pace.open_room(address, &host_id, &caller)?;
    let create = CreateRoom { name, host_id: host_id.clone() };
    let room = taken.settle(api.live.create_room(&create).await)?;
    let opened = OpenedRoom { host_id, room: ShownRoom::of(&room) };
    Ok((StatusCode::CREATED, Json(opened)).into_response())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    host_id: Option<String>,
    cursor: Option<String>,
    limit: Option<String>,
}

/// Lists the rooms of a host.
#[utoipa::path(get, path = "/live/rooms", params(
    ("hostId" = Option<String>, Query, description = "The host's credential, if it is not in the header"),
    ("Authorization" = Option<String>, Header, description = "`Bearer` and the host's credential"),
    ("cursor" = Option<String>, Query, description = "`next` of the page before"),
    ("limit" = Option<u32>, Query, description = "1 to 100, or 50"),
), responses(
    (status = 200, description = "Newest first; empty if there are none.", body = RoomPage),
    (status = 400, description = "A value breaks its bound."),
))]
pub(super) async fn list_rooms(
    State(api): State<Arc<Api>>,
    Query(listed): Query<Listed>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let host_id = listed.host_id.or_else(|| bearer(&headers)).unwrap_or_default();
    let limit = bounded_limit(listed.limit.as_deref(), ROOMS_PER_PAGE, ROOMS_PER_PAGE_MAX)?;
    let cursor = listed.cursor.as_deref().filter(|cursor| !cursor.is_empty());
    let (rooms, next) = api.live.list_rooms(&host_id, cursor, limit).await?;
    let rooms = rooms.iter().map(ShownRoom::of).collect();
    Ok(Json(RoomPage { rooms, next }).into_response())
}

/// Shows a room, by its id or its join code.
#[utoipa::path(get, path = "/live/rooms/{roomId}", params(
    ("roomId" = String, Path, description = "The room's id or join code"),
), responses(
    (status = 200, description = "What everybody may know; the host sees its block lists too.",
     body = ViewedRoom),
    (status = 400, description = "The id is too long."),
    (status = 404, description = "No such room."),
))]
pub(super) async fn get_room(
    State(api): State<Arc<Api>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let room = api.live.find_by_name(&name).await?;
    Ok(Json(api.viewed(&room, bearer(&headers).as_deref())).into_response())
}

/// What a host changes. `{hostId}` alone closes the room.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "slowModeSeconds": 5, "reactions": true }))]
pub(super) struct RoomChange {
    /// The host's credential, if it is not in the header.
    host_id: Option<String>,
    /// `OPEN` or `CLOSED`.
    status: Option<String>,
    /// Seconds between two comments of a participant; 0 ends slow mode.
    slow_mode_seconds: Option<u64>,
    /// `off`, or `pre` to let comments wait for the host.
    moderation: Option<String>,
    /// Whether the room takes reactions.
    reactions: Option<bool>,
    /// Whether the room takes no comments for the moment.
    paused: Option<bool>,
    /// What the walls of the room show.
    #[schema(value_type = WallChange, required = false)]
    wall: Option<WallChange>,
    /// Words to be added to those that hold a comment back until the host lets it through. Case,
    /// width, kana and characters that show nothing do not hide a word.
    block_words: Option<Vec<String>>,
    /// Words to be removed from those, however they are written.
    unblock_words: Option<Vec<String>>,
    /// Authors to be added to those whose comments nobody sees.
    block_users: Option<Vec<String>>,
    /// Authors to be removed from those.
    unblock_users: Option<Vec<String>>,
    /// All blocked words; needs `blockedVersion`.
    blocked_words: Option<Vec<String>>,
    /// All blocked authors; needs `blockedVersion`.
    blocked_users: Option<Vec<String>>,
    /// The version of the lists that the host has read.
    blocked_version: Option<u64>,
}

/// What a host changes on the walls of a room: at least one of these.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WallChange {
    /// Whether they show nothing at all.
    hidden: Option<bool>,
    /// Whether comments stand still.
    paused: Option<bool>,
    /// How they show the QR code: `auto` (on the full screen until the first comment), `full`,
    /// `corner` or `off`.
    join: Option<String>,
    /// The part of the screen in which comments fly: `full`, `top`, `bottom`, `left` or `right`.
    area: Option<String>,
    /// The height of letters in hundredths of the screen's height, 4 to 12; 0 leaves it to the wall.
    letters: Option<u64>,
}

impl WallChange {
    fn read(&self) -> Result<ChangeWall, Error> {
        let join = self.join.as_deref().map(|word| {
            let message =
                format!("wall.join must be `auto`, `full`, `corner` or `off`, not `{word}`");
            WallJoin::named(word).ok_or_else(|| Error::invalid(message))
        });
        let area = self.area.as_deref().map(|word| {
            let message = format!(
                "wall.area must be `full`, `top`, `bottom`, `left` or `right`, not `{word}`"
            );
            WallArea::named(word).ok_or_else(|| Error::invalid(message))
        });
        let change = ChangeWall {
            hidden: self.hidden,
            paused: self.paused,
            join: join.transpose()?,
            area: area.transpose()?,
            letters: self.letters,
        };
        if change == ChangeWall::default() {
            // It must not close the room, as a change that names nothing does.
            return Err(Error::invalid("wall names nothing to change"));
        }
        Ok(change)
    }
}

impl RoomChange {
    fn read(self) -> Result<ChangeRoom, Error> {
        let status = self.status.as_deref().map(|word| {
            let told = format!("status must be `OPEN` or `CLOSED`, not `{word}`");
            Status::named(word).ok_or_else(|| Error::invalid(told))
        });
        let moderation = self.moderation.as_deref().map(|word| {
            let told = format!("moderation must be `off` or `pre`, not `{word}`");
            Moderation::named(word).ok_or_else(|| Error::invalid(told))
        });
        let change = ChangeRoom {
            status: status.transpose()?,
            slow_mode_seconds: self.slow_mode_seconds,
            moderation: moderation.transpose()?,
            reactions: self.reactions,
            paused: self.paused,
            blocks: ChangeBlocks {
                words: ListChange {
                    whole: self.blocked_words,
                    add: self.block_words,
                    remove: self.unblock_words,
                },
                users: ListChange {
                    whole: self.blocked_users,
                    add: self.block_users,
                    remove: self.unblock_users,
                },
                version: self.blocked_version,
            },
            wall: self.wall.map(|wall| wall.read()).transpose()?.unwrap_or_default(),
        };
        if change == ChangeRoom::default() {
            return Ok(ChangeRoom { status: Some(Status::Closed), ..change });
        }
        Ok(change)
    }
}

/// Changes or closes a room.
#[utoipa::path(patch, path = "/live/rooms/{roomId}", request_body = RoomChange, params(
    ("roomId" = String, Path, description = "The room's id"),
), responses(
    (status = 200, description = "The room as it is now, with its block lists.", body = ViewedRoom),
    (status = 400, description = "A value breaks its bound, or a whole list comes without its version."),
    (status = 403, description = "Another host's room."),
    (status = 404, description = "No such room."),
    (status = 409, description = "The block lists have another version by now, or the room is full."),
    (status = 413, description = "The body is too large."),
    (status = 429, description = "Too fast; `Retry-After` says when."),
))]
pub(super) async fn change_room(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    client: Client,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, Failure> {
    let change: RoomChange = read_json(&bytes)?;
    let host_id = change.host_id.clone().or_else(|| bearer(&headers));
    let host_id = host_id.ok_or_else(|| Error::invalid("hostId is missing"))?;
    check_host_id(&host_id)?;
    let change = change.read()?;
    let address = client.network();
    let caller = api.caller(address, participant_header(&headers), None).await?;
    let taken = api.pace.host(address, &id, &host_id, &caller)?;
    let room = taken.settle(api.live.change_room(&id, Some(&host_id), &change).await)?;
    Ok(Json(api.viewed(&room, Some(&host_id))).into_response())
}

/// Removes a room with everything in it.
#[utoipa::path(delete, path = "/live/rooms/{roomId}", params(
    ("roomId" = String, Path, description = "The room's id"),
    ("Authorization" = String, Header, description = "`Bearer` and the host's credential"),
), responses(
    (status = 204, description = "It is gone."),
    (status = 400, description = "The id is too long."),
    (status = 403, description = "Another host's room."),
    (status = 404, description = "No such room."),
))]
pub(super) async fn delete_room(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    api.live.delete_room(&id, bearer(&headers).as_deref()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl Api {
    fn viewed(&self, room: &Room, host_id: Option<&str>) -> ViewedRoom {
        let is_host = room.is_host(host_id);
        ViewedRoom {
            room: ShownRoom::of(room),
            viewers: self.live.viewers(&room.id),
            blocked_words: is_host.then(|| room.blocks.words.clone()),
            blocked_users: is_host.then(|| room.blocks.users.clone()),
            blocked_version: is_host.then_some(room.blocks.version),
        }
    }
}
