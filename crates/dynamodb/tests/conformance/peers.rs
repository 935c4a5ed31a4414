//! Other implementations of DynamoDB: programs that the test set-up installs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running server. Killed when dropped.
pub(crate) struct Peer {
    child: Child,
    /// Its endpoint.
    pub(crate) endpoint: String,
}

impl Peer {
    /// Dynalite (npm).
    pub(crate) fn dynalite() -> Peer {
        let packages = tools().join("npm/node_modules");
        start(Command::new("node").arg(script("dynalite.mjs")).arg(packages))
    }

    /// Moto's server (PyPI).
    pub(crate) fn moto() -> Peer {
        start(Command::new(tools().join("pypi/bin/python")).arg(script("moto_server.py")))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a program that prints the port it listens on.
fn start(command: &mut Command) -> Peer {
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.unwrap_or_else(|error| {
        panic!("{command:?} does not start ({error}): run `cargo xtask test tools`");
    });
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut port = String::new();
    output.read_line(&mut port).unwrap();
    let port = port.trim();
    assert!(
        port.parse::<u16>().is_ok(),
        "{command:?} prints no port: run `cargo xtask test tools`"
    );
    Peer { child, endpoint: format!("http://127.0.0.1:{port}") }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(name)
}

fn tools() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join("tools")
}
