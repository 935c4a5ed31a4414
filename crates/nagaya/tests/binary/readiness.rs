//! What a house says about its readiness: while it starts, and while its disk is full.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::json;
use testkit::{Program, Served, program, wait};

use crate::door::ask_door;

/// Makes the next start wait: it reads its format from a pipe that nobody has written yet. Gives the
/// pipe and what is to be written.
fn hold_start(program: &Program) -> (PathBuf, String) {
    let format = program.directory().join("nagaya-data/FORMAT");
    let text = fs::read_to_string(&format).unwrap();
    fs::remove_file(&format).unwrap();
    mknodat(CWD, &format, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    (format, text)
}

/// An address that nobody listens on.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn connect(address: &str) -> TcpStream {
    wait::until("a listener", || TcpStream::connect(address))
}

fn get(address: &str, path: &str) -> String {
    let mut stream = connect(address);
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    program::read(stream)
}

/// One answer on a connection that stays open: its status.
fn get_on(stream: &mut BufReader<TcpStream>, path: &str) -> String {
    write!(stream.get_mut(), "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let (mut status, mut length) = (String::new(), 0);
    stream.read_line(&mut status).unwrap();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = bytes.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    stream.read_exact(&mut vec![0; length]).unwrap();
    status.trim().to_owned()
}

#[test]
fn a_house_listens_before_its_store_is_open_and_says_that_it_is_starting() {
    let program = testkit::program!().closed();
    let (pipe, text) = hold_start(&program);
    let address = free_address();
    let house = std::thread::scope(|scope| {
        let opening = scope.spawn(|| Served::open_at(&address, &mut program.serve()));
        let mut kept = BufReader::new(connect(&address));
        assert_eq!(get_on(&mut kept, "/livez"), "HTTP/1.1 200 OK");
        assert_eq!(get_on(&mut kept, "/live"), "HTTP/1.1 503 Service Unavailable");
        let red = get(&address, "/readyz");
        assert!(red.starts_with("HTTP/1.1 503 "), "{red}");
        let told = program::json(&red);
        assert_eq!(told["code"], "not_ready");
        assert_eq!(told["message"], "start: the store is being opened");
        for path in ["/", "/console", "/mesh/graphql", "/sns/v1/posts", "/nowhere/at/all"] {
            let answer = get(&address, path);
            assert!(answer.starts_with("HTTP/1.1 503 "), "{path}: {answer}");
            assert!(answer.contains("\r\nretry-after: 1\r\n"), "{path}: {answer}");
            assert_eq!(program::json(&answer)["code"], "starting", "{path}");
        }
        assert!(get(&address, "/metrics").starts_with("HTTP/1.1 200 "));
        fs::write(&pipe, text).unwrap();
        let house = opening.join().unwrap();
        assert_eq!(get_on(&mut kept, "/live"), "HTTP/1.1 200 OK");
        house
    });
    assert!(house.get("/readyz").ends_with("ready\n"));
}

#[test]
fn a_house_that_is_told_to_end_while_it_starts_ends() {
    let program = testkit::program!().closed();
    let (_pipe, _) = hold_start(&program);
    let address = free_address();
    let mut command = program.serve();
    command.env("NAGAYA_HTTP_LISTEN", &address).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    assert!(get(&address, "/livez").starts_with("HTTP/1.1 200 "));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ended = wait::until("its end", || child.try_wait().unwrap().ok_or("it runs"));
    assert_eq!(ended.code(), Some(0));
}

/// Writes ever smaller items until not even the smallest finds room.
fn fill(program: &Program) {
    let mut id = 0;
    for bytes in [100_000, 10_000, 1_000, 100, 0] {
        loop {
            id += 1;
            let item = json!({ "id": id, "pad": "x".repeat(bytes) }).to_string();
            match program.run("table put things", &[&item]) {
                (0, ..) => {}
                (code, _, error) => {
                    let told = (1, "nagaya: the disk is full: nothing was written\n");
                    assert_eq!((code, error.as_str()), told);
                    break;
                }
            }
        }
    }
}

#[test]
fn a_full_disk_turns_the_house_red_callers_get_507_and_it_recovers_by_itself() {
    let program = testkit::program!();
    // A bound on the size of files takes the place of a full disk: a segment of the log does not
    // find room. Writes beyond it fail instead of ending the process.
    let mut command = Command::new("/bin/sh");
    let script = "trap '' XFSZ; exec \"$0\" serve --test-clock --store-segment-mib 1 \
                  --dynamodb 127.0.0.1:0";
    command.args(["-c", script, env!("CARGO_BIN_EXE_nagaya")]).stdin(Stdio::null());
    command.env_clear().current_dir(program.directory()).env("NAGAYA_DYNAMODB_OPEN", "true");
    let house = Served::open(&mut command);
    program.answer("table create things --partition id:N", &[]);
    let limit = |current| {
        let limit = Rlimit { current, maximum: None };
        prlimit(Some(house.pid()), Resource::Fsize, limit).unwrap();
    };
    limit(Some(1024 * 1024 - 1));
    fill(&program);
    // The store is looked at every second.
    house.advance(Duration::from_secs(1));
    let red = house.get("/readyz");
    assert!(red.starts_with("HTTP/1.1 503 "), "{red}");
    let told = "store: the disk is full: nothing can be written";
    assert_eq!(program::json(&red)["message"], told);
    assert!(house.get("/livez").starts_with("HTTP/1.1 200 "));

    let host = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10";
    let room = json!({ "name": "Keynote", "hostId": host }).to_string();
    let json_body = "content-type: application/json\r\n";
    let user = json!({ "email": "a@b.example", "username": "ada", "password": "correct horse" });
    let register = ("/sns/v1/auth/register", user.to_string());
    for (path, body) in std::iter::repeat_n(("/live/rooms", room.clone()), 5).chain([register]) {
        let answer = house.ask("POST", path, json_body, &body);
        assert!(answer.starts_with("HTTP/1.1 507 "), "{path}: {answer}");
        assert_eq!(program::json(&answer)["code"], "disk_full", "{answer}");
    }
    let key = format!("x-api-key: {}\r\n", house.mesh_key());
    let query = "mutation { createGroup(name: \"1-2\", hostId: \"me\", domain: \"d\") { id } }";
    let answer = house.ask("POST", "/mesh/graphql", &key, &json!({ "query": query }).to_string());
    assert!(answer.starts_with("HTTP/1.1 507 "), "{answer}");
    let word = &program::json(&answer)["errors"][0]["errorType"];
    assert_eq!(word, "InsufficientStorageException", "{answer}");
    let (_, door) = house.named("dynamodb").split_once("://").unwrap();
    let put = json!({ "TableName": "things", "Item": { "id": { "N": "0" } } });
    let answer = ask_door(door, "PutItem", &put);
    let fault = "com.amazon.coral.service#ServiceUnavailable";
    assert_eq!(answer["__type"], fault, "{answer}");

    limit(None);
    // Nobody writes: the house finds out by itself.
    house.advance(Duration::from_secs(10));
    assert!(house.get("/readyz").ends_with("ready\n"));
    let answer = house.ask("POST", "/live/rooms", json_body, &room);
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let log = house.log();
    let troubled = log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR"));
    // How many files a process may open is the machine's.
    let troubled: Vec<&str> = troubled.filter(|line| !line.contains("open files")).collect();
    assert!(troubled.len() == 1 && troubled[0].contains("the disk is full"), "{troubled:#?}");
    assert_eq!(log.matches("ready again").count(), 1, "{log}");
    let (status, log) = house.close();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(program.answer("table check", &[]).ends_with("all is well\n"));
}
