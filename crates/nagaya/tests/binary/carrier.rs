//! The house and NATS: there, away, and back again.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use testkit::program::run;
use testkit::{Program, Served, wait};

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
        let port = self.port;
        wait::until("nats-server", || {
            assert!(child.try_wait().unwrap().is_none(), "nats-server ended");
            TcpStream::connect(("127.0.0.1", port)).map(drop)
        });
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

    fn command(&self, program: &Program) -> Command {
        let mut command = program.command();
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
    let (program, mut nats) = (testkit::program!(), Nats::new());
    let mut command = program.serve();
    nats.carries(&mut command);
    let house = Served::open(&mut command);
    let answer = house.get("/readyz");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("ready, but hub: NATS is out of reach: "), "{answer}");
    let doctor = || run(&mut nats_doctor(&nats, &program)).1;
    assert!(
        doctor().contains("BAD  hub         NATS does not answer at 127.0.0.1:"),
        "{}",
        doctor()
    );
    nats.start();
    let is_ready = |answer: &String| answer.ends_with("\r\n\r\nready\n");
    until_it_says(&house, is_ready);
    let doctor = run(&mut nats_doctor(&nats, &program)).1;
    assert!(doctor.contains("ok   hub         NATS answers at 127.0.0.1:"), "{doctor}");
    nats.stop();
    until_it_says(&house, |answer| answer.contains("NATS is out of reach"));
}

/// Lets time pass until the house says this of its readiness.
fn until_it_says(house: &Served, is_it: impl Fn(&String) -> bool) {
    wait::until("another readiness", || {
        house.advance(Duration::from_millis(100));
        Some(house.get("/readyz")).filter(&is_it).ok_or_else(|| house.get("/readyz"))
    });
}

#[test]
fn a_wrong_address_of_nats_ends_the_start() {
    let program = testkit::program!();
    let mut command = program.command();
    command.arg("serve").env("NAGAYA_HUB_CARRIER", "nats");
    let (code, _, said) = run(command.env("NAGAYA_HUB_NATS_URL", "http://127.0.0.1"));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("`http://127.0.0.1` is not a NATS server"), "{said}");
}

/// `nagaya doctor`, about a free port.
fn nats_doctor(nats: &Nats, program: &Program) -> Command {
    let mut command = nats.command(program);
    command.arg("doctor").env("NAGAYA_HTTP_LISTEN", "127.0.0.1:0");
    command
}
