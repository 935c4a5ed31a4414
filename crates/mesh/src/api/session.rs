//! One socket: who speaks on it, and what it follows.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::ServerError;
use hub::{
    Channel, Envelope, Follow, Joined, Policy, Position, Since, Subscriber, Subscription, Text,
};
use parking_lot::Mutex;
use serde_json::Value as Json;

use super::Api;
use crate::api::schema::{Caller, Refused, subscribed};
use crate::api::wire::Asked;
use crate::limits::SUBSCRIPTIONS_MAX;
use crate::live::{Selected, topic};
use crate::model::Cursor;

/// A socket's state, whatever dialect it speaks.
pub(super) struct Session {
    pub(super) api: Arc<Api>,
    pub(super) subscriber: Subscriber,
    pub(super) caller: Caller,
    /// By the client's ids.
    followed: Mutex<HashMap<String, Followed>>,
}

struct Followed {
    subscription: Subscription,
    _selected: Selected,
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
    /// A socket that follows nothing yet.
    pub(super) fn new(api: Arc<Api>, subscriber: Subscriber, caller: Caller) -> Session {
        Session { api, subscriber, caller, followed: Mutex::default() }
    }

    /// Follows what a document asks for. `greet` is sent before the first push: what is published
    /// after it is delivered.
    pub(super) async fn follow(
        &self,
        id: &str,
        asked: &Asked,
        resume_from: Option<&str>,
        envelope: Envelope,
        greet: impl FnOnce(&Joined) -> Option<Text>,
    ) -> Result<(), NotFollowed> {
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
        let mut followed = self.followed.lock();
        let joined = self.subscriber.follow(&mesh.groups, &topic, follow, greet);
        let subscription = joined.map_err(|_| NotFollowed::Closing)?.subscription;
        followed.insert(id.to_owned(), Followed { subscription, _selected: selected });
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
