//! The room behind a real server: what stands in heads, status codes and bodies.

use edge::{Ground, Operator, OperatorOptions, Options as HttpOptions, Readiness, Server, Traces};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{KEY, SUBSCRIPTION, report, started};
use crate::Options;
use crate::tests::Room;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A house with this room alone.
struct House {
    room: Room,
    server: Server,
}

/// Status, head and body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }
}

impl House {
    async fn open() -> House {
        House::open_with(Options::default()).await
    }

    async fn open_with(options: Options) -> House {
        let room = Room::open_with(Options { api_key: KEY.to_owned(), ..options }).await;
        let listen = "127.0.0.1:0".parse().unwrap();
        let http = HttpOptions { listen, ..HttpOptions::default() };
        let traces = Traces::uncollected(room.ground.random.clone());
        let Ground { tables, clock, random, tasks, .. } = room.ground.clone();
        let options = OperatorOptions::default();
        let operator = Operator::new(tables, &options, &clock, random, &tasks);
        let rooms = vec![room.mesh.room(&room.ground, &operator)];
        let clock = room.ground.clock.clone();
        let server = Server::start(&http, rooms, clock, Readiness::new(), traces).await.unwrap();
        House { room, server }
    }

    async fn send(&self, head: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
        let length = body.len();
        let request =
            format!("{head}host: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\n"), "").await
    }

    async fn post(&self, key: &str, body: &str) -> Answer {
        let head = format!("POST /mesh/graphql HTTP/1.1\r\nx-api-key: {key}\r\n");
        self.send(&head, body).await
    }

    async fn ask(&self, query: &str) -> Json {
        let answer = self.post(KEY, &json!({ "query": query }).to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    async fn socket(&self, path: &str, protocols: &str) -> Socket {
        let url = format!("ws://{}{path}", self.server.address());
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
        connect_async(request).await.unwrap().0
    }
}

async fn say(socket: &mut Socket, frame: Json) {
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

async fn hear(socket: &mut Socket) -> Json {
    loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

#[tokio::test]
async fn answers_have_the_form_that_clients_know() {
    let house = House::open().await;
    let group = house.room.create("h", "local").await;
    assert_eq!(
        house.ask("mutation { createDomain __typename }").await,
        json!({ "data": { "createDomain": "local", "__typename": "Mutation" } })
    );
    let query =
        "mutation {\n  renewHeartbeat(groupId: \"x\", domain: \"d\", hostId: \"h\") { domain } }";
    let refused = house.ask(query).await;
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
    let refused = house.ask(&query).await;
    assert_eq!(refused["data"], json!({ "dissolveGroup": null }), "one that may be null does not");
    assert_eq!(refused["errors"][0]["errorType"], "Unauthorized");
    assert_eq!(refused["errors"][0]["message"], "Only the host can dissolve the group");
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_does_no_harm() {
    let house = House::open().await;
    let unauthorized = json!({ "errors": [{
        "errorType": "UnauthorizedException",
        "message": "You are not authorized to make this call.",
    }] });
    let query = json!({ "query": "mutation { createDomain }" }).to_string();
    for key in ["", "da2-other", "nk_school_0000"] {
        let answer = house.post(key, &query).await;
        assert_eq!((answer.status, answer.json()), (401, unauthorized.clone()));
    }
    for body in ["", "{", "[]", "{\"query\":1}", "\u{0}"] {
        let answer = house.post(KEY, body).await;
        assert_eq!(answer.status, 400, "{body}");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["errorType"], "MalformedHttpRequestException");
    }
    let big = format!("{{\"query\":\"{}\"}}", "x".repeat(1024 * 1024));
    assert_eq!(house.post(KEY, &big).await.status, 413);
    for (query, words) in [
        ("mutation {", "expected"),
        ("{ nothing }", "Unknown field \"nothing\" on type \"Query\"."),
        ("{ getGroup(groupId: 1) { id } }", "domain"),
        ("{ listGroupsByDomain(domain: \"d\") }", "must have a selection of subfields"),
        ("{ ...f } fragment f on Query { ...f }", "recursion depth"),
        ("subscription { onGroupDissolve(groupId: 1, domain: \"d\") { domain } }", "not supported"),
    ] {
        let error = house.ask(query).await["errors"][0].clone();
        assert_eq!(error["errorType"], "ValidationError", "{query}");
        assert!(error["message"].as_str().unwrap().contains(words), "{query}: {error}");
    }
    let query = "query($d: String!) { listGroupsByDomain(domain: $d) { id } }";
    for variables in [json!({}), json!({ "d": 7 }), json!({ "d": null })] {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let answer = house.post(KEY, &body).await.json();
        assert_eq!(answer["data"], Json::Null, "{answer}");
        assert_eq!(answer["errors"][0]["errorType"], "ValidationError", "{answer}");
    }
    assert_eq!(house.ask("mutation { createDomain }").await["data"]["createDomain"], "local");
}

#[tokio::test]
async fn documents_have_their_bounds() {
    let house = House::open().await;
    let many: String = (0..1001).map(|n| format!("a{n}: createDomain ")).collect();
    let refused = house.ask(&format!("mutation {{ {many} }}")).await;
    assert_eq!(refused["errors"][0]["message"], "Query is too complex.");
    let deep = "{ a ".repeat(17) + &"}".repeat(17);
    let refused = house.ask(&deep).await;
    assert_eq!(refused["errors"][0]["message"], "Query is nested too deep.");
}

#[tokio::test]
async fn the_schema_is_shown_and_introspection_can_be_forbidden() {
    let house = House::open_with(Options { introspection: false, ..Options::default() }).await;
    let refused = house.ask("{ __schema { types { name } } }").await;
    assert_eq!(refused["data"], json!({ "__schema": null }), "{refused}");
    let schema = house.get("/mesh/schema.graphql").await;
    assert_eq!(schema.status, 200);
    for line in [
        "scalar AWSDateTime",
        "directive @aws_subscribe(mutations: [String!]!) on FIELD_DEFINITION",
        "reportDataByNode(groupId: ID!, domain: String!, nodeId: ID!, data: [SensorDataInput!]!): MeshMessage",
    ] {
        assert!(schema.body.contains(line), "{line}: {}", schema.body);
    }
}

#[tokio::test]
async fn a_class_behind_one_address_is_let_through_and_a_flood_is_not() {
    let house = House::open_with(Options { requests_per_second: 5, ..Options::default() }).await;
    for _ in 0..10 {
        house.ask("mutation { createDomain }").await;
    }
    let refused = house.post(KEY, "{\"query\":\"mutation { createDomain }\"}").await;
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("retry-after: 1\r\n"), "{}", refused.head);
    assert_eq!(refused.json()["errors"][0]["errorType"], "ThrottlingException");
    house.room.pass(1).await;
    house.ask("mutation { createDomain }").await;
    let lesson = Options::default();
    assert!(lesson.requests_per_second >= 40 * 15, "forty nodes, fifteen reports a second");
}

#[tokio::test]
async fn pages_of_other_origins_may_call() {
    let house = House::open().await;
    let head = "OPTIONS /mesh/graphql HTTP/1.1\r\norigin: https://smalruby.app\r\n\
        access-control-request-method: POST\r\n\
        access-control-request-headers: content-type,x-api-key,x-amz-user-agent,x-amz-date,authorization\r\n";
    let answer = house.send(head, "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("access-control-allow-origin: *"), "{}", answer.head);
    let allowed = "content-type,x-api-key,x-amz-user-agent,x-amz-date,authorization";
    assert!(
        answer.head.contains(&format!("access-control-allow-headers: {allowed}")),
        "{}",
        answer.head
    );
}

#[tokio::test]
async fn a_probe_without_credentials_is_let_in_and_refused_only_when_it_speaks() {
    let house = House::open().await;
    let mut probe = house.socket("/mesh/graphql/realtime", "graphql-ws").await;
    say(&mut probe, json!({ "type": "connection_init" })).await;
    let errors = json!([{ "errorType": "UnauthorizedException", "errorCode": 401 }]);
    let refused = json!({ "type": "connection_error", "payload": { "errors": errors } });
    assert_eq!(hear(&mut probe).await, refused);
    assert!(matches!(probe.next().await, Some(Ok(Message::Close(_)))));
}

#[tokio::test]
async fn both_paths_and_both_dialects_hear_the_same() {
    let house = House::open().await;
    let group = house.room.create("h", "local").await;
    let mut first = house.socket("/mesh/graphql", "graphql-ws").await;
    say(&mut first, started("1", KEY, SUBSCRIPTION, &group)).await;
    assert_eq!(hear(&mut first).await, json!({ "id": "1", "type": "start_ack" }));
    let mut second = house.socket("/mesh/graphql/realtime", "graphql-transport-ws").await;
    say(&mut second, json!({ "type": "connection_init", "payload": { "x-api-key": KEY } })).await;
    assert_eq!(hear(&mut second).await, json!({ "type": "connection_ack" }));
    let payload = json!({ "query": SUBSCRIPTION, "variables": { "g": group } });
    say(&mut second, json!({ "id": "2", "type": "subscribe", "payload": payload })).await;
    // The answer to a ping shows that what was said before it is done.
    say(&mut second, json!({ "type": "ping" })).await;
    assert_eq!(hear(&mut second).await, json!({ "type": "pong" }));
    report(&house.room, &group, "七").await;
    let told = super::told("七");
    let data = json!({ "id": "1", "type": "data", "payload": told });
    assert_eq!(hear(&mut first).await, data);
    assert_eq!(hear(&mut second).await, json!({ "id": "2", "type": "next", "payload": told }));
}

#[tokio::test]
async fn keep_alives_come_also_while_data_flows() {
    let house = House::open().await;
    let group = house.room.create("h", "local").await;
    let header = base64::Engine::encode(
        &base64::prelude::BASE64_URL_SAFE_NO_PAD,
        json!({ "host": "h", "x-api-key": KEY }).to_string(),
    );
    let protocols = format!("graphql-ws, header-{header}");
    let mut socket = house.socket("/mesh/graphql/realtime", &protocols).await;
    say(&mut socket, json!({ "type": "connection_init" })).await;
    assert_eq!(hear(&mut socket).await["type"], "connection_ack");
    assert_eq!(hear(&mut socket).await, json!({ "type": "ka" }));
    say(&mut socket, started("1", KEY, SUBSCRIPTION, &group)).await;
    assert_eq!(hear(&mut socket).await["type"], "start_ack");
    for number in 0..3 {
        report(&house.room, &group, &number.to_string()).await;
        assert_eq!(hear(&mut socket).await["type"], "data");
        house.room.pass(30).await;
        assert_eq!(hear(&mut socket).await, json!({ "type": "ka" }));
    }
}

#[tokio::test]
async fn who_has_no_socket_polls_and_misses_nothing() {
    let house = House::open().await;
    let group = house.room.create("h", "local").await;
    let path = format!("/mesh/poll?groupId={group}&domain=local&x-api-key={KEY}");
    let begin = house.get(&path).await.json();
    assert_eq!(begin["pushes"], json!([]));
    for number in 0..3 {
        report(&house.room, &group, &number.to_string()).await;
    }
    let after = begin["cursor"].as_str().unwrap();
    let next = house.get(&format!("{path}&after={after}")).await.json();
    let values = next["pushes"].as_array().unwrap().iter();
    let value =
        |push: &Json| push["data"]["onMessageInGroup"]["nodeStatus"]["data"][0]["value"].clone();
    assert_eq!(values.map(value).collect::<Json>(), json!(["0", "1", "2"]));
    let wrong = house.get(&format!("/mesh/poll?groupId={group}&domain=local&x-api-key=no")).await;
    assert_eq!((wrong.status, wrong.json()["code"].clone()), (401, json!("unauthorized")));
    assert_eq!(house.get(&format!("{path}&after=yesterday")).await.status, 400);
}

#[tokio::test]
async fn events_resume_behind_the_last_one_seen() {
    let house = House::open().await;
    let group = house.room.create("h", "local").await;
    let begin =
        house.get(&format!("/mesh/poll?groupId={group}&domain=local&x-api-key={KEY}")).await;
    let cursor = begin.json()["cursor"].as_str().unwrap().to_owned();
    report(&house.room, &group, "1").await;
    let mut stream = TcpStream::connect(house.server.address()).await.unwrap();
    let request = format!(
        "GET /mesh/events?groupId={group}&domain=local HTTP/1.1\r\nhost: x\r\nx-api-key: {KEY}\r\n\
         last-event-id: {cursor}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = String::new();
    while !heard.contains("\"value\":\"1\"") {
        let mut space = [0; 4096];
        let count = stream.read(&mut space).await.unwrap();
        assert_ne!(count, 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&space[..count]));
    }
    assert!(heard.contains("content-type: text/event-stream"), "{heard}");
    assert!(heard.contains("\nid: "), "{heard}");
}
