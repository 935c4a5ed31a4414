//! The workspace's own commands: `cargo xtask test`, `cargo xtask fuzz` and `cargo xtask bench`.
//!
//! Start with `test.rs` for the steps of CI, `tools.rs` for the tools that it installs first,
//! `fuzz.rs` for new inputs of fuzz targets, and `bench.rs` for measurements. Nothing here is
//! shipped.

#[cfg(feature = "bench")]
mod bench;
mod browser;
mod fuzz;
mod run;
mod test;
mod tools;

use std::process::ExitCode;

/// The program's allocator, so that the benches measure what is shipped.
#[cfg(feature = "bench")]
#[global_allocator]
static ALLOCATOR: base::Allocator = base::Allocator;

const USAGE: &str = "\
usage: cargo xtask test [--deep] [--seed N] [STEP]   everything that CI runs, or one step of it
       cargo xtask fuzz [--minutes N] [TARGET]       new inputs for the fuzz targets, or for one
             [--keep]                                and the best of them added to its corpus
       cargo xtask bench [NAME] [--quick]            measurements beside peers; without a name, all
             [--against PROGRAM]                     and beside an older build";

fn main() -> ExitCode {
    #[cfg(feature = "bench")]
    base::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test", rest @ ..] => test(rest).unwrap_or_else(usage),
        ["fuzz", rest @ ..] => {
            fuzz::FuzzPlan::read(rest).map_or_else(usage, |plan| fuzz::main(&plan))
        }
        ["bench", rest @ ..] => bench(rest),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Runs the tests that the words select; none if they are invalid.
fn test(words: &[&str]) -> Option<ExitCode> {
    // Any changing number is a good seed.
    let mut plan = test::Plan { is_deep: false, seed: u64::from(run::nanos_of_the_second()) };
    let (mut words, mut step) = (words.iter(), None);
    while let Some(word) = words.next() {
        match *word {
            "--deep" => plan.is_deep = true,
            "--seed" => plan.seed = words.next()?.parse().ok()?,
            name if step.is_none() && !name.starts_with('-') => step = Some(name),
            _ => return None,
        }
    }
    Some(match step {
        Some(step) => test::run_one(step, plan),
        None => test::run_all(plan),
    })
}

#[cfg(feature = "bench")]
fn bench(words: &[&str]) -> ExitCode {
    bench::main(words)
}

/// Benches need peers that take minutes to build, and optimized code. This function requests both
/// by running this program again, so that `cargo xtask test` never pays for them.
#[cfg(not(feature = "bench"))]
fn bench(words: &[&str]) -> ExitCode {
    let mut cargo = run::cargo(&["run", "--quiet", "--release", "--package", "xtask"]);
    cargo.args(["--features", "bench", "--", "bench"]).args(words);
    match run::status(&mut cargo) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
