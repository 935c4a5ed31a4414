//! Rules about the crates that may use the wire, the environment, and the disk.

use super::{Finding, crate_of, is_rust, shipped_lines};

/// A guarded facility, the crates that may use it, and the signs of its use.
struct Door {
    keepers: &'static [&'static str],
    /// Folders or files of other crates that may use it too.
    also: &'static [&'static str],
    signs: &'static [&'static str],
    what: &'static str,
}

const HTTP: Door = Door {
    keepers: &["edge"],
    // This rule itself.
    also: &["crates/testkit/src/tidy/doors.rs"],
    signs: &["axum::", "hyper::", "hyper_util::", "tower_http::"],
    what: "only `edge` names the HTTP library",
};

const ENVIRONMENT: Door = Door {
    keepers: &["nagaya", "testkit", "xtask"],
    also: &[],
    signs: &["env::var", "env::args", "env::set_var", "env::current_dir", "env::home_dir"],
    what: "only `nagaya` reads environment and arguments",
};

const DISK: Door = Door {
    keepers: &["table", "testkit", "xtask"],
    also: &[
        "crates/nagaya/src/config",
        "crates/nagaya/src/control",
        "crates/nagaya/src/demo/ground.rs",
        "crates/nagaya/src/port.rs",
        "crates/edge/src/reach/lan.rs",
        "crates/edge/src/tls.rs",
        "crates/edge/src/watched.rs",
        "crates/collect/src/items/files.rs",
    ],
    signs: &["std::fs", "tokio::fs", "rustix::fs", "File::open", "File::create", "OpenOptions"],
    what: "only `table` touches files (the binary's config reads its own, its control socket and \
           what a command names are opened in `control`, `edge` reads certificates and the files that \
           rooms watch, `port` and `lan` read what the kernel lists, a demonstration marks its own \
           directory, and `collect` reads its file of sources at the start and their secrets)",
};

/// Only `edge` names the HTTP library.
pub fn leaves_the_wire_to_edge(path: &str, text: &str) -> Vec<Finding> {
    knocks(&HTTP, path, text)
}

/// Only the binary reads environment and arguments.
pub fn leaves_the_environment_to_the_binary(path: &str, text: &str) -> Vec<Finding> {
    knocks(&ENVIRONMENT, path, text)
}

/// Only `table` touches data files.
pub fn leaves_the_disk_to_table(path: &str, text: &str) -> Vec<Finding> {
    knocks(&DISK, path, text)
}

fn knocks(door: &Door, path: &str, text: &str) -> Vec<Finding> {
    let Some(name) = crate_of(path).filter(|_| is_rust(path)) else { return Vec::new() };
    if door.keepers.contains(&name) || door.also.iter().any(|file| path.starts_with(file)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (line, code) in shipped_lines(path, text) {
        for sign in door.signs.iter().filter(|sign| code.contains(**sign)) {
            findings.push(Finding::new(path, line, format!("`{sign}`: {}", door.what)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule finds the sign in one crate, and neither in the allowed one nor in tests.
    fn assert_guarded(rule: fn(&str, &str) -> Vec<Finding>, sign: &str, keeper: &str) {
        let text = format!("//! H.\nuse {sign}x;\n");
        let found = rule("crates/score/src/ops.rs", &text);
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2], "{sign}");
        assert_eq!(rule(keeper, &text), []);
        assert_eq!(rule("crates/score/tests/a.rs", &text), []);
    }

    #[test]
    fn the_http_library_is_found_outside_edge() {
        assert_guarded(leaves_the_wire_to_edge, "axum::", "crates/edge/src/lib.rs");
    }

    #[test]
    fn reading_the_environment_is_found_outside_the_binary() {
        for sign in ["std::env::var", "std::env::args"] {
            let keeper = "crates/nagaya/src/main.rs";
            assert_guarded(leaves_the_environment_to_the_binary, sign, keeper);
        }
    }

    #[test]
    fn touching_files_is_found_outside_table() {
        assert_guarded(leaves_the_disk_to_table, "std::fs::", "crates/table/src/embedded.rs");
        assert_guarded(leaves_the_disk_to_table, "std::fs::", "crates/nagaya/src/config.rs");
        let found = leaves_the_disk_to_table("crates/nagaya/src/serve.rs", "use std::fs;\n");
        assert_eq!(found.len(), 1);
    }
}
