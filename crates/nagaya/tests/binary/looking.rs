//! Commands that look at a house and at its machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{self, TryRecvError};
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;

use crate::house::{House, ask, nagaya, run};
use crate::instances::{open_room, post};

#[test]
fn a_healthcheck_says_whether_a_house_takes_requests() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    let listen = ["healthcheck", "--http-listen", &house.address];
    let (code, out, error) = run(nagaya(directory.path()).args(listen));
    assert_eq!((code, out.as_str()), (0, "ready\n"), "{error}");
    let address = house.address.clone();
    drop(house);
    let (code, _, error) =
        run(nagaya(directory.path()).args(["healthcheck", "--http-listen", &address]));
    assert_eq!(code, 1);
    assert!(error.contains(&format!("no house answers on {address}")), "{error}");
}

#[test]
fn a_doctor_names_what_is_bad_and_finds_a_healthy_machine_well() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    let (code, out, error) =
        run(nagaya(directory.path()).args(["doctor", "--http-listen", &house.address]));
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.contains(&format!("a house is open on {}", house.address)), "{out}");
    assert!(out.lines().all(|line| line.starts_with("ok ")), "{out}");
    // An address that is not this machine's.
    let (code, out, error) =
        run(nagaya(directory.path()).args(["doctor", "--json", "--http-listen", "192.0.2.1:80"]));
    assert_eq!(code, 1, "{out}");
    assert!(error.contains("not well: port"), "{error}");
    let findings: serde_json::Value = serde_json::from_str(&out).unwrap();
    let is_bad = |finding: &&serde_json::Value| finding["good"] == false;
    assert_eq!(findings.as_array().unwrap().iter().filter(is_bad).count(), 1, "{out}");
}

#[test]
fn a_house_that_speaks_tls_is_known_by_its_certificate() {
    let directory = TempDir::new().unwrap();
    let names = ["nagaya.example", "127.0.0.1"].map(str::to_owned).to_vec();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    fs::write(directory.path().join("certificate.pem"), cert.pem()).unwrap();
    fs::write(directory.path().join("key.pem"), signing_key.serialize_pem()).unwrap();
    let settings = "[http]\ntls_certificate = \"certificate.pem\"\ntls_key = \"key.pem\"\n";
    fs::write(directory.path().join("nagaya.toml"), settings).unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    let ask = |of: &[&str]| {
        run(nagaya(directory.path()).args(of).args(["--http-listen", &house.address]))
    };
    assert_eq!(ask(&["healthcheck"]), (0, "ready\n".to_owned(), String::new()));
    let (code, out, error) = ask(&["doctor", "--json"]);
    assert_eq!(code, 0, "{out}{error}");
    let findings: serde_json::Value = serde_json::from_str(&out).unwrap();
    let is_it = |finding: &&serde_json::Value| finding["what"] == "certificate";
    let certificate = findings.as_array().unwrap().iter().find(is_it).unwrap();
    let certificate = certificate["said"].as_str().unwrap();
    assert!(certificate.starts_with("for nagaya.example, 127.0.0.1, from "), "{certificate}");
    // Another certificate in the file is not that of the house, until it has read it too.
    let names = vec!["other.example".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let elsewhere = TempDir::new().unwrap();
    fs::write(elsewhere.path().join("certificate.pem"), cert.pem()).unwrap();
    fs::write(elsewhere.path().join("key.pem"), signing_key.serialize_pem()).unwrap();
    fs::write(elsewhere.path().join("nagaya.toml"), settings).unwrap();
    let listen = ["healthcheck", "--http-listen", &house.address];
    let (code, _, error) = run(nagaya(elsewhere.path()).args(listen));
    assert!(code == 1 && error.contains("certificate"), "{code} {error}");
}

#[test]
fn interfaces_and_the_manual_are_printed() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    for room in ["house", "sns", "live", "collect", "score"] {
        let (code, out, error) =
            run(nagaya(directory.path()).args(["openapi", room, "--http-listen", &house.address]));
        assert_eq!(code, 0, "{room}: {error}");
        let api: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(api["openapi"].as_str().unwrap().starts_with("3.1"), "{room}");
    }
    let (code, page, _) = ask(directory.path(), "man", &[]);
    assert_eq!(code, 0);
    assert!(page.contains(".TH nagaya 1") && page.contains("Exit codes"), "{page}");
}

#[test]
fn top_shows_rates_to_people_and_programs() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    let (code, out, error) =
        run(nagaya(directory.path()).args(["top", "--once", "--http-listen", &house.address]));
    assert_eq!(code, 0, "{error}");
    for word in ["mesh", "sns", "live", "collect", "score", "store", "queues", "facts"] {
        assert!(out.lines().any(|line| line.starts_with(word)), "{word}: {out}");
    }
    let (_, out, _) = run(nagaya(directory.path()).args([
        "top",
        "--once",
        "--json",
        "--http-listen",
        &house.address,
    ]));
    let moment: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(moment["store"]["isWritable"], true);
}

/// The first line that `tail` prints while something happens again and again: whoever listens hears
/// what comes from now on, whenever now is.
fn overheard(folder: &Path, followed: &[&str], happens: impl Fn() + Send) -> serde_json::Value {
    let mut tail = nagaya(folder);
    let mut tail = tail.arg("tail").args(followed).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let (heard, stop) = mpsc::channel::<()>();
    let line = std::thread::scope(|scope| {
        scope.spawn(move || {
            // Until it was heard, or cannot be any more.
            while stop.try_recv() == Err(TryRecvError::Empty) {
                happens();
            }
        });
        let line = lines.next().unwrap().unwrap();
        heard.send(()).unwrap();
        line
    });
    tail.kill().unwrap();
    tail.wait().unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn tail_tells_what_happens_as_it_happens() {
    let directory = TempDir::new().unwrap();
    let mut command = nagaya(directory.path());
    // Nobody reads the log while it runs, and much happens until it is heard.
    let house = House::open(command.env("NAGAYA_LOG_LEVEL", "warn,access=off"));
    let folder = directory.path();
    assert_eq!(ask(folder, "table create things --partition id:S", &[]).0, 0);
    let put = || assert_eq!(ask(folder, "table put things", &[r#"{"id": "花"}"#]).0, 0);
    let change = overheard(folder, &["changes", "--table", "things"], put);
    assert_eq!((&change["table"], &change["key"]["id"]["S"]), (&"things".into(), &"花".into()));

    let request = overheard(folder, &["requests"], || drop(house.get("/version?token=x")));
    assert_eq!((&request["method"], &request["status"]), (&"GET".into(), &200.into()));
    assert_eq!(request["path"], "/version?token=[redacted]");

    let comments = open_room(&house);
    let comment = serde_json::json!({ "content": "hello", "nickname": "Ada" });
    let push = overheard(folder, &["pushes"], || drop(post(&house, &comments, "", &comment)));
    assert!(push["bytes"].as_u64().unwrap() > 0, "{push}");
    let (code, _, error) = ask(folder, "tail pushes --table things", &[]);
    assert_eq!((code, error.as_str()), (2, "nagaya: --table: only changes are of a table\n"));
}

#[test]
fn a_tail_is_not_behind() {
    let directory = TempDir::new().unwrap();
    let mut command = nagaya(directory.path());
    let house = House::open(command.env("NAGAYA_LOG_LEVEL", "warn,access=off"));
    let mut tail = nagaya(directory.path());
    let mut tail = tail.args(["tail", "requests"]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let (heard, hears) = mpsc::channel();
    let listening = std::thread::spawn(move || {
        lines.map_while(Result::ok).for_each(|line| heard.send(line).unwrap_or_default());
    });
    // Until it listens.
    while hears.recv_timeout(Duration::from_millis(100)).is_err() {
        house.get("/version");
    }
    // One thing more, behind which nothing comes, is told although the pipe could hold much.
    house.get("/version?last=1");
    let patience = Duration::from_secs(10);
    while !hears.recv_timeout(patience).expect("the last request is told").contains("last=1") {}
    tail.kill().unwrap();
    tail.wait().unwrap();
    listening.join().unwrap();
}

/// Every command that reads and ends, and what one of its lines must hold.
const READS: [(&str, &str); 20] = [
    ("config check --json", "/good"),
    ("config print --json", "/origin"),
    ("table ls --json", "/items"),
    ("table describe things --json", "/key/partition/name"),
    ("table get things id=a", "/id"),
    ("table get things id=a --format dynamodb", "/id/S"),
    ("table query things --partition a", "/id"),
    ("table scan things", "/id"),
    ("table export things", "/Item/id/S"),
    ("table check --json", "/problems"),
    ("tables cloudformation --json", "/Resources"),
    ("tables terraform --json", "/resource"),
    ("backup list --json", "/bytes"),
    ("backup verify @ --json", "/items"),
    ("key list --json", "/scopes"),
    ("doctor --json", "/0/good"),
    ("healthcheck --json", "/ready"),
    ("top --once --json", "/store"),
    ("openapi house", "/openapi"),
    ("bench --seconds 1 --json", "/value"),
];

#[test]
fn every_reading_command_has_lines_of_json_for_programs() {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    for write in ["table create things --partition id:S", "key create robot --scope collect"] {
        assert_eq!(ask(directory.path(), write, &[]).0, 0);
    }
    assert_eq!(ask(directory.path(), "table put things", &[r#"{"id":"a"}"#]).0, 0);
    let backup = crate::house::answer(directory.path(), "backup create", &[]);
    for (arguments, field) in READS {
        let arguments = arguments.replace('@', backup.trim());
        let (code, out, error) =
            ask(directory.path(), &arguments, &["--http-listen", &house.address]);
        assert_eq!(code, 0, "{arguments}: {error}");
        assert_ne!(out, "", "{arguments}");
        for line in out.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(line.pointer(field).is_some(), "{arguments}: {line}");
        }
    }
}

#[test]
fn what_is_found_bad_is_told_in_json_too_and_by_the_exit_code() {
    let directory = TempDir::new().unwrap();
    let told = |arguments: &str, code: i32| {
        let (actual, out, error) = ask(directory.path(), arguments, &[]);
        assert_eq!(actual, code, "{arguments}: {error}");
        assert!(error.starts_with("nagaya: "), "{arguments}: {error}");
        assert_eq!(out.lines().count(), 1, "{arguments}: {out}");
        serde_json::from_str::<serde_json::Value>(&out).unwrap()
    };
    let health = told("healthcheck --json --http-listen 127.0.0.1:1", 1);
    assert_eq!(health["ready"], false);
    assert!(health["reason"].as_str().unwrap().contains("no house answers"), "{health}");
    let settings = told("config check --json --http-listen nowhere --http-connections-max none", 2);
    assert_eq!(
        (&settings["good"], settings["problems"].as_array().unwrap().len()),
        (&false.into(), 2)
    );
    let doctor = told("doctor --json --http-listen nowhere", 2);
    assert_eq!((&doctor[0]["what"], &doctor[0]["good"]), (&"settings".into(), &false.into()));
    let doctor = told("doctor --json --http-tls-certificate none.pem", 1);
    let bad = doctor.as_array().unwrap().iter().filter(|finding| finding["good"] == false);
    let bad: Vec<_> = bad.map(|finding| finding["what"].as_str().unwrap()).collect();
    assert_eq!(bad, ["settings", "certificate"]);
}

#[test]
fn where_there_is_no_answer_there_is_no_half_of_one() {
    let directory = TempDir::new().unwrap();
    for command in
        ["table ls", "table check", "backup list", "key list", "migrate plan --to dynamodb"]
    {
        let (code, out, error) = ask(directory.path(), &format!("{command} --json"), &[]);
        assert_eq!((code, out.as_str()), (1, ""), "{command}: {error}");
        assert!(error.contains("there is no house in"), "{command}: {error}");
    }
    for command in ["top --once --json", "openapi house --json"] {
        let (code, out, error) =
            ask(directory.path(), &format!("{command} --http-listen 127.0.0.1:1"), &[]);
        assert_eq!((code, out.as_str()), (1, ""), "{command}: {error}");
        assert!(error.contains("no house answers"), "{command}: {error}");
    }
}

#[test]
fn the_exit_codes_of_the_help_are_those_of_the_handbook() {
    let help = crate::house::answer(Path::new("."), "help", &[]);
    let codes: Vec<&str> = help.split("Exit codes:\n").nth(1).unwrap().lines().collect();
    let handbook = include_str!("../../../../docs/operations.md");
    let table = handbook.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
    let number = |line: &str| line.trim_matches(['|', ' ']).split(' ').next().unwrap().to_owned();
    let rows = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Code"));
    let codes: Vec<String> =
        codes.iter().filter(|line| line.starts_with("  ")).map(|line| number(line)).collect();
    assert_eq!(codes, ["0", "1", "2", "3"]);
    assert_eq!(rows.map(number).collect::<Vec<_>>(), codes);
}

#[test]
fn a_bench_stands_beside_the_machine_and_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let (code, out, error) = ask(directory.path(), "bench --seconds 1", &[]);
    assert_eq!((code, error.as_str()), (0, ""), "no bar is drawn where nobody sees it");
    for figure in ["a sync", "durable writes, 64 at once", "reads", "answers", "pushes"] {
        let line = out.lines().find(|line| line.starts_with(figure));
        let line = line.unwrap_or_else(|| panic!("no {figure}: {out}"));
        let none = line.contains(" 0/s") || line.contains("NaN") || line.contains("inf");
        assert!(!none, "{line}");
    }
    assert!(out.contains(" bare exchanges/s") && out.contains(" bare pushes/s"), "{out}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn tail_without_a_house_says_so() {
    let directory = crate::house::closed_house();
    let (code, _, error) = ask(directory.path(), "tail", &[]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("no house is open here"), "{error}");
}
