//! `nagaya operator`: the way back in for who looks after the house.

use clap::{ArgMatches, Command};

use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::Request;
use crate::{Error, Settings};

pub(super) const NAME: &str = "operator";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Let the operator in again; the house may be open or not")
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
            url: settings.operator.url_or(&usual_url(&settings)),
            link_hours: settings.operator.link_hours,
        },
        Some("sign-out") => Request::SignOutOperator,
        other => unreachable!("the parser requires a known command, not {other:?}"),
    };
    control::ask(&settings, request, None, &mut Terminal::standard())
}

/// Where a house with these settings is found, unless they say so.
fn usual_url(settings: &Settings) -> String {
    let scheme = if settings.http.tls_certificate.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", settings.http.listen)
}

#[cfg(test)]
mod tests {
    use super::usual_url;
    use crate::Settings;

    #[test]
    fn a_house_with_a_certificate_is_found_by_https() {
        let mut settings = Settings::default();
        assert_eq!(usual_url(&settings), format!("http://{}", settings.http.listen));
        settings.http.tls_certificate = Some("cert.pem".into());
        assert_eq!(usual_url(&settings), format!("https://{}", settings.http.listen));
    }
}
