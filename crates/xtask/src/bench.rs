//! `cargo xtask bench`: measurements of our program and of its peers in one run, as tables of
//! ratios.
//!
//! A bench is one file below `bench/` and one entry in [`BENCHES`]; `table` runs all benches of
//! that group. `report.rs` prints tables and checks bars, `stats.rs` computes percentiles,
//! `usage.rs` reads the resources of a process.
//!
//! A bench always ends with a table: it names a failed server with the reason, still measures the
//! others, and prints what it measured before it had to stop. The command fails at its end if ours
//! failed or missed a bar.
//!
//! `--against PATH` also measures an older build in the same run: the program at that path, and for
//! benches whose server is part of this program, the `xtask` next to it. [`WITH_OLDER`] lists the
//! benches that support this.

mod child_output;
mod collect;
mod crowd;
mod disk;
mod dispatch;
mod dynamodb;
mod house;
mod hub;
mod line;
mod live;
mod mesh;
mod poller;
mod redis;
mod report;
mod score;
mod sns;
mod start;
mod stats;
mod table;
mod usage;

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use report::{Report, Server};

use crate::{run, tools};

/// The options of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Small counts: seconds instead of minutes, to see that a bench works; its figures mean
    /// little.
    pub(crate) quick: bool,
    /// An older build of the program, measured in addition to ours.
    pub(crate) older: Option<&'static Path>,
}

impl Options {
    /// The duration of one measurement.
    pub(crate) fn measure_for(self) -> Duration {
        if self.quick { Duration::from_millis(200) } else { Duration::from_secs(5) }
    }
}

/// An empty folder on the real disk, deleted when dropped. It is below the target directory,
/// because the system's temporary folder may be in memory.
pub(crate) fn data_folder() -> std::io::Result<tempfile::TempDir> {
    let parent = run::target_folder().join("bench-data");
    std::fs::create_dir_all(&parent)?;
    tempfile::tempdir_in(parent)
}

/// Raises the limit of open files for this process and its children as far as possible; returns it.
fn raise_limit() -> Result<u64, String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let set = setrlimit(Resource::Nofile, raised);
    set.map_err(|error| format!("cannot open more files: {error}"))?;
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// Installs peers. A peer that cannot be installed fails at its start, and the report names it.
fn install_peers() {
    if let Err(error) = tools::install_for_benches() {
        eprintln!("some peers cannot be installed: {error}");
    }
}

/// The result of a bench.
pub(crate) type BenchResult = Result<(), Box<dyn Error>>;

struct Bench {
    name: &'static str,
    what: &'static str,
    run: fn(Options, &mut Report) -> BenchResult,
}

/// Benches that also measure an older build.
const WITH_OLDER: [&str; 7] =
    ["start", "table-writes", "dynamodb", "hub", "mesh-lesson", "mesh-saturation", "mesh-school"];

const BENCHES: [Bench; 21] = [
    Bench {
        name: "disk",
        what: "what synced writes cost here: preallocated segments beside a growing file",
        run: disk::run,
    },
    Bench {
        name: "start",
        what: "how long from the start of the process until it takes requests",
        run: start::run,
    },
    Bench {
        name: "table-settled",
        what: "the two candidates for the settled store, at exactly its work",
        run: table::settled::run,
    },
    Bench {
        name: "table-writes",
        what: "durable puts beside the raw disk with the same batching, and beside SQLite",
        run: table::writes::run,
    },
    Bench {
        name: "table-reads",
        what: "gets and queries beside the tree read alone, mixed work, growth with size",
        run: table::reads::run,
    },
    Bench {
        name: "table-sustained",
        what: "a minute of random writes, and what a put costs while the settler runs",
        run: table::sustained::run,
    },
    Bench {
        name: "dispatch",
        what: "durable cycles of the queue beside single puts, and how late due messages are",
        run: dispatch::run,
    },
    Bench {
        name: "dynamodb",
        what: "the DynamoDB endpoint beside dynoxide, dynalite, DynamoDB Local and moto",
        run: dynamodb::run,
    },
    Bench {
        name: "hub",
        what: "deliveries to WebSockets beside NATS, Redis, bun and a bare reference",
        run: hub::run,
    },
    Bench {
        name: "live-talk",
        what: "one room with 5 000 sockets, beside socket.io and a bare reference",
        run: live::talk,
    },
    Bench {
        name: "live-storm",
        what: "5 000 sockets come back at once and catch up",
        run: live::storm,
    },
    Bench {
        name: "mesh-lesson",
        what: "a class of 40: how long from a request to the last node",
        run: mesh::lesson,
    },
    Bench {
        name: "mesh-saturation",
        what: "many groups of 40 at full speed, beside NATS",
        run: mesh::saturation,
    },
    Bench { name: "mesh-school", what: "memory of sockets that only listen", run: mesh::school },
    Bench {
        name: "score-submits",
        what: "verified durable plays, beside Redis",
        run: score::submits,
    },
    Bench {
        name: "score-reads",
        what: "rankings of a full board, beside Redis",
        run: score::reads,
    },
    Bench {
        name: "collect-polls",
        what: "10 000 sources every five seconds, beside Prometheus",
        run: collect::polls,
    },
    Bench {
        name: "collect-catch-up",
        what: "an hour of 100 sources, missed while the house was closed",
        run: collect::catch_up::run,
    },
    Bench {
        name: "sns-timelines",
        what: "posts of 10 000 users on 100 timelines each, and reading them, beside Redis",
        run: sns::timelines,
    },
    Bench {
        name: "sns-sockets",
        what: "how long from a post to the last of 100 followers' sockets",
        run: sns::sockets,
    },
    Bench { name: "score-rank", what: "a player's rank among a million", run: score::rank },
];

impl Bench {
    /// Whether `name` selects this bench: by its own name, or by its group.
    fn answers_to(&self, name: &str) -> bool {
        let part = self.name.strip_prefix(name);
        part.is_some_and(|part| part.is_empty() || part.starts_with('-'))
    }
}

/// The parsed command line.
struct Selection<'a> {
    options: Options,
    names: Vec<&'a str>,
}

impl Selection<'_> {
    /// None if the words are not a valid command line.
    fn read<'a>(words: &[&'a str]) -> Option<Selection<'a>> {
        let mut wanted =
            Selection { options: Options { quick: false, older: None }, names: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => wanted.options.quick = true,
                "--against" => {
                    let path = std::path::absolute(words.next()?).ok()?;
                    // Leaked once per process.
                    wanted.options.older = Some(Box::leak(path.into_boxed_path()));
                }
                name if BENCHES.iter().any(|bench| bench.answers_to(name)) => {
                    wanted.names.push(name);
                }
                _ => return None,
            }
        }
        Some(wanted)
    }

    fn wants(&self, bench: &Bench) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| bench.answers_to(name))
    }
}

/// Runs the named benches, or all.
pub(crate) fn main(words: &[&str]) -> ExitCode {
    if let ["hub-part", part @ ..] = words {
        return hub::part(part);
    }
    let Some(wanted) = Selection::read(words) else {
        eprintln!("usage: cargo xtask bench [name] [--quick] [--against PROGRAM]");
        for bench in &BENCHES {
            eprintln!("  {:<16} {}", bench.name, bench.what);
        }
        return ExitCode::from(2);
    };
    if let Some(path) = wanted.options.older.filter(|path| !path.is_file()) {
        eprintln!("no older build: {} is no program", path.display());
        return ExitCode::from(2);
    }
    let mut kept = true;
    for bench in BENCHES.iter().filter(|bench| wanted.wants(bench)) {
        kept &= run_bench(bench, wanted.options);
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one bench; returns whether it finished and met all its bars.
fn run_bench(bench: &Bench, options: Options) -> bool {
    println!("## {}: {}\n", bench.name, bench.what);
    if options.older.is_some() && !WITH_OLDER.contains(&bench.name) {
        println!("an older build is not measured by this bench\n");
    }
    let mut report = Report::default();
    let before = usage::cpu_time();
    // A panic must not lose the figures so far, and must not stop the other benches.
    let ended = catch_unwind(AssertUnwindSafe(|| (bench.run)(options, &mut report)));
    // A failure of a peer is in the report. An error here is ours, or the machine's.
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report.fail(Server::Ours, bench.name, &error),
        Err(_) => report.fail(Server::Ours, bench.name, &"it panicked"),
    }
    print!("{report}");
    let cpu = usage::cpu_time().zip(before).map(|(after, before)| after.saturating_sub(before));
    let mebibytes = |bytes: Option<u64>| bytes.unwrap_or(0) / (1024 * 1024);
    println!(
        "\ncpu {:.1} s, resident {} MiB, at most {} MiB\n",
        cpu.unwrap_or_default().as_secs_f64(),
        mebibytes(usage::resident_bytes()),
        mebibytes(usage::resident_bytes_max()),
    );
    // Quick runs are too short to check bars.
    if options.quick { report.is_ours_whole() } else { report.all_kept() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures_and_fails(_: Options, report: &mut Report) -> BenchResult {
        report.compare("puts/s", 1.0, 1.0, report::Bar::Open);
        report.fail(Server::Ours, "gets", &"on purpose");
        Ok(())
    }

    fn gives_up(_: Options, _: &mut Report) -> BenchResult {
        Err("on purpose".into())
    }

    fn panics(_: Options, _: &mut Report) -> BenchResult {
        panic!("on purpose")
    }

    #[test]
    fn a_bench_in_which_ours_fails_or_that_cannot_go_on_fails_the_command_and_not_the_next_bench() {
        for run in [measures_and_fails, gives_up, panics] {
            for quick in [true, false] {
                let bench = Bench { name: "trial", what: "on purpose", run };
                assert!(!run_bench(&bench, Options { quick, older: None }));
            }
        }
        let bench = Bench { name: "trial", what: "on purpose", run: |_, _| Ok(()) };
        assert!(run_bench(&bench, Options { quick: true, older: None }));
    }

    #[test]
    fn words_choose_benches_flags_and_an_older_build() {
        let wanted =
            Selection::read(&["table", "--quick", "hub", "--against", "/old/nagaya"]).unwrap();
        assert!(wanted.options.quick);
        assert_eq!(wanted.options.older, Some(Path::new("/old/nagaya")));
        let names: Vec<&str> =
            BENCHES.iter().filter(|bench| wanted.wants(bench)).map(|bench| bench.name).collect();
        let expected = ["table-settled", "table-writes", "table-reads", "table-sustained", "hub"];
        assert_eq!(names, expected);
        for words in [["--quickly"], ["hubs"], ["--against"]] {
            assert!(Selection::read(&words).is_none(), "{words:?}");
        }
    }

    #[test]
    fn an_older_build_is_measured_by_benches_that_exist() {
        let exists = |name: &&str| BENCHES.iter().any(|bench| bench.name == *name);
        assert!(WITH_OLDER.iter().all(exists));
    }
}
