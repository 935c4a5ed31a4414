//! Every route of the house stands in `docs/security.md`, with who may call it, and the house keeps
//! to that: a stranger is refused where the document says so, and nowhere else.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base::{Clock, Random, Tasks};
use console::Console;
use dispatch::Dispatch;
use edge::{Ground, Metrics, Operator, Readiness, Server, Traces};
use table::{Embedded, Tables};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ABOUT, Rooms, TASKS_STOP};
use crate::Settings;
use crate::store::SECRETS;

const DOCUMENT: &str = include_str!("../../../../docs/security.md");

/// Who may call a route, as the document says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// Everybody.
    Anyone,
    /// Whoever has the credential of a room of the live room.
    Host,
    /// Whoever has the key of the mesh.
    Key,
    /// A user of the sns room.
    User,
    /// The operator's browser, or a key with the room's scope.
    Operator,
}

impl Caller {
    fn named(word: &str) -> Option<Caller> {
        Some(match word {
            "anyone" => Caller::Anyone,
            "host" => Caller::Host,
            "key" => Caller::Key,
            "user" => Caller::User,
            "operator" => Caller::Operator,
            _ => return None,
        })
    }
}

/// The rows of the document's tables that begin with a route: `` | `GET /path` | caller | … ``.
fn documented() -> BTreeMap<String, Caller> {
    let mut routes = BTreeMap::new();
    for line in DOCUMENT.lines() {
        let Some((route, rest)) = line.strip_prefix("| `").and_then(|line| line.split_once('`'))
        else {
            continue;
        };
        let Some((method, path)) = route.split_once(' ') else { continue };
        if !path.starts_with('/') || !method.chars().all(|letter| letter.is_ascii_uppercase()) {
            continue;
        }
        let word = rest.split('|').nth(1).unwrap_or_default().trim();
        let caller = Caller::named(word).unwrap_or_else(|| panic!("who is `{word}`? {line}"));
        assert!(routes.insert(route.to_owned(), caller).is_none(), "twice: {line}");
    }
    routes
}

/// A path as the document has it: what a file is called by its content is `{version}`.
fn general(path: &str) -> String {
    let is_hash =
        |part: &str| part.len() >= 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        let stem = part.split('.').next().unwrap_or_default();
        parts.push(if is_hash(stem) {
            part.replacen(stem, "{version}", 1)
        } else {
            part.to_owned()
        });
    }
    match parts.iter().position(|part| part == "{version}") {
        Some(at) => format!("{}/{{file}}", parts[..=at].join("/")),
        None => parts.join("/"),
    }
}

/// Status and head of the answer to a stranger.
async fn asked(address: SocketAddr, method: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         sec-fetch-site: same-origin\r\ncontent-length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    let head = answer.split("\r\n\r\n").next().unwrap_or_default().to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head)
}

/// A path with something in each of its places.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// A house in memory: where it listens, and its routes.
async fn opened(tasks: &Tasks) -> (Server, Vec<(String, String)>) {
    let (clock, random, settings) = (Clock::real(), Random::seeded(1), Settings::default());
    let store = Embedded::in_memory(clock.clone(), tasks).await.unwrap();
    let tables: Arc<dyn Tables> = Arc::new(store.clone());
    edge::ensure_tables(&store).await.unwrap();
    let ground = Ground::new(Arc::clone(&tables), &settings.stream, &clock, &random, tasks);
    let dispatch = Dispatch::open(Arc::clone(&tables), clock.clone(), random.clone(), tasks).await;
    let dispatch = dispatch.unwrap();
    let (readiness, metrics) = (Readiness::new(), Metrics::of_process());
    let operator = Operator::new(tables, &settings.operator, &clock, random.clone(), tasks);
    let rooms = Rooms::open(&settings, &ground, &dispatch).await.unwrap();
    let (secrets, asked) = (SECRETS.clone(), rooms.asked());
    let console =
        Console::open(&ground, &dispatch, &metrics, Some(store), Vec::new(), secrets, asked);
    let console = console.await.unwrap();
    let house = edge::house_room(ABOUT, readiness.clone(), metrics, settings.http.metrics);
    let rooms = rooms.mount(house, &console, &ground, &operator);
    let routes = edge::list_routes(&rooms);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let options = edge::Options { listen, ..settings.http };
    let traces = Traces::uncollected(random);
    let server = Server::start(&options, rooms, clock, readiness, traces).await.unwrap();
    (server, routes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_stands_in_the_security_document_and_keeps_to_it() {
    let tasks = Tasks::new();
    let (server, routes) = opened(&tasks).await;
    let documented = documented();
    let mut mounted = BTreeSet::new();
    let mut wrong = Vec::new();
    for (method, path) in &routes {
        let route = format!("{method} {}", general(path));
        let is_new = mounted.insert(route.clone());
        let Some(caller) = documented.get(&route) else {
            if is_new {
                wrong.push(format!("missing in docs/security.md: {route}"));
            }
            continue;
        };
        if !is_new {
            continue;
        }
        // What a query must have stands there, so that only the caller is missing.
        let path = format!("{}?groupId=x&domain=x", filled(path));
        let (status, head) = asked(server.address(), method, &path).await;
        let is_sent_away = head.contains("\r\nlocation: /console/sign-in");
        let is_refused = status == 401 || is_sent_away;
        let fits = match caller {
            Caller::Anyone => !is_refused && status != 403,
            Caller::Host => matches!(status, 400 | 403 | 404),
            // A socket says who it is for after its handshake, which this is none of.
            Caller::Key | Caller::User => is_refused || status == 426,
            Caller::Operator => is_refused,
        };
        if !fits {
            wrong.push(format!("{route} is for {caller:?}, and a stranger got {status}"));
        }
    }
    for route in documented.keys().filter(|route| !mounted.contains(*route)) {
        wrong.push(format!("docs/security.md has a route that is not there: {route}"));
    }
    server.drain().await.unwrap();
    tasks.finish(&Clock::real(), TASKS_STOP).await.unwrap();
    assert!(mounted.len() > 100, "the routes could not be listed: {mounted:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A path whose parameters have no names: documents call them as they like.
fn nameless(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// The OpenAPI document of a room.
async fn described(address: SocketAddr, room: &str) -> serde_json::Value {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /{room}/openapi.json HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{room}: {error}: {answer}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_can_be_tried_and_names_the_callers_of_the_security_document() {
    let tasks = Tasks::new();
    let (server, _) = opened(&tasks).await;
    let documented: BTreeMap<String, Caller> =
        documented().into_iter().map(|(route, caller)| (nameless(&route), caller)).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for room in ["house", "sns", "live", "collect", "score"] {
        let api = described(server.address(), room).await;
        let missing = testkit::described::untryable(&api);
        wrong.extend(missing.into_iter().map(|missing| format!("{room}: {missing}")));
        for (path, item) in api["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                count += 1;
                let route = format!("{} {}", method.to_uppercase(), nameless(path));
                let caller = documented.get(&route).copied();
                let is_open = testkit::described::is_open(&api, operation);
                if caller.is_none_or(|caller| is_open != (caller == Caller::Anyone)) {
                    wrong.push(format!(
                        "{route} is for {caller:?}, and its description says open: {is_open}"
                    ));
                }
            }
        }
    }
    server.drain().await.unwrap();
    tasks.finish(&Clock::real(), TASKS_STOP).await.unwrap();
    assert!(count > 80, "only {count} operations are described");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
