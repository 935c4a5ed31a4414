//! `nagaya doctor`: looks at the machine before a house does, and says what is in its way.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use base::{Clock, Timestamp, hide_passwords};
use clap::{Arg, ArgAction, ArgMatches, Command};
use edge::Certificate;
use nats::Nats;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use table::{Backend, Embedded};

use super::print;
use crate::config::{Config, Invalid};
use crate::store::Store;
use crate::visit::Visit;
use crate::{Error, House, Settings, port};

pub(super) const NAME: &str = "doctor";

const JSON: &str = "json";

/// Files that are open beside connections: the store's, those of calls to others, the terminal's.
const FILES_MIN: u64 = 256;

/// A store with less than this has no room for a settling round and its copy.
const DISK_BYTES_MIN: u64 = 1 << 30;

/// A clock before this is not set: tokens, leases and expiry would all be wrong.
const CLOCK_MIN_MS: u64 = 1_735_689_600_000;

/// Whatever renews certificates does it earlier than this before their end.
const CERTIFICATE_LEFT_MIN: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub(super) fn command() -> Command {
    let json = Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help("Print JSON");
    Command::new(NAME)
        .about("Look at settings, port, disk, clock, limits and certificate")
        .arg(json)
}

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    what: &'static str,
    good: bool,
    said: String,
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let config = match load() {
        Ok(config) => config,
        Err(invalid) => {
            // Nothing else can be looked at without them.
            tell(matches, &[told("settings", Err(&invalid))])?;
            return Err(invalid.into());
        }
    };
    let (settings, now) = (&config.settings, Clock::real().now());
    let findings = [
        told("settings", House::check(settings).map(|()| "all settings are good".to_owned())),
        port(&config),
        store(settings),
        disk(&settings.store.path),
        clock(now),
        files(getrlimit(Resource::Nofile).maximum, connections_max(settings)),
        certificate(settings, now),
        told("hub", Nats::visit(&settings.hub)),
    ];
    tell(matches, &findings)?;
    let bad: Vec<&str> = findings.iter().filter(|f| !f.good).map(|f| f.what).collect();
    if bad.is_empty() {
        Ok(())
    } else {
        Err(Error::NotReady(format!("not well: {}", bad.join(", "))))
    }
}

fn tell(matches: &ArgMatches, findings: &[Finding]) -> Result<(), Error> {
    let text = match matches.get_flag(JSON) {
        true => format!("{}\n", serde_json::to_string(findings).expect("texts are JSON")),
        false => findings.iter().map(line).collect(),
    };
    print(&hide_passwords(&text))
}

fn line(finding: &Finding) -> String {
    let sign = if finding.good { "ok " } else { "BAD" };
    format!("{sign}  {:<12}{}\n", finding.what, finding.said)
}

fn told<E: std::fmt::Display>(what: &'static str, said: Result<String, E>) -> Finding {
    match said {
        Ok(said) => Finding { what, good: true, said },
        Err(error) => Finding { what, good: false, said: error.to_string() },
    }
}

/// The house of the directory is open, or the port is free, or another house of ours has it.
fn port(config: &Config) -> Finding {
    let (listen, visit) = (config.settings.http.listen, Visit::of(config));
    let is_house = || visit.get("/version").is_ok_and(|said| said.body.contains("\"nagaya\""));
    let open = || format!("a house is open on {}", visit.address());
    if visit.is_found && is_house() {
        return told::<Error>("port", Ok(open()));
    }
    let said = match TcpListener::bind(listen) {
        Ok(_) => Ok(format!("{listen} is free")),
        Err(_) if is_house() => Ok(open()),
        Err(cause) => {
            let refused = edge::Error::Listen { address: listen, cause };
            Err(port::explain("http.listen", refused))
        }
    };
    told("port", said)
}

fn store(settings: &Settings) -> Finding {
    let path = &settings.store.path;
    let said = match settings.store.backend {
        Backend::DynamoDb => Store::place(settings),
        Backend::Embedded if Embedded::is_at(path) => {
            format!("a house lies in {}", path.display())
        }
        Backend::Embedded => format!("{} will be made by the first start", path.display()),
    };
    told::<Error>("store", Ok(said))
}

/// The room on the disk of the store, or of the folder that it will lie in, and its pace.
fn disk(path: &Path) -> Finding {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let tried = table::examine(&path, &Clock::real()).map_err(|cause| format!("{cause}"));
    told(
        "disk",
        tried.and_then(|ground| {
            let (free, sync) = (ground.free_bytes, ground.sync.as_secs_f64() * 1_000.0);
            let said = format!("{} MiB are free, a sync takes {sync:.1} ms", free >> 20);
            if free >= DISK_BYTES_MIN {
                Ok(said)
            } else {
                Err(format!("{said}, {} MiB are wanted", DISK_BYTES_MIN >> 20))
            }
        }),
    )
}

fn clock(now: Timestamp) -> Finding {
    let is_set = now.millis() >= CLOCK_MIN_MS;
    told("clock", if is_set { Ok(now.to_string()) } else { Err(format!("{now}: it is not set")) })
}

/// Connections that a house with these settings takes: on each of its listeners so many.
pub(super) fn connections_max(settings: &Settings) -> u64 {
    let listeners = 1 + u64::from(settings.dynamodb.listen.0.is_some());
    (settings.http.connections_max as u64).saturating_mul(listeners)
}

fn files(maximum: Option<u64>, connections: u64) -> Finding {
    told("limits", compare_files(maximum, connections))
}

/// Every connection is an open file, beside those of the store and of what the house calls.
///
/// # Errors
/// There are fewer than that.
pub(super) fn compare_files(maximum: Option<u64>, connections: u64) -> Result<String, String> {
    let wanted = FILES_MIN.saturating_add(connections);
    match maximum {
        Some(files) if files < wanted => Err(format!(
            "at most {files} open files, {wanted} are wanted for the {connections} connections of \
             `http.connections_max`"
        )),
        Some(files) => {
            Ok(format!("at most {files} open files, enough for {connections} connections"))
        }
        None => Ok("any number of open files".to_owned()),
    }
}

fn certificate(settings: &Settings, now: Timestamp) -> Finding {
    let said = match Certificate::find(&settings.http) {
        Err(error) => Err(error.to_string()),
        Ok(None) => Ok("plain HTTP, no certificate is set".to_owned()),
        Ok(Some(Certificate { names, begins, ends })) => {
            let said = format!("for {}, from {begins} until {ends}", names.join(", "));
            let is_good = begins <= now && now < ends && ends.since(now) >= CERTIFICATE_LEFT_MIN;
            if is_good { Ok(said) } else { Err(said) }
        }
    };
    told("certificate", said)
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{clock, files, line};

    #[test]
    fn a_clock_that_is_not_set_and_few_files_are_bad() {
        assert!(!clock(Timestamp::EPOCH).good);
        assert!(clock(Timestamp::from_millis(1_800_000_000_000)).good);
        assert!(!files(Some(1_255), 1_000).good);
        assert!(files(Some(1_256), 1_000).good && files(None, 1_000).good);
        let told = "ok   limits      at most 9999 open files, enough for 500 connections\n";
        assert_eq!(line(&files(Some(9_999), 500)), told);
    }
}
