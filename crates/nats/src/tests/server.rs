//! A nats-server process; killed when dropped.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use testkit::wait;

use crate::{Carrier, Options};

pub(super) struct Server {
    child: Option<Child>,
    port: u16,
    directory: TempDir,
    arguments: Vec<String>,
}

impl Server {
    pub(super) fn start() -> Server {
        Server::start_with(&[])
    }

    pub(super) fn start_with(arguments: &[&str]) -> Server {
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let directory = TempDir::new().unwrap();
        let mut server = Server { child: None, port, directory, arguments };
        server.start_again();
        server
    }

    pub(super) fn options(&self) -> Options {
        let nats_url = format!("nats://127.0.0.1:{}", self.port);
        Options { carrier: Carrier::Nats, nats_url, ..Options::default() }
    }

    pub(super) fn start_again(&mut self) {
        let mut command = Command::new("nats-server");
        command.args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"]);
        command.arg(self.directory.path()).args(&self.arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = self.child.insert(command.spawn().expect("nats-server is installed"));
        wait::until("nats-server", || {
            assert!(child.try_wait().unwrap().is_none(), "nats-server ended");
            TcpStream::connect(("127.0.0.1", self.port)).map(drop)
        });
    }

    /// Kills the process, as a crash would.
    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Empties the directory of a stopped server.
    pub(super) fn forget(&mut self) {
        self.directory = TempDir::new().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
