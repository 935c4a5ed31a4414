//! What nobody but the owner of a house reads: its files, its secrets, and passwords in its settings.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use testkit::{Program, Served, program};

use crate::door::ask_door;
use crate::own_tables::OWN_TABLES;

/// `nagaya serve` where every new file is open to everybody, unless the program prevents it.
fn serve_carelessly(program: &Program) -> Command {
    let mut command = Command::new("/bin/sh");
    let script = "umask 000; exec \"$0\" serve --test-clock";
    command.args(["-c", script, env!("CARGO_BIN_EXE_nagaya")]).stdin(Stdio::null());
    command.env_clear().current_dir(program.directory());
    command
}

fn walk(path: &Path, found: &mut Vec<PathBuf>) {
    found.push(path.to_owned());
    for entry in fs::read_dir(path).into_iter().flatten() {
        walk(&entry.unwrap().path(), found);
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[track_caller]
fn assert_private(path: &Path) {
    let mut found = Vec::new();
    walk(path, &mut found);
    let wrong = found.iter().filter(|path| mode(path) != if path.is_dir() { 0o700 } else { 0o600 });
    let wrong: Vec<String> =
        wrong.map(|path| format!("{} {:o}", path.display(), mode(path))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn data_backups_and_exports_are_private_whatever_the_umask() {
    let program = testkit::program!();
    let house = Served::open(&mut serve_carelessly(&program));
    program.answer("table create things --partition id:N", &[]);
    program.answer("table put things", &[r#"{"id":1}"#]);
    let backup = program.answer("backup create", &[]);
    let data = program.directory().join("nagaya-data");
    assert!(data.join("control.sock").exists());
    assert_private(&data);
    program.answer("table export things --out things.ndjson", &[]);
    assert_eq!(mode(&program.directory().join("things.ndjson")), 0o600);
    let backup = backup.split_whitespace().next().unwrap();
    program.answer("backup restore --to restored", &[backup]);
    assert_private(&program.directory().join("restored"));
    drop(house);
    assert_private(&data);
}

#[test]
fn a_directory_that_others_could_read_is_closed_with_one_line() {
    let program = testkit::program!().closed();
    program.answer("backup create", &[]);
    let data = program.directory().join("nagaya-data");
    let mut found = Vec::new();
    walk(&data, &mut found);
    for path in &found {
        let open = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, Permissions::from_mode(open)).unwrap();
    }
    let told = "other users could read the data directory; now it is private";
    let (_, log) = program.open().close();
    assert_eq!(log.matches(told).count(), 1, "{log}");
    assert_private(&data);
    let (_, log) = program.open().close();
    assert_eq!(log.matches(told).count(), 0, "{log}");
}

/// A person with an account, a room with a host, and what proves who each is.
struct Guests {
    secrets: Vec<String>,
}

fn post(house: &Served, path: &str, head: &str, body: &Json) -> Json {
    let head = format!("content-type: application/json\r\n{head}");
    let answer = house.ask("POST", path, &head, &body.to_string());
    assert!(answer.starts_with("HTTP/1.1 20"), "{path}: {answer}");
    program::json(&answer)
}

fn invite(house: &Served) -> Guests {
    let account =
        json!({ "email": "ada@b.example", "username": "ada", "password": "correct horse" });
    let registered =
        post(house, "/sns/v1/auth/register", "idempotency-key: one-two-three\r\n", &account);
    let token = registered["token"].as_str().unwrap();
    let bearer = format!("authorization: Bearer {token}\r\n");
    post(house, "/sns/v1/posts", &bearer, &json!({ "content": "hello" }));
    let host = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10";
    post(house, "/live/rooms", "", &json!({ "name": "Keynote", "hostId": host }));
    let mut secrets = vec![host.to_owned(), house.mesh_key().to_owned(), "$argon2".to_owned()];
    // The parts of tokens that are the same wherever they stand.
    for name in ["token", "refreshToken"] {
        let token = registered[name].as_str().unwrap();
        secrets.push(token.rsplit('.').next().unwrap().to_owned());
    }
    Guests { secrets }
}

#[test]
fn no_command_and_no_endpoint_shows_a_secret() {
    let program = testkit::program!();
    let mut command = program.serve();
    command.args(["--dynamodb", "127.0.0.1:0"]).env("NAGAYA_DYNAMODB_OPEN", "true");
    let house = Served::open(&mut command);
    let Guests { secrets } = invite(&house);
    let (_, door) = house.named("dynamodb").split_once("://").unwrap();
    let mut shown = String::new();
    for table in OWN_TABLES {
        for arguments in ["table export", "table scan --all --format dynamodb"] {
            let (_, out, _) = program.run(arguments, &[table]);
            shown.push_str(&out);
        }
        shown.push_str(&ask_door(door, "Scan", &json!({ "TableName": table })).to_string());
    }
    for secret in &secrets {
        assert!(!shown.contains(secret), "{secret} is shown");
    }
    for open in ["ada@b.example", "Keynote", "hello", "\"hash\":{\"S\":\"(hidden)\"}"] {
        assert!(shown.contains(open), "{open} is not shown");
    }
}

#[test]
fn a_secret_is_not_found_by_comparing_and_not_lost_by_writing_back() {
    let program = testkit::program!();
    let house = program.open();
    invite(&house);
    let users = "mini-sns-prod-user-ddb";
    for (code, arguments, told) in [
        (2, vec!["scan", users, "--filter", "begins_with(hash, \"$\")"], "`hash` of table"),
        (1, vec!["scan", "LiveComment-Rooms-prod", "--index", "hostId-index"], "is secret"),
        (1, vec!["scan", "mini-sns-prod-session-ddb"], "holds secrets"),
        (1, vec!["scan", "edge_answers"], "holds secrets"),
    ] {
        let (ended, out, error) = program.run("table", &arguments);
        assert_eq!((ended, out.as_str()), (code, ""), "{arguments:?}");
        assert!(error.contains(told), "{arguments:?}: {error}");
    }
    let export = program.answer("table export --format dynamodb --out users.ndjson", &[users]);
    assert_eq!(export, "");
    program.answer("table import --format dynamodb --in users.ndjson", &[users]);
    let sign_in = json!({ "email": "ada@b.example", "password": "correct horse" });
    assert!(post(&house, "/sns/v1/auth/login", "", &sign_in)["token"].is_string());
}

#[test]
fn passwords_in_urls_are_neither_printed_nor_told_in_errors() {
    let program = testkit::program!();
    let url = "nats://me:hush@127.0.0.1:4222";
    let run = |arguments: &[&str]| {
        let mut command = program.command();
        program::run(command.env("NAGAYA_HUB_NATS_URL", url).args(arguments))
    };
    let (code, out, _) = run(&["config", "print"]);
    assert_eq!(code, 0);
    assert!(out.contains("nats://***@127.0.0.1:4222") && !out.contains("hush"), "{out}");
    let (code, out, error) = run(&["config", "check", "--otlp-endpoint", "ftp://me:hush@x"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("`ftp://***@x`") && !error.contains("hush"), "{out}{error}");
}
