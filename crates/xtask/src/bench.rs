//! `cargo xtask bench`: measurements side by side with peers, as ratio tables.
//!
//! A bench is one file below `bench/` and one entry in [`BENCHES`]; `table` runs all parts of that
//! name. `report.rs` prints tables and judges bars, `stats.rs` holds percentiles, `usage.rs` reads
//! what a process used.

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
use std::process::ExitCode;
use std::time::Duration;

use report::Report;

use crate::run;

/// What a bench is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Small counts: seconds instead of minutes, to see that it runs; its numbers say little.
    pub(crate) quick: bool,
}

impl Options {
    /// How long one measurement lasts.
    pub(crate) fn measure_for(self) -> Duration {
        if self.quick { Duration::from_millis(200) } else { Duration::from_secs(5) }
    }
}

/// An empty folder on the real disk, removed when dropped. Below the target directory, because the
/// system's folder for temporary files may be memory.
pub(crate) fn data_folder() -> std::io::Result<tempfile::TempDir> {
    let parent = run::target_folder().join("bench-data");
    std::fs::create_dir_all(&parent)?;
    tempfile::tempdir_in(parent)
}

/// Lets this process and its children open as many files as they may; answers how many that is.
fn raise_limit() -> Result<u64, String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let set = setrlimit(Resource::Nofile, raised);
    set.map_err(|error| format!("cannot open more files: {error}"))?;
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// How a bench ends: measured, or unable to.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;

struct Bench {
    name: &'static str,
    what: &'static str,
    run: fn(Options, &mut Report) -> Outcome,
}

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
    /// Whether `name` means it: by its own name, or by the subject of which it is a part.
    fn answers_to(&self, name: &str) -> bool {
        let part = self.name.strip_prefix(name);
        part.is_some_and(|part| part.is_empty() || part.starts_with('-'))
    }
}

/// Runs the named benches, or all.
pub(crate) fn main(words: &[&str]) -> ExitCode {
    if let ["hub-part", part @ ..] = words {
        return hub::part(part);
    }
    let (flags, names): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with("--"));
    let known = |name: &&str| BENCHES.iter().any(|bench| bench.answers_to(name));
    if flags.iter().any(|flag| *flag != "--quick") || !names.iter().all(known) {
        eprintln!("usage: cargo xtask bench [name] [--quick]");
        for bench in &BENCHES {
            eprintln!("  {:<16} {}", bench.name, bench.what);
        }
        return ExitCode::from(2);
    }
    let options = Options { quick: !flags.is_empty() };
    let wanted =
        |bench: &&Bench| names.is_empty() || names.iter().any(|name| bench.answers_to(name));
    let mut kept = true;
    for bench in BENCHES.iter().filter(wanted) {
        kept &= run_bench(bench, options);
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one bench; whether it kept all its bars.
fn run_bench(bench: &Bench, options: Options) -> bool {
    println!("## {}: {}\n", bench.name, bench.what);
    let mut report = Report::default();
    let before = usage::cpu_time();
    if let Err(error) = (bench.run)(options, &mut report) {
        eprintln!("{}: {error}", bench.name);
        return false;
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
    // Quick runs are too short to judge by.
    options.quick || report.all_kept()
}
