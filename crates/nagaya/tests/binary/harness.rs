//! What the harness complains about when a house is dropped, and what a test may say before.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, WaitId, WaitIdOptions, prlimit, waitid};
use testkit::{Left, Program, Served, wait};

use crate::instances::open_room;

/// What the end of a house complains about.
fn complaint(house: Served) -> String {
    let complained = catch_unwind(AssertUnwindSafe(|| drop(house))).expect_err("it complains");
    *complained.downcast::<String>().unwrap()
}

#[test]
fn a_subscription_that_outlives_its_test_is_a_leak_unless_it_is_meant() {
    let program = testkit::program!();
    let mut house = program.open();
    let stream = open_room(&house).replace("comments", "stream");
    let mut listens = house.connect().unwrap();
    write!(listens, "GET {stream} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let is_open = || house.get("/metrics").contains("\nnagaya_hub_subscribers 1\n");
    wait::until("a subscription", || wait::holds(is_open(), "none"));
    house.rest_within(Duration::from_millis(100));
    let told = complaint(house);
    assert!(told.contains("its house left: leaked subscriptions: "), "{told}");

    let mut house = program.open();
    house.allow(Left::Subscribers);
    let mut listens = house.connect().unwrap();
    write!(listens, "GET {stream} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    drop(house);
}

#[test]
fn a_house_that_ends_before_its_test_is_found() {
    let program = testkit::program!();
    let mut house = program.open();
    house.rest_within(Duration::from_millis(100));
    house.signal(Signal::KILL);
    // Its sockets close before it counts as ended. `NOWAIT` leaves the end for the harness to find.
    waitid(WaitId::Pid(house.pid()), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    let told = complaint(house);
    assert!(told.contains("it takes no requests: "), "{told}");
    assert!(told.contains("it ended before the test, with signal: 9"), "{told}");
}

/// A house whose disk takes no more.
fn broken(program: &Program) -> Served {
    let mut command = std::process::Command::new("/bin/sh");
    let script = "trap '' XFSZ; exec \"$0\" serve --test-clock";
    command.args(["-c", script, env!("CARGO_BIN_EXE_nagaya")]);
    let mut house = Served::open(command.env_clear().current_dir(program.directory()));
    house.rest_within(Duration::from_millis(100));
    let limit = Rlimit { current: Some(0), maximum: Some(0) };
    prlimit(Some(house.pid()), Resource::Fsize, limit).unwrap();
    assert_eq!(program.run("table create things --partition pk:S", &[]).0, 1);
    house
}

#[test]
fn errors_in_the_log_and_another_end_than_a_good_one_are_found() {
    let program = testkit::program!();
    let told = complaint(broken(&program));
    assert!(told.contains("it ended with exit status: 1"), "{told}");
    assert!(told.contains("errors in its log: ") && told.contains("stops writing"), "{told}");

    let program = testkit::program!();
    let mut house = broken(&program);
    house.expect_error("stops writing");
    let told = complaint(house);
    assert!(!told.contains("errors in its log"), "{told}");
}
