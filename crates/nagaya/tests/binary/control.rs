//! The control socket, and commands that come at once.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::house::{EMPTY_HOUSE, House, answer, closed_house, for_visitors, nagaya};

fn socket(directory: &Path) -> std::path::PathBuf {
    directory.join("nagaya-data").join("control.sock")
}

#[test]
fn the_socket_is_its_owners_and_goes_with_the_house() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    let mode = socket(directory.path()).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    house.signal(Signal::TERM);
    assert_eq!(house.wait().0.code(), Some(0));
    assert!(!socket(directory.path()).exists());
}

#[test]
fn a_stale_socket_is_stepped_over_and_replaced() {
    let directory = TempDir::new().unwrap();
    drop(House::open(&mut nagaya(directory.path())));
    assert!(socket(directory.path()).exists());
    assert_eq!(for_visitors(&answer(directory.path(), "table ls", &[])), EMPTY_HOUSE);
    let _house = House::open(&mut nagaya(directory.path()));
    assert_eq!(for_visitors(&answer(directory.path(), "table ls", &[])), EMPTY_HOUSE);
}

#[test]
fn a_path_too_long_for_a_socket_is_no_hindrance() {
    let directory = TempDir::new().unwrap();
    let deep = directory.path().join("長屋".repeat(20)).join("x".repeat(100));
    let path = deep.to_str().unwrap();
    let _house = House::open(nagaya(directory.path()).args(["--store-path", path]));
    let listed = answer(directory.path(), "table ls --store-path", &[path]);
    assert_eq!(for_visitors(&listed), EMPTY_HOUSE);
}

#[test]
fn what_is_no_request_is_answered_and_does_no_harm() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    for (sent, told) in [
        ("", "= {\"code\":0,\"message\":\"\"}\n"),
        ("GET / HTTP/1.1\r\n", "= {\"code\":2,\"message\":\"the house does not know that command"),
        ("\"Sing\"\n", "= {\"code\":2,\"message\":\"the house does not know that command"),
    ] {
        let mut stream = UnixStream::connect(socket(directory.path())).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with(told), "{said}");
    }
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
}

#[test]
fn silent_clients_neither_stop_others_nor_the_end() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    let connect = || UnixStream::connect(socket(directory.path())).unwrap();
    let _silent: Vec<UnixStream> = (0..8).map(|_| connect()).collect();
    answer(directory.path(), "table ls", &[]);
    house.signal(Signal::TERM);
    assert_eq!(house.wait().0.code(), Some(0));
}

#[test]
fn commands_at_once_on_a_closed_house_wait_for_each_other() {
    let directory = closed_house();
    answer(directory.path(), "table create things --partition id:N", &[]);
    let put = |number: u32| {
        let mut command = nagaya(directory.path());
        command.args(["table", "put", "things", &format!(r#"{{"id":{number}}}"#)]);
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let puts: Vec<_> = (0..3).map(put).collect();
    for put in puts {
        let done = put.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    assert_eq!(answer(directory.path(), "table scan things", &[]).lines().count(), 3);
}
