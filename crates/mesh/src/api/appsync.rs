//! AppSync's realtime protocol, subprotocol `graphql-ws`.
//!
//! Every `start` is authorised, not only the connection. A `data` frame never carries errors: that
//! would end real clients' subscriptions for good.

use std::sync::Arc;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use edge::{Close, Message, Visit};
use hub::{Gap, Standing, Subscriber, Text};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Api;
use super::session::{Dialect, NotFollowed, Session, Wish, connection_error, envelope};
use crate::api::schema::Caller;
use crate::api::wire::{self, Asked};
use crate::limits::{CONNECTION_TIMEOUT_MS, SUBSCRIPTIONS_MAX};

/// The keep-alive frame.
pub(super) const KEEP_ALIVE: &str = r#"{"type":"ka"}"#;

/// A connection of a client that speaks AppSync.
pub(super) struct AppSync {
    session: Arc<Session>,
    /// The key that came with the handshake.
    key: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Frame {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: Option<Json>,
    #[serde(default)]
    payload: Option<Json>,
}

impl AppSync {
    /// A new connection.
    pub(super) fn new(
        api: Arc<Api>,
        subscriber: Subscriber,
        caller: Caller,
        key: Option<String>,
    ) -> AppSync {
        AppSync { session: Session::open(api, subscriber, caller, Dialect::AppSync), key }
    }

    async fn hear(&self, text: &str) -> Result<(), Close> {
        let Ok(frame) = serde_json::from_str::<Frame>(text) else {
            self.refuse(None, "BadRequestException", "the message is not a frame in JSON");
            return Ok(());
        };
        match frame.kind.as_str() {
            "connection_init" => self.init().await,
            "start" => {
                self.start(frame).await;
                Ok(())
            }
            "stop" => {
                if let Some(id) = frame.id.as_ref().and_then(spoken_id) {
                    self.session.leave(&id);
                    self.session.send(json!({ "type": "complete", "id": id }).to_string());
                } else {
                    self.refuse(None, "BadRequestException", "a stop needs an id");
                }
                Ok(())
            }
            other => {
                let told = format!("there is no message of type `{other}`");
                self.refuse(frame.id.as_ref(), "UnsupportedOperation", &told);
                Ok(())
            }
        }
    }

    async fn init(&self) -> Result<(), Close> {
        if self.session.greet() {
            // A second pulse would be the only effect.
            self.refuse(None, "BadRequestException", "connection_init was sent before");
            return Ok(());
        }
        if self.session.api.admits(self.key.as_deref()).await {
            self.key.iter().for_each(|key| self.session.enter(key));
            let timeout = json!({ "connectionTimeoutMs": CONNECTION_TIMEOUT_MS });
            let ack = json!({ "type": "connection_ack", "payload": timeout });
            self.session.send(ack.to_string());
            self.session.send(KEEP_ALIVE.to_owned());
            self.session.api.pulse.keep(self.session.subscriber.clone());
            return Ok(());
        }
        self.session.send(connection_error());
        Err(Close::new(4401, "unauthorized"))
    }

    async fn start(&self, frame: Frame) {
        let Some(id) = frame.id.as_ref().and_then(spoken_id) else {
            return self.refuse(None, "BadRequestException", "a start needs an id");
        };
        let id_json = Json::from(id.as_str());
        let payload = frame.payload.unwrap_or_default();
        let key = payload.pointer("/extensions/authorization").and_then(key_in);
        if !self.session.api.admits(key.as_deref()).await {
            let told = "the key of this subscription is not valid";
            return self.refuse(Some(&id_json), "UnauthorizedException", told);
        }
        let asked = payload.get("data").and_then(Json::as_str);
        let asked = asked.and_then(|data| serde_json::from_str::<Asked>(data).ok());
        let Some(asked) = asked else {
            let told = "payload.data must be the JSON text of a query and its variables";
            return self.refuse(Some(&id_json), "BadRequestException", told);
        };
        let resume_from = payload.pointer("/extensions/resumeFrom").and_then(Json::as_str);
        let envelope = envelope("data", &id_json, resume_from);
        let wish = Wish { id: &id, asked: &asked, resume_from, key: key.as_deref() };
        let followed = self.session.follow(wish, envelope, |joined| {
            let ack = match resume_from {
                None => json!({ "id": id, "type": "start_ack" }),
                // Only for those who know of it.
                Some(_) => json!({
                    "id": id,
                    "type": "start_ack",
                    "payload": { "gap": joined.gap, "cursor": joined.position.to_string() },
                }),
            };
            Some(ack.to_string().into())
        });
        if let Err(refused) = followed.await {
            self.refuse_start(&id_json, &refused);
        }
    }

    fn refuse_start(&self, id: &Json, refused: &NotFollowed) {
        match refused {
            NotFollowed::Duplicate => {
                self.refuse(Some(id), "DuplicatedOperationError", "the id is in use");
            }
            NotFollowed::TooMany => {
                let told = format!("a connection has at most {SUBSCRIPTIONS_MAX} subscriptions");
                self.refuse(Some(id), "MaxSubscriptionsReachedError", &told);
            }
            NotFollowed::NotASubscription => {
                let told = "only subscriptions can be started";
                self.refuse(Some(id), "UnsupportedOperation", told);
            }
            NotFollowed::NotAPosition(text) => {
                let told = format!("`{text}` is not a cursor to resume from");
                self.refuse(Some(id), "BadRequestException", &told);
            }
            NotFollowed::Invalid(errors) => {
                let errors = errors.iter().map(|error| {
                    json!({ "errorType": wire::error_type(error), "message": error.message })
                });
                self.send_errors(Some(id), &errors.collect::<Json>());
            }
            NotFollowed::Closing => {}
        }
    }

    fn refuse(&self, id: Option<&Json>, error_type: &str, message: &str) {
        let errors = json!([{ "errorType": error_type, "message": message }]);
        self.send_errors(id, &errors);
    }

    fn send_errors(&self, id: Option<&Json>, errors: &Json) {
        let mut frame = json!({ "type": "error", "payload": { "errors": errors } });
        if let (Some(id), Some(frame)) = (id, frame.as_object_mut()) {
            frame.insert("id".to_owned(), id.clone());
        }
        self.session.send(frame.to_string());
    }
}

impl Visit for AppSync {
    async fn on_message(&self, message: Message) -> Result<(), Close> {
        match message {
            Message::Text(text) => self.hear(&text).await,
            Message::Binary(_) => {
                self.refuse(None, "BadRequestException", "messages are text");
                Ok(())
            }
        }
    }

    fn on_gap(&self, _gap: &Gap) -> Option<Text> {
        // The protocol has no word for it; a client that polls sees everything.
        None
    }

    fn on_close(&self) -> Close {
        self.session.last_word()
    }

    fn on_leave(&self, standings: &[Standing]) -> Option<Text> {
        let resume = standings.iter().filter_map(|standing| {
            let id = self.session.id_of(standing.subscription)?;
            Some(json!({ "id": id, "cursor": standing.position.to_string() }))
        });
        let frame = json!({ "type": "resume", "payload": resume.collect::<Json>() });
        Some(frame.to_string().into())
    }
}

/// Ids are texts; numbers are taken as they are written.
fn spoken_id(id: &Json) -> Option<String> {
    match id {
        Json::String(id) => Some(id.clone()),
        Json::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// The key in a map of headers, whatever the case of its name.
fn key_in(headers: &Json) -> Option<String> {
    let headers = headers.as_object()?;
    let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-api-key"));
    found.and_then(|(_, key)| key.as_str()).map(str::to_owned)
}

/// The key in the handshake: in `?header=`, or in a subprotocol `header-…`, in Base64 of either
/// alphabet, padded or not.
pub(super) fn handshake_key(query: Option<&str>, offered: &[String]) -> Option<String> {
    let in_query = query.and_then(|query| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(name, _)| *name == "header").map(|(_, value)| value);
        found.next().map(percent_decoded)
    });
    let in_protocol = offered.iter().find_map(|offered| offered.strip_prefix("header-"));
    let encoded = in_query.or_else(|| in_protocol.map(str::to_owned))?;
    let headers: Json = serde_json::from_slice(&decoded(&encoded)?).ok()?;
    key_in(&headers)
}

/// What `%2B` and the like stand for. A plus is a plus: in Base64 it is not a space.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let (byte, behind) = match (first, behind) {
            (b'%', [high, low, behind @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, behind),
                _ => (*first, rest.get(1..).unwrap_or_default()),
            },
            _ => (*first, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn decoded(encoded: &str) -> Option<Vec<u8>> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let standard = GeneralPurpose::new(&STANDARD, config).decode(encoded);
    standard.or_else(|_| GeneralPurpose::new(&URL_SAFE, config).decode(encoded)).ok()
}
