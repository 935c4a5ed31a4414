//! The protocol of the GraphQL community, subprotocol `graphql-transport-ws`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_graphql::ServerError;
use edge::{Close, Message, Visit};
use hub::{Gap, Standing, Subscriber, Text};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Api;
use super::session::{Dialect, NotFollowed, Session, Wish, envelope};
use crate::api::schema::Caller;
use crate::api::wire::{self, Asked};
use crate::limits::SUBSCRIPTIONS_MAX;

/// A connection of a client that speaks `graphql-transport-ws`.
pub(super) struct TransportWs {
    session: Arc<Session>,
    /// The key that came with the handshake.
    key: Option<String>,
    acknowledged: AtomicBool,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Frame {
    ConnectionInit {
        #[serde(default)]
        payload: Option<Json>,
    },
    Ping {
        #[serde(default)]
        payload: Option<Json>,
    },
    Pong {},
    Subscribe {
        id: String,
        payload: Asked,
    },
    Complete {
        id: String,
    },
}

impl TransportWs {
    /// A new connection.
    pub(super) fn new(
        api: Arc<Api>,
        subscriber: Subscriber,
        caller: Caller,
        key: Option<String>,
    ) -> TransportWs {
        let session = Session::open(api, subscriber, caller, Dialect::Transport);
        TransportWs { session, key, acknowledged: AtomicBool::new(false) }
    }

    async fn hear(&self, text: &str) -> Result<(), Close> {
        let frame: Frame = serde_json::from_str(text)
            .map_err(|error| Close::new(4400, format!("not a message: {error}")))?;
        match frame {
            Frame::ConnectionInit { payload } => self.init(payload.as_ref()).await,
            Frame::Ping { payload } => {
                let mut pong = json!({ "type": "pong" });
                if let (Some(payload), Some(pong)) = (payload, pong.as_object_mut()) {
                    pong.insert("payload".to_owned(), payload);
                }
                self.session.send(pong.to_string());
                Ok(())
            }
            Frame::Pong {} => Ok(()),
            Frame::Subscribe { .. } if !self.acknowledged.load(Ordering::Acquire) => {
                Err(Close::new(4401, "Unauthorized"))
            }
            Frame::Subscribe { id, payload } => self.subscribe(id, payload).await,
            Frame::Complete { id } => {
                self.session.leave(&id);
                Ok(())
            }
        }
    }

    async fn init(&self, payload: Option<&Json>) -> Result<(), Close> {
        let given = payload.and_then(Json::as_object).and_then(|payload| {
            let found = payload.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-api-key"));
            found.and_then(|(_, key)| key.as_str())
        });
        if self.session.greet() {
            return Err(Close::new(4429, "Too many initialisation requests"));
        }
        let key = given.or(self.key.as_deref());
        if !self.session.api.admits(key).await {
            return Err(Close::new(4403, "Forbidden"));
        }
        key.into_iter().for_each(|key| self.session.enter(key));
        self.acknowledged.store(true, Ordering::Release);
        self.session.send(json!({ "type": "connection_ack" }).to_string());
        Ok(())
    }

    async fn subscribe(&self, id: String, asked: Asked) -> Result<(), Close> {
        let id_json = Json::from(id.as_str());
        let resume_from = asked.extensions.as_ref().and_then(|all| all.get("resumeFrom"));
        let resume_from = resume_from.and_then(Json::as_str);
        let envelope = envelope("next", &id_json, resume_from);
        let wish = Wish { id: &id, asked: &asked, resume_from, key: None };
        let followed = self.session.follow(wish, envelope, |_| None).await;
        match followed {
            Ok(()) | Err(NotFollowed::Closing) => Ok(()),
            Err(NotFollowed::Duplicate) => {
                Err(Close::new(4409, format!("Subscriber for {id} already exists")))
            }
            Err(NotFollowed::NotASubscription) => {
                let response = self.session.api.execute(asked, self.session.caller.clone()).await;
                let payload = wire::answer(&response);
                let next = format!("{{\"id\":{id_json},\"type\":\"next\",\"payload\":{payload}}}");
                self.session.send(next);
                self.session.send(json!({ "id": id, "type": "complete" }).to_string());
                Ok(())
            }
            Err(NotFollowed::Invalid(errors)) => {
                let errors: Json = errors.iter().map(plain).collect();
                self.send_error(&id_json, &errors);
                Ok(())
            }
            Err(NotFollowed::TooMany) => {
                let told = format!("a connection has at most {SUBSCRIPTIONS_MAX} subscriptions");
                self.send_error(&id_json, &json!([{ "message": told }]));
                Ok(())
            }
            Err(NotFollowed::NotAPosition(text)) => {
                let told = format!("`{text}` is not a cursor to resume from");
                self.send_error(&id_json, &json!([{ "message": told }]));
                Ok(())
            }
        }
    }

    fn send_error(&self, id: &Json, errors: &Json) {
        self.session.send(json!({ "id": id, "type": "error", "payload": errors }).to_string());
    }
}

impl Visit for TransportWs {
    async fn on_message(&self, message: Message) -> Result<(), Close> {
        match message {
            Message::Text(text) => self.hear(&text).await,
            Message::Binary(_) => Err(Close::new(4400, "messages are text")),
        }
    }

    fn on_gap(&self, _gap: &Gap) -> Option<Text> {
        // The protocol has no word for it; a client that polls sees everything.
        None
    }

    fn on_close(&self) -> Close {
        self.session.last_word()
    }

    fn on_leave(&self, _standings: &[Standing]) -> Option<Text> {
        None
    }
}

/// An error in the form of the specification.
fn plain(error: &ServerError) -> Json {
    json!({
        "message": error.message,
        "extensions": { "errorType": wire::error_type(error) },
    })
}
