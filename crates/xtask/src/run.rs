//! Runs other programs: in which folder, with which environment, and for how long.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Set by `cargo run` for this program; a child that sees them would rebuild crates that watch
/// them.
const CARGO_RUN_VARIABLES: [&str; 3] = ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_"];

/// How often a child with a time limit is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A call of cargo in the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = program(cargo);
    command.args(arguments);
    command
}

/// A call of any program in the workspace's root, with the installed tools on its path.
pub(crate) fn program(name: impl Into<OsString>) -> Command {
    let mut command = Command::new(name.into());
    command.current_dir(workspace_root()).env("PATH", search_path());
    for (name, _) in std::env::vars_os() {
        let set_by_cargo_run = name.to_str().is_some_and(|name| {
            CARGO_RUN_VARIABLES.iter().any(|variable| name.starts_with(variable))
        });
        if set_by_cargo_run {
            command.env_remove(name);
        }
    }
    command
}

/// Runs to the end; returns whether it succeeded.
pub(crate) fn status(command: &mut Command) -> Result<bool, String> {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    Ok(status.success())
}

/// Runs for at most `limit`; false if it failed or had to be ended.
pub(crate) fn status_within(command: &mut Command, limit: Duration) -> Result<bool, String> {
    let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
    let start = now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if start.elapsed() < limit => thread::sleep(POLL_INTERVAL),
            Ok(None) | Err(_) => {
                // If it has ended meanwhile, there is nothing to kill.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(false);
            }
        }
    }
}

/// Runs to the end; prints every line and also passes it to `look`.
pub(crate) fn status_watched(
    command: &mut Command,
    look: &(dyn Fn(&str) + Sync),
) -> Result<bool, String> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(|| for_each_line(stdout, |line| println!("{line}"), look));
        scope.spawn(|| for_each_line(stderr, |line| eprintln!("{line}"), look));
    });
    let status = child.wait().map_err(|error| format!("waiting for a child: {error}"))?;
    Ok(status.success())
}

fn for_each_line(source: Option<impl Read>, print: impl Fn(&str), look: &(dyn Fn(&str) + Sync)) {
    let Some(source) = source else { return };
    // Bytes, not `lines()`: one line that is not UTF-8 must not hide the rest.
    for line in BufReader::new(source).split(b'\n') {
        let Ok(line) = line else { return };
        let line = String::from_utf8_lossy(&line);
        print(&line);
        look(&line);
    }
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start `{}`: {error}", command.get_program().to_string_lossy())
}

/// The folder with the workspace's Cargo.toml. Determined at run time, because one target directory
/// may serve several clones.
pub(crate) fn workspace_root() -> PathBuf {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(xtask) => PathBuf::from(xtask).join("../.."),
        None => PathBuf::from("."),
    }
}

/// Cargo's target folder. Tools and bench data are there too, so that one cache contains
/// everything.
pub(crate) fn target_folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    workspace_root().join(target)
}

/// The folder of npm and PyPI tools.
pub(crate) fn tools_folder() -> PathBuf {
    target_folder().join("tools")
}

/// The search path for programs, our folders first.
pub(crate) fn search_path() -> OsString {
    let ours = [
        tools_folder().join("npm/node_modules/.bin"),
        tools_folder().join("pypi/bin"),
        cargo_home().join("bin"),
    ];
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let all = ours.into_iter().chain(std::env::split_paths(&inherited));
    std::env::join_paths(all).unwrap_or(inherited)
}

fn cargo_home() -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// The part of the machine's time below a second: a number that differs each time.
#[expect(clippy::disallowed_methods, reason = "a seed comes from outside")]
pub(crate) fn nanos_of_the_second() -> u32 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_epoch.unwrap_or_default().subsec_nanos()
}

/// The machine's clock.
#[expect(clippy::disallowed_methods, reason = "steps and benches measure real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
