//! Rules about services: the same rooms in each, and what a room may not contain.

use super::{Finding, crate_of, has_word, is_rust, shipped_lines};

const SERVICES: [&str; 5] = ["mesh", "sns", "live", "collect", "score"];

const ROOMS: [&str; 12] = [
    "lib", "model", "limits", "options", "items", "ops", "api", "live", "jobs", "pages", "error",
    "tests",
];

/// The limit of a service's lib.rs: options, the struct, and its parts.
const LIB_LINES_MAX: usize = 150;

/// The bans: the room, the words, the reason.
const BANS: [(&str, &[&str], &str); 5] = [
    ("lib", &["pub mod"], "modules of a service are private"),
    ("model", &["async", "serde", "table", "edge", "hub"], "a decision is a plain function"),
    ("ops", &["serde_json", "edge"], "verbs neither parse nor render"),
    ("live", &["table", "tables"], "pushes are made from what the verb holds"),
    ("error", &["edge", "StatusCode"], "an error knows no status code"),
];

/// A service has the rooms of the house style and no others.
pub fn has_only_known_rooms(path: &str, _text: &str) -> Vec<Finding> {
    let Some((service, room)) = room_of(path) else { return Vec::new() };
    if ROOMS.contains(&room) {
        return Vec::new();
    }
    let what = format!("`{service}` has a room `{room}`; rooms are {}", ROOMS.join(" "));
    vec![Finding::new(path, 1, what)]
}

/// A room contains nothing of other rooms.
pub fn keeps_rooms_apart(path: &str, text: &str) -> Vec<Finding> {
    let Some((_, room)) = room_of(path).filter(|_| is_rust(path)) else { return Vec::new() };
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if room == "lib" && lines > LIB_LINES_MAX {
        let what = format!("{lines} lines, at most {LIB_LINES_MAX}: lib.rs holds no logic");
        findings.push(Finding::new(path, lines, what));
    }
    let bans = || BANS.iter().filter(|(banned_in, ..)| *banned_in == room);
    for (line, code) in shipped_lines(path, text) {
        for (_, words, why) in bans() {
            for word in words.iter().filter(|word| has_word(code, word)) {
                findings.push(Finding::new(path, line, format!("`{word}` in `{room}`: {why}")));
            }
        }
    }
    findings
}

/// The service and the room of a path.
fn room_of(path: &str) -> Option<(&str, &str)> {
    let service = crate_of(path).filter(|name| SERVICES.contains(name))?;
    let (_, inside) = path.split_once("/src/")?;
    let room = inside.split('/').next()?;
    Some((service, room.strip_suffix(".rs").unwrap_or(room)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_room_of_another_name_is_found() {
        assert_eq!(lines(&has_only_known_rooms("crates/score/src/service.rs", "")), [1]);
        assert_eq!(lines(&has_only_known_rooms("crates/score/src/helpers/a.rs", "")), [1]);
        assert_eq!(lines(&has_only_known_rooms("crates/score/src/ops/submit_score.rs", "")), NONE);
        assert_eq!(lines(&has_only_known_rooms("crates/table/src/service.rs", "")), NONE);
    }

    #[test]
    fn what_a_room_may_not_hold_is_found() {
        for (room, words, _) in BANS {
            for word in words {
                let text = format!("//! H.\n{word} x\n");
                let path = format!("crates/mesh/src/{room}.rs");
                assert_eq!(lines(&keeps_rooms_apart(&path, &text)), [2], "{room} {word}");
                let path = format!("crates/mesh/src/{room}/a.rs");
                assert_eq!(lines(&keeps_rooms_apart(&path, &text)), [2], "{room} {word}");
            }
        }
    }

    #[test]
    fn a_long_lib_of_a_service_is_found() {
        assert_eq!(lines(&keeps_rooms_apart("crates/sns/src/lib.rs", &"//\n".repeat(151))), [151]);
        assert_eq!(lines(&keeps_rooms_apart("crates/sns/src/lib.rs", &"//\n".repeat(150))), NONE);
    }
}
