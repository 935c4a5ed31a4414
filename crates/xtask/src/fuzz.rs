//! `cargo xtask fuzz`: new inputs for the fuzz targets, made by libFuzzer.
//!
//! A target is a folder `crates/<crate>/corpus/<target>` with the test that names it (see
//! `testkit::fuzz`). Its inputs are in the repository; new ones are kept in the target directory,
//! and the next run continues from there. An input that makes a target fail is written into the
//! corpus: the usual tests fail by it until the fault is fixed, and also if it ever returns.
//!
//! The stable compiler is enough: coverage is a pass of LLVM that it contains. A sanitizer would
//! need another compiler, and finds errors that safe code cannot have.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;

use crate::{run, tools};

/// Minutes for each target by default.
const MINUTES_USUAL: u64 = 5;
/// The time limit of an input in seconds: far above the slowest valid one.
const INPUT_SECONDS_MAX: u64 = 10;
/// The size of an input in bytes. Most limits of parsers are lower or visible with less.
const INPUT_BYTES_MAX: u64 = 4096;
/// Inputs that one run adds to a corpus: those that alone reach the most branches.
const KEPT_MAX: usize = 40;

/// Counts taken branches, and shows compared values.
const FLAGS: [&str; 9] = [
    "--cfg=fuzzing",
    "--cfg=fuzzing_libfuzzer",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-sanitizer-coverage-stack-depth",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
];
/// libFuzzer's names of inputs that make a target fail.
const FAILURES: [&str; 5] = ["crash-", "timeout-", "oom-", "leak-", "slow-unit-"];

/// The parameters of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FuzzPlan {
    /// Minutes for each target.
    minutes: u64,
    /// Whether the best new inputs are added to the corpus.
    is_kept: bool,
    /// One target; none means all.
    target: Option<String>,
}

/// A target by its crate and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    package: String,
    name: String,
}

/// A build. It always contains all crates with targets, because each alone would select other
/// features of common dependencies and compile those again.
struct FuzzBuild {
    host: String,
    packages: BTreeSet<String>,
}

/// The result of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TargetResult {
    executions: u64,
    found: u64,
    kept: usize,
    failures: usize,
}

impl FuzzPlan {
    /// Parses the words of a call; none if they are invalid.
    pub(crate) fn read(words: &[&str]) -> Option<FuzzPlan> {
        let mut plan = FuzzPlan { minutes: MINUTES_USUAL, is_kept: false, target: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--minutes" => plan.minutes = words.next()?.parse().ok()?,
                "--keep" => plan.is_kept = true,
                name if plan.target.is_none() && !name.starts_with('-') => {
                    plan.target = Some(name.to_owned());
                }
                _ => return None,
            }
        }
        Some(plan)
    }
}

/// Runs the targets one after the other and prints their results.
pub(crate) fn main(plan: &FuzzPlan) -> ExitCode {
    match fuzz(plan) {
        Ok(outcomes) => close(&outcomes),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn fuzz(plan: &FuzzPlan) -> Result<Vec<(Target, TargetResult)>, String> {
    let all = targets(&run::workspace_root())?;
    let is_wanted = |target: &&Target| {
        plan.target.as_ref().is_none_or(|name| *name == target.name || *name == target.path())
    };
    let wanted: Vec<Target> = all.iter().filter(is_wanted).cloned().collect();
    if wanted.is_empty() {
        let paths: Vec<String> = all.iter().map(Target::path).collect();
        return Err(format!("no such target; the targets are {}", paths.join(", ")));
    }
    tools::install_for_fuzzing()?;
    let build =
        FuzzBuild { host: host()?, packages: all.into_iter().map(|it| it.package).collect() };
    let mut outcomes = Vec::new();
    for target in wanted {
        println!("== {}: {} minutes", target.path(), plan.minutes);
        let mut outcome = target.fuzz(&build, plan.minutes)?;
        if plan.is_kept {
            outcome.kept = target.keep(&build)?;
        }
        outcomes.push((target, outcome));
    }
    Ok(outcomes)
}

/// Prints the table; a failure of any target fails the run.
fn close(outcomes: &[(Target, TargetResult)]) -> ExitCode {
    println!(
        "{:<22} {:>12} {:>8} {:>6} {:>8}",
        "target", "executions", "found", "kept", "failures"
    );
    for (target, outcome) in outcomes {
        let TargetResult { executions, found, kept, failures } = outcome;
        println!("{:<22} {executions:>12} {found:>8} {kept:>6} {failures:>8}", target.path());
    }
    let failures: usize = outcomes.iter().map(|(_, outcome)| outcome.failures).sum();
    if failures == 0 {
        return ExitCode::SUCCESS;
    }
    println!("the inputs that failed are in the corpora; `cargo xtask test test` repeats them");
    ExitCode::FAILURE
}

impl Target {
    fn path(&self) -> String {
        format!("{}/{}", self.package, self.name)
    }

    fn corpus(&self) -> PathBuf {
        run::workspace_root().join("crates").join(&self.package).join("corpus").join(&self.name)
    }

    /// Where new inputs are kept between runs.
    fn found(&self) -> PathBuf {
        build_folder().join("found").join(&self.package).join(&self.name)
    }

    fn fuzz(&self, build: &FuzzBuild, minutes: u64) -> Result<TargetResult, String> {
        let before = self.failures()?;
        make_folder(&self.found())?;
        let arguments = [
            format!("-max_total_time={}", minutes * 60),
            format!("-timeout={INPUT_SECONDS_MAX}"),
            format!("-max_len={INPUT_BYTES_MAX}"),
            format!("-artifact_prefix={}/", self.corpus().display()),
            "-print_final_stats=1".to_owned(),
            "-verbosity=0 -print_funcs=0".to_owned(),
        ];
        let outcome = Mutex::new(TargetResult::default());
        let ended = run::status_watched(&mut build.command(self, &arguments), &|line| {
            if let Ok(mut outcome) = outcome.lock() {
                outcome.read(line);
            }
        })?;
        let mut outcome = outcome.into_inner().unwrap_or_default();
        outcome.failures = self.failures()?.difference(&before).count();
        if !ended && outcome.failures == 0 {
            return Err(format!("{} could not be run", self.path()));
        }
        Ok(outcome)
    }

    /// Adds the inputs that reach branches which no other input reaches. The engine runs all of
    /// them, the shortest first, and records for each the branches that it is the first to reach.
    fn keep(&self, build: &FuzzBuild) -> Result<usize, String> {
        let features = build_folder().join("features").join(&self.package).join(&self.name);
        // The records of an earlier run.
        drop(std::fs::remove_dir_all(&features));
        make_folder(&features)?;
        let arguments = [
            "-runs=0".to_owned(),
            "-use_counters=0".to_owned(),
            "-verbosity=0 -print_funcs=0".to_owned(),
            format!("-features_dir={}", features.display()),
        ];
        if !run::status(&mut build.command(self, &arguments))? {
            return Err(format!("the inputs of {} could not be compared", self.path()));
        }
        let mut best: Vec<(u64, String)> = Vec::new();
        for (name, bytes) in files(&features)? {
            if self.found().join(&name).is_file() && !self.corpus().join(&name).exists() {
                best.push((bytes, name));
            }
        }
        best.sort_by(|one, two| two.cmp(one));
        best.truncate(KEPT_MAX);
        for (_, name) in &best {
            let (from, to) = (self.found().join(name), self.corpus().join(name));
            std::fs::copy(&from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
        }
        Ok(best.len())
    }

    /// The inputs in the corpus that made the target fail when they were found.
    fn failures(&self) -> Result<BTreeSet<String>, String> {
        let names = files(&self.corpus())?.into_iter().map(|(name, _)| name);
        let is_failure = |name: &String| FAILURES.iter().any(|kind| name.starts_with(kind));
        Ok(names.filter(is_failure).collect())
    }
}

impl FuzzBuild {
    /// The test of a target, with the engine's arguments. The corpora come last. Other targets
    /// recognize that they are not selected.
    fn command(&self, target: &Target, arguments: &[String]) -> Command {
        let mut command = run::cargo(&["test", "--quiet", "--lib", "--target", &self.host]);
        command.arg("--target-dir").arg(build_folder());
        for package in &self.packages {
            command.args(["--package", package]);
        }
        command.args(["fuzz::", "--", "--nocapture", "--test-threads=1"]);
        let corpora = [target.found(), target.corpus()].map(|path| path.display().to_string());
        let arguments = [arguments, &corpora].concat().join(" ");
        command.env("BOLERO_LIBFUZZER_ARGS", arguments).env("NAGAYA_FUZZ_TARGET", &target.name);
        // Test builds do not optimize the workspace's crates, and fuzzing needs speed.
        command.env("RUSTFLAGS", FLAGS.join(" ")).env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        command
    }
}

impl TargetResult {
    /// Reads a line of the engine's final statistics.
    fn read(&mut self, line: &str) {
        let Some((name, number)) = line.trim().split_once(':').and_then(|(_, rest)| {
            let (name, number) = rest.strip_prefix(':')?.split_once(':')?;
            Some((name, number.trim().parse().ok()?))
        }) else {
            return;
        };
        match name {
            "number_of_executed_units" => self.executions = number,
            "new_units_added" => self.found = number,
            _ => {}
        }
    }
}

/// Every target of the workspace.
fn targets(root: &Path) -> Result<Vec<Target>, String> {
    let mut targets = Vec::new();
    for package in folders(&root.join("crates"))? {
        let corpora = root.join("crates").join(&package).join("corpus");
        if corpora.is_dir() {
            let names = folders(&corpora)?.into_iter();
            targets.extend(names.map(|name| Target { package: package.clone(), name }));
        }
    }
    targets.sort();
    let names: BTreeSet<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    if names.len() < targets.len() {
        return Err("two targets have the same name".to_owned());
    }
    Ok(targets)
}

fn folders(folder: &Path) -> Result<Vec<String>, String> {
    list(folder, |entry| entry.path().is_dir().then(|| name_of(entry)))
}

/// The files of a folder with their lengths.
fn files(folder: &Path) -> Result<Vec<(String, u64)>, String> {
    list(folder, |entry| {
        let data = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((name_of(entry), data.len()))
    })
}

fn list<T>(
    folder: &Path,
    take: impl Fn(&std::fs::DirEntry) -> Option<T>,
) -> Result<Vec<T>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut taken = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        taken.extend(take(&entry.map_err(wrong)?));
    }
    Ok(taken)
}

fn name_of(entry: &std::fs::DirEntry) -> String {
    entry.file_name().to_string_lossy().into_owned()
}

/// A separate build folder, because the flags differ.
fn build_folder() -> PathBuf {
    run::target_folder().join("fuzz")
}

fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The system that the compiler compiles for. If cargo gets it by name, it compiles build scripts
/// and macros without the flags.
fn host() -> Result<String, String> {
    let version = run::program("rustc").arg("-vV").output();
    let version = version.map_err(|error| format!("cannot start `rustc`: {error}"))?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` names no host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{FuzzPlan, MINUTES_USUAL, TargetResult, targets};
    use crate::run;

    #[test]
    fn a_call_names_minutes_and_a_target_in_any_order() {
        let plan = |minutes, is_kept, target: Option<&str>| {
            Some(FuzzPlan { minutes, is_kept, target: target.map(str::to_owned) })
        };
        assert_eq!(FuzzPlan::read(&[]), plan(MINUTES_USUAL, false, None));
        assert_eq!(FuzzPlan::read(&["--minutes", "7", "log"]), plan(7, false, Some("log")));
        assert_eq!(
            FuzzPlan::read(&["table/log", "--keep"]),
            plan(MINUTES_USUAL, true, Some("table/log"))
        );
        for wrong in [&["--minutes"][..], &["--minutes", "x"], &["a", "b"], &["--fast"]] {
            assert_eq!(FuzzPlan::read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_statistics_of_the_engine_are_read() {
        let mut outcome = TargetResult::default();
        for line in [
            "stat::number_of_executed_units: 120034",
            "stat::average_exec_per_sec:     400",
            "stat::new_units_added:          17",
            "test api::fuzz::claim ... stat: nothing",
        ] {
            outcome.read(line);
        }
        assert_eq!(
            outcome,
            TargetResult { executions: 120_034, found: 17, ..TargetResult::default() }
        );
    }

    #[test]
    fn the_targets_of_this_workspace_are_found() {
        let targets = targets(&run::workspace_root()).unwrap();
        assert!(targets.iter().any(|target| target.path() == "table/log"), "{targets:?}");
    }
}
