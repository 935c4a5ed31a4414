//! `nagaya key`: API keys for programs, in a house that is open or not.

use std::time::Duration;

use base::{Clock, Timestamp};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use edge::SCOPES;

use super::{as_json, is_json};
use crate::Error;
use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::Request;

pub(super) const NAME: &str = "key";

const KEY: &str = "key";
const SCOPE: &str = "scope";
const EXPIRES: &str = "expires";
const DAYS: &str = "days";

pub(super) fn command() -> Command {
    let key = |name: &'static str, help: &'static str| {
        Arg::new(KEY).value_name(name).required(true).help(help)
    };
    let create = Command::new("create")
        .about("Make a key, or a second secret of one, and print it; it is not shown again")
        .arg(key("NAME", "The key's name: letters, digits and hyphens"))
        .arg(
            Arg::new(SCOPE)
                .long(SCOPE)
                .value_name("SCOPE")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help(format!("What it may do; several times for several: {}", SCOPES.join(", "))),
        )
        .arg(
            Arg::new(EXPIRES)
                .long(EXPIRES)
                .value_name("TIME")
                .value_parser(|text: &str| text.parse::<Timestamp>())
                .help("When it ends, such as 2027-04-01T00:00:00Z [default: never]"),
        )
        .arg(
            Arg::new(DAYS)
                .long(DAYS)
                .value_name("DAYS")
                .value_parser(value_parser!(u64).range(1..=36_500))
                .conflicts_with(EXPIRES)
                .help("In how many days it ends"),
        );
    let revoke = Command::new("revoke")
        .about("Take a key away, or one secret of it")
        .arg(key("KEY", "The key's name, or name/id for one secret"));
    Command::new(NAME)
        .about("Make, list and revoke API keys")
        .subcommand_required(true)
        .subcommand(create)
        .subcommand(
            Command::new("list").about("List the keys and their secrets' ids").arg(as_json()),
        )
        .subcommand(revoke)
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let (name, matches) = matches.subcommand().expect("the parser requires a command");
    let key = || matches.get_one::<String>(KEY).cloned().expect("the parser requires it");
    let request = match name {
        "create" => Request::CreateKey {
            name: key(),
            scopes: matches.get_many::<String>(SCOPE).into_iter().flatten().cloned().collect(),
            expires_ms: expires(matches).map(Timestamp::millis),
        },
        "list" => Request::ListKeys { json: is_json(matches) },
        "revoke" => match key().split_once('/') {
            Some((name, id)) => {
                Request::RevokeKey { name: name.to_owned(), id: Some(id.to_owned()) }
            }
            None => Request::RevokeKey { name: key(), id: None },
        },
        other => unreachable!("the parser knows no command `{other}`"),
    };
    control::ask(&load()?.settings, request, None, &mut Terminal::standard())
}

fn expires(matches: &ArgMatches) -> Option<Timestamp> {
    let in_days = || {
        let days = Duration::from_secs(matches.get_one::<u64>(DAYS)? * 24 * 60 * 60);
        Clock::real().now().checked_add(days)
    };
    matches.get_one::<Timestamp>(EXPIRES).copied().or_else(in_days)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use edge::SCOPES;

    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => files(&path, found),
                false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
                false => {}
            }
        }
    }

    #[test]
    fn the_scopes_that_can_be_given_are_those_that_rooms_ask_for() {
        let mut asked = BTreeSet::new();
        for room in ["mesh", "sns", "live", "collect", "score"] {
            let mut found = Vec::new();
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(room).join("src");
            files(&folder, &mut found);
            for file in found {
                let text = fs::read_to_string(file).unwrap();
                let scopes = text.split("SCOPE: &str = \"").skip(1);
                asked.extend(scopes.map(|rest| rest.split('"').next().unwrap().to_owned()));
            }
        }
        assert!(asked.len() >= 4, "{asked:?}");
        for scope in &asked {
            assert!(SCOPES.contains(&scope.as_str()), "a key cannot have the scope `{scope}`");
        }
        // What covers several is given too.
        let covers = |scope: &&str| asked.iter().any(|asked| asked.starts_with(*scope));
        assert!(SCOPES.iter().all(covers), "a room asks for each: {asked:?}");
    }
}
