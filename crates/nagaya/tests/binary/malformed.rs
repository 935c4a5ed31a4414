//! Malformed values at every operation of the rooms' documents: each is refused with a stable code,
//! but for a list of places that take any text.
//!
//! The OpenAPI documents say which parameters and properties there are, so a new operation is part
//! of the walk without a line here. Each value is tried alone: everything else in its request is
//! valid, and the caller may do what it asks for. The mesh has a schema instead (`graphql.rs`).

mod graphql;

use std::collections::BTreeMap;
use std::io::{Read, Write};

use serde_json::{Value as Json, json};
use testkit::{Left, Program, Served, program};

const HOST: &str = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10";

/// More digits than any integer type has, and as many as DynamoDB keeps.
const DIGITS: &str = "99999999999999999999999999999999999999";

/// Letters of an over-long text: more than any id, name, text or list of them may have.
const LONG: usize = 20_000;

/// What stands in a body where the malformed value comes in.
const HOLE: &str = "the malformed value";

/// Values that are taken on purpose, by operation and name, each with its reason.
const TAKEN: [(&str, &str, &str); 21] = [
    ("POST /live/rooms", "name", TYPED),
    ("POST /live/rooms/{roomId}/comments", "content", TYPED),
    ("POST /live/rooms/{roomId}/comments", "nickname", TYPED),
    ("PUT /score/bans/{userId}", "reason", TYPED),
    ("POST /sns/v1/posts", "content", TYPED),
    ("PUT /sns/v1/users/{id}", "bio", TYPED),
    ("PUT /sns/v1/users/{id}", "displayName", TYPED),
    ("PATCH /live/rooms/{roomId}", "unblockUsers", ABSENT),
    ("PATCH /live/rooms/{roomId}", "unblockWords", ABSENT),
    ("POST /live/rooms/{roomId}/comments", "hostId", "only the host's own id makes a host"),
    ("POST /sns/v1/auth/register", "deviceToken", "an unknown device is no known device"),
    ("GET /sns/v1/stream", "token", "the header has a good token"),
    ("GET /score/get-end", "token_start", "the seed answers 200 with the reason"),
    ("GET /collect/stream/{sources}", "after", RESUMED),
    ("mesh searchGroupsByNamePrefix", "namePrefix", ABSENT),
    ("mesh fireEventsByNode", "events.eventName", PASSED),
    ("mesh fireEventsByNode", "events.payload", PASSED),
    ("mesh recordEventsByNode", "events.eventName", PASSED),
    ("mesh recordEventsByNode", "events.payload", PASSED),
    ("mesh reportDataByNode", "data.key", PASSED),
    ("mesh reportDataByNode", "data.value", PASSED),
];

const TYPED: &str = "people type it: what may not be in it is removed";
const ABSENT: &str = "what is not there is not found";
const PASSED: &str = "programs send it to each other, and nobody else reads it";
const RESUMED: &str = "a browser cannot drop a bad position: the stream begins with a gap";

/// Whether the contract takes an odd `value` at this place: a text, within its bound.
fn is_taken(operation: &str, name: &str, value: &str) -> bool {
    let is_bounded = value.len() < LONG;
    let why = TAKEN.iter().find(|(of, at, _)| *of == operation && *at == name);
    why.is_some_and(|(_, _, why)| is_bounded || ![TYPED, RESUMED].contains(why))
}

/// One operation of a document.
struct Operation {
    method: String,
    path: String,
    /// Name, place and schema of each parameter.
    parameters: Vec<(String, String, Json)>,
    /// Properties of the body, each with its schema.
    properties: Vec<(String, Json)>,
    has_body: bool,
}

/// A house with something in every room, and a caller that may do everything.
struct House {
    served: Served,
    _program: Program,
    /// An API key with the scopes of all operators.
    key: String,
    /// The access token of a user.
    token: String,
    /// Valid values by room and name.
    valid: BTreeMap<(&'static str, &'static str), String>,
}

/// What came back.
struct Answer {
    status: u16,
    text: String,
}

impl House {
    fn open() -> House {
        let program = testkit::program!();
        let mut served = Served::open(program.serve().env("AI_API_BASE_URL", "http://127.0.0.1:9"));
        // The sources have no API: a slot that becomes due during the walk ends as a dead letter.
        served.allow(Left::DeadLetters);
        served.expect_error("a message was given up");
        let scopes = "--scope collect:operate --scope score:operate --scope sns:operate";
        let (code, key, note) = program.run(&format!("key create walk {scopes}"), &[]);
        assert_eq!(code, 0, "{note}");
        let key = key.trim_end().to_owned();
        let mut house =
            House { served, _program: program, key, token: String::new(), valid: BTreeMap::new() };
        house.furnish();
        house
    }

    /// Makes one of everything that a path can name.
    fn furnish(&mut self) {
        let account =
            r#"{"email": "ada@example.org", "username": "ada", "password": "long enough"}"#;
        let account = self.made("sns", "POST", "/sns/v1/auth/register", account);
        self.token = text_of(&account, "token");
        let user = text_of(&account["user"], "userId");
        let post = self.made("sns", "POST", "/sns/v1/posts", r#"{"content": "hello"}"#);
        let room = format!(r#"{{"name": "Keynote", "hostId": "{HOST}"}}"#);
        let room = text_of(&self.made("live", "POST", "/live/rooms", &room), "roomId");
        let comments = format!("/live/rooms/{room}/comments");
        let comment = self.made("live", "POST", &comments, r#"{"content": "hello"}"#);
        let game = r#"{"gameName": "snake", "sort": [{"by": "score", "dir": "desc"}]}"#;
        self.made("score", "PUT", "/score/games/snake", game);
        let source = r#"{"name": "tokyo", "baseUrl": "http://127.0.0.1:9", "path": "/x"}"#;
        self.made("collect", "POST", "/collect/sources", source);
        let comment = text_of(&comment, "commentId");
        let post = text_of(&post, "postId");
        let valid = [
            (("sns", "id"), user.clone()),
            (("sns", "post"), post),
            (("sns", "user"), user),
            (("sns", "name"), "ada".to_owned()),
            (("live", "roomId"), room),
            (("live", "commentId"), comment),
            (("score", "gameId"), "snake".to_owned()),
            (("score", "period"), "all".to_owned()),
            (("score", "userId"), "ada".to_owned()),
            (("score", "field"), "score".to_owned()),
            (("collect", "name"), "tokyo".to_owned()),
            (("collect", "metric"), "tokyo".to_owned()),
            (("collect", "sources"), "tokyo".to_owned()),
            (("collect", "action"), "pause".to_owned()),
        ];
        self.valid.extend(valid);
    }

    /// What a request answers that must succeed.
    #[track_caller]
    fn made(&self, room: &str, method: &str, path: &str, body: &str) -> Json {
        let answer = self.ask(room, method, path, body);
        assert!(answer.status / 100 == 2, "{method} {path}: {}", answer.text);
        program::json(&answer.text)
    }

    /// Asks as a caller of the room who may do everything. An answer that does not end, such as a
    /// stream, is read up to the end of its head.
    fn ask(&self, room: &str, method: &str, path: &str, body: &str) -> Answer {
        let credential = match room {
            "live" => format!("authorization: Bearer {HOST}\r\n"),
            "sns" if !path.starts_with("/sns/operate") => {
                format!("authorization: Bearer {}\r\n", self.token)
            }
            _ => format!("x-api-key: {}\r\n", self.key),
        };
        let mut stream = self.served.connect().unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n{credential}\r\n{body}",
            self.served.address,
            body.len()
        );
        // A server that refuses early may close before it has read all.
        let _written = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let mut part = [0; 4_096];
        let is_stream = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.contains("text/event-stream") && text.contains("\r\n\r\n")
        };
        while !is_stream(&bytes) {
            match stream.read(&mut part) {
                Ok(count) if count > 0 => bytes.extend(part.get(..count).unwrap_or_default()),
                Ok(_) | Err(_) => break,
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, text }
    }

    /// The operations of a room's document.
    fn operations(&self, room: &str) -> Vec<Operation> {
        let document = program::json(&self.served.get(&format!("/{room}/openapi.json")));
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, described) in methods.as_object().unwrap() {
                if described["responses"].is_object() {
                    operations.push(Operation::read(method, path, described, &document));
                }
            }
        }
        operations
    }

    /// A path with valid values, or with `value` in the place of one parameter.
    fn path(&self, room: &'static str, operation: &Operation, odd: &str, value: &str) -> String {
        let mut path = operation.path.clone();
        let mut query = Vec::new();
        for (name, place, _) in &operation.parameters {
            let is_post = operation.path.starts_with("/sns/v1/posts/");
            let name_of_value = if is_post && name == "id" { "post" } else { name };
            let valid =
                self.valid.iter().find(|((of, known), _)| *of == room && *known == name_of_value);
            let valid = valid.map_or("1", |(_, value)| value.as_str());
            match place.as_str() {
                "path" => {
                    let value = if name == odd { value } else { valid };
                    path = path.replace(&format!("{{{name}}}"), &encoded(value));
                }
                "query" if name == odd => query.push(format!("{name}={}", encoded(value))),
                _ => {}
            }
        }
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }
}

impl Operation {
    fn read(method: &str, path: &str, described: &Json, document: &Json) -> Operation {
        let list = described["parameters"].as_array().cloned().unwrap_or_default();
        let parameter = |one: &Json| {
            let word = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
            (word("name"), word("in"), one["schema"].clone())
        };
        let body = &described["requestBody"]["content"]["application/json"]["schema"];
        let body = resolved(body, document);
        let properties = body["properties"].as_object().cloned().unwrap_or_default();
        Operation {
            method: method.to_ascii_uppercase(),
            path: path.to_owned(),
            parameters: list.iter().map(parameter).collect(),
            properties: properties.into_iter().collect(),
            has_body: described["requestBody"].is_object(),
        }
    }

    /// A body that the operation takes.
    fn valid_body(&self) -> Json {
        match (self.method.as_str(), self.path.as_str()) {
            ("POST", "/live/rooms") => json!({"name": "Keynote", "hostId": HOST}),
            ("POST", "/live/rooms/{roomId}/comments" | "/sns/v1/posts") => {
                json!({"content": "hello"})
            }
            ("PUT" | "POST", "/collect/sources" | "/collect/sources/{name}") => {
                json!({"name": "tokyo", "baseUrl": "http://127.0.0.1:9", "path": "/x"})
            }
            (_, "/collect/sources/{name}/backfill") => {
                json!({"from": "2026-11-16T10:00:00Z", "to": "2026-11-16T10:01:00Z", "dryRun": true})
            }
            (_, "/score/bans/{userId}") => json!({"reason": "spam"}),
            (_, "/score/games/{gameId}") => {
                json!({"gameName": "snake", "sort": [{"by": "score", "dir": "desc"}]})
            }
            (_, "/score/import/{gameId}/{period}") => json!({"rows": []}),
            (_, "/sns/v1/auth/register") => {
                json!({"email": "eve@example.org", "username": "eve", "password": "long enough"})
            }
            (_, "/sns/v1/auth/login") => {
                json!({"email": "eve@example.org", "password": "wrong one"})
            }
            (_, "/sns/v1/auth/password") => {
                json!({"currentPassword": "not this one", "newPassword": "long enough"})
            }
            (_, "/sns/v1/auth/refresh") => json!({"refreshToken": "none"}),
            (_, "/sns/v1/auth/external") => json!({"token": "none"}),
            (_, "/sns/v1/posts/batch") => json!({"postIds": ["none"]}),
            (_, "/sns/v1/users/batch") => json!({"userIds": ["none"]}),
            _ => json!({}),
        }
    }
}

/// A schema without a reference, and without the alternative that there is none.
fn resolved(schema: &Json, document: &Json) -> Json {
    if let Some(of) = schema["oneOf"].as_array() {
        return of.first().map_or(Json::Null, |first| resolved(first, document));
    }
    match schema["$ref"].as_str() {
        Some(name) => document.pointer(name.trim_start_matches('#')).cloned().unwrap_or_default(),
        None => schema.clone(),
    }
}

fn encoded(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => (byte as char).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}

#[track_caller]
fn text_of(answer: &Json, name: &str) -> String {
    answer[name].as_str().unwrap_or_else(|| panic!("no {name}: {answer}")).to_owned()
}

/// Texts that no id, name or cursor may hold.
fn bad_texts() -> Vec<String> {
    let long = "a".repeat(LONG);
    vec![long, "a\u{0}b".to_owned(), "a\u{1b}[2Jb".to_owned(), "a\u{202e}b".to_owned()]
}

/// Texts that no number is written as.
fn bad_numbers() -> Vec<String> {
    ["NaN", "[]", "1.5", "-1", "a", DIGITS, "0x10"].map(str::to_owned).to_vec()
}

/// JSON texts that do not fit a property of this schema.
fn bad_json(schema: &Json) -> Vec<String> {
    let is = |wanted: &str| match &schema["type"] {
        Json::Array(types) => types.iter().any(|one| one == wanted),
        one => one == wanted,
    };
    let owned = |values: &[&str]| values.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    let text = |value: &str| Json::from(value).to_string();
    if is("string") {
        let mut bad = owned(&["[]", "{}", "1", "true", DIGITS, "NaN"]);
        bad.extend(bad_texts().iter().map(|one| text(one)));
        bad
    } else if is("integer") || is("number") {
        owned(&["\"NaN\"", "NaN", "[]", "{}", "1e400", DIGITS, "\"1\"", "true"])
    } else if is("boolean") {
        owned(&["[]", "{}", "\"true\"", "1", DIGITS])
    } else if is("array") {
        let mut bad = owned(&["{}", "\"a\"", "1", DIGITS, "[[[]]]", "[{\"a\": []}]"]);
        bad.push(format!("[{}]", text(&"a".repeat(LONG))));
        bad
    } else {
        owned(&["[]", "\"a\"", DIGITS])
    }
}

/// Bodies that are no object, or no JSON.
fn bad_bodies() -> Vec<String> {
    let deep = "[".repeat(10_000);
    let owned = ["[]", "[{}]", "null", "\"a\"", DIGITS, "NaN", "{", "{\"a\": }", "\u{202e}"];
    owned.into_iter().map(str::to_owned).chain([deep]).collect()
}

/// What is wrong about an answer to a malformed value. A rate or a credential may be judged first.
fn complaint(operation: &Operation, answer: &Answer) -> Option<String> {
    let code = answer.text.split_once("\r\n\r\n").and_then(|(_, body)| {
        let problem: Json = serde_json::from_str(body).ok()?;
        problem["code"].as_str().map(str::to_owned)
    });
    // The practice API answers as the seed's does.
    let is_practice = operation.path == "/collect/response_count";
    match (answer.status, code) {
        (400..500, code) if code.is_some() || is_practice => None,
        (status, code) => Some(format!("{status} {}", code.unwrap_or_default())),
    }
}

/// A malformed request.
struct Request {
    /// Where the odd value stands, and the value; the name is empty for a whole body.
    name: String,
    value: String,
    path: String,
    body: String,
}

/// Every malformed request to an operation.
fn requests(house: &House, room: &'static str, operation: &Operation) -> Vec<Request> {
    let valid = if operation.has_body { operation.valid_body().to_string() } else { String::new() };
    let mut requests = Vec::new();
    for (name, place, schema) in &operation.parameters {
        let is_number =
            ["integer", "number"].iter().any(|one| schema["type"].to_string().contains(one));
        let values = if is_number { bad_numbers() } else { bad_texts() };
        for value in values.into_iter().filter(|_| place == "path" || place == "query") {
            let path = house.path(room, operation, name, &value);
            requests.push(Request { name: name.clone(), value, path, body: valid.clone() });
        }
    }
    let path = house.path(room, operation, "", "");
    for (name, schema) in &operation.properties {
        for value in bad_json(schema) {
            let mut body = operation.valid_body();
            body[name] = Json::from(HOLE);
            let body = body.to_string().replace(&Json::from(HOLE).to_string(), &value);
            requests.push(Request { name: name.clone(), value, path: path.clone(), body });
        }
    }
    if operation.has_body {
        requests.extend(bad_bodies().into_iter().map(|body| {
            let value = body.chars().take(40).collect();
            Request { name: String::new(), value, path: path.clone(), body }
        }));
    }
    requests
}

#[test]
fn a_malformed_value_is_refused_with_a_code_and_makes_no_operation_fail() {
    let house = House::open();
    let (mut asked, mut wrong) = (0, Vec::new());
    for room in ["live", "collect", "score", "sns"] {
        for operation in house.operations(room) {
            let called = format!("{} {}", operation.method, operation.path);
            for Request { name, value, path, body } in requests(&house, room, &operation) {
                asked += 1;
                let answer = house.ask(room, &operation.method, &path, &body);
                let complaint = complaint(&operation, &answer);
                if let Some(complaint) = complaint.filter(|_| !is_taken(&called, &name, &value)) {
                    wrong.push(format!("{called} {name}: {value:.40?}: {complaint}"));
                }
            }
        }
    }
    let (of_mesh, wrong_of_mesh) = graphql::walk(&house.served);
    asked += of_mesh;
    wrong.extend(wrong_of_mesh);
    println!("{asked} malformed requests");
    assert!(asked > 1_000, "the documents could not be read: {asked} requests");
    assert!(of_mesh > 100, "the schema could not be read: {of_mesh} requests");
    assert!(wrong.is_empty(), "{} of {asked}\n{}", wrong.len(), wrong.join("\n"));
}
