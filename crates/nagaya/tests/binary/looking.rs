//! Commands that look at a house and at its machine.

use std::fs;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value as Json;
use testkit::node::Node;
use testkit::program::run;
use testkit::{Program, wait};

use crate::instances::{open_room, post};

#[test]
fn a_healthcheck_says_whether_a_house_takes_requests() {
    let program = testkit::program!();
    let house = program.open();
    let listen = ["healthcheck", "--http-listen", &house.address];
    let (code, out, error) = run(program.command().args(listen));
    assert_eq!((code, out.as_str()), (0, "ready\n"), "{error}");
    let address = house.address.clone();
    drop(house);
    let (code, _, error) = run(program.command().args(["healthcheck", "--http-listen", &address]));
    assert_eq!(code, 1);
    assert!(error.contains(&format!("no house answers on {address}")), "{error}");
}

#[test]
fn commands_find_the_house_of_their_directory_whatever_its_port() {
    let program = testkit::program!();
    let house = program.open();
    assert_eq!(program.run("healthcheck", &[]), (0, "ready\n".to_owned(), String::new()));
    let (code, out, error) = program.run("doctor", &[]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.contains(&format!("a house is open on {}", house.address)), "{out}");
    for command in ["top --once --json", "openapi house"] {
        let (code, out, error) = program.run(command, &[]);
        assert_eq!(code, 0, "{command}: {error}");
        assert!(out.starts_with('{'), "{command}: {out}");
    }
    // An address that is given counts more than the directory.
    let (code, _, error) = program.run("healthcheck --http-listen 127.0.0.1:1", &[]);
    assert_eq!(code, 1, "{error}");
}

#[test]
fn a_doctor_names_what_is_bad_and_finds_a_healthy_machine_well() {
    let program = testkit::program!();
    let house = program.open();
    let (code, out, error) =
        run(program.command().args(["doctor", "--http-listen", &house.address]));
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.contains(&format!("a house is open on {}", house.address)), "{out}");
    assert!(out.lines().all(|line| line.starts_with("ok ")), "{out}");
    // An address that is not this machine's.
    let (code, out, error) =
        run(program.command().args(["doctor", "--json", "--http-listen", "192.0.2.1:80"]));
    assert_eq!(code, 1, "{out}");
    assert!(error.contains("not well: port"), "{error}");
    let findings: Json = serde_json::from_str(&out).unwrap();
    let is_bad = |finding: &&Json| finding["good"] == false;
    assert_eq!(findings.as_array().unwrap().iter().filter(is_bad).count(), 1, "{out}");
}

#[test]
fn a_house_that_speaks_tls_is_known_by_its_certificate() {
    let program = testkit::program!();
    let names = ["nagaya.example", "127.0.0.1"].map(str::to_owned).to_vec();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    fs::write(program.directory().join("certificate.pem"), cert.pem()).unwrap();
    fs::write(program.directory().join("key.pem"), signing_key.serialize_pem()).unwrap();
    let settings = "[http]\ntls_certificate = \"certificate.pem\"\ntls_key = \"key.pem\"\n";
    fs::write(program.directory().join("nagaya.toml"), settings).unwrap();
    let house = program.open();
    let ask = |of: &[&str]| run(program.command().args(of).args(["--http-listen", &house.address]));
    assert_eq!(ask(&["healthcheck"]), (0, "ready\n".to_owned(), String::new()));
    // Another directory, whose settings know of no certificate: the house tells of its own.
    let (elsewhere, data) = (testkit::program!(), program.directory().join("nagaya-data"));
    let by_directory = ["healthcheck", "--store-path", data.to_str().unwrap()];
    let found = run(elsewhere.command().args(by_directory));
    assert_eq!(found, (0, "ready\n".to_owned(), String::new()));
    let (code, out, error) = ask(&["doctor", "--json"]);
    assert_eq!(code, 0, "{out}{error}");
    let findings: Json = serde_json::from_str(&out).unwrap();
    let is_it = |finding: &&Json| finding["what"] == "certificate";
    let certificate = findings.as_array().unwrap().iter().find(is_it).unwrap();
    let certificate = certificate["said"].as_str().unwrap();
    assert!(certificate.starts_with("for nagaya.example, 127.0.0.1, from "), "{certificate}");
    // Another certificate in the file is not that of the house, until it has read it too.
    let names = vec!["other.example".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let elsewhere = testkit::program!();
    fs::write(elsewhere.directory().join("certificate.pem"), cert.pem()).unwrap();
    fs::write(elsewhere.directory().join("key.pem"), signing_key.serialize_pem()).unwrap();
    fs::write(elsewhere.directory().join("nagaya.toml"), settings).unwrap();
    let listen = ["healthcheck", "--http-listen", &house.address];
    let (code, _, error) = run(elsewhere.command().args(listen));
    assert!(code == 1 && error.contains("certificate"), "{code} {error}");
}

#[test]
fn interfaces_and_the_manual_are_printed() {
    let program = testkit::program!();
    let house = program.open();
    for room in ["house", "sns", "live", "collect", "score"] {
        let (code, out, error) =
            run(program.command().args(["openapi", room, "--http-listen", &house.address]));
        assert_eq!(code, 0, "{room}: {error}");
        let api: Json = serde_json::from_str(&out).unwrap();
        assert!(api["openapi"].as_str().unwrap().starts_with("3.1"), "{room}");
    }
    let (code, page, _) = program.run("man", &[]);
    assert_eq!(code, 0);
    assert!(page.contains(".TH nagaya 1") && page.contains("Exit codes"), "{page}");
}

#[test]
fn top_shows_rates_to_people_and_programs() {
    let program = testkit::program!();
    let house = program.open();
    // Both look for a second, so they do it together.
    let look = |arguments: &'static str| program.run(arguments, &["--http-listen", &house.address]);
    let (people, programs) = std::thread::scope(|scope| {
        let people = scope.spawn(|| look("top --once"));
        let programs = scope.spawn(|| look("top --once --json"));
        (people.join().unwrap(), programs.join().unwrap())
    });
    let (code, out, error) = people;
    assert_eq!(code, 0, "{error}");
    for word in ["mesh", "sns", "live", "collect", "score", "store", "queues", "facts"] {
        assert!(out.lines().any(|line| line.starts_with(word)), "{word}: {out}");
    }
    let moment: Json = serde_json::from_str(&programs.1).unwrap();
    assert_eq!(moment["store"]["isWritable"], true);
}

/// Between two looks at what `tail` prints: longer than it takes to print.
const HEARD_WITHIN: Duration = Duration::from_millis(20);

/// The first line that `tail` prints while something happens again and again: whoever listens hears
/// what comes from now on, whenever now is.
fn overheard(tail: &mut Node, happens: impl Fn()) -> Json {
    let line = wait::until("a line of tail", || {
        happens();
        tail.find_line(HEARD_WITHIN).ok_or("nothing")
    });
    serde_json::from_str(&line).unwrap()
}

fn tail(program: &Program, followed: &[&str]) -> Node {
    Node::start(program.command().arg("tail").args(followed))
}

#[test]
fn tail_tells_what_happens_as_it_happens() {
    let program = testkit::program!();
    let house = program.open();
    program.answer("table create things --partition id:S", &[]);
    let put = || drop(program.answer("table put things", &[r#"{"id": "花"}"#]));
    let change = overheard(&mut tail(&program, &["changes", "--table", "things"]), put);
    assert_eq!((&change["table"], &change["key"]["id"]["S"]), (&"things".into(), &"花".into()));

    let get = || drop(house.get("/version?token=x"));
    let request = overheard(&mut tail(&program, &["requests"]), get);
    assert_eq!((&request["method"], &request["status"]), (&"GET".into(), &200.into()));
    assert_eq!(request["path"], "/version?token=[redacted]");

    let comments = open_room(&house);
    let comment = serde_json::json!({ "content": "hello", "nickname": "Ada" });
    let say = || drop(post(&house, &comments, "", &comment));
    let push = overheard(&mut tail(&program, &["pushes"]), say);
    assert!(push["bytes"].as_u64().unwrap() > 0, "{push}");
    let (code, _, error) = program.run("tail pushes --table things", &[]);
    assert_eq!((code, error.as_str()), (2, "nagaya: --table: only changes are of a table\n"));
}

#[test]
fn a_tail_is_not_behind() {
    let program = testkit::program!();
    let house = program.open();
    let mut tail = tail(&program, &["requests"]);
    // Until it listens.
    overheard(&mut tail, || drop(house.get("/version")));
    // One thing more, behind which nothing comes, is told although the pipe could hold much.
    house.get("/version?last=1");
    while !tail.line().expect("the last request is told").contains("last=1") {}
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
    ("bench --seconds 0.05 --json", "/value"),
];

#[test]
fn every_reading_command_has_lines_of_json_for_programs() {
    let program = testkit::program!();
    let house = program.open();
    for write in ["table create things --partition id:S", "key create robot --scope collect"] {
        assert_eq!(program.run(write, &[]).0, 0);
    }
    assert_eq!(program.run("table put things", &[r#"{"id":"a"}"#]).0, 0);
    let backup = program.answer("backup create", &[]);
    for (arguments, field) in READS {
        let arguments = arguments.replace('@', backup.trim());
        let (code, out, error) = program.run(&arguments, &["--http-listen", &house.address]);
        assert_eq!(code, 0, "{arguments}: {error}");
        assert_ne!(out, "", "{arguments}");
        for line in out.lines() {
            let line: Json = serde_json::from_str(line).unwrap();
            assert!(line.pointer(field).is_some(), "{arguments}: {line}");
        }
    }
}

#[test]
fn what_is_found_bad_is_told_in_json_too_and_by_the_exit_code() {
    let program = testkit::program!();
    let told = |arguments: &str, code: i32| {
        let (actual, out, error) = program.run(arguments, &[]);
        assert_eq!(actual, code, "{arguments}: {error}");
        assert!(error.starts_with("nagaya: "), "{arguments}: {error}");
        assert_eq!(out.lines().count(), 1, "{arguments}: {out}");
        serde_json::from_str::<Json>(&out).unwrap()
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
    let program = testkit::program!();
    for command in
        ["table ls", "table check", "backup list", "key list", "migrate plan --to dynamodb"]
    {
        let (code, out, error) = program.run(&format!("{command} --json"), &[]);
        assert_eq!((code, out.as_str()), (1, ""), "{command}: {error}");
        assert!(error.contains("there is no house in"), "{command}: {error}");
    }
    for command in ["top --once --json", "openapi house --json"] {
        let (code, out, error) = program.run(&format!("{command} --http-listen 127.0.0.1:1"), &[]);
        assert_eq!((code, out.as_str()), (1, ""), "{command}: {error}");
        assert!(error.contains("no house answers"), "{command}: {error}");
    }
}

#[test]
fn the_exit_codes_of_the_help_are_those_of_the_handbook() {
    let help = testkit::program!().answer("--help-all", &[]);
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
    let program = testkit::program!();
    let (code, out, error) = program.run("bench --seconds 0.05", &[]);
    assert_eq!((code, error.as_str()), (0, ""), "no bar is drawn where nobody sees it");
    for figure in ["a sync", "durable writes, 64 at once", "reads", "answers", "pushes"] {
        let line = out.lines().find(|line| line.starts_with(figure));
        let line = line.unwrap_or_else(|| panic!("no {figure}: {out}"));
        let none = line.contains(" 0/s") || line.contains("NaN") || line.contains("inf");
        assert!(!none, "{line}");
    }
    assert!(out.contains(" bare exchanges/s") && out.contains(" bare pushes/s"), "{out}");
    assert_eq!(fs::read_dir(program.directory()).unwrap().count(), 0);
}

#[test]
fn tail_without_a_house_says_so() {
    let program = testkit::program!().closed();
    let (code, _, error) = program.run("tail", &[]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("no house is open here"), "{error}");
}
