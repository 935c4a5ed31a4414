//! What the help shows: commands and the settings that people change, on one screen. `--help-all`
//! shows the rest.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Extent, print, program};
use crate::Error;

pub(super) const NAME: &str = "help";

const OF: &str = "command";
const HELP: &str = "help";
const ALL: &str = "help-all";

/// The settings that people change, each with the short line of the help.
const COMMON: [(&str, &str); 20] = [
    ("http.listen", "Where to listen; `:8080` is the network"),
    ("http.public_url", "Where people find the house"),
    ("http.tls_certificate", "Certificate in PEM"),
    ("http.tls_key", "Its private key in PEM"),
    ("http.trusted_proxies", "Proxies in front of the house"),
    ("http.cors_origins", "Origins whose pages may call"),
    ("operator.password_file", "First password, unattended"),
    ("mesh.api_key", "Key of the mesh's clients"),
    ("live.retention_days", "Days that rooms are kept"),
    ("collect.sources_file", "Sources, as JSON"),
    ("collect.private_networks", "Where sources may also be"),
    ("score.games_file", "Games, as JSON"),
    ("sns.registration", "Who may register"),
    ("dynamodb.listen", "Address of a DynamoDB endpoint"),
    ("store.path", "Directory of the data"),
    ("store.backend", "`embedded` or `dynamodb`"),
    ("store.backup_days", "Days that backups are kept"),
    ("log.level", "`warn`, `info`, `debug` and others"),
    ("log.format", "`text` or `json`"),
    ("otlp.endpoint", "Collector of traces"),
];

/// The short line of a setting that people change.
pub(super) fn find_short(key: &str) -> Option<&'static str> {
    COMMON.iter().find(|(common, _)| *common == key).map(|(_, line)| *line)
}

/// The flags that ask for help, for every command.
pub(super) fn flags() -> [Arg; 2] {
    let flag = |name: &'static str| Arg::new(name).long(name).global(true);
    [
        flag(HELP).short('h').action(ArgAction::HelpShort).help("Print help"),
        flag(ALL).action(ArgAction::HelpLong).help("Print help with every setting"),
    ]
}

/// The second of them where it would show no more than the first.
pub(super) fn hidden_flag() -> Arg {
    let [_, all] = flags();
    all.hide(true)
}

pub(super) fn command() -> Command {
    let of = Arg::new(OF)
        .value_name("COMMAND")
        .action(ArgAction::Append)
        .num_args(0..)
        .help("The help of this command, such as `table query`");
    Command::new(NAME).about("Print the help of a command").arg(of)
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), Error> {
    let words: Vec<&String> = matches.get_many::<String>(OF).into_iter().flatten().collect();
    let mut text = String::new();
    let written = write!(text, "{}", find(&words, Extent::All)?.render_help());
    written.expect("a text takes what is written to it");
    print(&text)
}

/// The command of these words.
///
/// # Errors
/// There is none.
pub(super) fn find(words: &[&String], extent: Extent) -> Result<Command, Error> {
    let mut all = program(extent);
    all.build();
    let found = words.iter().try_fold(&all, |command, word| command.find_subcommand(word));
    found.cloned().ok_or_else(|| {
        let said: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
        Error::Usage(format!("there is no command `{}`", said.join(" ")))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::COMMON;
    use crate::Settings;
    use crate::commands::{Extent, program};
    use crate::config::names;

    /// Rows of a terminal window that somebody has made large, and columns of any.
    const ROWS: usize = 60;
    const COLUMNS: usize = 80;

    fn help(words: &[&str]) -> String {
        let program = program(Extent::All).term_width(COLUMNS);
        let words = ["nagaya"].iter().chain(words);
        program.try_get_matches_from(words).unwrap_err().to_string()
    }

    #[test]
    fn the_help_fits_a_screen_and_shows_what_people_change() {
        for asked in [&["--help"][..], &["-h"]] {
            let shown = help(asked);
            assert!(shown.lines().count() <= ROWS, "{} rows:\n{shown}", shown.lines().count());
            for (key, line) in COMMON {
                let flag = names::flag(key);
                let row = shown.lines().find(|row| row.trim_start().starts_with(&flag));
                let row = row.unwrap_or_else(|| panic!("no {flag}:\n{shown}"));
                assert!(row.ends_with(line), "{row}");
            }
            assert!(!shown.contains("--http-drain-seconds"), "{shown}");
        }
        let all = help(&["--help-all"]);
        let mut settings = Settings::default();
        for setting in settings.all() {
            assert!(all.contains(&names::flag(setting.key)), "{}", setting.key);
        }
        assert!(all.contains("[env: NAGAYA_HTTP_DRAIN_SECONDS]") && all.contains("Exit codes:"));
    }

    #[test]
    fn what_people_change_are_settings_each_once() {
        let mut settings = Settings::default();
        let known: BTreeSet<&str> = settings.all().iter().map(|setting| setting.key).collect();
        let common: BTreeSet<&str> = COMMON.iter().map(|(key, _)| *key).collect();
        assert!(common.is_subset(&known) && common.len() == COMMON.len());
    }
}
