//! Callers without a credential: no route reads their bodies.

use std::collections::BTreeSet;
use std::io::Write;

use testkit::Served;
use testkit::program::{json, read};

/// Routes that must read a body before they know the caller: the credential is in it, or there is
/// none. Each has a small bound of its own.
const READS: [&str; 11] = [
    "POST /live/rooms",
    "PATCH /live/rooms/{roomId}",
    "POST /live/rooms/{roomId}/comments",
    "POST /live/rooms/{roomId}/comments/{commentId}/answer",
    "POST /live/rooms/{roomId}/comments/{commentId}/hide",
    "POST /live/rooms/{roomId}/comments/{commentId}/pin",
    "POST /live/rooms/{roomId}/comments/{commentId}/restore",
    "POST /sns/v1/auth/external",
    "POST /sns/v1/auth/login",
    "POST /sns/v1/auth/refresh",
    "POST /sns/v1/auth/register",
];

/// Routes that anybody may call and that take no body: they answer without one.
const BODILESS: [&str; 1] = ["POST /live/participants"];

/// Routes that no description lists.
const UNLISTED: [&str; 9] = [
    "POST /mesh/graphql",
    "POST /console/access",
    "POST /console/access/revoke",
    "POST /console/access/sessions/{id}/end",
    "POST /console/backups",
    "POST /console/flow",
    "POST /console/sign-out",
    "POST /console/sign-out-everywhere",
    "POST /console/tables/{table}/item",
];

/// Every route that may change something, as method and path.
fn routes(house: &Served) -> BTreeSet<String> {
    let mut routes: BTreeSet<String> = UNLISTED.map(str::to_owned).into();
    for room in ["sns", "live", "collect", "score"] {
        let described = json(&house.get(&format!("/{room}/openapi.json")));
        for (path, methods) in described["paths"].as_object().unwrap() {
            let methods = methods.as_object().unwrap().keys().map(|name| name.to_uppercase());
            let changing = methods.filter(|name| name != "GET" && name != "PARAMETERS");
            routes.extend(changing.map(|method| format!("{method} {path}")));
        }
    }
    routes
}

/// The path with something in the place of each parameter.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn callers_without_a_credential_are_refused_before_their_bodies_are_read() {
    let program = testkit::program!();
    let house = Served::open(&mut program.command());
    let routes = routes(&house);
    assert!(routes.len() > 40, "{routes:?}");
    let reads: BTreeSet<String> = READS.map(str::to_owned).into();
    let unknown: Vec<_> = reads.difference(&routes).collect();
    assert!(unknown.is_empty(), "there is no such route: {unknown:?}");
    for credential in ["", "authorization: Bearer wrong\r\n", "x-api-key: wrong\r\n"] {
        for route in routes.difference(&reads) {
            let (method, path) = route.split_once(' ').unwrap();
            let (path, address) = (filled(path), &house.address);
            let mut stream = house.connect().unwrap();
            // The body is declared, small enough for any route, and never sent.
            let head = format!(
                "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: 1000\r\n\
                 idempotency-key: again\r\n{credential}\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            let answer = read(stream);
            let status = answer.get(9..12).unwrap_or_default();
            let first = if BODILESS.contains(&route.as_str()) { '2' } else { '4' };
            assert!(status.starts_with(first) && status != "408", "{route} {credential}: {answer}");
        }
    }
}
