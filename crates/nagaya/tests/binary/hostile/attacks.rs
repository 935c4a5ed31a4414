//! The attacks: from where, how many connections, what they send, and what they do then.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::json;

use super::crowd::{Attack, Target, Then};
use super::http2;

/// Honest callers are on 127.0.0.1.
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const HONEST: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// The largest body that a route takes from a caller without a credential has more.
const BODY_BYTES: usize = 1_000_000;

/// The DynamoDB endpoint wants signatures.
const KEYS: (&str, &str) = ("NAGAYA_DYNAMODB_KEYS_FILE", "keys.txt");

/// What most attacks have in common.
const USUAL: Attack = Attack {
    name: "",
    is_at_door: false,
    from: STRANGER,
    connections: (8, 32),
    sends: |_, _| Vec::new(),
    zeros: 0,
    then: Then::Repeat(Duration::from_millis(50)),
    settings: &[KEYS],
    may_succeed: true,
    may_hold_drain: false,
};

/// All of them.
pub(super) static ATTACKS: [Attack; 14] = [
    Attack { name: "fragment bombs", sends: document, ..USUAL },
    Attack {
        name: "expressions",
        is_at_door: true,
        sends: expression,
        settings: &[("NAGAYA_DYNAMODB_OPEN", "true")],
        ..USUAL
    },
    Attack {
        name: "bodies of strangers",
        connections: (300, 1_000),
        sends: |_, _| head("POST /mesh/graphql", "x-api-key: wrong\r\n", BODY_BYTES),
        zeros: BODY_BYTES - 1,
        then: Then::Hold(b""),
        may_succeed: false,
        ..USUAL
    },
    Attack {
        name: "unsigned bodies",
        is_at_door: true,
        connections: (60, 60),
        sends: |_, _| head("POST /", "x-amz-target: DynamoDB_20120810.PutItem\r\n", 16 << 20),
        zeros: (16 << 20) - 1,
        then: Then::Hold(b""),
        may_succeed: false,
        ..USUAL
    },
    Attack {
        name: "connections",
        connections: (1_500, 1_500),
        then: Then::Hold(b""),
        // The usual bound needs more descriptors than many machines give to a test.
        settings: &[KEYS, ("NAGAYA_HTTP_CONNECTIONS_MAX", "2000")],
        ..USUAL
    },
    Attack { name: "anonymous writes", sends: write, ..USUAL },
    Attack { name: "abuser next door", from: HONEST, sends: abuse, ..USUAL },
    Attack {
        name: "slow heads",
        connections: (500, 2_000),
        sends: |_, _| b"GET /live HTTP/1.1\r\nhost: localhost\r\nx: ".to_vec(),
        then: Then::Hold(b"a"),
        may_succeed: false,
        may_hold_drain: true,
        ..USUAL
    },
    Attack {
        name: "slow bodies",
        connections: (500, 2_000),
        sends: |_, _| head("POST /live/rooms", "", 60_000),
        then: Then::Hold(b"a"),
        may_succeed: false,
        may_hold_drain: true,
        ..USUAL
    },
    Attack {
        name: "slow readers",
        connections: (150, 600),
        sends: unread,
        then: Then::Hold(b""),
        may_hold_drain: true,
        ..USUAL
    },
    Attack {
        name: "half-open",
        connections: (500, 2_000),
        sends: |_, number| {
            b"GET /live HTTP/1.1\r\nhost".get(..number % 23).unwrap_or_default().to_vec()
        },
        then: Then::HalfClose,
        may_succeed: false,
        ..USUAL
    },
    Attack {
        name: "resets",
        sends: |target, number| match number % 2 {
            0 => http2::rapid_resets("/live"),
            _ => {
                request("POST", "/live/rooms", &format!("x-number: {}\r\n", target.mesh_key), "{}")
            }
        },
        then: Then::Reset(Duration::from_millis(20)),
        ..USUAL
    },
    Attack { name: "headers", sends: headers, ..USUAL },
    Attack { name: "packed bodies", sends: packed, may_succeed: false, ..USUAL },
];

/// The head of a request with a body of this length.
fn head(line: &str, lines: &str, length: usize) -> Vec<u8> {
    let head = format!(
        "{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: \
         application/json\r\n{lines}content-length: {length}\r\n\r\n"
    );
    head.into_bytes()
}

fn request(method: &str, path: &str, lines: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [head(&format!("{method} {path}"), lines, body.len()).as_slice(), body].concat()
}

/// Documents that stand for more than they are long, and values inside values.
fn document(target: &Target, number: usize) -> Vec<u8> {
    let key = format!("x-api-key: {}\r\n", target.mesh_key);
    let deep = format!("{{\"query\":\"{{ a }}\",\"variables\":{}", "[".repeat(300_000));
    let body = target.documents.get(number % (target.documents.len() + 1)).unwrap_or(&deep);
    request("POST", "/mesh/graphql", &key, body)
}

/// Expressions, statements and values that stand for more than they are long.
fn expression(_: &Target, number: usize) -> Vec<u8> {
    let scan = |filter: String| json!({ "TableName": "mesh", "FilterExpression": filter });
    let (operation, body) = match number % 6 {
        0 => ("Scan", scan(format!("{}a = b{}", "(".repeat(2_000), ")".repeat(2_000)))),
        1 => ("Scan", scan(format!("{}attribute_exists(a)", "NOT ".repeat(1_000)))),
        2 => {
            let condition = json!({ "ComparisonOperator": "NULL" });
            let filters = (0..20_000).map(|n| (format!("a{n}"), condition.clone()));
            let filters: serde_json::Map<_, _> = filters.collect();
            ("Scan", json!({ "TableName": "mesh", "ScanFilter": filters }))
        }
        3 => {
            let statement = format!("SELECT * FROM mesh WHERE {}a = 1", "NOT (".repeat(1_500));
            ("ExecuteStatement", json!({ "Statement": statement }))
        }
        4 => {
            let empty = vec![json!({}); 100_000];
            let item = json!({ "pk": { "S": "a" }, "sk": { "L": empty } });
            ("PutItem", json!({ "TableName": "mesh", "Item": item }))
        }
        _ => {
            let body = format!("{{\"TableName\":\"mesh\",\"Item\":{}", "{\"a\":".repeat(100_000));
            return at_door("PutItem", &body);
        }
    };
    at_door(operation, &body.to_string())
}

fn at_door(operation: &str, body: &str) -> Vec<u8> {
    let target = format!("x-amz-target: DynamoDB_20120810.{operation}\r\n");
    request("POST", "/", &target, body)
}

/// Everything that a caller without a credential can make the house keep, under ever new names.
fn write(target: &Target, number: usize) -> Vec<u8> {
    let post = |path: &str, lines: &str, body: serde_json::Value| {
        request("POST", path, lines, body.to_string())
    };
    match number % 4 {
        0 => {
            let host = format!("stranger-{number:030}");
            post("/live/rooms", "", json!({ "name": "Nobody comes", "hostId": host }))
        }
        1 => {
            let name = format!("x-participant: stranger-{number:020}\r\n");
            post(&target.comments, &name, json!({ "content": "buy this", "nickname": "Eve" }))
        }
        2 => {
            let name = format!("eve{number}");
            let email = format!("{name}@x.example");
            let user = json!({ "email": email, "username": name, "password": "correct horse" });
            post("/sns/v1/auth/register", "", user)
        }
        _ => {
            let path = format!("/score/get-start?gameId=snake&userId=eve{number}");
            request("GET", &path, "", "")
        }
    }
}

/// One caller that asks for much more than it may, under names of its own.
fn abuse(target: &Target, number: usize) -> Vec<u8> {
    match number % 4 {
        0 => {
            let body = json!({ "content": "buy this", "nickname": "Eve" }).to_string();
            request("POST", &target.comments, "x-participant: eve-0123456789abcdef\r\n", body)
        }
        1 => {
            let host = "eve-0123456789abcdef0123456789abcdef";
            let body = json!({ "name": "Nobody comes", "hostId": host }).to_string();
            request("POST", "/live/rooms", "", body)
        }
        2 => {
            let user = json!({ "email": "eve@x.example", "password": "a guess" });
            request("POST", "/sns/v1/auth/login", "", user.to_string())
        }
        _ => request("GET", "/score/get-start?gameId=snake&userId=eve", "", ""),
    }
}

/// Large answers and streams that nobody reads.
fn unread(target: &Target, number: usize) -> Vec<u8> {
    const LARGE: &str = "/sns/openapi.json";
    match number % 3 {
        // A few answers are more than the buffers of such a connection take; many would be a flood.
        0 => format!("GET {LARGE} HTTP/1.1\r\nhost: localhost\r\n\r\n").repeat(4).into_bytes(),
        1 => http2::unread_answers(LARGE),
        _ => {
            let stream = target.comments.replace("comments", "stream");
            format!("GET {stream} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
        }
    }
}

/// Many headers, long ones, ones without end; and those of HTTP/2 that unpack.
fn headers(_: &Target, number: usize) -> Vec<u8> {
    let lines = |count: usize, length: usize| {
        (0..count).map(|n| format!("x-{n}: {}\r\n", "a".repeat(length))).collect::<String>()
    };
    match number % 6 {
        0 => request("GET", "/live", &lines(90, 100), ""),
        1 => request("GET", "/live", &lines(1_000, 4), ""),
        2 => request("GET", "/live", &lines(1, 1_000_000), ""),
        3 => http2::continuations(),
        4 => http2::unpacked_headers(),
        _ => http2::control_frames(),
    }
}

/// 48 KB that unpack to 8 MB of zeros.
fn packed(_: &Target, number: usize) -> Vec<u8> {
    let paths = ["/live/rooms", "/sns/v1/auth/login", "/sns/v1/auth/register"];
    let path = paths.get(number % paths.len()).copied().unwrap_or_default();
    request("POST", path, "content-encoding: gzip\r\n", gzip_of_zeros(30_000))
}

/// So many times 258 zeros as gzip: a literal, then copies of the byte before, in the fixed code.
fn gzip_of_zeros(copies: usize) -> Vec<u8> {
    let last_block_in_fixed_code = "110";
    let (zero, copy_258_from_1, end) = ("00110000", "1100010100000", "0000000");
    let bits = [last_block_in_fixed_code, zero, &copy_258_from_1.repeat(copies), end].concat();
    let pack = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    let packed = bits.as_bytes().chunks(8).map(pack);
    let begin = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    // The sum and the length at the end are wrong; by then all is unpacked.
    begin.into_iter().chain(packed).chain([0; 8]).collect()
}
