//! Rules about manifests: the allowed dependencies between crates, and the inherited settings.

use toml::{Table, Value};

use super::{File, Finding, crate_of};

const SERVICE_MAY_KNOW: &[&str] = &["base", "table", "dispatch", "hub", "edge", "kit"];
/// The test harness, which tests of every crate may use, and shipped code may not.
const TEST_HARNESS: &str = "testkit";
const ALL_BUT_TESTS: &[&str] = &[
    "base", "table", "dynamodb", "dispatch", "hub", "nats", "edge", "kit", "mesh", "sns", "live",
    "collect", "score", "console",
];

/// Every crate bottom-up, with the crates that it may depend on.
const TREE: [(&str, &[&str]); 18] = [
    ("base", &[]),
    ("table", &["base"]),
    ("dynamodb", &["base", "table"]),
    ("dispatch", &["base", "table"]),
    ("hub", &["base"]),
    ("nats", &["base", "hub"]),
    // Credentials and the responses of idempotent requests are in tables.
    ("edge", &["base", "table", "hub"]),
    ("testmacros", &[]),
    // A world contains everything below the rooms, and no room.
    ("testkit", &["base", "table", "dynamodb", "dispatch", "hub", "edge", "testmacros"]),
    // Pages are responses, and assets are routes.
    ("kit", &["edge"]),
    ("mesh", SERVICE_MAY_KNOW),
    ("sns", SERVICE_MAY_KNOW),
    ("live", SERVICE_MAY_KNOW),
    ("collect", SERVICE_MAY_KNOW),
    ("score", SERVICE_MAY_KNOW),
    ("console", SERVICE_MAY_KNOW),
    ("nagaya", ALL_BUT_TESTS),
    ("xtask", &["base", "table", "dispatch", "hub", "edge", "score", "sns"]),
];

/// Dependencies that are the HTTP library.
const HTTP_LIBRARY: [&str; 4] = ["axum", "hyper", "hyper-util", "tower-http"];

/// A crate depends only on crates below it, and services never on each other.
pub fn knows_only_lower_crates(path: &str, text: &str) -> Vec<Finding> {
    let Some((name, manifest)) = crate_manifest(path, text) else { return Vec::new() };
    let Some((_, allowed)) = TREE.iter().find(|(known, _)| *known == name) else {
        return vec![Finding::new(path, 1, format!("crate `{name}` is not in the house's tree"))];
    };
    let ours = |dependency: &&String| TREE.iter().any(|(known, _)| known == dependency);
    let for_tests = |dependency: &str| {
        let tested = manifest.get("dev-dependencies").and_then(|it| it.get(dependency)).is_some();
        let shipped = manifest.get("dependencies").and_then(|it| it.get(dependency)).is_some();
        dependency == TEST_HARNESS && tested && !shipped
    };
    let mut findings = Vec::new();
    for dependency in dependencies(&manifest).iter().filter(ours) {
        if !allowed.contains(&dependency.as_str()) && !for_tests(dependency) {
            let what = format!("`{name}` may not know `{dependency}`, only: {}", allowed.join(" "));
            findings.push(Finding::new(path, line_of(text, dependency), what));
        }
    }
    findings
}

/// Only `edge` depends on the HTTP library.
pub fn leaves_http_to_edge(path: &str, text: &str) -> Vec<Finding> {
    let Some((name, manifest)) = crate_manifest(path, text) else { return Vec::new() };
    let mut findings = Vec::new();
    for dependency in dependencies(&manifest) {
        if name != "edge" && HTTP_LIBRARY.contains(&dependency.as_str()) {
            let what = format!("only `edge` depends on `{dependency}`");
            findings.push(Finding::new(path, line_of(text, &dependency), what));
        }
    }
    findings
}

/// Every crate takes lints, edition, version and license from the workspace.
pub fn inherits_from_the_workspace(path: &str, text: &str) -> Vec<Finding> {
    let Some((_, manifest)) = crate_manifest(path, text) else { return Vec::new() };
    let inherits = |value: Option<&Value>| {
        value.and_then(|value| value.get("workspace")).and_then(Value::as_bool) == Some(true)
    };
    let mut findings = Vec::new();
    if !inherits(manifest.get("lints")) {
        findings.push(Finding::new(path, 1, "wants `[lints] workspace = true`"));
    }
    let package = manifest.get("package");
    for key in ["version", "edition", "rust-version", "license", "publish"] {
        if !inherits(package.and_then(|package| package.get(key))) {
            findings.push(Finding::new(path, 1, format!("wants `{key}.workspace = true`")));
        }
    }
    findings
}

/// Every dependency takes its version from the workspace, so that there is one of each.
pub fn takes_versions_from_the_workspace(path: &str, text: &str) -> Vec<Finding> {
    let Some((_, manifest)) = crate_manifest(path, text) else { return Vec::new() };
    let mut findings = Vec::new();
    for (dependency, value) in dependency_tables(&manifest).into_iter().flatten() {
        if value.get("workspace").and_then(Value::as_bool) != Some(true) {
            let what = format!("`{dependency}` wants `workspace = true`");
            findings.push(Finding::new(path, line_of(text, dependency), what));
        }
    }
    findings
}

/// Members are in the order of the tree and include every crate of it, and plain `cargo run` runs
/// the server.
pub fn lists_members_bottom_up(files: &[File]) -> Vec<Finding> {
    let path = "Cargo.toml";
    let text = files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Finding::new(path, 1, format!("cannot be read: {error}"))],
    };
    let names = |key: &str| -> Vec<String> {
        let list = manifest.get("workspace").and_then(|workspace| workspace.get(key));
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|member| Some(crate_of(member.as_str()?)?.to_owned())).collect()
    };
    let members = names("members");
    let present =
        |name: &str| files.iter().any(|file| file.path == format!("crates/{name}/Cargo.toml"));
    let wanted: Vec<&str> =
        TREE.iter().map(|(name, _)| *name).filter(|name| present(name)).collect();
    let mut findings = Vec::new();
    if members != wanted {
        let what = format!("members stand bottom-up: {}", wanted.join(" "));
        findings.push(Finding::new(path, line_of(text, "members"), what));
    }
    if present("nagaya") && names("default-members") != ["nagaya"] {
        let what = "wants `default-members = [\"crates/nagaya\"]`";
        findings.push(Finding::new(path, line_of(text, "members"), what));
    }
    findings
}

/// The crate's name and manifest, if the file is a crate's readable manifest. An unreadable one
/// fails the build long before this.
fn crate_manifest<'p>(path: &'p str, text: &str) -> Option<(&'p str, Table)> {
    let name = crate_of(path)?;
    (path == format!("crates/{name}/Cargo.toml")).then_some(())?;
    Some((name, text.parse().ok()?))
}

fn dependencies(manifest: &Table) -> Vec<String> {
    let tables = dependency_tables(manifest);
    tables.into_iter().flat_map(|table| table.keys().cloned()).collect()
}

/// Normal, dev and build dependencies, including those of single targets.
fn dependency_tables(manifest: &Table) -> Vec<&Table> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(|targets| targets.values());
    let owners = targets.filter_map(Value::as_table).chain([manifest]);
    let mut tables = Vec::new();
    for owner in owners {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            tables.extend(owner.get(kind).and_then(Value::as_table));
        }
    }
    tables
}

/// The line on which a key is set, or 1.
fn line_of(text: &str, key: &str) -> usize {
    let sets = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    text.lines().position(sets).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_tree_itself_stands_bottom_up() {
        for (index, (name, allowed)) in TREE.iter().enumerate() {
            let below: Vec<&str> = TREE[..index].iter().map(|(name, _)| *name).collect();
            assert!(allowed.iter().all(|known| below.contains(known)), "{name}");
        }
    }

    #[test]
    fn an_edge_that_points_upwards_is_found_in_every_kind_of_dependency() {
        let path = "crates/table/Cargo.toml";
        for kind in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.build-dependencies"] {
            let text = format!("[{kind}]\nbase.workspace = true\nhub.workspace = true\n");
            assert_eq!(lines(&knows_only_lower_crates(path, &text)), [3], "{kind}");
        }
    }

    #[test]
    fn a_service_that_knows_another_is_found() {
        let text = "[dependencies]\nedge.workspace = true\nmesh = { workspace = true }\n";
        assert_eq!(lines(&knows_only_lower_crates("crates/score/Cargo.toml", text)), [3]);
        assert_eq!(lines(&knows_only_lower_crates("crates/nagaya/Cargo.toml", text)), NONE);
    }

    #[test]
    fn a_crate_outside_the_tree_is_found() {
        assert_eq!(lines(&knows_only_lower_crates("crates/utils/Cargo.toml", "")), [1]);
    }

    #[test]
    fn the_http_library_is_found_outside_edge() {
        let text = "[dependencies]\naxum.workspace = true\n";
        assert_eq!(lines(&leaves_http_to_edge("crates/console/Cargo.toml", text)), [2]);
        assert_eq!(lines(&leaves_http_to_edge("crates/edge/Cargo.toml", text)), NONE);
    }

    #[test]
    fn a_crate_that_goes_its_own_way_is_found() {
        let inherited = "[package]\nversion.workspace = true\nedition.workspace = true\n\
            rust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n\
            [lints]\nworkspace = true\n";
        let path = "crates/base/Cargo.toml";
        assert_eq!(inherits_from_the_workspace(path, inherited), []);
        let own_edition = inherited.replace("edition.workspace = true", "edition = \"2021\"");
        assert_eq!(inherits_from_the_workspace(path, &own_edition).len(), 1);
        let own_lints = inherited.replace("[lints]", "[lints.rust]");
        assert_eq!(inherits_from_the_workspace(path, &own_lints).len(), 1);
    }

    #[test]
    fn a_version_of_its_own_is_found() {
        let text = "[dev-dependencies]\nbytes.workspace = true\nserde = \"1\"\n";
        let path = "crates/base/Cargo.toml";
        assert_eq!(lines(&takes_versions_from_the_workspace(path, text)), [3]);
    }

    #[test]
    fn members_out_of_order_or_missing_are_found() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let crates =
            [file("crates/base/Cargo.toml", ""), file("crates/table/Cargo.toml", "")].to_vec();
        let judge = |members: &str| {
            let root = file("Cargo.toml", &format!("[workspace]\nmembers = {members}\n"));
            lines(&lists_members_bottom_up(&[crates.clone(), vec![root]].concat()))
        };
        assert_eq!(judge("[\"crates/base\", \"crates/table\"]"), NONE);
        assert_eq!(judge("[\"crates/table\", \"crates/base\"]"), [2]);
        assert_eq!(judge("[\"crates/base\"]"), [2]);
    }
}
