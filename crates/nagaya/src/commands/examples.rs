//! What `--help` shows beneath the flags: for each command, how it is used.

use clap::Command;

/// Commands by their words, each with lines to copy.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("", &["nagaya", "nagaya serve --demo", "nagaya --http-listen :8080 --store-path data"]),
    ("serve", &["nagaya serve", "nagaya serve --demo --demo-keep demo-data"]),
    ("config", &["nagaya config check", "nagaya config print --origin"]),
    ("config check", &["nagaya config check --config /etc/nagaya/nagaya.toml"]),
    ("config print", &["nagaya config print --origin", "nagaya config print --json"]),
    ("config example", &["nagaya config example > nagaya.toml"]),
    ("table", &["nagaya table ls", "nagaya table query MeshV2Table --partition DOMAIN#local"]),
    ("table ls", &["nagaya table ls", "nagaya table ls --json"]),
    ("table describe", &["nagaya table describe mesh"]),
    ("table get", &["nagaya table get scores game=go user=ada"]),
    (
        "table query",
        &[
            "nagaya table query scores --partition go --sort-begins a",
            "nagaya table query scores --index by-score --partition go --descending --limit 3",
        ],
    ),
    ("table scan", &["nagaya table scan scores --filter 'score > 10' --limit 20"]),
    ("table put", &[r#"nagaya table put scores '{"game": "go", "user": "ada", "score": 10}'"#]),
    ("table delete", &["nagaya table delete scores game=go user=ada"]),
    (
        "table create",
        &[
            "nagaya table create scores --partition game:S --sort user:S",
            "nagaya table create seen --partition id:S --ttl until --index by-day:day:S,at:N",
        ],
    ),
    ("table drop", &["nagaya table drop scores --yes"]),
    ("table export", &["nagaya table export scores --out scores.ndjson"]),
    ("table import", &["nagaya table import scores --in scores.ndjson"]),
    ("table check", &["nagaya table check"]),
    ("tables", &["nagaya tables cloudformation > tables.json"]),
    ("tables cloudformation", &["nagaya tables cloudformation --aws-prefix school- > tables.json"]),
    ("tables terraform", &["nagaya tables terraform > tables.tf.json"]),
    ("migrate", &["nagaya migrate plan --to dynamodb", "nagaya migrate apply --to dynamodb"]),
    ("migrate plan", &["nagaya migrate plan --to dynamodb --aws-region eu-central-1"]),
    ("migrate apply", &["nagaya migrate apply --to dynamodb --aws-region eu-central-1"]),
    ("migrate verify", &["nagaya migrate verify --to dynamodb --json"]),
    (
        "backup",
        &["nagaya backup create", "nagaya backup restore --at 2026-04-01T09:30:00Z --to restored"],
    ),
    ("backup create", &["nagaya backup create --store-path /var/lib/nagaya/data"]),
    ("backup list", &["nagaya backup list", "nagaya backup list --json"]),
    (
        "backup verify",
        &[
            "nagaya backup verify 20260401T093000Z",
            "nagaya backup verify /mnt/copy/20260401T093000Z",
        ],
    ),
    (
        "backup restore",
        &[
            "nagaya backup restore --at 2026-04-01T09:30:00Z --to restored",
            "nagaya backup restore 20260401T093000Z --to restored",
        ],
    ),
    ("backup delete", &["nagaya backup delete 20260401T093000Z-0000001234"]),
    ("backup prune", &["nagaya backup prune", "nagaya backup prune --days 30 --json"]),
    ("key", &["nagaya key create robot --scope collect:operate", "nagaya key list"]),
    ("key create", &["nagaya key create robot --scope collect:operate --days 90"]),
    ("key list", &["nagaya key list --json"]),
    ("key revoke", &["nagaya key revoke robot", "nagaya key revoke robot/x7k2m9"]),
    ("operator", &["nagaya operator link", "nagaya operator sign-out"]),
    ("operator link", &["nagaya operator link --operator-url https://nagaya.example"]),
    ("operator sign-out", &["nagaya operator sign-out"]),
    ("score", &["nagaya score keys rotate", "nagaya score sign eyJnaW… 'ada|50|900|ALL'"]),
    ("score keys", &["nagaya score keys rotate"]),
    ("score keys rotate", &["nagaya score keys rotate"]),
    ("score sign", &["nagaya score sign eyJnaW… 'ada|50|900|ALL'"]),
    ("mock-api", &["nagaya mock-api --port 3000"]),
    ("doctor", &["nagaya doctor", "nagaya doctor --json"]),
    (
        "healthcheck",
        &["nagaya healthcheck", "nagaya healthcheck --http-listen 127.0.0.1:9000 --json"],
    ),
    ("tail", &["nagaya tail", "nagaya tail changes --table mesh", "nagaya tail facts"]),
    ("top", &["nagaya top", "nagaya top --once --json"]),
    ("bench", &["nagaya bench", "nagaya bench --seconds 5 --path /mnt/disk"]),
    ("openapi", &["nagaya openapi sns > sns.json"]),
    (
        "dynamodb",
        &[
            "nagaya dynamodb --memory --open",
            "nagaya dynamodb --path data --dynamodb-keys-file keys.txt",
        ],
    ),
    ("completions", &["nagaya completions bash > /etc/bash_completion.d/nagaya"]),
    ("man", &["nagaya man | man -l -", "nagaya man table query | man -l -"]),
    ("help", &["nagaya help", "nagaya help table query"]),
];

/// Where the settings are explained, for commands that do not list them.
const SETTINGS: &str = "Settings may be given as flags; `nagaya --help-all` explains each.";

/// The command with its examples and those of all below it, and `last` beneath those of the first.
pub(super) fn teach(command: Command, last: &str) -> Command {
    // The first help fits a screen, so the examples are in the long one.
    let command =
        below(command, "").after_help("`nagaya --help-all` shows examples and every setting.");
    command.after_long_help(format!("{}\n\n{last}", shown("")))
}

fn below(command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |command| {
            let help = match path.trim() == super::serve::NAME {
                true => shown(path.trim()),
                false => format!("{}\n\n{SETTINGS}", shown(path.trim())),
            };
            below(command, &path).after_help(help)
        })
    })
}

fn shown(path: &str) -> String {
    let lines = EXAMPLES.iter().find(|(of, _)| *of == path).map_or(&[][..], |(_, lines)| lines);
    let lines: Vec<String> = lines.iter().map(|line| format!("  $ {line}")).collect();
    format!("Examples:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::EXAMPLES;
    use crate::commands::{Extent, program};

    fn paths(command: &Command, path: &str, found: &mut Vec<String>) {
        found.push(path.trim().to_owned());
        for below in command.get_subcommands() {
            paths(below, &format!("{path} {}", below.get_name()), found);
        }
    }

    /// Words as a shell reads them, up to where it sends the answer elsewhere.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (number, part) in line.split('\'').enumerate() {
            match number % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words.into_iter().take_while(|word| word != ">" && word != "|").collect()
    }

    #[test]
    fn every_command_shows_how_it_is_used_and_what_it_shows_is_understood() {
        let mut found = Vec::new();
        paths(&program(Extent::All), "", &mut found);
        let taught: Vec<&str> = EXAMPLES.iter().map(|(path, _)| *path).collect();
        let untaught: Vec<_> =
            found.iter().filter(|path| !taught.contains(&path.as_str())).collect();
        assert!(untaught.is_empty(), "no example: {untaught:?}");
        for (path, lines) in EXAMPLES {
            assert!(found.iter().any(|known| known == path), "there is no command `{path}`");
            assert!(!lines.is_empty(), "{path}");
            for line in *lines {
                assert!(line.starts_with(format!("nagaya {path}").trim()), "{path}: {line}");
                let read = program(Extent::All).try_get_matches_from(words(line));
                assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
            }
        }
    }

    #[test]
    fn only_a_house_that_serves_explains_every_setting() {
        let help = |path: &[&str]| {
            let words = ["nagaya"].iter().chain(path).chain(&["--help-all"]);
            program(Extent::All).try_get_matches_from(words).unwrap_err().to_string()
        };
        for path in [&[][..], &["serve"]] {
            assert!(help(path).contains("--mesh-site"), "{path:?}");
        }
        let query = help(&["table", "query"]);
        assert!(!query.contains("--mesh-site") && query.contains("Examples:"), "{query}");
        let given = ["nagaya", "--mesh-site", "a", "table", "ls", "--http-listen", "127.0.0.1:1"];
        let read = program(Extent::All).try_get_matches_from(given).unwrap();
        let (_, table) = read.subcommand().unwrap();
        let (_, ls) = table.subcommand().unwrap();
        assert_eq!(ls.get_one::<String>("mesh.site").map(String::as_str), Some("a"));
        assert!(ls.get_one::<String>("http.listen").is_some(), "it is still understood");
    }
}
