//! Ends, damage and failures, seen from outside.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, prlimit};
use testkit::node::Node;
use testkit::{Program, Served};

pub(crate) const CREATE: &str = "table create things --partition pk:S --sort id:N";

/// An import without end, which has had at least ten thousand items acknowledged.
pub(crate) struct Load {
    import: Node,
}

impl Load {
    pub(crate) fn begin(program: &Program) -> Load {
        let mut command = program.command();
        command.args(["table", "import", "things", "--format", "json"]);
        let mut import = Node::heard_by_errors(&mut command);
        let mut input = import.take_input();
        std::thread::spawn(move || {
            let mut lines = (0_u64..).map(|id| format!("{{\"pk\":\"p\",\"id\":{id}}}\n"));
            while input.write_all(lines.next().unwrap().as_bytes()).is_ok() {}
        });
        assert_eq!(import.line().as_deref(), Some("10000 items so far"));
        Load { import }
    }

    /// Returns when so many items more were acknowledged.
    ///
    /// # Panics
    /// The import ends before.
    pub(crate) fn go_on_for(&mut self, thousands: usize) {
        for _ in 0..thousands.div_ceil(10) {
            let line = self.import.line().expect("the import goes on");
            assert!(line.ends_with(" items so far"), "{line}");
        }
    }

    /// The exit code and what was told last.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut last = String::new();
        while let Some(line) = self.import.line() {
            last = line;
        }
        (self.import.wait().code(), last)
    }
}

/// All that was acknowledged is there, nothing is half there, and all agrees.
fn assert_whole(program: &Program) {
    let out = program.answer("table scan things --all", &[]);
    let count = out.lines().count();
    assert!(count >= 10_000, "{count}");
    let expected = (0..count).map(|id| format!("{{\"id\":{id},\"pk\":\"p\"}}"));
    assert!(out.lines().eq(expected), "items are missing between others");
    assert!(program.answer("table check", &[]).ends_with("all is well\n"));
}

#[test]
fn sigterm_under_load_loses_nothing_acknowledged() {
    let program = testkit::program!();
    let house = program.open();
    program.answer(CREATE, &[]);
    let load = Load::begin(&program);
    house.signal(Signal::TERM);
    let told = "nagaya: the house is closing; the command was not finished";
    assert_eq!(load.end(), (Some(1), told.to_owned()));
    let (status, log) = house.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert_whole(&program);
    let _house = program.open();
    assert_whole(&program);
}

#[test]
fn sigkill_under_load_loses_nothing_acknowledged_and_the_client_says_so() {
    let program = testkit::program!();
    let house = program.open();
    program.answer(CREATE, &[]);
    let load = Load::begin(&program);
    house.signal(Signal::KILL);
    let told = "nagaya: the house closed the connection before the command was done";
    assert_eq!(load.end(), (Some(1), told.to_owned()));
    // Its files and sockets are closed one by one: the lock may outlive the connection a little.
    house.wait();
    assert_whole(&program);
}

#[test]
fn a_damaged_log_is_told_by_file_and_byte_and_ends_the_start() {
    let program = testkit::program!();
    let house = program.open();
    program.answer(CREATE, &[]);
    for id in 0..3 {
        program.answer("table put things", &[&format!(r#"{{"pk":"p","id":{id}}}"#)]);
    }
    house.signal(Signal::KILL);
    house.wait();
    let log = program.directory().join("nagaya-data/log/0000000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    // In the middle: the last frame alone may be torn without a word.
    let frames = bytes.windows(4).enumerate().filter(|(_, window)| window == b"NGYF");
    let (second, _) = frames.into_iter().nth(1).unwrap();
    bytes[second + 100] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    for arguments in ["serve --http-listen 127.0.0.1:0", "table ls", "table check"] {
        let (code, out, error) = program.run(arguments, &[]);
        assert_eq!((code, out.as_str()), (3, ""), "{arguments}: {error}");
        let told = format!("nagaya: `log/0000000001.log` is damaged at byte {second}: ");
        assert!(error.starts_with(&told), "{error}");
    }
}

#[test]
fn a_house_whose_log_cannot_be_written_stops_writing_and_turns_red() {
    let program = testkit::program!();
    // Writes beyond the limit set below then fail instead of ending the process.
    let mut command = Command::new("/bin/sh");
    let script = "trap '' XFSZ; exec \"$0\" serve --test-clock";
    command.args(["-c", script, env!("CARGO_BIN_EXE_nagaya")]);
    command.env_clear().current_dir(program.directory()).stdin(Stdio::null());
    let house = Served::open(&mut command);
    program.answer(CREATE, &[]);
    program.answer("table put things", &[r#"{"pk":"a","id":1}"#]);
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));

    let limit = Rlimit { current: Some(0), maximum: Some(0) };
    prlimit(Some(house.pid()), Resource::Fsize, limit).unwrap();
    let (code, _, error) = program.run("table put things", &[r#"{"pk":"a","id":2}"#]);
    assert_eq!(code, 1);
    let told = "nagaya: the store has stopped writing: writing the log failed: File too large";
    assert!(error.starts_with(told), "{error}");
    // The store is looked at every second.
    house.advance(Duration::from_secs(1));
    let red = house.get("/readyz");
    assert!(
        red.starts_with("HTTP/1.1 503 ") && red.contains("store: writing has stopped"),
        "{red}"
    );
    assert!(house.get("/livez").starts_with("HTTP/1.1 200 "));
    assert!(house.get("/metrics").contains("\nnagaya_store_writable 0\n"));
    // Reads go on.
    let found = "{\"id\":1,\"pk\":\"a\"}\n";
    assert_eq!(program.answer("table scan things", &[]), found);
    // It can be closed, and what was acknowledged is there when the disk is well again.
    let (status, log) = house.close();
    assert!(log.contains("the store stops writing"), "{log}");
    assert_eq!(status.code(), Some(1), "{log}");
    assert_eq!(program.answer("table scan things", &[]), found);
}
