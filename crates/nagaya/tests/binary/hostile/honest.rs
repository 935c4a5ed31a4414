//! Honest callers: a fixed mix of requests, each on a connection of its own, and how long they take.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use base::Clock;
use serde_json::json;

use super::crowd::Target;

/// After which a caller gives up. It fails long before if an attack is felt.
const PATIENCE: Duration = Duration::from_secs(20);

/// What honest callers saw: how long each request took, and which ones were not answered well.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) took: Vec<Duration>,
    pub(super) failed: Vec<String>,
}

impl Seen {
    /// The time within which 99 of 100 were answered.
    pub(super) fn p99(&self) -> Duration {
        let mut took = self.took.clone();
        took.sort_unstable();
        let at = (took.len() * 99).div_ceil(100).saturating_sub(1);
        took.get(at).copied().unwrap_or_default()
    }
}

/// Sends so many requests, one after the other, the kinds in turn.
pub(super) fn ask(target: &Target, count: usize, seen: &mut Seen) {
    let clock = Clock::real();
    for turn in 0..count {
        let request = request(target, turn);
        let begun = clock.instant();
        let answer = exchange(target.http, &request);
        seen.took.push(clock.instant().since(begun));
        if !is_good(&answer) {
            let line = request.lines().next().unwrap_or_default();
            seen.failed.push(format!("{line}: {}", answer.chars().take(400).collect::<String>()));
        }
    }
}

fn request(target: &Target, turn: usize) -> String {
    let (method, path, head, body) = match turn % 4 {
        0 => {
            let query = "{ listGroupsByDomain(domain: \"local\") { id } }";
            let key = format!("x-api-key: {}\r\n", target.mesh_key);
            ("POST", "/mesh/graphql", key, json!({ "query": query }).to_string())
        }
        1 => {
            // Everybody in an audience has a name; nobody says five things at once.
            let name = target.next_number();
            let head = format!("x-participant: honest-{name:020}\r\n");
            let body = json!({ "content": format!("honest {name}"), "nickname": "Ada" });
            ("POST", target.comments.as_str(), head, body.to_string())
        }
        2 => ("GET", "/score/ranking/snake/ALL", String::new(), String::new()),
        _ => ("GET", "/readyz", String::new(), String::new()),
    };
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{head}content-type: \
         application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The answer, or why there is none.
pub(super) fn exchange(address: SocketAddr, request: &str) -> String {
    let answer = TcpStream::connect_timeout(&address, PATIENCE).and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    });
    answer.unwrap_or_else(|error| format!("no answer: {error}"))
}

fn is_good(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 20") && !answer.contains("\"errors\"")
}
