//! The house and NATS: there, away, and back again.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::house::{House, nagaya, run};

/// nats-server as a process; killed when dropped.
pub(crate) struct Nats {
    child: Option<Child>,
    port: u16,
    directory: TempDir,
}

impl Nats {
    /// One that does not run yet.
    pub(crate) fn new() -> Nats {
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        Nats { child: None, port, directory: TempDir::new().unwrap() }
    }

    pub(crate) fn start(&mut self) {
        let mut command = Command::new("nats-server");
        command.args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"]);
        command.arg(self.directory.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = self.child.insert(command.spawn().expect("nats-server is installed"));
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "nats-server ended");
            std::thread::yield_now();
        }
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Tells a command of a house where it is.
    pub(crate) fn carries(&self, command: &mut Command) {
        let url = format!("nats://127.0.0.1:{}", self.port);
        command.env("NAGAYA_HUB_CARRIER", "nats").env("NAGAYA_HUB_NATS_URL", url);
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = nagaya(directory);
        self.carries(&mut command);
        command
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn a_house_without_its_nats_answers_and_says_so_until_it_is_back() {
    let (directory, mut nats) = (TempDir::new().unwrap(), Nats::new());
    let house = House::open(&mut nats.command(directory.path()));
    let answer = house.get("/readyz");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("ready, but hub: NATS is out of reach: "), "{answer}");
    let doctor = || run(&mut nats_doctor(&nats, directory.path())).1;
    assert!(
        doctor().contains("BAD  hub         NATS does not answer at 127.0.0.1:"),
        "{}",
        doctor()
    );
    nats.start();
    while !house.get("/readyz").ends_with("\r\n\r\nready\n") {
        std::thread::yield_now();
    }
    let doctor = run(&mut nats_doctor(&nats, directory.path())).1;
    assert!(doctor.contains("ok   hub         NATS answers at 127.0.0.1:"), "{doctor}");
    nats.stop();
    while !house.get("/readyz").contains("NATS is out of reach") {
        std::thread::yield_now();
    }
}

#[test]
fn a_wrong_address_of_nats_ends_the_start() {
    let directory = TempDir::new().unwrap();
    let mut command = nagaya(directory.path());
    command.arg("serve").env("NAGAYA_HUB_CARRIER", "nats");
    let (code, _, said) = run(command.env("NAGAYA_HUB_NATS_URL", "http://127.0.0.1"));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("`http://127.0.0.1` is not a NATS server"), "{said}");
}

/// `nagaya doctor`, about a free port.
fn nats_doctor(nats: &Nats, directory: &Path) -> Command {
    let mut command = nats.command(directory);
    command.arg("doctor").env("NAGAYA_HTTP_LISTEN", "127.0.0.1:0");
    command
}
