//! `cargo xtask test`: what CI runs, step by step.
//!
//! A failed step does not stop the ones after it: one run tells everything. The closing line
//! counts tests, and every other step as one.

use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::Duration;

use crate::run;
use crate::tools;

/// The advisory database comes over the network, which may be closed: this long is waited.
const ADVISORIES_FETCH_LIMIT: Duration = Duration::from_secs(60);

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<Tally, String>,
}

const STEPS: [Step; 6] = [
    Step { name: "tools", what: "install what is missing", run: install_tools },
    Step { name: "fmt", what: "the code is formatted", run: check_format },
    Step { name: "clippy", what: "no lint speaks", run: run_clippy },
    Step { name: "deny", what: "licences, bans, sources, advisories", run: run_deny },
    Step { name: "test", what: "all tests", run: run_tests },
    Step { name: "doc", what: "doc tests, and documentation without warnings", run: run_doc },
];

/// The whole tree with its benches, in every step alike: another selection of features would build
/// all dependencies once more.
const EVERYTHING: [&str; 3] = ["--workspace", "--features", "xtask/bench"];

/// The stories of the five rooms, which know nothing of the store below them.
const STORIES: &str = "((package(mesh) + package(sns) + package(live) + package(collect) + \
     package(score)) & test(/^tests::/)) + (package(mesh) & test(/^api::tests::/))";

/// What passed and what failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// A step that was run.
struct Done {
    name: &'static str,
    tally: Tally,
    took: Duration,
}

/// Runs every step.
pub(crate) fn run_all() -> ExitCode {
    close(&STEPS.iter().map(run_step).collect::<Vec<Done>>())
}

/// Runs the step of that name.
pub(crate) fn run_one(name: &str) -> ExitCode {
    match STEPS.iter().find(|step| step.name == name) {
        Some(step) => close(&[run_step(step)]),
        None => {
            let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            eprintln!("there is no step `{name}`; the steps are {}", names.join(", "));
            ExitCode::from(2)
        }
    }
}

fn run_step(step: &Step) -> Done {
    println!("== {}: {}", step.name, step.what);
    let start = run::now();
    let tally = (step.run)().unwrap_or_else(|error| {
        eprintln!("{error}");
        Tally { passed: 0, failed: 1 }
    });
    let done = Done { name: step.name, tally, took: start.elapsed() };
    println!("-- {} {} in {:.1} s\n", done.name, done.word(), done.took.as_secs_f64());
    done
}

/// Prints the summary, and the closing line that says it all.
fn close(steps: &[Done]) -> ExitCode {
    let mut sum = Tally::default();
    let mut took = Duration::ZERO;
    for step in steps {
        println!("{:<8} {:>8.1} s  {}", step.name, step.took.as_secs_f64(), step.word());
        sum = sum.and(step.tally);
        took += step.took;
    }
    println!("{:<8} {:>8.1} s", "total", took.as_secs_f64());
    println!("{} passed, {} failed", sum.passed, sum.failed);
    if sum.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Done {
    fn word(&self) -> &'static str {
        if self.tally.failed == 0 { "passed" } else { "FAILED" }
    }
}

impl Tally {
    /// A step that is one check.
    fn one(passed: bool) -> Tally {
        Tally { passed: u64::from(passed), failed: u64::from(!passed) }
    }

    fn and(self, other: Tally) -> Tally {
        Tally { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }

    /// Reads the summary line of nextest or of cargo's own runner.
    fn of_line(line: &str) -> Option<Tally> {
        if !line.contains("Summary [") && !line.starts_with("test result:") {
            return None;
        }
        let mut tally = Tally::default();
        for part in line.split([',', ';', ':', '.']) {
            let mut words = part.split_whitespace();
            let (Some(count), Some(word)) = (words.next(), words.next()) else { continue };
            let Ok(count) = count.parse::<u64>() else { continue };
            match word {
                "passed" => tally.passed += count,
                // Nextest counts "timed out" and "exec failed" beside "failed".
                "failed" | "timed" | "exec" => tally.failed += count,
                _ => {}
            }
        }
        Some(tally)
    }
}

fn install_tools() -> Result<Tally, String> {
    tools::install_missing().map(|()| Tally::one(true))
}

fn check_format() -> Result<Tally, String> {
    cargo(&["fmt", "--all", "--check"])
}

fn run_clippy() -> Result<Tally, String> {
    let lint = ["--all-targets", "--", "-D", "warnings"];
    cargo(&[&["clippy", "--quiet"], &EVERYTHING[..], &lint].concat())
}

fn run_deny() -> Result<Tally, String> {
    let deny = ["deny", "--offline", "--all-features", "--log-level", "error", "check"];
    // The whole tree is judged, with what only other systems need and no build has fetched yet.
    let fetched = cargo(&["fetch", "--quiet"])?;
    let judged = cargo(&[&deny[..], &["bans", "licenses", "sources"]].concat())?;
    let local = fetched.and(judged);
    let mut fetch = run::cargo(&["deny", "--log-level", "off", "fetch", "db"]);
    if run::status_within(&mut fetch, ADVISORIES_FETCH_LIMIT)? {
        Ok(local.and(cargo(&[&deny[..], &["advisories"]].concat())?))
    } else {
        println!("advisories NOT checked: their database cannot be fetched from here");
        Ok(local)
    }
}

fn run_tests() -> Result<Tally, String> {
    if !tools::has("cargo-nextest") {
        println!("cargo-nextest is missing: cargo's own runner does it");
        println!("the rooms' stories are NOT told on DynamoDB: only nextest can choose them");
        return counted(&mut run::cargo(
            &[&["test", "--no-fail-fast", "--all-targets"], &EVERYTHING[..]].concat(),
        ));
    }
    let nextest = [&["nextest", "run"], &EVERYTHING[..]].concat();
    let all = counted(&mut run::cargo(&nextest))?;
    println!("-- the rooms' stories once more, on DynamoDB's client in front of the door");
    let mut stories = run::cargo(&[&nextest[..], &["-E", STORIES]].concat());
    stories.env("NAGAYA_TEST_STORE", "dynamodb");
    Ok(all.and(counted(&mut stories)?))
}

fn run_doc() -> Result<Tally, String> {
    let tests = [&["test", "--quiet", "--doc"], &EVERYTHING[..]].concat();
    let tests = counted(&mut run::cargo(&tests))?;
    let doc = [&["doc", "--quiet", "--no-deps", "--keep-going"], &EVERYTHING[..]].concat();
    let mut doc = run::cargo(&doc);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    Ok(tests.and(Tally::one(run::status(&mut doc)?)))
}

fn cargo(arguments: &[&str]) -> Result<Tally, String> {
    run::status(&mut run::cargo(arguments)).map(Tally::one)
}

/// Runs tests and counts them. A run that fails without a failed test (it did not compile, say)
/// counts as one.
fn counted(command: &mut Command) -> Result<Tally, String> {
    let sum = Mutex::new(Tally::default());
    let succeeded = run::status_watched(command, &|line| {
        if let (Some(tally), Ok(mut sum)) = (Tally::of_line(line), sum.lock()) {
            *sum = sum.and(tally);
        }
    })?;
    let mut tally = sum.into_inner().unwrap_or_default();
    if !succeeded && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_both_runners_are_counted() {
        let cases = [
            ("     Summary [   0.045s] 12 tests run: 11 passed, 1 failed, 2 skipped", (11, 1)),
            ("     Summary [  61.2s] 1 test run: 1 passed (1 slow), 0 skipped", (1, 0)),
            ("     Summary [ 1.0s] 4 tests run: 1 passed, 2 timed out, 1 exec failed", (1, 3)),
            ("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out", (3, 0)),
            ("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured", (3, 2)),
        ];
        for (line, (passed, failed)) in cases {
            assert_eq!(Tally::of_line(line), Some(Tally { passed, failed }), "{line}");
        }
    }

    #[test]
    fn a_line_that_only_speaks_of_tests_is_not_counted() {
        assert_eq!(Tally::of_line("thread 'x' panicked: 3 passed, 4 failed"), None);
    }
}
