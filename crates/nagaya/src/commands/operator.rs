//! `nagaya operator`: the way back in for who looks after the house.

use clap::{ArgMatches, Command};
use edge::Reach;

use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::Request;
use crate::{Error, Settings};

pub(super) const NAME: &str = "operator";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Let the operator in again")
        .subcommand_required(true)
        .subcommand(Command::new("link").about("Print a new set-up link, which works once"))
        .subcommand(Command::new("sign-out").about("Sign out every browser"))
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let settings = load()?.settings;
    let request = match matches.subcommand_name() {
        Some("link") => Request::OperatorLink {
            url: settings.operator.url_or(&usual_reach(&settings).url()),
            link_hours: settings.operator.link_hours,
        },
        Some("sign-out") => Request::SignOutOperator,
        other => unreachable!("the parser requires a known command, not {other:?}"),
    };
    control::ask(&settings, request, None, &mut Terminal::standard())
}

/// Where people find a house with these settings.
fn usual_reach(settings: &Settings) -> Reach {
    let http = &settings.http;
    Reach::new(&http.public_url, http.listen, http.tls_certificate.is_some())
}

#[cfg(test)]
mod tests {
    use super::usual_reach;
    use crate::Settings;

    #[test]
    fn a_house_with_a_certificate_is_found_by_https() {
        let mut settings = Settings::default();
        let listen = settings.http.listen;
        assert_eq!(usual_reach(&settings).url(), format!("http://{listen}"));
        settings.http.tls_certificate = Some("cert.pem".into());
        assert_eq!(usual_reach(&settings).url(), format!("https://{listen}"));
    }
}
