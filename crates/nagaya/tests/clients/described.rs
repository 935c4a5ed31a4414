//! Every room does what its OpenAPI document says, as far as strangers' tools can tell: one reads the
//! documents, one (schemathesis) calls the sns room with all that its document allows and much that
//! it does not. Both come by `cargo xtask test tools`.

use std::process::Command;

use testkit::node::python_program;
use testkit::program::run;
use testkit::{Program, Served};

/// Calls that end the session with which all others are made.
const ENDINGS: &str = "/v1/auth/(logout|logout-all|password)$";
/// An event stream has no end.
const ENDLESS: &str = "/v1/stream$";
/// What is asked of every answer. That all which the document allows is taken is not: nobody
/// follows themselves, and a document cannot say that.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance";

#[track_caller]
fn succeeds(command: &mut Command) {
    let (code, said, told) = run(command);
    assert_eq!(code, 0, "{command:?}\n{said}\n{told}");
}

/// What the sns room answers to a body.
fn posted(house: &Served, path: &str, token: &str, body: &str) -> String {
    let token = if token.is_empty() { String::new() } else { bearer(token) + "\r\n" };
    house.ask("POST", &format!("/sns/v1{path}"), &token, body)
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

/// The text under a name, wherever it stands first.
#[track_caller]
fn found(text: &str, name: &str) -> String {
    let value = text.split(&format!("\"{name}\":\"")).nth(1);
    let value = value.and_then(|rest| rest.split('"').next());
    value.unwrap_or_else(|| panic!("no {name}: {text}")).to_owned()
}

/// The id and the token of somebody who registers.
fn register(house: &Served, name: &str) -> (String, String) {
    let body = format!(
        r#"{{"email": "{name}@example.org", "username": "{name}", "password": "correct horse"}}"#
    );
    let told = posted(house, "/auth/register", "", &body);
    (found(&told, "userId"), found(&told, "token"))
}

/// Lets the stranger know who and what is there: of what it makes up itself nothing is.
fn introduce(data: &Program, users: &[&str], posts: &[&str]) {
    let mut text = String::new();
    for (name, ids) in [("users", users), ("posts", posts)] {
        text += &format!(
            "[dictionaries.{name}]\nvalues = {ids:?}\n\n[[operations]]\n\
             include-path-regex = '/{name}/\\{{id\\}}'\n\
             parameters = {{ 'path.id' = {{ dictionary = '{name}', probability = 0.7 }} }}\n\n"
        );
    }
    std::fs::write(data.directory().join("schemathesis.toml"), text).unwrap();
}

/// Schemathesis on the sns room, the same calls every time.
fn calls(house: &Served, data: &Program, token: &str) -> Command {
    let mut command = Command::new(python_program("schemathesis"));
    command.arg("run").arg(format!("http://{}/sns/openapi.json", house.address));
    command.arg("--header").arg(bearer(token));
    command.args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing"]);
    command.args(["--max-examples", "5", "--generation-deterministic", "--continue-on-failure"]);
    command.args(["--no-color", "--request-timeout", "30"]).current_dir(data.directory());
    command
}

#[test]
fn a_strangers_tool_accepts_every_rooms_document() {
    let data = testkit::program!();
    let house = data.open();
    for room in ["mesh", "sns", "live", "collect", "score"] {
        let answer = house.get(&format!("/{room}/openapi.json"));
        let document = answer.split_once("\r\n\r\n").unwrap().1;
        let file = data.directory().join(format!("{room}.json"));
        std::fs::write(&file, document).unwrap();
        succeeds(Command::new(python_program("openapi-spec-validator")).arg(file));
    }
}

#[test]
fn every_json_answer_of_the_house_its_console_and_the_sns_room_has_a_schema() {
    let data = testkit::program!();
    let house = data.open();
    for room in ["house", "operator", "console", "sns"] {
        let answer = house.get(&format!("/{room}/openapi.json"));
        let document = answer.split_once("\r\n\r\n").unwrap().1;
        let api = serde_json::from_str(document).unwrap();
        assert_eq!(testkit::described::undescribed(&api), [] as [&str; 0], "{room}");
    }
}

#[test]
fn the_sns_room_answers_all_that_a_stranger_makes_of_its_document() {
    let data = testkit::program!();
    let mut command = data.command();
    command.env("NAGAYA_LOG_LEVEL", "warn,access=off");
    for rate in [
        "REQUESTS_PER_SECOND",
        "ADDRESS_REQUESTS_PER_SECOND",
        "POSTS_PER_MINUTE",
        "FOLLOWS_PER_MINUTE",
    ] {
        command.env(format!("NAGAYA_SNS_{rate}"), "100000");
    }
    let house = Served::open(&mut command);
    let made = data.answer("key create desk --scope sns:operate", &[]);
    let key = made.split_whitespace().find(|word| word.starts_with("nk_")).unwrap();
    let ((ada_id, ada), (bob_id, bob)) = (register(&house, "ada"), register(&house, "bob"));
    let post = |token| found(&posted(&house, "/posts", token, r#"{"content": "x"}"#), "postId");
    let (hers, his) = (post(&ada), post(&bob));
    introduce(&data, &["me", &ada_id, &bob_id], &[&hers, &his]);
    let mut all = calls(&house, &data, &ada);
    all.arg("--header").arg(format!("X-Api-Key: {key}"));
    all.args(["--exclude-path-regex", &format!("{ENDINGS}|{ENDLESS}")]);
    all.args(["--exclude-operation-id", "delete_user"]);
    succeeds(&mut all);
    succeeds(calls(&house, &data, &bob).args(["--include-path-regex", ENDINGS]));
    succeeds(calls(&house, &data, &ada).args(["--include-operation-id", "delete_user"]));
}
