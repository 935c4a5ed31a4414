//! The control socket, and commands that come at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use base::Clock;
use table::Embedded;
use testkit::program::run;
use testkit::{Program, Served};

use crate::own_tables::{EMPTY_HOUSE, for_visitors};

fn socket(program: &Program) -> std::path::PathBuf {
    program.directory().join("nagaya-data").join("control.sock")
}

#[test]
fn the_socket_is_its_owners_and_goes_with_the_house() {
    let program = testkit::program!();
    let house = program.open();
    let mode = socket(&program).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(house.close().0.code(), Some(0));
    assert!(!socket(&program).exists());
}

#[test]
fn a_stale_socket_is_stepped_over_and_replaced() {
    let program = testkit::program!();
    program.open().kill();
    assert!(socket(&program).exists());
    assert_eq!(for_visitors(&program.answer("table ls", &[])), EMPTY_HOUSE);
    let _house = program.open();
    assert_eq!(for_visitors(&program.answer("table ls", &[])), EMPTY_HOUSE);
}

#[test]
fn a_path_too_long_for_a_socket_is_no_hindrance() {
    let program = testkit::program!();
    let deep = program.directory().join("長屋".repeat(20)).join("x".repeat(100));
    let path = deep.to_str().unwrap();
    let _house = Served::open(program.command().args(["--store-path", path]));
    let listed = program.answer("table ls --store-path", &[path]);
    assert_eq!(for_visitors(&listed), EMPTY_HOUSE);
}

/// All that the house says to these bytes.
fn say(program: &Program, sent: &str) -> String {
    let mut stream = UnixStream::connect(socket(program)).unwrap();
    stream.write_all(sent.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn what_is_no_request_is_answered_and_does_no_harm() {
    let program = testkit::program!();
    let house = program.open();
    for (sent, told) in [
        ("", "= {\"code\":0,\"message\":\"\"}\n"),
        ("GET / HTTP/1.1\r\n", "= {\"code\":2,\"message\":\"the house does not know that command"),
        ("\"Sing\"\n", "= {\"code\":2,\"message\":\"the house does not know that command"),
        ("{\"Advance\":{}}\n", "= {\"code\":2,\"message\":\"the house does not know that command"),
        (
            "{\"Advance\":{\"ms\":99999999999999}}\n",
            "= {\"code\":2,\"message\":\"the clock is moved by",
        ),
    ] {
        let said = say(&program, sent);
        assert!(said.starts_with(told), "{said}");
    }
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_test_moves_the_clock_of_a_house_and_everything_in_it_follows() {
    let program = testkit::program!();
    let house = program.open();
    let (begun, real) = (house.now(), Clock::real());
    assert!(begun.since(real.now()).is_zero(), "it begins with the system's time");
    program.answer("table create notes --partition id:S --ttl ends", &[]);
    let ends = begun.seconds() + 30;
    program.answer("table put notes", &[&format!(r#"{{"id":"a","ends":{ends}}}"#)]);
    house.advance(Duration::from_secs(10));
    assert_eq!(program.answer("table scan notes", &[]).lines().count(), 1, "not yet");
    let (before, started) = (house.now(), real.instant());
    let now = house.advance(Duration::from_secs(120));
    let took = real.instant().since(started);
    assert!(now.since(before) >= Duration::from_secs(120), "{before} {now}");
    assert!(now.since(before) <= Duration::from_secs(120) + took, "{before} {now}");
    assert_eq!(program.answer("table scan notes", &[]), "", "it has ended");
    assert!(took < Duration::from_secs(30), "two minutes took {took:?}");
    let far = Duration::from_secs(600);
    assert!(house.advance(far).since(now) >= far);
    assert!(house.get("/readyz").ends_with("\r\n\r\nready\n"), "far ahead all is well");
}

#[test]
fn a_house_on_the_systems_clock_refuses_to_move_it() {
    let program = testkit::program!();
    let _house = Served::open(&mut program.command());
    let said = say(&program, "{\"Advance\":{\"ms\":0}}\n");
    assert_eq!(said, "= {\"code\":2,\"message\":\"this house runs on the system's clock\"}\n");
}

#[test]
fn a_test_clock_is_refused_where_others_reach_the_house() {
    let program = testkit::program!();
    for (arguments, told) in [
        ("--http-listen 0.0.0.0:0", "`http.listen` is `0.0.0.0:0`"),
        ("--http-listen [::]:0", "`http.listen` is `[::]:0`"),
        (
            "--http-listen 127.0.0.1:0 --dynamodb-listen 0.0.0.0:0",
            "`dynamodb.listen` is `0.0.0.0:0`",
        ),
    ] {
        let (code, out, error) = run(program.serve().args(arguments.split(' ')));
        assert_eq!((code, out.as_str()), (2, ""), "{error}");
        let told = format!("{told}, and must be a loopback address\n");
        assert!(error.starts_with("nagaya: `--test-clock` is for tests"), "{error}");
        assert!(error.ends_with(&told), "{error}");
    }
    assert!(!program.directory().join("nagaya-data").exists(), "nothing was opened");
    let (code, _, error) = program.run("table ls --test-clock", &[]);
    assert_eq!(code, 2, "only `serve` knows it: {error}");
}

#[test]
fn nothing_tells_of_the_test_clock() {
    let program = testkit::program!();
    for arguments in [
        "--help",
        "serve --help",
        "serve -h",
        "man",
        "man serve",
        "config example",
        "config print",
        "completions bash",
        "completions zsh",
        "completions fish",
        "completions elvish",
        "completions powershell",
    ] {
        let told = program.answer(arguments, &[]);
        assert!(!told.is_empty() && !told.contains("test-clock"), "{arguments}");
    }
}

#[test]
fn silent_clients_neither_stop_others_nor_the_end() {
    let program = testkit::program!();
    let house = program.open();
    let connect = || UnixStream::connect(socket(&program)).unwrap();
    let _silent: Vec<UnixStream> = (0..8).map(|_| connect()).collect();
    program.answer("table ls", &[]);
    assert_eq!(house.close().0.code(), Some(0));
}

#[test]
fn a_command_waits_for_the_one_before_it_however_long_that_takes() {
    let program = testkit::program!().closed();
    let turn = Embedded::take_turn(&program.directory().join("nagaya-data"), || {}).unwrap();
    let mut command = program.command();
    command.args(["table", "ls"]).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut waiting = command.spawn().unwrap();
    let mut errors = BufReader::new(waiting.stderr.take().unwrap());
    let mut noted = String::new();
    errors.read_line(&mut noted).unwrap();
    assert_eq!(noted, "waiting for another command to finish\n");
    assert_eq!(waiting.try_wait().unwrap(), None, "it waits");
    drop(turn);
    assert!(waiting.wait().unwrap().success());
}

#[test]
fn commands_at_once_on_a_closed_house_wait_for_each_other() {
    let program = testkit::program!().closed();
    program.answer("table create things --partition id:N", &[]);
    let put = |number: u32| {
        let mut command = program.command();
        command.args(["table", "put", "things", &format!(r#"{{"id":{number}}}"#)]);
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let puts: Vec<_> = (0..3).map(put).collect();
    for put in puts {
        let done = put.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    assert_eq!(program.answer("table scan things", &[]).lines().count(), 3);
}
