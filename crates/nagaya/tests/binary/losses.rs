//! Files that are taken away from a house, open or not, and file descriptors that run out: seen from
//! outside.

use std::fs::{self, OpenOptions};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, prlimit};
use testkit::{Program, Served, wait};

use crate::faults::{CREATE, Load};

/// Items that together take several segments of the smallest size.
const ITEMS: u32 = 60;
const PAD: usize = 60_000;

/// A program with small segments, and a house with `things` that was killed while it was open.
fn killed() -> Program {
    let program = testkit::program!();
    fs::write(program.directory().join("nagaya.toml"), "[store]\nsegment_mib = 1\n").unwrap();
    let house = program.open();
    program.answer(CREATE, &[]);
    let item = |id| format!("{{\"pk\":\"p\",\"id\":{id},\"pad\":\"{}\"}}\n", "x".repeat(PAD));
    let items: String = (0..ITEMS).map(item).collect();
    fs::write(program.directory().join("items.json"), items).unwrap();
    program.answer("table import things --format json --in items.json", &[]);
    house.kill();
    program
}

fn data(program: &Program, name: &str) -> PathBuf {
    program.directory().join("nagaya-data").join(name)
}

fn count(program: &Program) -> usize {
    program.answer("table scan things --all", &[]).lines().count()
}

/// Asserts that neither a house nor a check opens the store, and that both say this.
#[track_caller]
fn assert_refused(program: &Program, told: &str) {
    for arguments in ["serve --http-listen 127.0.0.1:0", "table check"] {
        let (code, out, error) = program.run(arguments, &[]);
        assert_eq!((code, out.as_str()), (3, ""), "{arguments}: {error}");
        let last = error.lines().last().unwrap_or_default();
        assert!(last.starts_with(&format!("nagaya: {told}")), "{arguments}: {error}");
    }
}

/// Segments of the log that hold something, oldest first.
fn used_segments(program: &Program) -> Vec<String> {
    let log = data(program, "log");
    let names = fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".log"));
    names.retain(|name| fs::read(log.join(name)).unwrap().iter().any(|byte| *byte != 0));
    names.sort();
    names
}

#[test]
fn a_removed_log_and_a_removed_newest_segment_end_the_start_by_name() {
    let program = killed();
    let segments = used_segments(&program);
    assert!(segments.len() >= 3, "{segments:?}");
    let newest = data(&program, "log").join(segments.last().unwrap());
    let bytes = fs::read(&newest).unwrap();
    fs::remove_file(&newest).unwrap();
    let last = segments.last().unwrap();
    assert_refused(&program, &format!("`log/{last}` is damaged at byte 0: the file is missing"));
    fs::write(&newest, bytes).unwrap();

    let (log, aside) = (data(&program, "log"), data(&program, "aside"));
    fs::rename(&log, &aside).unwrap();
    let first = segments.first().unwrap();
    assert_refused(&program, &format!("`log/{first}` is damaged at byte 0: the file is missing"));
    fs::remove_dir_all(&log).unwrap();
    fs::rename(&aside, &log).unwrap();
    assert_eq!(count(&program), ITEMS as usize);
    assert!(program.answer("table check", &[]).ends_with("all is well\n"));
}

#[test]
fn a_cut_tree_ends_the_start_with_both_lengths() {
    let program = killed();
    // Opens the store, and settles everything when it closes it.
    assert_eq!(count(&program), ITEMS as usize);
    let tree = data(&program, "settled/data.mdb");
    let whole = fs::read(&tree).unwrap();
    let cuts = [whole.len() / 2, whole.len() / 2 / 4096 * 4096, 3 * 4096, whole.len() - 1];
    for cut in cuts {
        OpenOptions::new().write(true).open(&tree).unwrap().set_len(cut as u64).unwrap();
        assert_refused(&program, &format!("`settled/data.mdb` is damaged at byte {cut}: "));
        let (_, _, error) = program.run("table check", &[]);
        assert!(error.contains(&format!("{cut} bytes")), "{error}");
        fs::write(&tree, &whole).unwrap();
    }
    assert_eq!(count(&program), ITEMS as usize);
}

#[test]
fn a_tree_that_is_cut_under_an_open_house_ends_it_with_a_word() {
    let program = killed();
    assert_eq!(count(&program), ITEMS as usize);
    let house = program.open();
    let tree = OpenOptions::new().write(true).open(data(&program, "settled/data.mdb")).unwrap();
    tree.set_len(3 * 4096).unwrap();
    let (code, _, _) = program.run("table scan things --all", &[]);
    assert_ne!(code, 0);
    let (status, log) = house.wait();
    assert_eq!(status.signal(), Some(Signal::BUS.as_raw()), "{log}");
    assert!(log.contains("a page of settled/data.mdb cannot be read"), "{log}");
}

#[test]
fn a_second_house_is_refused_though_the_lock_file_was_removed() {
    let program = testkit::program!();
    let house = program.open();
    fs::remove_file(data(&program, "LOCK")).unwrap();
    let (code, _, error) = program.run("serve --http-listen 127.0.0.1:0", &[]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("is in use by another process"), "{error}");
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
}

/// Waits until a house is not ready because of its store, and gives the reason.
#[track_caller]
fn wait_for_red(house: &Served) -> String {
    wait::until("a red readiness", || {
        let answer = house.get("/readyz");
        let red = answer.starts_with("HTTP/1.1 503 ") && answer.contains("store: ");
        if red { Ok(answer) } else { Err(answer) }
    })
}

#[test]
fn a_directory_that_is_moved_under_an_open_house_turns_it_red() {
    let program = testkit::program!();
    let house = program.open();
    program.answer(CREATE, &[]);
    let (data, aside) = (data(&program, ""), program.directory().join("aside"));
    fs::rename(&data, &aside).unwrap();
    let red = wait_for_red(&house);
    assert!(red.contains("`nagaya-data` was removed, moved or replaced"), "{red}");
    // The control socket moved too, so the house is asked to end by a signal alone.
    house.kill();
    fs::rename(&aside, &data).unwrap();
    assert_eq!(count(&program), 0);
}

#[test]
fn a_directory_that_is_removed_under_an_open_house_turns_it_red() {
    let program = testkit::program!();
    let house = program.open();
    // Moved first: nobody makes another file in what is being removed.
    let aside = program.directory().join("aside");
    fs::rename(data(&program, ""), &aside).unwrap();
    fs::remove_dir_all(&aside).unwrap();
    wait_for_red(&house);
    assert!(house.get("/livez").starts_with("HTTP/1.1 200 "));
    house.kill();
}

#[test]
fn writing_goes_on_while_no_file_descriptor_is_left() {
    let program = testkit::program!();
    let settings = "[store]\nsegment_mib = 1\nmemory_mib = 4\n";
    fs::write(program.directory().join("nagaya.toml"), settings).unwrap();
    let mut house = program.open();
    // What else wants files says that it gets none.
    house.allow(testkit::Left::Errors);
    program.answer(CREATE, &[]);
    let mut load = Load::begin(&program);
    let (before, _connections) = take_all_files(&house);
    let segments = used_segments(&program).len();
    // Several segments and settling rounds, each of which needs files.
    load.go_on_for(100);
    let more = used_segments(&program).len() - segments;
    assert!(more >= 4, "only {more} segments were begun");
    prlimit(Some(house.pid()), Resource::Nofile, before).unwrap();
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "), "{}", house.log());
    program.answer("table put things", &[r#"{"pk":"q","id":1}"#]);
    house.kill();
    load.end();
    assert!(program.answer("table check", &[]).ends_with("all is well\n"));
}

/// Lets a house have no more files than it has open now, and takes those that are free by
/// connections, and a few more that wait for one. Gives the limit before.
fn take_all_files(house: &Served) -> (Rlimit, Vec<TcpStream>) {
    let open = || -> Vec<u64> {
        let files = fs::read_dir(format!("/proc/{}/fd", house.pid().as_raw_nonzero())).unwrap();
        let numbers = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        numbers.map(|number| number.parse().unwrap()).collect()
    };
    let bound = open().into_iter().max().unwrap() + 1;
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit { current: Some(bound), maximum };
    let before = prlimit(Some(house.pid()), Resource::Nofile, limit).unwrap();
    let free = usize::try_from(bound).unwrap() - open().len();
    let connections = (0..free + 2).map(|_| house.connect().unwrap()).collect();
    wait::until("a house without files", || {
        let open = open().len();
        wait::holds(open + 1 >= usize::try_from(bound).unwrap(), (open, bound))
    });
    (before, connections)
}

#[test]
fn a_house_with_too_few_file_descriptors_for_its_connections_says_so() {
    let program = testkit::program!();
    let mut command = std::process::Command::new("/bin/sh");
    let script = "ulimit -n 1024; exec \"$0\" serve --test-clock";
    command.args(["-c", script, env!("CARGO_BIN_EXE_nagaya")]);
    command.env_clear().current_dir(program.directory()).stdin(std::process::Stdio::null());
    let house = Served::open(&mut command);
    let told = "at most 1024 open files, 16640 are wanted for the 16384 connections of \
                `http.connections_max`";
    assert!(house.log().contains(told), "{}", house.log());
}
