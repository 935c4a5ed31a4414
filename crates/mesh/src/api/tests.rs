//! The two dialects, frame by frame.

mod closed;
mod order;
mod wire;

use std::sync::Arc;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use edge::{Close, Message, Visit};
use hub::{Deliveries, Item, QueueLimits, Text};
use serde_json::{Value as Json, json};

use super::Api;
use super::appsync::{AppSync, handshake_key};
use super::transport::TransportWs;
use crate::Options;
use crate::api::documents::tests::doubling;
use crate::api::schema::Caller;
use crate::tests::Class;

const KEY: &str = "da2-key";
const SUBSCRIPTION: &str = "subscription($g: ID!) {
    onMessageInGroup(groupId: $g, domain: \"local\") { nodeStatus { data { key value } } }
}";

/// A client that speaks one of them.
struct Client<V> {
    visit: V,
    deliveries: Deliveries,
}

impl Client<AppSync> {
    fn appsync(class: &Class, api: &Arc<Api>, key: Option<&str>) -> Client<AppSync> {
        let (subscriber, deliveries) =
            class.instance.ground.hub.subscriber(QueueLimits { pushes: 1000, bytes: 1_000_000 });
        let caller = Caller { domain: "local".to_owned(), connection: None };
        let key = key.map(str::to_owned);
        Client { visit: AppSync::new(Arc::clone(api), subscriber, caller, key), deliveries }
    }

    async fn start(&mut self, id: &str, group: &str) -> Vec<Json> {
        self.say(&started(id, KEY, SUBSCRIPTION, group)).await
    }
}

impl Client<TransportWs> {
    fn transport(class: &Class, api: &Arc<Api>) -> Client<TransportWs> {
        let (subscriber, deliveries) =
            class.instance.ground.hub.subscriber(QueueLimits { pushes: 1000, bytes: 1_000_000 });
        let caller = Caller { domain: "local".to_owned(), connection: None };
        Client { visit: TransportWs::new(Arc::clone(api), subscriber, caller, None), deliveries }
    }
}

impl<V: Visit> Client<V> {
    async fn say(&mut self, frame: &Json) -> Vec<Json> {
        self.say_text(&frame.to_string()).await.unwrap()
    }

    async fn say_text(&mut self, text: &str) -> Result<Vec<Json>, Close> {
        self.visit.on_message(Message::Text(text.to_owned())).await?;
        Ok(self.waiting())
    }

    /// All frames that wait.
    fn waiting(&mut self) -> Vec<Json> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut items = Vec::new();
        let _ = self.deliveries.poll_take(&mut context, 1_000_000, &mut items);
        let frames = items.into_iter().map(|item| match item {
            Item::Push { text, position, envelope, .. } => {
                let around = envelope.unwrap();
                let stamp = around.stamp_at(position);
                [&around.prefix, &text, &stamp, &around.suffix].map(Text::as_str).concat()
            }
            Item::Reply(text) => text.as_str().to_owned(),
            Item::Gap(gap) => panic!("{gap:?}"),
        });
        frames.map(|frame| serde_json::from_str(&frame).unwrap()).collect()
    }
}

fn started(id: &str, key: &str, query: &str, group: &str) -> Json {
    let data = json!({ "query": query, "variables": { "g": group } }).to_string();
    let authorization = json!({ "host": "h", "X-Api-Key": key });
    let extensions = json!({ "authorization": authorization });
    json!({ "id": id, "type": "start", "payload": { "data": data, "extensions": extensions } })
}

fn refused(id: &str, error_type: &str, message: &str) -> Vec<Json> {
    let errors = json!([{ "errorType": error_type, "message": message }]);
    vec![json!({ "id": id, "type": "error", "payload": { "errors": errors } })]
}

async fn open() -> (Class, Arc<Api>, String) {
    let options = Options { api_key: KEY.to_owned(), ..Options::default() };
    let class = Class::open_with(options).await;
    let api = Arc::clone(&class.api);
    let group = class.create("h", "local").await;
    (class, api, group)
}

async fn report(class: &Class, group: &str, value: &str) {
    let query = "mutation($g: ID!, $v: String!) {
        reportDataByNode(groupId: $g, domain: \"local\", nodeId: \"h\",
            data: [{key: \"k\", value: $v}]) { groupId }
    }";
    class.get(query, json!({ "g": group, "v": value })).await;
}

fn told(value: &str) -> Json {
    let status = json!({ "data": [{ "key": "k", "value": value }] });
    json!({ "data": { "onMessageInGroup": { "nodeStatus": status } } })
}

#[testkit::test]
async fn appsync_from_hello_to_goodbye() {
    let (class, api, group) = open().await;
    let mut client = Client::appsync(&class, &api, Some(KEY));
    let hello = client.say(&json!({ "type": "connection_init" })).await;
    let ack = json!({ "type": "connection_ack", "payload": { "connectionTimeoutMs": 300_000 } });
    assert_eq!(hello, [ack, json!({ "type": "ka" })]);
    assert_eq!(client.start("一", &group).await, [json!({ "id": "一", "type": "start_ack" })]);
    report(&class, &group, "1").await;
    assert_eq!(client.waiting(), [json!({ "id": "一", "type": "data", "payload": told("1") })]);
    let stop = json!({ "type": "stop", "id": "一" });
    assert_eq!(client.say(&stop).await, [json!({ "type": "complete", "id": "一" })]);
    report(&class, &group, "2").await;
    assert_eq!(client.waiting(), [] as [Json; 0]);
    assert_eq!(client.start("一", &group).await.len(), 1, "the id is free again");
}

#[testkit::test]
async fn appsync_refuses_with_its_words() {
    let (class, api, group) = open().await;
    let mut stranger = Client::appsync(&class, &api, None);
    let closed = stranger.say_text("{\"type\":\"connection_init\"}").await.unwrap_err();
    assert_eq!(closed, Close::new(4401, "unauthorized"));
    let errors = json!([{ "errorType": "UnauthorizedException", "errorCode": 401 }]);
    let refusal = json!({ "type": "connection_error", "payload": { "errors": errors } });
    assert_eq!(stranger.waiting(), [refusal]);
    let mut client = Client::appsync(&class, &api, Some(KEY));
    let wrong = client.say(&started("a", "other", SUBSCRIPTION, &group)).await;
    let words = "the key of this subscription is not valid";
    assert_eq!(wrong, refused("a", "UnauthorizedException", words));
    let query = "query($g: ID!) { getGroup(groupId: $g, domain: \"local\") { id } }";
    let query = client.say(&started("a", KEY, query, &group)).await;
    let words = "only subscriptions can be started";
    assert_eq!(query, refused("a", "UnsupportedOperation", words));
    client.start("a", &group).await;
    let twice = client.start("a", &group).await;
    assert_eq!(twice, refused("a", "DuplicatedOperationError", "the id is in use"));
    for number in 1..100 {
        client.start(&number.to_string(), &group).await;
    }
    let words = "a connection has at most 100 subscriptions";
    let many = client.start("100", &group).await;
    assert_eq!(many, refused("100", "MaxSubscriptionsReachedError", words));
    let unknown = started(
        "z",
        KEY,
        "subscription { onMessageInGroup(groupId: 1, domain: \"d\") { nothing } }",
        &group,
    );
    let mut other = Client::appsync(&class, &api, Some(KEY));
    let unknown = other.say(&unknown).await;
    assert_eq!(unknown[0]["payload"]["errors"][0]["errorType"], "ValidationError");
    for (frame, words) in [
        ("", "the message is not a frame in JSON"),
        ("[1]", "the message is not a frame in JSON"),
        ("{\"type\":\"start\"}", "a start needs an id"),
        ("{\"type\":\"stop\"}", "a stop needs an id"),
    ] {
        let answer = other.say_text(frame).await.unwrap();
        let errors = json!([{ "errorType": "BadRequestException", "message": words }]);
        assert_eq!(answer, [json!({ "type": "error", "payload": { "errors": errors } })]);
    }
    let answer = other.say(&json!({ "type": "dance", "id": "9" })).await;
    assert_eq!(answer, refused("9", "UnsupportedOperation", "there is no message of type `dance`"));
    assert_eq!(other.start("b", &group).await, [json!({ "id": "b", "type": "start_ack" })]);
}

#[testkit::test]
async fn sockets_refuse_a_document_by_what_it_stands_for() {
    let (class, api, group) = open().await;
    let words = "the document asks for 33554432 fields with its fragments, more than 1000";
    let mut client = Client::appsync(&class, &api, Some(KEY));
    let answer = client.say(&started("a", KEY, &doubling(), &group)).await;
    assert_eq!(answer, refused("a", "ValidationError", words));
    assert_eq!(client.start("a", &group).await, [json!({ "id": "a", "type": "start_ack" })]);
    let mut client = Client::transport(&class, &api);
    let init = json!({ "type": "connection_init", "payload": { "x-api-key": KEY } });
    client.say(&init).await;
    let payload = json!({ "query": doubling() });
    let answer = client.say(&json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
    assert_eq!(answer[0]["type"], "error");
    assert_eq!(answer[0]["payload"][0]["message"], words);
    // A value that is copied for each of its uses.
    let uses: String = (0..20).map(|n| format!("v{n}: createDomain @skip(if: $v) ")).collect();
    let variables = json!({ "v": "x".repeat(900_000) });
    let payload =
        json!({ "query": format!("mutation($v: Boolean!) {{ {uses} }}"), "variables": variables });
    let answer = client.say(&json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
    let told = answer[0]["payload"][0]["message"].as_str().unwrap();
    assert!(told.starts_with("the variables take "), "{answer:?}");
}

#[testkit::test]
async fn a_subscription_to_a_group_that_is_not_there_succeeds() {
    let (class, api, _) = open().await;
    let mut client = Client::appsync(&class, &api, Some(KEY));
    let ack = json!({ "id": "a", "type": "start_ack" });
    assert_eq!(client.start("a", "nothing").await, [ack]);
}

#[testkit::test]
async fn transport_ws_from_hello_to_goodbye() {
    let (class, api, group) = open().await;
    let mut client = Client::transport(&class, &api);
    let subscribe = json!({
        "id": "1",
        "type": "subscribe",
        "payload": { "query": SUBSCRIPTION, "variables": { "g": group } },
    });
    let early = client.say_text(&subscribe.to_string()).await.unwrap_err();
    assert_eq!(early, Close::new(4401, "Unauthorized"));
    let init = json!({ "type": "connection_init", "payload": { "x-api-key": KEY } });
    assert_eq!(client.say(&init).await, [json!({ "type": "connection_ack" })]);
    let ping = json!({ "type": "ping", "payload": { "n": 1 } });
    let pong = json!({ "type": "pong", "payload": { "n": 1 } });
    assert_eq!(client.say(&ping).await, [pong]);
    assert_eq!(client.say(&subscribe).await, [] as [Json; 0]);
    report(&class, &group, "1").await;
    let next = json!({ "id": "1", "type": "next", "payload": told("1") });
    assert_eq!(client.waiting(), [next]);
    let twice = client.say_text(&subscribe.to_string()).await.unwrap_err();
    assert_eq!(twice, Close::new(4409, "Subscriber for 1 already exists"));
    client.say(&json!({ "id": "1", "type": "complete" })).await;
    report(&class, &group, "2").await;
    assert_eq!(client.waiting(), [] as [Json; 0]);
    let query = json!({ "query": "mutation { createDomain }" });
    let query = json!({ "id": "2", "type": "subscribe", "payload": query });
    let payload = json!({ "data": { "createDomain": "local" } });
    let next = json!({ "id": "2", "type": "next", "payload": payload });
    assert_eq!(client.say(&query).await, [next, json!({ "id": "2", "type": "complete" })]);
    let again = client.say_text(&init.to_string()).await.unwrap_err();
    assert_eq!(again, Close::new(4429, "Too many initialisation requests"));
    let wrong = json!({ "type": "connection_init", "payload": { "x-api-key": "other" } });
    let wrong = Client::transport(&class, &api).say_text(&wrong.to_string()).await.unwrap_err();
    assert_eq!(wrong, Close::new(4403, "Forbidden"));
    for nonsense in ["", "{}", "{\"type\":\"dance\"}", "{\"type\":\"subscribe\",\"id\":1}"] {
        let mut client = Client::transport(&class, &api);
        let closed = client.say_text(nonsense).await.unwrap_err();
        assert!(format!("{closed:?}").contains("code: 4400"), "{closed:?}");
    }
}

#[test]
fn the_key_of_a_handshake_is_found_in_every_form() {
    // Chosen so that the alphabets differ.
    let headers = json!({ "host": "h>>>???", "x-api-key": "k>>>???ÿ" }).to_string();
    let standard = BASE64_STANDARD.encode(&headers);
    let url = BASE64_URL_SAFE_NO_PAD.encode(&headers);
    assert_ne!(standard.trim_end_matches('='), url);
    let key = Some("k>>>???ÿ".to_owned());
    let escaped = standard.replace('+', "%2B").replace('/', "%2F").replace('=', "%3d");
    for header in [&standard, &url, &escaped] {
        let query = format!("header={header}&payload=e30=");
        assert_eq!(handshake_key(Some(&query), &[]), key, "{query}");
    }
    let offered = ["graphql-ws".to_owned(), format!("header-{url}")];
    assert_eq!(handshake_key(None, &offered), key);
    for nothing in ["", "header=", "header=%%%", "header=e30=", "payload=e30="] {
        assert_eq!(handshake_key(Some(nothing), &[]), None, "{nothing}");
    }
}
