//! `docs/tour.md`, run line by line: what it shows is what a newcomer sees.

use std::process::Command;
use std::time::Duration;

use base::Clock;

use testkit::Served;
use testkit::program::run;

const TOUR: &str = include_str!("../../../../docs/tour.md");

/// What the page promises.
const FIVE_MINUTES: Duration = Duration::from_secs(5 * 60);

/// Stands between the answers of two commands.
const BETWEEN: &str = "----8<----";

/// Commands and what they answer, in the order of the page.
fn steps() -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut is_inside = false;
    for line in TOUR.lines() {
        match line.strip_prefix("$ ").filter(|_| is_inside) {
            _ if line.starts_with("```") => is_inside = line == "```console",
            Some(command) => steps.push((command.to_owned(), String::new())),
            None if is_inside => {
                let (_, answer) = steps.last_mut().expect("an answer follows a command");
                answer.push_str(line);
            }
            None => {}
        }
    }
    steps
}

/// Whether a text is what was shown, in which `…` stands for anything.
fn is_like(shown: &str, text: &str) -> bool {
    let Some((first, others)) = shown.split_once('…') else { return shown == text };
    let (middle, last) = others.rsplit_once('…').unwrap_or(("", others));
    let inside = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    let Some(mut rest) = inside else { return false };
    middle.split('…').all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[test]
fn what_is_shown_may_leave_out_what_differs() {
    assert!(is_like("ready", "ready") && !is_like("ready", "not ready"));
    assert!(is_like("{…\"a\":1…}", "{\"x\":0,\"a\":1,\"b\":2}"));
    assert!(!is_like("{…\"a\":1…}", "{\"a\":2}"));
    assert!(is_like("…", "anything") && is_like("…", ""));
    assert!(!is_like("{}", "{}x"));
}

/// The flags with which the page starts the house.
fn flags() -> Vec<&'static str> {
    let line = TOUR.lines().find_map(|line| line.strip_prefix("cargo run --release -- "));
    line.expect("the page starts a house").split(' ').collect()
}

#[test]
fn a_newcomer_succeeds_in_every_room_within_five_minutes() {
    let (clock, program) = (Clock::real(), testkit::program!());
    let begun = clock.instant();
    let mut command = program.command();
    command.env("NAGAYA_LOG_LEVEL", "warn,access=off").args(flags());
    let house = Served::open(&mut command);
    let steps = steps();
    assert!(steps.len() > 20, "{} steps", steps.len());
    let script: String = steps
        .iter()
        .map(|(command, _)| {
            let command =
                command.replace("http://127.0.0.1:8080", &format!("http://{}", house.address));
            let command = command.replace("da2-…", house.mesh_key());
            format!("{command} || echo \"FAILED $?\"\necho '{BETWEEN}'\n")
        })
        .collect();
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_nagaya")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
    let mut shell = Command::new("bash");
    shell.env_clear().env("PATH", path).env("NAGAYA_HTTP_LISTEN", &house.address);
    let (_, out, errors) = run(shell.current_dir(program.directory()).arg("-c").arg(&script));
    let answers: Vec<&str> = out.split(&format!("{BETWEEN}\n")).collect();
    for ((command, shown), answer) in steps.iter().zip(answers) {
        let answer = answer.trim_end();
        assert!(is_like(shown, answer), "$ {command}\n{answer}\nis not\n{shown}\n{errors}");
        assert!(!answer.contains("FAILED"), "$ {command}\n{answer}\n{errors}");
    }
    let took = clock.instant().since(begun);
    println!("the tour took {took:?}, without building the house");
    assert!(took < FIVE_MINUTES, "the tour took {took:?}");
}
