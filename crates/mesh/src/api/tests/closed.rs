//! Closed to the rest: sockets that never say hello, keys that are taken away, answers and documents
//! beyond their bounds.

use std::time::Duration;

use edge::Close;
use futures_util::StreamExt;
use serde_json::{Value as Json, json};
use testkit::Stream;
use testkit::wait::bounded;
use tokio_tungstenite::tungstenite::Message;

use super::wire::{Socket, Wire, hear, say};
use super::{Client, KEY, SUBSCRIPTION, open, refused, report, started};

/// Reads to the close of a socket, and answers its code.
async fn close_code(socket: &mut Socket) -> u16 {
    loop {
        match bounded("the close", socket.next()).await {
            Some(Ok(Message::Close(Some(frame)))) => return frame.code.into(),
            Some(Ok(_)) => {}
            other => panic!("the socket ended without a word: {other:?}"),
        }
    }
}

#[testkit::test]
async fn a_socket_without_a_hello_is_closed() {
    let wire = Wire::open().await;
    for (protocol, code) in [("graphql-ws", 4408), ("graphql-transport-ws", 4408)] {
        let mut silent = wire.socket("/mesh/graphql/realtime", protocol).await;
        let mut greeted = wire.socket("/mesh/graphql/realtime", "graphql-transport-ws").await;
        let init = json!({ "type": "connection_init", "payload": { "x-api-key": KEY } });
        say(&mut greeted, init).await;
        assert_eq!(hear(&mut greeted).await["type"], "connection_ack");
        // Whatever else it says is no hello.
        if protocol == "graphql-transport-ws" {
            say(&mut silent, json!({ "type": "ping" })).await;
            assert_eq!(hear(&mut silent).await["type"], "pong");
        }
        wire.pass(11).await;
        assert_eq!(close_code(&mut silent).await, code, "{protocol}");
        say(&mut greeted, json!({ "type": "ping" })).await;
        assert_eq!(hear(&mut greeted).await, json!({ "type": "pong" }), "{protocol}");
    }
}

/// Follows a group with this key over each transport, takes the key away by `end`, and hears of it
/// within a second.
async fn ends_with_its_key(wire: &Wire, key: &str, end: impl AsyncFnOnce()) {
    let group = wire.create("h", "local").await;
    let header = base64::Engine::encode(
        &base64::prelude::BASE64_URL_SAFE_NO_PAD,
        json!({ "host": "h", "x-api-key": key }).to_string(),
    );
    let protocols = format!("graphql-ws, header-{header}");
    let mut appsync = wire.socket("/mesh/graphql/realtime", &protocols).await;
    say(&mut appsync, json!({ "type": "connection_init" })).await;
    assert_eq!(hear(&mut appsync).await["type"], "connection_ack");
    assert_eq!(hear(&mut appsync).await["type"], "ka");
    say(&mut appsync, started("1", key, SUBSCRIPTION, &group)).await;
    assert_eq!(hear(&mut appsync).await["type"], "start_ack");
    // One whose connection has the key of the class, and a subscription that has not.
    let header = base64::Engine::encode(
        &base64::prelude::BASE64_URL_SAFE_NO_PAD,
        json!({ "host": "h", "x-api-key": KEY }).to_string(),
    );
    let protocols = format!("graphql-ws, header-{header}");
    let mut mixed = wire.socket("/mesh/graphql/realtime", &protocols).await;
    say(&mut mixed, json!({ "type": "connection_init" })).await;
    assert_eq!(hear(&mut mixed).await["type"], "connection_ack");
    assert_eq!(hear(&mut mixed).await["type"], "ka");
    for (id, key) in [("ours", KEY), ("theirs", key)] {
        say(&mut mixed, started(id, key, SUBSCRIPTION, &group)).await;
        assert_eq!(hear(&mut mixed).await["type"], "start_ack");
    }
    let mut transport = wire.socket("/mesh/graphql/realtime", "graphql-transport-ws").await;
    say(&mut transport, json!({ "type": "connection_init", "payload": { "x-api-key": key } }))
        .await;
    assert_eq!(hear(&mut transport).await["type"], "connection_ack");
    let path = format!("groupId={group}&domain=local&x-api-key={key}");
    let mut events =
        Stream::open(wire.address, "GET", &format!("/mesh/events?{path}"), &[], "").await;
    events.read_until("id: ").await;
    let begin = wire.get(&format!("/mesh/poll?{path}")).await.json();
    let after = begin["cursor"].as_str().unwrap();
    let poll = format!("/mesh/poll?{path}&after={after}&waitSeconds=25");
    let mut poll = Stream::open(wire.address, "GET", &poll, &[], "").await;

    end().await;
    wire.time.advance(Duration::from_millis(900)).await;
    assert_eq!(close_code(&mut appsync).await, 4401);
    assert_eq!(close_code(&mut transport).await, 4403);
    events.read_until("event: leave").await;
    poll.read_until("HTTP/1.1 401").await;
    let ended = hear(&mut mixed).await;
    assert_eq!((&ended["id"], &ended["type"]), (&json!("theirs"), &json!("error")), "{ended}");
    assert_eq!(ended["payload"]["errors"][0]["errorType"], "UnauthorizedException");
    report(wire, &group, "1").await;
    let told = hear(&mut mixed).await;
    assert_eq!((&told["id"], &told["type"]), (&json!("ours"), &json!("data")), "{told}");
}

#[testkit::test]
async fn a_revoked_key_ends_what_it_opened_within_a_second() {
    let wire = Wire::open().await;
    let key = wire.instance.key("class-3b", &["mesh"]).await;
    let keys = wire.instance.ground.keys.clone();
    ends_with_its_key(&wire, &key, async || {
        keys.revoke("class-3b", None).await.unwrap();
    })
    .await;
}

#[testkit::test]
async fn an_expired_key_ends_what_it_opened_within_a_second() {
    let wire = Wire::open().await;
    let end = wire.clock.now().checked_add(Duration::from_secs(5)).unwrap();
    let keys = &wire.instance.ground.keys;
    let key = keys.create("class-3c", &["mesh".to_owned()], Some(end)).await.unwrap().text;
    ends_with_its_key(&wire, &key, async || {
        let left = end.since(wire.clock.now());
        wire.time.advance(left).await;
    })
    .await;
}

#[testkit::test]
async fn an_answer_is_bounded_before_it_is_built() {
    let wire = Wire::open().await;
    let group = wire.create("h", "local").await;
    // Three of these are half a megabyte; an answer may have five.
    let value = "x".repeat(4000);
    for half in 0..2 {
        let pair = |number| format!("{{key: \"{half}-{number}\", value: \"{value}\"}}");
        let data: Vec<String> = (0..45).map(pair).collect();
        let report = format!(
            "mutation {{ reportDataByNode(groupId: \"{group}\", domain: \"local\", nodeId: \"h\",
                data: [{}]) {{ groupId }} }}",
            data.join(" ")
        );
        assert_eq!(wire.execute(&report).await.get("errors"), None);
    }
    let list = format!("listGroupStatuses(groupId: \"{group}\", domain: \"local\")");
    let many = |count: usize, field: &str| {
        let fields = (0..count).map(|number| format!("a{number}: {field} "));
        format!("{{ {} }}", fields.collect::<String>())
    };
    let ten = wire.execute(&many(10, &format!("{list} {{ data {{ value }} }}"))).await;
    assert_eq!(ten.get("errors"), None, "3.6 MB are answered");
    let inner = format!("{{ {list} {} }}", many(30, "data { value }"));
    let leaves = format!("{{ {list} {{ data {} }} }}", many(30, "value"));
    for document in [many(30, &format!("{list} {{ data {{ value }} }}")), inner, leaves] {
        let answer = wire.execute(&document).await;
        assert_eq!(answer["data"], Json::Null);
        assert_eq!(answer["errors"].as_array().map(Vec::len), Some(1), "{answer}");
        let error = &answer["errors"][0];
        let words = "the answer is larger than 5000000 bytes; ask for less at once";
        assert_eq!(
            (&error["errorType"], &error["message"]),
            (&json!("ValidationError"), &json!(words))
        );
    }
}

#[testkit::test]
async fn a_subscription_has_one_root_field() {
    let (class, api, group) = open().await;
    let words = "a subscription has exactly one root field";
    let field = "onMessageInGroup(groupId: $g, domain: \"local\") { domain }";
    for document in [
        format!("subscription($g: ID!) {{ {field} b: {field} }}"),
        format!("subscription($g: ID!) {{ {field} {field} }}"),
        format!(
            "subscription($g: ID!) {{ ...f }} fragment f on Subscription {{ {field} ...h }}
            fragment h on Subscription {{ b: {field} }}"
        ),
    ] {
        let mut client = Client::appsync(&class, &api, Some(KEY));
        let answer = client.say(&started("a", KEY, &document, &group)).await;
        assert_eq!(answer, refused("a", "ValidationError", words), "{document}");
    }
}

#[testkit::test]
async fn a_second_hello_is_refused_and_keeps_one_pulse() {
    let (class, api, _) = open().await;
    let mut client = Client::appsync(&class, &api, Some(KEY));
    assert_eq!(client.say(&json!({ "type": "connection_init" })).await.len(), 2);
    let words = "connection_init was sent before";
    let errors = json!([{ "errorType": "BadRequestException", "message": words }]);
    let answer = client.say(&json!({ "type": "connection_init" })).await;
    assert_eq!(answer, [json!({ "type": "error", "payload": { "errors": errors } })]);
    // Also with a key that is wrong: the first one counts.
    let mut client = Client::transport(&class, &api);
    let init = |key: &str| json!({ "type": "connection_init", "payload": { "x-api-key": key } });
    client.say(&init(KEY)).await;
    let again = client.say_text(&init("other").to_string()).await.unwrap_err();
    assert_eq!(again, Close::new(4429, "Too many initialisation requests"));
}

#[testkit::test]
async fn the_schema_is_the_originals() {
    let wire = Wire::open().await;
    let schema = wire.get("/mesh/schema.graphql").await;
    for line in [
        "directive @aws_subscribe(mutations: [String]) on FIELD_DEFINITION",
        "onMessageInGroup(groupId: ID!, domain: String!): MeshMessage @aws_subscribe",
        "onDataUpdateInGroup(groupId: ID!, domain: String!): NodeStatus @aws_subscribe",
        "onBatchEventInGroup(groupId: ID!, domain: String!): BatchEvent @aws_subscribe",
        "onGroupDissolve(groupId: ID!, domain: String!): GroupDissolvePayload @aws_subscribe",
    ] {
        assert!(schema.text().contains(line), "{line}: {}", schema.text());
    }
}
