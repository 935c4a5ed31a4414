//! GraphQL documents and JSON that cost more than they are long, sent to the real program.

use std::io::Write;
use std::net::TcpStream;

use serde_json::json;
use testkit::program::read;
use testkit::{Program, Served};

use crate::strangers::resident_mib;

/// What memory may be left over: caches and buffers of a house that has answered a few requests.
const MEMORY_MIB: u64 = 50;

/// The body that once stopped a house: twenty-five fragments, each of which spreads the next twice.
fn doubling() -> String {
    let fragments = (0..25).map(|n| format!("fragment a{n} on Query{{...a{0} ...a{0}}}", n + 1));
    let query = fragments.collect::<String>() + "fragment a25 on Query{__typename} {...a0}";
    json!({ "query": query }).to_string()
}

/// Bodies that a parser or a validator would work on for minutes, or copy into gigabytes.
pub(crate) fn hostile() -> Vec<String> {
    let deep = "[".repeat(300_000);
    let queries = [
        "{a".repeat(300_000),
        format!("{{ a(b: {deep}) }}"),
        format!("query($a: {deep}) {{ a }}"),
        format!("{{ a(b: [{}]) }}", r#""\\"""" ""#.repeat(50_000)),
        "{...f} fragment f on Query{...g ...g} fragment g on Query{...f ...f}".to_owned(),
        "query($a: [Nope] = [1]) { getNodeStatus(nodeId: $a) { domain } }".to_owned(),
        format!("{{ {} }}", "a ".repeat(400_000)),
    ];
    let variables = json!({ "a": "x".repeat(900_000) });
    let uses = (0..30).map(|n| format!("a{n}: listGroupsByDomain(domain: $a) {{ id }} "));
    let copies = format!("query($a: String!) {{ {} }}", uses.collect::<String>());
    let mut bodies =
        vec![doubling(), json!({ "query": copies, "variables": variables }).to_string()];
    bodies.extend(queries.map(|query| json!({ "query": query }).to_string()));
    bodies
}

/// Sends a request whose answer is read later.
fn send(house: &Served, body: &str) -> TcpStream {
    let (address, key, length) = (&house.address, house.mesh_key(), body.len());
    let mut stream = house.connect().unwrap();
    let head = format!(
        "POST /mesh/graphql HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         x-api-key: {key}\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

fn post(house: &Served, body: &str) -> String {
    read(send(house, body))
}

fn open() -> (Program, Served) {
    let program = testkit::program!();
    let house = Served::open(&mut program.command());
    (program, house)
}

#[test]
fn no_document_stops_the_house() {
    let (_program, house) = open();
    assert!(doubling().len() < 1_100);
    let good = json!({ "query": "mutation { createDomain }" }).to_string();
    assert!(post(&house, &good).contains("\"createDomain\":\"local\""));
    for body in hostile() {
        post(&house, &body);
    }
    let before = resident_mib(house.pid());
    for _ in 0..4 {
        let asked: Vec<TcpStream> = hostile().iter().map(|body| send(&house, body)).collect();
        assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
        for stream in asked {
            let answer = read(stream);
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            assert!(answer.contains("\"errorType\":\"ValidationError\""), "{answer}");
        }
    }
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
    assert!(post(&house, &good).contains("\"createDomain\":\"local\""));
    let after = resident_mib(house.pid());
    assert!(after < before + MEMORY_MIB, "{before} MiB, then {after} MiB");
    let (status, log) = house.close();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn json_inside_json_is_refused_in_every_room_before_the_stack_ends() {
    let (_program, house) = open();
    // As much as the smallest body of a room holds.
    let (lists, maps) = ("[".repeat(60_000), "{\"a\":".repeat(10_000));
    for deep in [&lists, &maps] {
        let variables = format!("{{\"query\":\"{{ a }}\",\"variables\":{deep}");
        let answer = post(&house, &variables);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("recursion limit exceeded"), "{answer}");
        for path in ["/live/rooms", "/sns/v1/auth/login", "/sns/v1/auth/register"] {
            let answer = house.ask("POST", path, "", deep);
            assert!(answer.starts_with("HTTP/1.1 400 "), "{path}: {answer}");
        }
    }
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
}
