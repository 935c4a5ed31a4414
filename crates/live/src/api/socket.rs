//! WebSocket: joining a room, hearing it, speaking in it.
//!
//! A message is a JSON object with an `action`, as API Gateway routes it: `joinRoom`, `leaveRoom`,
//! `postComment`, `react`, `ping`. Who joins without `"v":1` hears bare comments, as the seed's
//! client does, and errors; who joins with it hears envelopes.
//!
//! Invariants:
//! - a connection is in one room at most: joining another one leaves the first;
//! - every message that cannot be done is answered by an `error`, and the connection stays;
//! - who is too slow is cut off after `goAway`, which says where to resume.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Monotonic;
use edge::{Client, Close, Failure, Message, Origins, Response, State, Terms, Upgrade, Visit};
use hub::{Follow, Gap, Policy, Since, Standing, Subscriber, Subscription, Text, View};
use parking_lot::Mutex;
use serde::Deserialize;

use super::{Api, Caller};
use crate::error::Error;
use crate::items::Seat as Row;
use crate::jobs::Sign;
use crate::limits::{LEASE, RENEWAL};
use crate::live::{BARE, HOST, ShownRoom, V1, head, json, render};
use crate::model::{PostComment, Room};
use crate::ops::{Following, Start};

/// Follows rooms and speaks in them, over a WebSocket.
#[utoipa::path(get, path = "/live/ws", responses(
    (status = 101, description = "The connection is open."),
    (status = 426, description = "The request is no handshake."),
))]
pub(super) async fn get_socket(
    State(api): State<Arc<Api>>,
    client: Client,
    upgrade: Upgrade,
) -> Result<Response, Failure> {
    let terms = Terms { protocols: &[], origins: Origins::Any };
    let streams = api.streams.clone();
    streams
        .accept(upgrade, &terms, |opening| Socket::new(api, client.network(), opening.subscriber))
}

/// A connection.
pub(crate) struct Socket {
    api: Arc<Api>,
    address: IpAddr,
    subscriber: Subscriber,
    /// The seed's connectionId.
    id: String,
    seat: Mutex<Option<Seat>>,
    /// Seats so far.
    seats: AtomicU64,
}

/// A connection's place in a room.
#[derive(Clone)]
struct Seat {
    /// What the table has of it.
    row: Row,
    view: View,
    entries: Subscription,
    /// Reactions and counts, which the seed's form does not have.
    moments: Option<Subscription>,
    renewed: Monotonic,
    caller: Caller,
    nickname: Option<String>,
    host_id: Option<String>,
}

/// What a client says.
#[derive(Debug, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Said {
    JoinRoom {
        room_id: String,
        after: Option<u64>,
        nickname: Option<String>,
        v: Option<u64>,
        /// Tells a participant apart who comes back by another connection.
        participant: Option<String>,
        host_id: Option<String>,
    },
    LeaveRoom {},
    PostComment {
        content: String,
        nickname: Option<String>,
        client_id: Option<String>,
        room_id: Option<String>,
    },
    React {
        reaction: String,
    },
    Ping {},
}

impl Socket {
    /// A connection that is in no room.
    pub(crate) fn new(api: Arc<Api>, address: IpAddr, subscriber: Subscriber) -> Socket {
        let id = api.live.ids.random().to_string();
        Socket { api, address, subscriber, id, seat: Mutex::default(), seats: AtomicU64::new(0) }
    }

    async fn hear(&self, text: &str) -> Result<(), Failure> {
        let said: Said = edge::read_json(text.as_bytes())?;
        match said {
            Said::JoinRoom { room_id, after, nickname, v, participant, host_id } => {
                // Without a participant of its own, a connection is one.
                let presented = participant.as_deref().unwrap_or(&self.id);
                let caller = self.api.caller(self.address, Some(presented), None).await?;
                let taken = self.api.pace.join(self.address, &self.id, &caller)?;
                let who = Who { caller, nickname, host_id };
                taken.settle(self.join(&room_id, after, v, who).await)
            }
            Said::LeaveRoom {} => {
                self.stand_up();
                Ok(())
            }
            Said::PostComment { content, nickname, client_id, room_id } => {
                self.post(content, nickname, client_id, room_id.as_deref()).await
            }
            Said::React { reaction } => self.react(&reaction).await,
            Said::Ping {} => {
                self.send("{\"v\":1,\"type\":\"pong\"}".to_owned());
                Ok(())
            }
        }
    }

    async fn join(
        &self,
        room_id: &str,
        after: Option<u64>,
        v: Option<u64>,
        who: Who,
    ) -> Result<(), Failure> {
        let room = self.api.live.find_by_name(room_id).await?;
        let view = match v {
            None | Some(0) => BARE,
            Some(1) if room.is_host(who.host_id.as_deref()) => HOST,
            Some(1) if who.host_id.is_some() => return Err(Error::NotTheHost.into()),
            Some(1) => V1,
            Some(other) => {
                return Err(Error::invalid(format!("v must be 1, not {other}")).into());
            }
        };
        let start = self.api.live.find_start(&room, Following { view, after }).await?;
        self.sit_down(&room, view, start, who).await
    }

    /// Takes a place in a room, from the place where its start says.
    async fn sit_down(
        &self,
        room: &Room,
        view: View,
        start: Start,
        who: Who,
    ) -> Result<(), Failure> {
        self.stand_up();
        let live = &self.api.live;
        live.stages.presence().renew(&room.id, &self.id, "", LEASE);
        live.stages.recount(&room.id);
        self.greet(room, view, &start);
        let follow = Follow {
            since: Since::After(start.position),
            policy: Policy::Disconnect,
            view,
            envelope: None,
        };
        let joined = self.subscriber.follow(live.channel(view), &room.id, follow, |_| None);
        // Whoever does not read any more is closed elsewhere.
        let Ok(joined) = joined else { return Ok(()) };
        if joined.gap {
            // Memory has moved on in this very moment.
            self.send(go_away(Some(start.seq)));
        }
        let moments = (view != BARE).then(|| {
            let follow = Follow { policy: Policy::DropOldest, ..Follow::default() };
            self.subscriber.follow(live.stages.moment(), &room.id, follow, |_| None)
        });
        let row = Row {
            connection: self.id.clone(),
            room_id: room.id.clone(),
            since: live.clock.now(),
            number: self.seats.fetch_add(1, Ordering::Relaxed),
        };
        let seat = Seat {
            row: row.clone(),
            view,
            entries: joined.subscription,
            moments: moments.and_then(Result::ok).map(|joined| joined.subscription),
            renewed: live.clock.instant(),
            caller: who.caller,
            nickname: who.nickname,
            host_id: who.host_id,
        };
        *self.seat.lock() = Some(seat);
        live.put_connection(&row).await?;
        Ok(())
    }

    /// Says how a join went, and what came before it.
    fn greet(&self, room: &Room, view: View, start: &Start) {
        if view != BARE {
            let viewers = self.api.live.viewers(&room.id);
            let (id, shown) = (json(&room.id), json(&ShownRoom::of(room)));
            let gap = if start.gap { ",\"gap\":true" } else { "" };
            self.send(format!(
                "{{\"v\":1,\"type\":\"joined\",\"roomId\":{id},\"seq\":{},\"viewers\":{viewers},\
                 \"room\":{shown}{gap}}}",
                start.seq
            ));
        }
        for entry in &start.replay {
            if let Some(text) = render(std::slice::from_ref(entry), view) {
                let _ = self.subscriber.send(text);
            }
        }
    }

    /// Leaves the room, if there is one.
    fn stand_up(&self) {
        let Some(seat) = self.seat.lock().take() else { return };
        self.subscriber.leave(seat.entries);
        if let Some(moments) = seat.moments {
            self.subscriber.leave(moments);
        }
        self.api.live.stages.presence().leave(&seat.row.room_id, &self.id);
        // When nobody hears it, the house is closing.
        let _ = self.api.live.signs.send(Sign::Gone(seat.row));
    }

    fn seat(&self) -> Result<Seat, Error> {
        let seat = self.seat.lock().clone();
        seat.ok_or_else(|| Error::invalid("the connection is in no room: joinRoom comes first"))
    }

    async fn post(
        &self,
        content: String,
        nickname: Option<String>,
        client_id: Option<String>,
        room_id: Option<&str>,
    ) -> Result<(), Failure> {
        let seat = self.seat()?;
        if let Some(named) = room_id.filter(|named| *named != seat.row.room_id) {
            let told = format!("the connection is in room `{}`, not `{named}`", seat.row.room_id);
            return Err(Error::invalid(told).into());
        }
        let nickname = nickname.or(seat.nickname.clone());
        let told_id = json(&client_id);
        let post = PostComment {
            content,
            participant: seat.caller.participant.clone(),
            nickname,
            client_id,
            host_id: seat.host_id,
        };
        let comment = self.api.post(self.address, &seat.row.room_id, post, &seat.caller).await?;
        if seat.view != BARE {
            let id = json(&comment.id);
            let held = if comment.is_held() { ",\"held\":true" } else { "" };
            self.send(format!(
                "{{\"v\":1,\"type\":\"posted\",\"commentId\":{id},\"seq\":{},\
                 \"clientId\":{told_id}{held}}}",
                comment.seq
            ));
        }
        Ok(())
    }

    async fn react(&self, reaction: &str) -> Result<(), Failure> {
        let seat = self.seat()?;
        let taken = self.api.pace.react(self.address, &seat.row.room_id, &seat.caller)?;
        Ok(taken.settle(self.api.live.react(&seat.row.room_id, reaction).await)?)
    }

    /// Sends a text to this client alone. One that does not read any more is closed elsewhere.
    fn send(&self, text: String) {
        let _ = self.subscriber.send(text);
    }

    /// The number at which the reader stands, as far as memory knows it.
    fn seq_at(&self, standings: &[Standing]) -> Option<u64> {
        let seat = self.seat.lock();
        let seat = seat.as_ref()?;
        let mine = standings.iter().find(|standing| standing.subscription == seat.entries)?;
        let channel = self.api.live.channel(seat.view);
        let push = channel.push_at(&seat.row.room_id, mine.position)?;
        head(&push).map(|head| head.last)
    }
}

/// Who sits down.
struct Who {
    caller: Caller,
    nickname: Option<String>,
    host_id: Option<String>,
}

impl Visit for Socket {
    async fn on_message(&self, message: Message) -> Result<(), Close> {
        let heard = match message {
            Message::Text(text) => self.hear(&text).await,
            Message::Binary(_) => Err(Error::invalid("messages are text").into()),
        };
        if let Err(failure) = heard {
            let (code, told) = (json(&failure.code()), json(&failure.message()));
            self.send(format!("{{\"v\":1,\"type\":\"error\",\"code\":{code},\"message\":{told}}}"));
        }
        Ok(())
    }

    fn on_gap(&self, gap: &Gap) -> Option<Text> {
        let seat = self.seat.lock();
        let is_mine = seat.as_ref().is_some_and(|seat| seat.entries == gap.subscription);
        // Counts that were lost are counted again.
        is_mine.then(|| Text::from(go_away(None)))
    }

    fn on_leave(&self, standings: &[Standing]) -> Option<Text> {
        let is_bare = self.seat.lock().as_ref().is_none_or(|seat| seat.view == BARE);
        (!is_bare).then(|| Text::from(go_away(self.seq_at(standings))))
    }

    fn on_alive(&self) {
        let live = &self.api.live;
        let now = live.clock.instant();
        let mut seat = self.seat.lock();
        let Some(seat) = seat.as_mut().filter(|seat| now.since(seat.renewed) >= RENEWAL) else {
            return;
        };
        seat.renewed = now;
        live.stages.presence().renew(&seat.row.room_id, &self.id, "", LEASE);
        let _ = live.signs.send(Sign::Alive(seat.row.clone()));
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.stand_up();
    }
}

/// What is said to who must come back. Without a number, from the last one it has heard.
fn go_away(seq: Option<u64>) -> String {
    format!("{{\"v\":1,\"type\":\"goAway\",\"resumeFrom\":{}}}", json(&seq))
}
