//! One socket: who speaks on it, and what it follows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_graphql::ServerError;
use edge::Close;
use hub::{
    Channel, Envelope, Follow, Joined, Policy, Position, Since, Subscriber, Subscription, Text,
};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use super::Api;
use crate::api::schema::{Caller, Refused, subscribed};
use crate::api::wire::Asked;
use crate::limits::SUBSCRIPTIONS_MAX;
use crate::live::{Selected, topic};
use crate::model::Cursor;

/// What ends a subscription whose key has ended.
const KEY_ENDED: &str = "the key of this subscription is not valid any more";

/// A socket's state, whatever dialect it speaks.
pub(super) struct Session {
    pub(super) api: Arc<Api>,
    pub(super) subscriber: Subscriber,
    pub(super) caller: Caller,
    dialect: Dialect,
    is_greeted: AtomicBool,
    /// The keys of the house that were used here.
    keys: Mutex<Keys>,
    /// Why it is closed, if it is closed from here.
    close: Mutex<Option<Close>>,
    /// By the client's ids.
    followed: Mutex<HashMap<String, Followed>>,
}

/// Which protocol a socket speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    AppSync,
    Transport,
}

#[derive(Default)]
struct Keys {
    /// That of the connection.
    own: Option<String>,
    watched: HashSet<String>,
}

struct Followed {
    subscription: Subscription,
    /// The key of the house that it was started with, if it was one.
    key: Option<String>,
    _selected: Selected,
}

/// What a client asks to follow.
pub(super) struct Wish<'w> {
    /// The client's id of the subscription.
    pub(super) id: &'w str,
    pub(super) asked: &'w Asked,
    pub(super) resume_from: Option<&'w str>,
    /// The key that it was started with, if it has one of its own.
    pub(super) key: Option<&'w str>,
}

/// Why a subscription did not begin.
pub(super) enum NotFollowed {
    /// The id is in use.
    Duplicate,
    /// The socket has too many.
    TooMany,
    /// The document is a query or a mutation.
    NotASubscription,
    /// The document is not valid.
    Invalid(Vec<ServerError>),
    /// What it wants to resume from is no position.
    NotAPosition(String),
    /// The socket is closing.
    Closing,
}

impl Session {
    /// A socket that follows nothing yet, and has to say hello.
    pub(super) fn open(
        api: Arc<Api>,
        subscriber: Subscriber,
        caller: Caller,
        dialect: Dialect,
    ) -> Arc<Session> {
        let session = Arc::new(Session {
            api,
            subscriber,
            caller,
            dialect,
            is_greeted: AtomicBool::new(false),
            keys: Mutex::default(),
            close: Mutex::default(),
            followed: Mutex::default(),
        });
        session.api.guests.let_in(&session, session.api.mesh.clock.instant());
        session
    }

    /// Notes that the socket has said hello; whether it had before.
    pub(super) fn greet(&self) -> bool {
        self.is_greeted.swap(true, Ordering::AcqRel)
    }

    /// Whether the socket has said hello.
    pub(super) fn is_greeted(&self) -> bool {
        self.is_greeted.load(Ordering::Acquire)
    }

    /// Notes the key that admitted the connection.
    pub(super) fn enter(self: &Arc<Self>, key: &str) {
        if self.watch(key) {
            self.keys.lock().own = Some(key.to_owned());
        }
    }

    /// Lets a key of the house end what it opens here; `false` for the key of the class.
    fn watch(self: &Arc<Self>, key: &str) -> bool {
        if self.api.mesh.key.is_shared(key) {
            return false;
        }
        if self.keys.lock().watched.insert(key.to_owned()) {
            self.api.guests.watch_socket(key, self);
        }
        true
    }

    /// Ends what a key has opened here: the whole connection, or subscriptions of a connection that
    /// has another key.
    pub(super) fn end_key(&self, key: &str) {
        if self.keys.lock().own.as_deref() == Some(key) {
            return self.refuse_entry();
        }
        let ended: Vec<String> = {
            let followed = self.followed.lock();
            let ended = followed.iter().filter(|(_, held)| held.key.as_deref() == Some(key));
            ended.map(|(id, _)| id.clone()).collect()
        };
        for id in ended {
            self.leave(&id);
            let errors = json!([{ "errorType": "UnauthorizedException", "message": KEY_ENDED }]);
            let payload = json!({ "errors": errors });
            self.send(json!({ "type": "error", "id": id, "payload": payload }).to_string());
        }
    }

    /// Closes a connection whose key is not valid any more.
    fn refuse_entry(&self) {
        match self.dialect {
            Dialect::AppSync => {
                self.send(connection_error());
                self.close(Close::new(4401, "unauthorized"));
            }
            Dialect::Transport => self.close(Close::new(4403, "Forbidden")),
        }
    }

    /// Closes a connection that has not said hello in time.
    pub(super) fn close_silent(&self) {
        self.close(Close::new(4408, "Connection initialisation timeout"));
    }

    fn close(&self, close: Close) {
        *self.close.lock() = Some(close);
        self.subscriber.close();
    }

    /// What the client reads when the connection was closed from here.
    pub(super) fn last_word(&self) -> Close {
        self.close.lock().clone().unwrap_or_else(|| Close::new(Close::NORMAL, "done"))
    }

    /// Follows what a document asks for. `greet` is sent before the first push: what is published
    /// after it is delivered.
    pub(super) async fn follow(
        self: &Arc<Self>,
        wish: Wish<'_>,
        envelope: Envelope,
        greet: impl FnOnce(&Joined) -> Option<Text>,
    ) -> Result<(), NotFollowed> {
        let Wish { id, asked, resume_from, key } = wish;
        self.check_room_for(id)?;
        let document = self.api.documents.find(&asked.query).await;
        let document = document.map_err(NotFollowed::Invalid)?;
        let request = asked.clone().request(&document).map_err(NotFollowed::Invalid)?;
        let request = request.data(self.caller.clone());
        let wanted = subscribed(&self.api.schema, &document.parsed, request).await;
        let wanted = wanted.map_err(|refused| match refused {
            Refused::NotASubscription => NotFollowed::NotASubscription,
            Refused::Invalid(errors) => NotFollowed::Invalid(errors),
        })?;
        let mesh = &self.api.mesh;
        let topic = topic(&wanted.group);
        let since = match resume_from.filter(|text| !text.is_empty()) {
            None => Since::Now,
            Some(text) => Since::After(resume(&mesh.groups, &topic, text)?),
        };
        let selected = mesh.selections.hold(wanted.selection);
        let follow = Follow {
            since,
            policy: Policy::default(),
            view: selected.view,
            envelope: Some(envelope),
        };
        let key = key.filter(|key| self.watch(key)).map(str::to_owned);
        let mut followed = self.followed.lock();
        let joined = self.subscriber.follow(&mesh.groups, &topic, follow, greet);
        let subscription = joined.map_err(|_| NotFollowed::Closing)?.subscription;
        followed.insert(id.to_owned(), Followed { subscription, key, _selected: selected });
        Ok(())
    }

    fn check_room_for(&self, id: &str) -> Result<(), NotFollowed> {
        let followed = self.followed.lock();
        if followed.contains_key(id) {
            return Err(NotFollowed::Duplicate);
        }
        if followed.len() >= SUBSCRIPTIONS_MAX {
            return Err(NotFollowed::TooMany);
        }
        Ok(())
    }

    /// Stops following; whether there was something.
    pub(super) fn leave(&self, id: &str) -> bool {
        let followed = self.followed.lock().remove(id);
        let was_there = followed.is_some();
        if let Some(followed) = followed {
            self.subscriber.leave(followed.subscription);
        }
        was_there
    }

    /// The client's id of a subscription.
    pub(super) fn id_of(&self, subscription: Subscription) -> Option<String> {
        let followed = self.followed.lock();
        let found = followed.iter().find(|(_, followed)| followed.subscription == subscription);
        found.map(|(id, _)| id.clone())
    }

    /// Sends a text to this client alone. One that does not read any more is closed elsewhere.
    pub(super) fn send(&self, text: String) {
        let _ = self.subscriber.send(text);
    }
}

/// The frame that refuses a connection of AppSync.
pub(super) fn connection_error() -> String {
    let errors = json!([{ "errorType": "UnauthorizedException", "errorCode": 401 }]);
    json!({ "type": "connection_error", "payload": { "errors": errors } }).to_string()
}

/// What stands around the pushes of a subscription. A client that knows of resuming is told where
/// it stands with every push.
pub(super) fn envelope(kind: &str, id: &Json, resume_from: Option<&str>) -> Envelope {
    let prefix = format!("{{\"id\":{id},\"type\":\"{kind}\",\"payload\":").into();
    match resume_from {
        None => Envelope { prefix, suffix: "}".into(), stamp: None },
        Some(_) => Envelope { prefix, suffix: "\"}".into(), stamp: Some(",\"cursor\":\"".into()) },
    }
}

/// The position that a client stood at: that of a push, or that of the push with an event.
fn resume(groups: &Channel, topic: &str, text: &str) -> Result<Position, NotFollowed> {
    if let Ok(position) = text.parse() {
        return Ok(position);
    }
    let cursor = Cursor::parse(text).ok_or_else(|| NotFollowed::NotAPosition(text.to_owned()))?;
    let words = format!("\"cursor\":\"{}\"", cursor.text());
    let found = groups.find(topic, |push| push.as_str().contains(&words));
    // An event that is forgotten is a gap, as a position of another numbering is.
    Ok(found.unwrap_or(Position { epoch: 0, offset: 0 }))
}
