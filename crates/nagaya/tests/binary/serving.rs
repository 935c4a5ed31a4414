//! `nagaya serve`, also without its name.

use std::fs;
use std::io::Write;
use std::net::TcpStream;

use rustix::process::Signal;

use testkit::program::{json, read, run};
use testkit::{Program, Served, wait};

use crate::own_tables::OWN_TABLES;

/// As people start it: without a word, and on the system's clock.
fn open() -> (Program, Served) {
    let program = testkit::program!();
    let house = Served::open(&mut program.command());
    (program, house)
}

#[test]
fn the_house_answers_about_itself() {
    let (program, house) = open();
    let data = program.directory().canonicalize().unwrap().join("nagaya-data");
    assert!(house.welcome.contains(data.to_str().unwrap()), "{}", house.welcome);
    let holds = format!("  holds    {} tables, ", OWN_TABLES.len());
    assert!(house.welcome.contains(&holds), "{}", house.welcome);
    for path in ["/livez", "/readyz", "/metrics"] {
        let answer = house.get(path);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {answer}");
    }
    let metrics = house.get("/metrics");
    assert!(metrics.contains("nagaya_build_info{version="), "{metrics}");
    assert!(metrics.contains("\nnagaya_store_writable 1\n"), "{metrics}");
    assert!(!metrics.contains("\nnagaya_store_log_bytes 0\n"), "{metrics}");
    let version = house.get("/version");
    let version = json(&version);
    assert_eq!(version["name"], "nagaya");
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(house.get("/nothing").contains("application/problem+json"));
}

#[test]
fn both_signals_end_an_idle_house_in_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let (_program, house) = open();
        house.signal(signal);
        let (status, log) = house.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("closed"), "{log}");
    }
}

/// A request that is under way: its head has begun, and the house has read what there is.
fn begin_request(house: &Served, path: &str) -> TcpStream {
    let mut stream = house.connect().unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost:").unwrap();
    // Connections are taken in turn, so these answers mean that ours was seen.
    for _ in 0..10 {
        house.get("/livez");
    }
    stream
}

fn finish_request(mut stream: TcpStream) -> String {
    write!(stream, " x\r\n\r\n").unwrap();
    read(stream)
}

#[test]
fn sigterm_finishes_requests_under_way_and_takes_no_new_ones() {
    let (_program, house) = open();
    let slow = begin_request(&house, "/livez");
    let probe = begin_request(&house, "/readyz");
    house.signal(Signal::TERM);
    house.wait_for_closed_door();
    let red = finish_request(probe);
    assert!(red.starts_with("HTTP/1.1 503 ") && red.contains("the house is closing"), "{red}");
    let answer = finish_request(slow);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("alive\n"), "{answer}");
    let (status, log) = house.wait();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn a_drain_ends_at_its_deadline() {
    let program = testkit::program!();
    let house = Served::open(program.command().args(["--http-drain-seconds", "0"]));
    let _slow = begin_request(&house, "/livez");
    let (status, log) = house.close();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("nagaya: requests still under way after 0ns: http connection"), "{log}");
}

#[test]
fn both_doors_close_when_the_drain_begins() {
    let program = testkit::program!();
    let mut command = program.serve();
    command.args(["--dynamodb", "127.0.0.1:0", "--http-drain-seconds", "3600"]);
    let house = Served::open(command.env("NAGAYA_DYNAMODB_OPEN", "true"));
    let door = house.named("dynamodb").split_once("://").unwrap().1.to_owned();
    assert!(TcpStream::connect(&door).is_ok());
    let mut slow = house.connect().unwrap();
    write!(slow, "POST /live/rooms HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n").unwrap();
    for _ in 0..10 {
        house.get("/livez");
    }
    house.signal(Signal::TERM);
    house.wait_for_closed_door();
    wait::until("the other closed door", || {
        wait::holds(TcpStream::connect(&door).is_err(), "an open one")
    });
    house.kill();
}

#[test]
fn a_second_signal_quits_at_once() {
    let (_program, house) = open();
    let _slow = begin_request(&house, "/livez");
    house.signal(Signal::TERM);
    house.wait_for_closed_door();
    house.signal(Signal::INT);
    let (status, log) = house.wait();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("told to quit before the house was closed"), "{log}");
}

#[test]
fn an_address_in_use_is_a_failure_at_run_time() {
    let (_program, house) = open();
    let elsewhere = testkit::program!();
    let mut second = elsewhere.command();
    let (code, out, error) = run(second.args(["serve", "--http-listen", &house.address]));
    assert_eq!((code, out.as_str()), (1, ""));
    let told = format!("nagaya: cannot listen on {}: `nagaya` (process ", house.address);
    assert!(error.contains(&told) && error.contains(" is free: `--http-listen "), "{error}");
    assert_eq!(fs::read_dir(elsewhere.directory()).unwrap().count(), 0, "nothing was made");
    // The same for the other listener.
    let mut second = elsewhere.command();
    second.args(["serve", "--http-listen", "127.0.0.1:0", "--dynamodb-open", "true"]);
    let (code, out, error) = run(second.args(["--dynamodb-listen", &house.address]));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(error.contains(" is free: `--dynamodb-listen "), "{error}");
    assert_eq!(fs::read_dir(elsewhere.directory()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_house_on_every_interface_shows_no_address_that_leads_nowhere() {
    let program = testkit::program!();
    let house = Served::open_at("0.0.0.0:0", &mut program.command());
    assert!(!house.welcome.contains("0.0.0.0"), "{}", house.welcome);
    let begins = format!("{}/console/setup?token=", house.url());
    assert!(house.set_up_link().starts_with(&begins), "{}", house.welcome);
    let link = program.answer("operator link", &[]);
    assert!(link.starts_with(&begins), "{link}");
    // Pages show it too, to a browser that came by a name of its own machine.
    let port = house.address.rsplit(':').next().unwrap();
    let shown = |host: &str| {
        let mut stream = house.connect().unwrap();
        let path = "/sns/.well-known/openid-configuration";
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
        json(&read(stream))["jwks_uri"].as_str().unwrap().to_owned()
    };
    if house.find_named("network").is_none() {
        let jwks = format!("{}/sns/.well-known/jwks.json", house.url());
        assert_eq!(shown(&format!("localhost:{port}")), jwks);
        assert_eq!(shown(&format!("0.0.0.0:{port}")), jwks);
    }
    assert!(shown("box.local").starts_with("http://box.local/"), "the name that was used");
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_public_url_stands_wherever_people_read_an_address() {
    let program = testkit::program!();
    let url = "https://nagaya.example.org";
    let mut command = program.command();
    let house = Served::open(command.env("NAGAYA_HTTP_PUBLIC_URL", url));
    assert!(house.welcome.contains(&format!("  address  {url}\n")), "{}", house.welcome);
    assert!(house.set_up_link().starts_with(&format!("{url}/console/setup?token=")));
}

#[test]
fn a_loopback_house_says_how_it_is_opened_to_the_network() {
    let (_program, house) = open();
    let port = house.address.rsplit(':').next().unwrap();
    let told = format!("this machine only; `--http-listen :{port}` opens it to the network");
    assert_eq!(house.named("network"), told);
}

#[test]
fn a_password_in_a_file_spares_the_set_up_link() {
    let program = testkit::program!();
    let file = program.directory().join("password");
    let password_file = ("NAGAYA_OPERATOR_PASSWORD_FILE", "password");
    let refused = |text: Option<&str>| {
        if let Some(text) = text {
            fs::write(&file, text).unwrap();
        }
        let mut command = program.command();
        command.env(password_file.0, password_file.1);
        run(command.args(["serve", "--http-listen", "127.0.0.1:0"]))
    };
    let (code, _, error) = refused(None);
    assert!(
        code == 2 && error.contains("`operator.password_file`: `password`: No such"),
        "{error}"
    );
    let (code, _, error) = refused(Some("short\n"));
    assert!(code == 2 && error.contains("at least 12 characters"), "{error}");
    fs::write(&file, "a sentence to remember\n").unwrap();
    let mut command = program.command();
    let house = Served::open(command.env(password_file.0, password_file.1));
    assert_eq!(house.find_named("set up"), None, "{}", house.welcome);
    let form = "password=a+sentence+to+remember";
    let head = "sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\n";
    let entered = house.ask("POST", "/console/sign-in", head, form);
    assert!(entered.starts_with("HTTP/1.1 303 ") && entered.contains("set-cookie"), "{entered}");
    drop(house);
    // Later starts do not need the file.
    fs::remove_file(&file).unwrap();
    let mut command = program.command();
    let house = Served::open(command.env(password_file.0, password_file.1));
    assert_eq!(house.find_named("set up"), None);
}

#[test]
fn the_log_can_be_json_and_quiet() {
    let program = testkit::program!();
    let house = Served::open(program.command().env("NAGAYA_LOG_FORMAT", "json"));
    let (_, log) = house.close();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["fields"]["message"] == "closed"), "{log}");
    let house = Served::open(program.command().env("NAGAYA_LOG_LEVEL", "off"));
    assert_eq!(house.close().1, "");
}

#[test]
fn a_second_house_on_the_same_data_is_refused() {
    let (program, house) = open();
    let mut second = program.command();
    let (code, out, error) = run(second.args(["--http-listen", "127.0.0.1:0"]));
    assert_eq!((code, out.as_str()), (3, ""));
    assert_eq!(error, "nagaya: `nagaya-data` is in use by another process\n");
    assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
}

#[test]
fn requests_are_lines_of_json_without_secrets_whatever_the_format() {
    let (_program, house) = open();
    house.get("/version?token=hunter2");
    house.get("/livez");
    let (_, log) = house.close();
    let lines: Vec<serde_json::Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), 1, "probes are not worth a line: {log}");
    assert_eq!(lines[0]["target"], "access");
    assert_eq!(lines[0]["path"], "/version?token=[redacted]");
    assert!(!log.contains("hunter2"), "{log}");

    let program = testkit::program!();
    let house = Served::open(program.command().args(["--log-level", "info,access=off"]));
    house.get("/version");
    let (_, log) = house.close();
    assert!(!log.contains("/version") && log.contains("closed"), "{log}");
}
