//! Strangers that want to stop a house: what they can hold, what is left for others, and what is
//! given back. `hostile.rs` runs whole attacks, with other callers beside them.
//!
//! Bodies and connections are few enough for one machine, and many enough that each of these tests
//! fails if their bound is missing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use base::Clock;
use rustix::process::Pid;
use testkit::{Program, Served, program, wait};
use tokio::net::TcpSocket;

/// How long a stranger tries to send one body.
const SEND_PATIENCE: Duration = Duration::from_millis(500);

/// In which freed memory must be the system's again.
const RETURN_PATIENCE: Duration = Duration::from_secs(45);

/// What a house may hold more than before it met strangers: caches and buffers.
const RETURNED_MIB: u64 = 50;

/// Memory of a process that the system holds.
pub(crate) fn resident_mib(process: Pid) -> u64 {
    let path = format!("/proc/{}/status", process.as_raw_nonzero());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_024
}

/// A stranger who sends this head and then a body of zeros, as much of it as the house takes.
fn send(address: &str, head: &str, mut left: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(SEND_PATIENCE)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let zeros = [0; 65_536];
    while left > 0 {
        match stream.write(zeros.get(..left.min(zeros.len())).unwrap()) {
            Ok(count) => left -= count,
            Err(_) => break,
        }
    }
    stream
}

/// Waits until the house holds hardly more than `before`; gives how long that took.
#[track_caller]
pub(crate) fn wait_for_memory(house: &Served, before: u64) -> Duration {
    let clock = Clock::real();
    let begun = clock.instant();
    wait::until_within(RETURN_PATIENCE, "the return of freed memory", || {
        let now = resident_mib(house.pid());
        wait::holds(now <= before + RETURNED_MIB, format!("{now} MiB after {before} MiB"))
    });
    clock.instant().since(begun)
}

/// A house with a DynamoDB endpoint that knows one key.
fn with_door(program: &Program) -> (Served, String) {
    std::fs::write(program.directory().join("keys.txt"), "AKIAHOUSE only-for-tests\n").unwrap();
    let mut command = program.serve();
    command.args(["--dynamodb", "127.0.0.1:0"]).env("NAGAYA_DYNAMODB_KEYS_FILE", "keys.txt");
    let house = Served::open(&mut command);
    let address = house.named("dynamodb").split_once("://").unwrap().1.to_owned();
    (house, address)
}

fn door_head(authorization: &str, stamp: &str, length: usize) -> String {
    format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nx-amz-date: {stamp}\r\nx-amz-target: \
         DynamoDB_20120810.PutItem\r\n{authorization}content-length: {length}\r\n\r\n"
    )
}

#[test]
fn an_unsigned_body_is_not_read_at_the_dynamodb_endpoint() {
    const LENGTH: usize = 20 << 20;
    let program = testkit::program!();
    let (_house, address) = with_door(&program);
    let now = "20261116T101500Z";
    let unsigned = door_head("", now, LENGTH);
    let unknown = "authorization: AWS4-HMAC-SHA256 Credential=NOBODY/20261116/eu-west-1/dynamodb/\
                   aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=";
    let unknown = door_head(&format!("{unknown}{}\r\n", "0".repeat(64)), now, LENGTH);
    // No byte of the body is sent, and the answer is there.
    for (head, kind) in
        [(&unsigned, "MissingAuthenticationToken"), (&unknown, "UnrecognizedClient")]
    {
        let mut stream = send(&address, head, 0);
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut answer = [0; 600];
        let count = stream.read(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(answer.get(..count).unwrap()).into_owned();
        assert!(answer.contains(kind), "{answer}");
    }
}

#[test]
fn bodies_by_a_known_key_are_bounded_and_their_memory_is_given_back() {
    const LENGTH: usize = 12 << 20;
    let program = testkit::program!();
    let (house, address) = with_door(&program);
    let before = resident_mib(house.pid());
    let stamp = house.now().to_string().replace(['-', ':'], "");
    let stamp = format!("{}Z", stamp.split('.').next().unwrap());
    let day = stamp.get(..8).unwrap();
    // The id of a key is no secret; a signature can be judged only with the body.
    let forged = format!(
        "authorization: AWS4-HMAC-SHA256 Credential=AKIAHOUSE/{day}/eu-west-1/dynamodb/\
         aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature={}\r\n",
        "0".repeat(64)
    );
    let head = door_head(&forged, &stamp, LENGTH);
    let strangers: Vec<TcpStream> = (0..40).map(|_| send(&address, &head, LENGTH - 1)).collect();
    let during = resident_mib(house.pid());
    assert!(during >= before + 50, "nothing was read: {before} MiB, {during} MiB");
    assert!(during <= before + 450, "{before} MiB before and {during} MiB with 40 bodies");
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
    drop(strangers);
    let after = wait_for_memory(&house, before);
    println!("bodies by a known key: {before} MiB, {during} MiB, returned in {after:?}");
}

/// Asks from another address of this machine.
fn ask_from(host: u8, address: &str, path: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0))).unwrap();
        socket.connect(address.parse().unwrap()).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    let mut stream = stream;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    program::read(stream)
}

#[test]
fn connections_of_one_address_leave_room_for_others_and_for_the_operator() {
    let program = testkit::program!();
    let mut command = program.serve();
    let house = Served::open(command.env("NAGAYA_HTTP_CONNECTIONS_MAX", "200"));
    let strangers: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(&house.address).unwrap()).collect();
    for path in ["/livez", "/readyz", "/metrics", "/console/sign-in"] {
        let answer = house.get(path);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
    let refused = house.get("/live");
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("too_many_connections"), "{refused}");
    let other = ask_from(2, &house.address, "/live");
    assert!(other.starts_with("HTTP/1.1 200 "), "{other}");
    drop(strangers);
    wait::until("an ordinary place", || {
        let answer = house.get("/live");
        wait::holds(answer.starts_with("HTTP/1.1 200 "), answer)
    });
}

#[test]
fn a_silent_connection_is_closed_after_the_time_for_a_head() {
    let program = testkit::program!();
    let house = program.open();
    let mut silent = house.connect().unwrap();
    house.advance(Duration::from_secs(31));
    let mut byte = [0; 1];
    let ended = silent.read(&mut byte);
    let is_reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
    assert!(matches!(ended, Ok(0)) || ended.as_ref().is_err_and(is_reset), "{ended:?}");
}
