//! Rules about the project's own files: lints, guarded functions, changelog, links.

use std::path::Path;

use toml::{Table, Value};

use super::Finding;

const RUST_LINTS: [&str; 3] = ["missing_docs", "unreachable_pub", concat!("un", "safe_code")];
const CLIPPY_LINTS: [&str; 8] = [
    "allow_attributes",
    "await_holding_lock",
    "dbg_macro",
    "disallowed_methods",
    "indexing_slicing",
    "todo",
    "too_many_lines",
    "unwrap_used",
];
const DOORS: [&str; 5] = [
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "tokio::time::sleep",
    "tokio::spawn",
    "std::env::var",
];

/// The workspace denies the lints of the house style.
pub fn denies_the_agreed_lints(path: &str, text: &str) -> Vec<Finding> {
    if path != "Cargo.toml" {
        return Vec::new();
    }
    let manifest: Table = text.parse().unwrap_or_default();
    let lints = manifest.get("workspace").and_then(|workspace| workspace.get("lints"));
    let level = |tool: &str, lint: &str| {
        let level = lints.and_then(|lints| lints.get(tool)).and_then(|lints| lints.get(lint));
        level.and_then(Value::as_str).unwrap_or("absent").to_owned()
    };
    let mut findings = Vec::new();
    for (tool, names) in [("rust", &RUST_LINTS[..]), ("clippy", &CLIPPY_LINTS[..])] {
        for name in names {
            let level = level(tool, name);
            if level != "deny" && level != "forbid" {
                let what = format!("lint {tool} `{name}` is {level}, wants deny");
                findings.push(Finding::new(path, 1, what));
            }
        }
    }
    findings
}

/// Clippy guards every listed function, with a reason.
pub fn guards_the_doors(path: &str, text: &str) -> Vec<Finding> {
    if path != "clippy.toml" {
        return Vec::new();
    }
    let config: Table = text.parse().unwrap_or_default();
    let guarded = config.get("disallowed-methods").and_then(Value::as_array);
    let reason = |door: &str| {
        let entry = guarded?
            .iter()
            .find(|entry| entry.get("path").and_then(Value::as_str) == Some(door))?;
        entry.get("reason").and_then(Value::as_str)
    };
    let open = DOORS.iter().filter(|door| reason(door).is_none());
    open.map(|door| Finding::new(path, 1, format!("`{door}` wants a guard with a reason")))
        .collect()
}

/// The changelog has a section for the next release.
pub fn has_an_unreleased_part(path: &str, text: &str) -> Vec<Finding> {
    if path != "CHANGELOG.md" || text.lines().any(|line| line == "## [Unreleased]") {
        return Vec::new();
    }
    vec![Finding::new(path, 1, "wants a part `## [Unreleased]`")]
}

/// Relative links of a page lead to a file.
pub fn links_lead_somewhere(
    path: &str,
    text: &str,
    exists: &dyn Fn(&Path) -> bool,
) -> Vec<Finding> {
    if !path.ends_with(".md") {
        return Vec::new();
    }
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
            if !elsewhere && !exists(&folder.join(file)) {
                findings.push(Finding::new(path, index + 1, format!("`{file}` is not there")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lint_that_is_missing_or_weaker_is_found() {
        let lint = |name: &&str| format!("{name} = \"deny\"\n");
        let rust: String = RUST_LINTS.iter().map(lint).collect();
        let clippy: String = CLIPPY_LINTS.iter().map(lint).collect();
        let text = format!("[workspace.lints.rust]\n{rust}[workspace.lints.clippy]\n{clippy}");
        assert_eq!(denies_the_agreed_lints("Cargo.toml", &text), []);
        let weaker = text.replace("todo = \"deny\"", "todo = \"warn\"");
        assert_eq!(denies_the_agreed_lints("Cargo.toml", &weaker).len(), 1);
        assert_eq!(denies_the_agreed_lints("Cargo.toml", "").len(), 11);
    }

    #[test]
    fn a_door_without_guard_or_reason_is_found() {
        let guard = |door: &&str| format!("{{ path = \"{door}\", reason = \"r\" }},\n");
        let guards: String = DOORS.iter().map(guard).collect();
        let text = format!("disallowed-methods = [\n{guards}]\n");
        assert_eq!(guards_the_doors("clippy.toml", &text), []);
        assert_eq!(
            guards_the_doors("clippy.toml", &text.replacen(", reason = \"r\"", "", 1)).len(),
            1
        );
        assert_eq!(guards_the_doors("clippy.toml", "").len(), DOORS.len());
    }

    #[test]
    fn a_changelog_without_place_for_what_comes_next_is_found() {
        assert_eq!(has_an_unreleased_part("CHANGELOG.md", "# Changelog\n## 0.1.0\n").len(), 1);
        assert_eq!(has_an_unreleased_part("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n"), []);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let text = "a\n[b](b.md#part) and [c](../c.md)\n[d](https://d.example/x) [e](#here)\n";
        let there = |path: &Path| path == Path::new("docs/b.md");
        let found = links_lead_somewhere("docs/a.md", text, &there);
        assert_eq!(found, [Finding::new("docs/a.md", 2, "`../c.md` is not there")]);
    }
}
