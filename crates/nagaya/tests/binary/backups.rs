//! `nagaya backup`: made, verified, restored, and the past between two writes.

use base::{Clock, Timestamp};
use testkit::{Program, Served, wait};

use crate::own_tables::OWN_TABLES;

fn put(program: &Program, id: u32) {
    program.answer("table put things", &[&format!(r#"{{"id":{id}}}"#)]);
}

/// The numbers in `things` of the house in `house`.
fn ids(program: &Program, house: &str) -> Vec<String> {
    let out = program.answer("table scan things --store-path", &[house]);
    let mut ids: Vec<String> = out.lines().map(str::to_owned).collect();
    ids.sort();
    ids
}

/// An instant that is not before anything done so far, and before all that comes.
fn instant() -> Timestamp {
    let clock = Clock::real();
    let instant = clock.now();
    wait::until("a later instant", || wait::holds(clock.now() > instant, clock.now()));
    instant
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap()
}

/// A house with one item, a backup, and two more items, an instant before each.
fn tell_a_story(program: &Program) -> (String, Timestamp, Timestamp) {
    program.answer("table create things --partition id:N", &[]);
    put(program, 1);
    let backup = first_word(&program.answer("backup create", &[])).to_owned();
    let after_one = instant();
    put(program, 2);
    let after_two = instant();
    put(program, 3);
    (backup, after_one, after_two)
}

fn assert_story(program: &Program) {
    let (backup, after_one, after_two) = tell_a_story(program);
    let (one, two, three) = ("{\"id\":1}", "{\"id\":2}", "{\"id\":3}");
    let list = program.answer("backup list", &[]);
    assert_eq!(list.lines().map(first_word).collect::<Vec<_>>(), ["backup", &backup]);
    let told = program.answer("backup verify", &[&backup]);
    let tables = OWN_TABLES.len() + 1;
    assert!(told.starts_with(&format!("{backup} is whole: {tables} tables, ")), "{told}");

    let restore = |arguments: &[&str], to: &str| {
        let told = program.answer("backup restore --to", &[&[to], arguments].concat());
        assert!(told.starts_with(&format!("restored {tables} tables, ")), "{told}");
        assert!(told.ends_with(&format!("{to}\n")), "{told}");
        ids(program, to)
    };
    assert_eq!(restore(&[&backup], "backup"), [one]);
    let copy = format!("./nagaya-data/backups/{backup}");
    assert_eq!(restore(&[&copy], "copy"), [one]);
    assert_eq!(restore(&["--at", &after_one.to_string()], "one"), [one]);
    assert_eq!(restore(&["--at", &after_two.to_string()], "two"), [one, two]);
    assert_eq!(restore(&[], "now"), [one, two, three]);

    let refused = |arguments: &[&str], code: i32, part: &str| {
        let (actual, _, error) = program.run("backup", arguments);
        assert_eq!(actual, code, "{error}");
        assert!(error.contains(part), "{error}");
    };
    refused(&["restore", "--to", "one"], 1, "`one` is not empty");
    refused(&["restore", "--to", "nagaya-data"], 1, "`nagaya-data` is not empty");
    let late = ["restore", &backup, "--at", &after_two.to_string(), "--to", "late"];
    refused(&late, 2, "is after");
    let told = format!("there is no backup `none`; there are {backup}");
    refused(&["verify", "none"], 1, &told);
    refused(&["restore", "./one", "--to", "late"], 1, "backup.json");
    assert_eq!(ids(program, "nagaya-data"), [one, two, three]);
    assert_eq!(ids(program, "one"), [one]);
}

#[test]
fn a_closed_house_has_backups_and_a_past() {
    assert_story(&testkit::program!().closed());
}

#[test]
fn an_open_house_has_backups_and_a_past() {
    let program = testkit::program!();
    // The past has the times of the house, and the test names them: both take the system's clock.
    let _house = Served::open(&mut program.command());
    assert_story(&program);
}

#[test]
fn a_damaged_backup_is_found_and_not_restored() {
    let program = testkit::program!().closed();
    let (backup, ..) = tell_a_story(&program);
    let path = program.directory().join("nagaya-data/backups").join(&backup);
    let log = std::fs::read_dir(path.join("log")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&log).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let restore = ["restore", &backup, "--to", "new"];
    for arguments in [&["verify", backup.as_str()][..], &restore] {
        let (code, _, error) = program.run("backup", arguments);
        assert_eq!(code, 3, "{error}");
        assert!(error.contains("is damaged") && error.contains(".log"), "{error}");
    }
    assert!(!program.directory().join("new").exists());
    let (code, out, _) = program.run("backup verify", &[&backup, "--json"]);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["whole"], &told["backup"]), (3, &false.into(), &backup.into()));
    assert!(told["reason"].as_str().unwrap().contains("is damaged"), "{told}");
}

fn names(program: &Program) -> Vec<String> {
    let list = program.answer("backup list", &[]);
    list.lines().skip(1).map(|line| first_word(line).to_owned()).collect()
}

/// Makes a backup, and lets it be so many days old.
fn old_backup(program: &Program, item: u32, days: u64) -> String {
    put(program, item);
    let id = first_word(&program.answer("backup create", &[])).to_owned();
    let manifest = program.directory().join("nagaya-data/backups").join(&id).join("backup.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let mut told: serde_json::Value = serde_json::from_str(&text).unwrap();
    let made = told["created_ms"].as_u64().unwrap() - days * 86_400_000;
    told["created_ms"] = made.into();
    std::fs::write(&manifest, told.to_string()).unwrap();
    id
}

fn assert_removal(program: &Program) {
    program.answer("table create things --partition id:N", &[]);
    let [a, b, c, d] =
        [(1, 100), (2, 91), (3, 89), (4, 1)].map(|(item, days)| old_backup(program, item, days));
    assert_eq!(names(program), [a.as_str(), &b, &c, &d]);
    let (code, _, error) = program.run("backup delete", &[&b, "none"]);
    let told = format!("there is no backup `none`; there are {a}, {b}, {c}, {d}");
    assert!(code == 1 && error.contains(&told), "{error}");
    for path in ["../backups", ".", &format!("./nagaya-data/backups/{a}")] {
        let (code, _, error) = program.run("backup delete", &[path]);
        assert!(code == 1 && error.contains("there is no backup"), "{error}");
    }
    assert_eq!(names(program).len(), 4, "all of them or none");
    assert_eq!(program.answer("backup delete", &[&b]), "");
    assert_eq!(names(program), [a.as_str(), &c, &d]);
    assert_eq!(program.answer("backup prune", &[]), format!("{a}\n"));
    assert_eq!(program.answer("backup prune", &[]), "");
    assert_eq!(names(program), [c.as_str(), &d]);
    assert_eq!(
        program.answer("backup prune --days 1 --json --store-backup-days 0", &[]),
        format!("{{\"backup\":\"{c}\"}}\n")
    );
    let (_, out, told) = program.run("backup prune --store-backup-days 0", &[]);
    assert!(out.is_empty() && told.contains("kept for good"), "{told}");
    // The newest stays, however old it is.
    assert_eq!(program.answer("backup prune --days 1", &[]), "");
    assert_eq!(names(program), [d.as_str()]);
    program.answer("backup verify", &[&d]);
    program.answer("backup delete", &[&d]);
    assert_eq!(names(program), [] as [&str; 0]);
}

#[test]
fn backups_of_a_closed_house_are_deleted_by_name_and_by_age() {
    assert_removal(&testkit::program!().closed());
}

#[test]
fn backups_of_an_open_house_are_deleted_by_name_and_by_age() {
    let program = testkit::program!();
    let _house = Served::open(&mut program.command());
    assert_removal(&program);
}
