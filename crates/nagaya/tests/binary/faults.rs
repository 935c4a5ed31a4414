//! Ends, damage and failures, seen from outside.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Resource, Rlimit, Signal, prlimit};
use tempfile::TempDir;

use crate::house::{House, answer, ask, nagaya, run};

const CREATE: &str = "table create things --partition pk:S --sort id:N";

/// An import without end, which has had at least `items` acknowledged.
struct Load {
    import: Child,
    told: BufReader<std::process::ChildStderr>,
}

impl Load {
    fn begin(directory: &Path) -> Load {
        let mut command = nagaya(directory);
        command.args(["table", "import", "things", "--format", "json"]);
        let mut import = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = import.stdin.take().unwrap();
        std::thread::spawn(move || {
            let mut lines = (0_u64..).map(|id| format!("{{\"pk\":\"p\",\"id\":{id}}}\n"));
            while input.write_all(lines.next().unwrap().as_bytes()).is_ok() {}
        });
        let mut told = BufReader::new(import.stderr.take().unwrap());
        let mut note = String::new();
        told.read_line(&mut note).unwrap();
        assert_eq!(note, "10000 items so far\n");
        Load { import, told }
    }

    /// The exit code and what was told last.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.told.read_to_string(&mut rest).unwrap();
        let last = rest.lines().last().unwrap_or_default().to_owned();
        (self.import.wait().unwrap().code(), last)
    }
}

/// All that was acknowledged is there, nothing is half there, and all agrees.
fn assert_whole(directory: &Path) {
    let out = answer(directory, "table scan things --all", &[]);
    let count = out.lines().count();
    assert!(count >= 10_000, "{count}");
    let expected = (0..count).map(|id| format!("{{\"id\":{id},\"pk\":\"p\"}}"));
    assert!(out.lines().eq(expected), "items are missing between others");
    assert!(answer(directory, "table check", &[]).ends_with("all is well\n"));
}

#[test]
fn sigterm_under_load_loses_nothing_acknowledged() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    answer(directory.path(), CREATE, &[]);
    let load = Load::begin(directory.path());
    house.signal(Signal::TERM);
    let told = "nagaya: the house is closing; the command was not finished";
    assert_eq!(load.end(), (Some(1), told.to_owned()));
    let (status, log) = house.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert_whole(directory.path());
    let _house = House::open(&mut nagaya(directory.path()));
    assert_whole(directory.path());
}

#[test]
fn sigkill_under_load_loses_nothing_acknowledged_and_the_client_says_so() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    answer(directory.path(), CREATE, &[]);
    let load = Load::begin(directory.path());
    house.signal(Signal::KILL);
    let told = "nagaya: the house closed the connection before the command was done";
    assert_eq!(load.end(), (Some(1), told.to_owned()));
    // Its files and sockets are closed one by one: the lock may outlive the connection a little.
    house.wait();
    assert_whole(directory.path());
}

#[test]
fn a_damaged_log_is_told_by_file_and_byte_and_ends_the_start() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    answer(directory.path(), CREATE, &[]);
    for id in 0..3 {
        answer(directory.path(), "table put things", &[&format!(r#"{{"pk":"p","id":{id}}}"#)]);
    }
    house.signal(Signal::KILL);
    house.wait();
    let log = directory.path().join("nagaya-data/log/0000000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    // In the middle: the last frame alone may be torn without a word.
    let frames = bytes.windows(4).enumerate().filter(|(_, window)| window == b"NGYF");
    let (second, _) = frames.into_iter().nth(1).unwrap();
    bytes[second + 100] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    for arguments in ["serve --http-listen 127.0.0.1:0", "table ls", "table check"] {
        let (code, out, error) = ask(directory.path(), arguments, &[]);
        assert_eq!((code, out.as_str()), (3, ""), "{arguments}: {error}");
        let told = format!("nagaya: `log/0000000001.log` is damaged at byte {second}: ");
        assert!(error.starts_with(&told), "{error}");
    }
}

#[test]
fn a_house_whose_log_cannot_be_written_stops_writing_and_turns_red() {
    let directory = TempDir::new().unwrap();
    // Writes beyond the limit set below then fail instead of ending the process.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\"", env!("CARGO_BIN_EXE_nagaya")]);
    command.env_clear().current_dir(directory.path()).stdin(Stdio::null());
    let house = House::open(&mut command);
    answer(directory.path(), CREATE, &[]);
    answer(directory.path(), "table put things", &[r#"{"pk":"a","id":1}"#]);
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));

    let limit = Rlimit { current: Some(0), maximum: Some(0) };
    prlimit(Some(house.pid()), Resource::Fsize, limit).unwrap();
    let (code, _, error) = ask(directory.path(), "table put things", &[r#"{"pk":"a","id":2}"#]);
    assert_eq!(code, 1);
    let told = "nagaya: the store has stopped writing: writing the log failed: File too large";
    assert!(error.starts_with(told), "{error}");
    let red = loop {
        let answer = house.get("/readyz");
        if !answer.starts_with("HTTP/1.1 200 ") {
            break answer;
        }
    };
    assert!(
        red.starts_with("HTTP/1.1 503 ") && red.contains("store: writing has stopped"),
        "{red}"
    );
    assert!(house.get("/livez").starts_with("HTTP/1.1 200 "));
    assert!(house.get("/metrics").contains("\nnagaya_store_writable 0\n"));
    // Reads go on.
    let found = "{\"id\":1,\"pk\":\"a\"}\n";
    assert_eq!(answer(directory.path(), "table scan things", &[]), found);
    // It can be closed, and what was acknowledged is there when the disk is well again.
    house.signal(Signal::TERM);
    let (status, log) = house.wait();
    assert!(log.contains("the store stops writing"), "{log}");
    assert_eq!(status.code(), Some(1), "{log}");
    assert_eq!(answer(directory.path(), "table scan things", &[]), found);
}

#[test]
fn a_house_that_is_held_by_something_else_is_out_of_reach() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    std::fs::remove_file(directory.path().join("nagaya-data/control.sock")).unwrap();
    let (code, _, error) = run(nagaya(directory.path()).args(["table", "ls"]));
    assert_eq!(code, 3);
    let told = "nagaya: `nagaya-data` is in use by another process, and that takes no commands: ";
    assert!(error.starts_with(told), "{error}");
    drop(house);
}
