//! `nagaya healthcheck`: whether the house on this machine takes requests, for supervisors.

use clap::{ArgMatches, Command};
use serde_json::json;

use super::{as_json, is_json, print};
use crate::Error;
use crate::config::Config;
use crate::visit::Visit;

pub(super) const NAME: &str = "healthcheck";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Say whether the house here takes requests; ends with 1 if not")
        .arg(as_json())
}

pub(super) fn run(matches: &ArgMatches, config: &Config) -> Result<(), Error> {
    let asked = match Visit::of(config).get("/readyz") {
        Ok(answer) if answer.status == 200 => Ok(answer.body),
        Ok(answer) => Err(Error::NotReady(reason(&answer.body))),
        Err(error) => Err(error),
    };
    if is_json(matches) {
        let reason = asked.as_ref().err().map(ToString::to_string);
        print(&format!("{}\n", json!({ "ready": asked.is_ok(), "reason": reason })))?;
        return asked.map(drop);
    }
    print(&asked?)
}

/// What the house says about itself, without the form in which it is said.
fn reason(body: &str) -> String {
    let problem: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let detail = problem.as_ref().and_then(|problem| problem.get("detail")?.as_str());
    detail.unwrap_or(body.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_is_the_problems_detail() {
        assert_eq!(
            reason(r#"{"status":503,"detail":"writing has stopped"}"#),
            "writing has stopped"
        );
        assert_eq!(reason("red\n"), "red");
    }
}
