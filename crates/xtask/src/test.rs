//! `cargo xtask test`: the steps of CI.
//!
//! A failed step does not stop the later ones, so that one run reports everything; only a failed
//! build does, because the rest would fail with the same error. The final lines show the duration
//! of each step and the number of tests; every other step counts as one.
//!
//! Everything is compiled once. Clippy is the compiler of the workspace (`lint_while_compiling`),
//! so that linting needs no pass of its own, and tools are installed while the build runs.

use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::browser::Browser;
use crate::run;
use crate::tools;

/// The advisory database comes over the network, which may be closed: the longest wait for it.
const ADVISORIES_FETCH_LIMIT: Duration = Duration::from_secs(60);

/// The parameters of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Whether tests run with full repetition and breadth, or once.
    pub(crate) is_deep: bool,
    /// The seed of all randomness.
    pub(crate) seed: u64,
}

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(Plan) -> Result<Tally, String>,
    /// Whether only a deep run has it.
    is_deep: bool,
}

const COMPILER: Step = Step::new("compiler", "rustfmt and clippy are there", install_components);
const TOOLS: Step = Step::new("tools", "install what is missing", install_tools);
const FORMAT: Step = Step::new("fmt", "the code is formatted", check_format);
const BUILD: Step = Step::new("build", "compile everything, with clippy's lints", build);

/// The steps after the tools are installed and everything is built.
const STEPS: [Step; 4] = [
    Step::new("test", "all tests", run_tests),
    Step::new("dynamodb", "stories of the rooms again, on DynamoDB", run_on_dynamodb),
    Step::new("doctest", "examples in the documentation", run_doc_tests),
    Step {
        is_deep: true,
        ..Step::new("bench", "benches compile, and their parts work", check_benches)
    },
];

/// The steps that run beside [`STEPS`]: tests wait for clocks, disks and browsers, and leave half a
/// core idle. `deny` needs no lock of cargo's, so the tests get theirs before `doc` asks for it.
const STEPS_BESIDE: [Step; 2] = [
    Step::new("deny", "licences, bans, sources, advisories", run_deny),
    Step::new("doc", "documentation without warnings", run_doc),
];

/// The stories of the five rooms, which do not depend on the store.
const STORIES: &str = "((package(mesh) + package(sns) + package(live) + package(collect) + \
     package(score)) & test(/^tests::/)) + (package(mesh) & test(/^api::tests::/))";

/// The stories that a usual run also runs on DynamoDB: for each room its main verbs, its races, and
/// several instances. The others only repeat the same operations of the store.
const MAIN_STORIES: &str = "(package(mesh) & test(/^tests::(instances|rules)::/)) \
     + (package(sns) & test(/^tests::(instances|posts|social|timelines)::/)) \
     + (package(live) & test(/^tests::(instances|order|rest)::/)) \
     + (package(collect) & test(/^tests::(instances|asks|downtime)::/)) \
     + (package(score) & test(/^tests::(instances|plays|races)::/))";

/// The numbers of passed and failed tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// A finished step.
struct StepResult {
    name: &'static str,
    tally: Tally,
    took: Duration,
}

/// Runs every step.
pub(crate) fn run_all(plan: Plan) -> ExitCode {
    println!("seed {} (`cargo xtask test --seed {}` repeats this run)\n", plan.seed, plan.seed);
    let begun = run::now();
    let mut done = vec![run_step(&COMPILER, plan), run_step(&FORMAT, plan)];
    // Installing waits for the network, building for the processor.
    thread::scope(|scope| {
        let tools = scope.spawn(|| run_step(&TOOLS, plan));
        done.push(run_step(&BUILD, plan));
        done.push(tools.join().expect("a step answers its failure"));
    });
    let is_built = done.iter().all(|done| done.name != BUILD.name || done.tally.failed == 0);
    if is_built {
        thread::scope(|scope| {
            let beside = scope.spawn(|| STEPS_BESIDE.map(|step| run_step(&step, plan)));
            let steps = STEPS.iter().filter(|step| plan.is_deep || !step.is_deep);
            done.extend(steps.map(|step| run_step(step, plan)));
            done.extend(beside.join().expect("a step answers its failure"));
        });
    } else {
        let names: Vec<&str> = STEPS_BESIDE.iter().chain(&STEPS).map(|step| step.name).collect();
        eprintln!("NOT run, because the build failed: {}", names.join(", "));
    }
    close(&done, begun.elapsed(), plan)
}

/// Runs one step by name.
pub(crate) fn run_one(name: &str, plan: Plan) -> ExitCode {
    let first = [&COMPILER, &TOOLS, &FORMAT, &BUILD];
    let all = || first.into_iter().chain(&STEPS_BESIDE).chain(&STEPS);
    match all().find(|step| step.name == name) {
        Some(step) => {
            let done = run_step(step, plan);
            let took = done.took;
            close(&[done], took, plan)
        }
        None => {
            let names: Vec<&str> = all().map(|step| step.name).collect();
            eprintln!("no step named `{name}`; the steps are {}", names.join(", "));
            ExitCode::from(2)
        }
    }
}

fn run_step(step: &Step, plan: Plan) -> StepResult {
    println!("== {}: {}", step.name, step.what);
    let start = run::now();
    let tally = (step.run)(plan).unwrap_or_else(|error| {
        eprintln!("{error}");
        Tally { passed: 0, failed: 1 }
    });
    let done = StepResult { name: step.name, tally, took: start.elapsed() };
    println!("-- {} {} in {:.1} s\n", done.name, done.word(), done.took.as_secs_f64());
    done
}

/// Prints the summary, and a final line with the result.
fn close(steps: &[StepResult], took: Duration, plan: Plan) -> ExitCode {
    let mut sum = Tally::default();
    for step in steps {
        println!("{:<8} {:>8.1} s  {}", step.name, step.took.as_secs_f64(), step.word());
        sum = sum.and(step.tally);
    }
    println!("{:<8} {:>8.1} s  (seed {})", "total", took.as_secs_f64(), plan.seed);
    println!("{} passed, {} failed", sum.passed, sum.failed);
    if sum.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Step {
    const fn new(
        name: &'static str,
        what: &'static str,
        run: fn(Plan) -> Result<Tally, String>,
    ) -> Step {
        Step { name, what, run, is_deep: false }
    }
}

impl StepResult {
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
                // Nextest counts "timed out" and "exec failed" separately from "failed".
                "failed" | "timed" | "exec" => tally.failed += count,
                _ => {}
            }
        }
        Some(tally)
    }
}

fn install_components(_: Plan) -> Result<Tally, String> {
    tools::install_components().map(|()| Tally::one(true))
}

fn install_tools(_: Plan) -> Result<Tally, String> {
    tools::install_missing().map(|()| Tally::one(true))
}

fn check_format(_: Plan) -> Result<Tally, String> {
    cargo(&["fmt", "--all", "--check"])
}

fn build(plan: Plan) -> Result<Tally, String> {
    let runner: &[&str] =
        if has_nextest() { &["nextest", "run", "--no-run"] } else { &["test", "--no-run"] };
    let mut build = compiled(&[runner, &["--workspace"]].concat(), plan);
    run::status(&mut build).map(Tally::one)
}

fn run_deny(_: Plan) -> Result<Tally, String> {
    let deny = ["deny", "--offline", "--all-features", "--log-level", "error", "check"];
    // Checks the whole tree, including crates for other systems, which no build has fetched yet.
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

fn run_tests(plan: Plan) -> Result<Tally, String> {
    let browser = Browser::start()?;
    let runner: &[&str] =
        if has_nextest() { &["nextest", "run"] } else { &["test", "--no-fail-fast"] };
    let mut tests = compiled(&[runner, &["--workspace"]].concat(), plan);
    counted(tests.env("NAGAYA_BROWSER", browser.endpoint()))
}

fn run_on_dynamodb(plan: Plan) -> Result<Tally, String> {
    if !has_nextest() {
        println!("NOT run: only cargo-nextest can choose these stories");
        return Ok(Tally::default());
    }
    let chosen = if plan.is_deep { STORIES } else { MAIN_STORIES };
    let mut stories = compiled(&["nextest", "run", "--workspace", "-E", chosen], plan);
    counted(stories.env("NAGAYA_TEST_STORE", "dynamodb"))
}

fn run_doc_tests(plan: Plan) -> Result<Tally, String> {
    counted(&mut compiled(&["test", "--quiet", "--doc", "--workspace"], plan))
}

fn run_doc(_: Plan) -> Result<Tally, String> {
    let mut doc = run::cargo(&["doc", "--quiet", "--no-deps", "--keep-going", "--workspace"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run::status(&mut doc).map(Tally::one)
}

/// Peers of benches take minutes to build, so usual runs skip them.
fn check_benches(plan: Plan) -> Result<Tally, String> {
    counted(&mut compiled(&["test", "--package", "xtask", "--features", "bench"], plan))
}

fn has_nextest() -> bool {
    tools::has("cargo-nextest")
}

/// A cargo call that compiles the workspace, with the test variables of the plan.
fn compiled(arguments: &[&str], plan: Plan) -> Command {
    let mut command = run::cargo(arguments);
    lint_while_compiling(&mut command);
    let seed = plan.seed.to_string();
    command.env("NAGAYA_TEST_SEED", &seed).env("PROPTEST_RNG_SEED", &seed);
    if plan.is_deep {
        command.env("NAGAYA_TEST_DEEP", "1");
    }
    command
}

/// Compiles the workspace's crates with clippy, which is the compiler with more lints. `cargo
/// clippy` sets the same two variables but only checks, and tests would compile everything again.
fn lint_while_compiling(command: &mut Command) {
    if tools::has("clippy-driver") {
        command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
        command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    } else {
        println!("clippy is missing: its lints are NOT checked");
    }
}

fn cargo(arguments: &[&str]) -> Result<Tally, String> {
    run::status(&mut run::cargo(arguments)).map(Tally::one)
}

/// Runs tests and counts them. A run that fails without a failed test (because it did not compile,
/// for example) counts as one failure.
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
