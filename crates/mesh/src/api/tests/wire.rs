//! The room behind a real server: what stands in heads, status codes and bodies.

use std::net::SocketAddr;
use std::ops::Deref;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value as Json, json};
use testkit::wait::bounded;
use testkit::{Answer, Stream};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{KEY, SUBSCRIPTION, report, started};
use crate::Options;
use crate::tests::Class;

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A class, and the address where its first instance is served.
pub(super) struct Wire {
    class: Class,
    pub(super) address: SocketAddr,
}

impl Deref for Wire {
    type Target = Class;

    fn deref(&self) -> &Class {
        &self.class
    }
}

impl Wire {
    pub(super) async fn open() -> Wire {
        Wire::open_with(Options::default()).await
    }

    async fn open_with(options: Options) -> Wire {
        let class = Class::open_with(Options { api_key: KEY.to_owned(), ..options }).await;
        let instance = &class.instance;
        let room = class.mesh.room(&instance.ground, &instance.operator());
        let address = instance.serve(vec![room]).await;
        Wire { class, address }
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        testkit::ask(self.address, "GET", path, &[], "").await
    }

    async fn post(&self, key: &str, body: &str) -> Answer {
        testkit::ask(self.address, "POST", "/mesh/graphql", &[("x-api-key", key)], body).await
    }

    pub(super) async fn execute(&self, query: &str) -> Json {
        self.post(KEY, &json!({ "query": query }).to_string()).await.is(200)
    }

    pub(super) async fn socket(&self, path: &str, protocols: &str) -> Socket {
        let url = format!("ws://{}{path}", self.address);
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
        connect_async(request).await.unwrap().0
    }
}

pub(super) async fn say(socket: &mut Socket, frame: Json) {
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

pub(super) async fn hear(socket: &mut Socket) -> Json {
    loop {
        if let Message::Text(text) = bounded("a frame", socket.next()).await.unwrap().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

#[testkit::test]
async fn answers_have_the_form_that_clients_know() {
    let wire = Wire::open().await;
    let group = wire.create("h", "local").await;
    assert_eq!(
        wire.execute("mutation { createDomain __typename }").await,
        json!({ "data": { "createDomain": "local", "__typename": "Mutation" } })
    );
    let query =
        "mutation {\n  renewHeartbeat(groupId: \"x\", domain: \"d\", hostId: \"h\") { domain } }";
    let refused = wire.execute(query).await;
    assert_eq!(
        refused,
        json!({
            "data": null,
            "errors": [{
                "path": ["renewHeartbeat"],
                "data": null,
                "errorType": "GroupNotFound",
                "errorInfo": null,
                "locations": [{ "line": 2, "column": 3, "sourceName": null }],
                "message": "Group not found: x@d",
            }],
        }),
        "a field that must be something takes everything with it"
    );
    let query = format!(
        "mutation {{ dissolveGroup(groupId: \"{group}\", domain: \"local\", hostId: \"x\") {{ domain }} }}"
    );
    let refused = wire.execute(&query).await;
    assert_eq!(refused["data"], json!({ "dissolveGroup": null }), "one that may be null does not");
    assert_eq!(refused["errors"][0]["errorType"], "Unauthorized");
    assert_eq!(refused["errors"][0]["message"], "Only the host can dissolve the group");
}

#[testkit::test]
async fn what_is_no_request_is_refused_and_does_no_harm() {
    let wire = Wire::open().await;
    let unauthorized = json!({ "errors": [{
        "errorType": "UnauthorizedException",
        "message": "You are not authorized to make this call.",
    }] });
    let query = json!({ "query": "mutation { createDomain }" }).to_string();
    for key in ["", "da2-other", "nk_school_0000"] {
        let answer = wire.post(key, &query).await;
        assert_eq!((answer.status, answer.json()), (401, unauthorized.clone()));
    }
    for body in ["", "{", "[]", "{\"query\":1}", "\u{0}"] {
        let answer = wire.post(KEY, body).await;
        assert_eq!(answer.status, 400, "{body}");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["errorType"], "MalformedHttpRequestException");
    }
    let big = format!("{{\"query\":\"{}\"}}", "x".repeat(1024 * 1024));
    assert_eq!(wire.post(KEY, &big).await.status, 413);
    for (query, words) in [
        ("mutation {", "expected"),
        ("{ nothing }", "Unknown field \"nothing\" on type \"Query\"."),
        ("{ getGroup(groupId: 1) { id } }", "domain"),
        ("{ listGroupsByDomain(domain: \"d\") }", "must have a selection of subfields"),
        ("{ ...f } fragment f on Query { ...f }", "fragment `f` spreads itself"),
        (
            "query($a: [Nope] = [1]) { getNodeStatus(nodeId: $a) { domain } }",
            "Unknown type \"Nope\"",
        ),
        ("subscription { onGroupDissolve(groupId: 1, domain: \"d\") { domain } }", "not supported"),
    ] {
        let error = wire.execute(query).await["errors"][0].clone();
        assert_eq!(error["errorType"], "ValidationError", "{query}");
        assert!(error["message"].as_str().unwrap().contains(words), "{query}: {error}");
    }
    let query = "query($d: String!) { listGroupsByDomain(domain: $d) { id } }";
    for variables in [json!({}), json!({ "d": 7 }), json!({ "d": null })] {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let answer = wire.post(KEY, &body).await.json();
        assert_eq!(answer["data"], Json::Null, "{answer}");
        assert_eq!(answer["errors"][0]["errorType"], "ValidationError", "{answer}");
    }
    assert_eq!(wire.execute("mutation { createDomain }").await["data"]["createDomain"], "local");
}

#[testkit::test]
async fn a_caller_without_the_key_is_refused_before_its_body_is_read() {
    let wire = Wire::open().await;
    for key in ["", "x-api-key:\r\n", "x-api-key: da2-other\r\n", "x-api-key: nk_school_0000\r\n"] {
        for length in ["content-length: 1000000", "transfer-encoding: chunked"] {
            // The body is declared and never sent.
            let head = format!(
                "POST /mesh/graphql HTTP/1.1\r\nhost: house\r\nconnection: close\r\n{length}\r\n{key}\r\n"
            );
            let answer = testkit::send(wire.address, head.as_bytes()).await;
            assert_eq!(answer.status, 401, "{}", answer.head);
            assert_eq!(answer.json()["errors"][0]["errorType"], "UnauthorizedException");
        }
    }
}

#[testkit::test]
async fn documents_have_their_bounds() {
    let wire = Wire::open().await;
    let many: String = (0..1001).map(|n| format!("a{n}: createDomain ")).collect();
    let refused = wire.execute(&format!("mutation {{ {many} }}")).await;
    let words = "the document asks for 1001 fields with its fragments, more than 1000";
    assert_eq!(refused["errors"][0]["message"], words);
    let deep = "{ a ".repeat(17) + &"}".repeat(17);
    let refused = wire.execute(&deep).await;
    let words = "the document has fields inside each other 17 levels deep, more than 16";
    assert_eq!(refused["errors"][0]["message"], words);
}

#[testkit::test]
async fn the_schema_is_shown_and_introspection_can_be_forbidden() {
    let wire = Wire::open_with(Options { introspection: false, ..Options::default() }).await;
    let refused = wire.execute("{ __schema { types { name } } }").await;
    assert_eq!(refused["data"], json!({ "__schema": null }), "{refused}");
    let schema = wire.get("/mesh/schema.graphql").await;
    assert_eq!(schema.status, 200);
    for line in [
        "scalar AWSDateTime",
        "directive @aws_subscribe(mutations: [String]) on FIELD_DEFINITION",
        "reportDataByNode(groupId: ID!, domain: String!, nodeId: ID!, data: [SensorDataInput!]!): MeshMessage",
    ] {
        assert!(schema.text().contains(line), "{line}: {}", schema.text());
    }
}

#[testkit::test]
async fn a_class_behind_one_address_is_let_through_and_a_flood_is_not() {
    let wire = Wire::open_with(Options { requests_per_second: 5, ..Options::default() }).await;
    for _ in 0..10 {
        wire.execute("mutation { createDomain }").await;
    }
    let refused = wire.post(KEY, "{\"query\":\"mutation { createDomain }\"}").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"), "{}", refused.head);
    assert_eq!(refused.json()["errors"][0]["errorType"], "ThrottlingException");
    wire.pass(1).await;
    wire.execute("mutation { createDomain }").await;
    let school = Options::default();
    assert!(school.requests_per_second >= 1_000 * 15, "a thousand nodes, fifteen reports a second");
}

/// Nodes in groups of forty behind one address, each of them a member.
async fn school(wire: &Wire, nodes: usize) -> Vec<(String, String)> {
    let (mut members, mut group) = (Vec::new(), String::new());
    for number in 0..nodes {
        let node = format!("n-{number}");
        if number % 40 == 0 {
            let host = format!("h-{number}");
            let query = format!(
                "mutation {{ createGroup(name: \"g\", hostId: \"{host}\", domain: \"local\") {{ id }} }}"
            );
            let made = wire.execute(&query).await;
            group = made["data"]["createGroup"]["id"].as_str().unwrap().to_owned();
        }
        let query = format!(
            "mutation {{ joinGroup(groupId: \"{group}\", domain: \"local\", nodeId: \"{node}\") {{ id }} }}"
        );
        let joined = wire.execute(&query).await;
        assert_eq!(joined["errors"], Json::Null, "{joined}");
        members.push((group.clone(), node));
    }
    members
}

/// One report of a node, as it is answered.
async fn told(wire: &Wire, (group, node): &(String, String)) -> Answer {
    let query = "mutation($g: ID!, $n: ID!) {
        reportDataByNode(groupId: $g, domain: \"local\", nodeId: $n,
            data: [{key: \"k\", value: \"1\"}]) { groupId }
    }";
    let body = json!({ "query": query, "variables": { "g": group, "n": node } });
    wire.post(KEY, &body.to_string()).await
}

#[testkit::test]
async fn a_thousand_nodes_behind_one_address_join_and_report() {
    let wire = Wire::open().await;
    for member in school(&wire, 1_000).await {
        assert_eq!(told(&wire, &member).await.status, 200, "{member:?}");
    }
}

#[testkit::test]
async fn a_node_that_is_too_fast_uses_up_nothing_of_its_school() {
    // Six hundred at once for the whole address.
    let wire = Wire::open_with(Options { requests_per_second: 300, ..Options::default() }).await;
    let members = school(&wire, 80).await;
    wire.pass(2).await;
    let (mut heard, mut refused) = (0, 0);
    for _ in 0..1_000 {
        let answer = told(&wire, &members[0]).await;
        match answer.status {
            200 => heard += 1,
            429 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((heard, refused), (300, 700));
    for member in &members[1..] {
        assert_eq!(told(&wire, member).await.status, 200, "{member:?}");
    }
}

#[testkit::test]
async fn a_site_makes_five_hundred_groups_at_once_and_then_one_a_second() {
    let wire = Wire::open().await;
    let make = async |number: usize| {
        let query = format!(
            "mutation {{ createGroup(name: \"g\", hostId: \"h{number}\", domain: \"d{number}\") {{ id }} }}"
        );
        wire.post(KEY, &json!({ "query": query }).to_string()).await
    };
    for number in 0..500 {
        assert_eq!(make(number).await.status, 200, "{number}");
    }
    let refused = make(500).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["errors"][0]["errorType"], "ThrottlingException");
    wire.pass(1).await;
    assert_eq!(make(500).await.status, 200);
}

#[testkit::test]
async fn a_call_that_makes_no_group_uses_up_nothing_of_its_site() {
    let wire = Wire::open().await;
    let make = async |host: &str| {
        let query = format!(
            "mutation {{ createGroup(name: \"g\", hostId: \"{host}\", domain: \"local\") {{ id }} }}"
        );
        wire.post(KEY, &json!({ "query": query }).to_string()).await
    };
    // One host asks for its group again and again, and others are refused.
    let mut refused = 0;
    for _ in 0..600 {
        refused += usize::from(make("again").await.status == 429);
        make("").await;
    }
    assert_eq!(refused, 300, "as fast as a node, and no faster");
    for number in 1..500 {
        assert_eq!(make(&format!("h{number}")).await.status, 200, "{number}");
    }
    assert_eq!(make("one too many").await.status, 429);
}

#[testkit::test]
async fn pages_of_other_origins_may_call() {
    let wire = Wire::open().await;
    let named = "content-type,x-api-key,x-amz-user-agent,x-amz-date,authorization";
    let headers = [
        ("origin", "https://smalruby.app"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", named),
    ];
    let answer = testkit::ask(wire.address, "OPTIONS", "/mesh/graphql", &headers, "").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{}", answer.head);
    assert_eq!(answer.header("access-control-allow-headers"), Some(named), "{}", answer.head);
}

#[testkit::test]
async fn a_probe_without_credentials_is_let_in_and_refused_only_when_it_speaks() {
    let wire = Wire::open().await;
    let mut probe = wire.socket("/mesh/graphql/realtime", "graphql-ws").await;
    say(&mut probe, json!({ "type": "connection_init" })).await;
    let errors = json!([{ "errorType": "UnauthorizedException", "errorCode": 401 }]);
    let refused = json!({ "type": "connection_error", "payload": { "errors": errors } });
    assert_eq!(hear(&mut probe).await, refused);
    assert!(matches!(bounded("the close", probe.next()).await, Some(Ok(Message::Close(_)))));
}

#[testkit::test]
async fn both_paths_and_both_dialects_hear_the_same() {
    let wire = Wire::open().await;
    let group = wire.create("h", "local").await;
    let mut first = wire.socket("/mesh/graphql", "graphql-ws").await;
    say(&mut first, started("1", KEY, SUBSCRIPTION, &group)).await;
    assert_eq!(hear(&mut first).await, json!({ "id": "1", "type": "start_ack" }));
    let mut second = wire.socket("/mesh/graphql/realtime", "graphql-transport-ws").await;
    say(&mut second, json!({ "type": "connection_init", "payload": { "x-api-key": KEY } })).await;
    assert_eq!(hear(&mut second).await, json!({ "type": "connection_ack" }));
    let payload = json!({ "query": SUBSCRIPTION, "variables": { "g": group } });
    say(&mut second, json!({ "id": "2", "type": "subscribe", "payload": payload })).await;
    // The answer to a ping shows that what was said before it is done.
    say(&mut second, json!({ "type": "ping" })).await;
    assert_eq!(hear(&mut second).await, json!({ "type": "pong" }));
    report(&wire, &group, "七").await;
    let told = super::told("七");
    let data = json!({ "id": "1", "type": "data", "payload": told });
    assert_eq!(hear(&mut first).await, data);
    assert_eq!(hear(&mut second).await, json!({ "id": "2", "type": "next", "payload": told }));
}

#[testkit::test]
async fn keep_alives_come_also_while_data_flows() {
    let wire = Wire::open().await;
    let group = wire.create("h", "local").await;
    let header = base64::Engine::encode(
        &base64::prelude::BASE64_URL_SAFE_NO_PAD,
        json!({ "host": "h", "x-api-key": KEY }).to_string(),
    );
    let protocols = format!("graphql-ws, header-{header}");
    let mut socket = wire.socket("/mesh/graphql/realtime", &protocols).await;
    say(&mut socket, json!({ "type": "connection_init" })).await;
    assert_eq!(hear(&mut socket).await["type"], "connection_ack");
    assert_eq!(hear(&mut socket).await, json!({ "type": "ka" }));
    say(&mut socket, started("1", KEY, SUBSCRIPTION, &group)).await;
    assert_eq!(hear(&mut socket).await["type"], "start_ack");
    for number in 0..3 {
        report(&wire, &group, &number.to_string()).await;
        assert_eq!(hear(&mut socket).await["type"], "data");
        wire.pass(30).await;
        assert_eq!(hear(&mut socket).await, json!({ "type": "ka" }));
    }
}

#[testkit::test]
async fn who_has_no_socket_polls_and_misses_nothing() {
    let wire = Wire::open().await;
    let group = wire.create("h", "local").await;
    let path = format!("/mesh/poll?groupId={group}&domain=local&x-api-key={KEY}");
    let begin = wire.get(&path).await.json();
    assert_eq!(begin["pushes"], json!([]));
    for number in 0..3 {
        report(&wire, &group, &number.to_string()).await;
    }
    let after = begin["cursor"].as_str().unwrap();
    let next = wire.get(&format!("{path}&after={after}")).await.json();
    let values = next["pushes"].as_array().unwrap().iter();
    let value =
        |push: &Json| push["data"]["onMessageInGroup"]["nodeStatus"]["data"][0]["value"].clone();
    assert_eq!(values.map(value).collect::<Json>(), json!(["0", "1", "2"]));
    let wrong = wire.get(&format!("/mesh/poll?groupId={group}&domain=local&x-api-key=no")).await;
    assert_eq!((wrong.status, wrong.json()["code"].clone()), (401, json!("unauthorized")));
    assert_eq!(wire.get(&format!("{path}&after=yesterday")).await.status, 400);
}

#[testkit::test]
async fn events_resume_behind_the_last_one_seen() {
    let wire = Wire::open().await;
    let group = wire.create("h", "local").await;
    let begin = wire.get(&format!("/mesh/poll?groupId={group}&domain=local&x-api-key={KEY}")).await;
    let cursor = begin.json()["cursor"].as_str().unwrap().to_owned();
    report(&wire, &group, "1").await;
    let path = format!("/mesh/events?groupId={group}&domain=local");
    let headers = [("x-api-key", KEY), ("last-event-id", &*cursor)];
    let mut stream = Stream::open(wire.address, "GET", &path, &headers, "").await;
    let heard = stream.read_until("\"value\":\"1\"").await;
    assert!(heard.contains("content-type: text/event-stream"), "{heard}");
    assert!(heard.contains("\nid: "), "{heard}");
}
