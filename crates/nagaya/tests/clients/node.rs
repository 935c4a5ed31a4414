//! Programs in JavaScript, and the packages they need.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// The folder of the packages `names`, which `cargo xtask test tools` has filled.
#[track_caller]
pub(crate) fn packages(folder: &str, names: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = target.join("tools").join(folder);
    for name in names {
        let package = folder.join("node_modules").join(name);
        let is_there = package.join("package.json").is_file();
        assert!(is_there, "{} is missing: run `cargo xtask test tools`", package.display());
    }
    folder
}

/// Node with a script to run.
pub(crate) fn node(script: &Path) -> Command {
    let mut command = Command::new("node");
    command.arg(script);
    command
}

/// A running program. Killed when dropped.
pub(crate) struct Node {
    child: Child,
    /// What its output is called in complaints.
    name: String,
    said: BufReader<ChildStdout>,
    told: ChildStdin,
}

impl Node {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Node {
        let name = format!("{command:?}");
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap_or_else(|error| {
            panic!("node does not start ({error}): run `cargo xtask test tools`");
        });
        let said = BufReader::new(child.stdout.take().unwrap());
        let told = child.stdin.take().unwrap();
        Node { child, name, said, told }
    }

    /// The next line of its output; none at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.pop().map(|_newline| line)
    }

    /// Reads until it says `wanted`; what it said before.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: &str) -> Vec<String> {
        let mut before = Vec::new();
        while let Some(line) = self.line() {
            if line == wanted {
                return before;
            }
            before.push(line);
        }
        panic!("{} never said `{wanted}`, but {before:#?}", self.name);
    }

    /// Gives it a line of input.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.told, "{line}").unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Fails for one that has ended, which is as good.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}
