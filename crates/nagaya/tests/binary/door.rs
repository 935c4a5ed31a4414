//! The DynamoDB endpoint of a house that serves, and who it is not opened to.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value as Json, json};

use testkit::Served;
use testkit::program::{self, run};

/// Asks an endpoint that is open.
pub(crate) fn ask_door(address: &str, operation: &str, body: &Json) -> Json {
    let (mut stream, body) = (TcpStream::connect(address).unwrap(), body.to_string());
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-amz-target: \
         DynamoDB_20120810.{operation}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    program::json(&program::read(stream))
}

#[test]
fn a_house_shows_its_tables_to_dynamodbs_tools_and_not_its_secrets() {
    let program = testkit::program!();
    let mut command = program.serve();
    command.args(["--dynamodb", "127.0.0.1:0"]).env("NAGAYA_DYNAMODB_OPEN", "true");
    let house = Served::open(&mut command);
    let (_, address) = house.named("dynamodb").split_once("://").unwrap();
    let listed = ask_door(address, "ListTables", &json!({}));
    let names = listed["TableNames"].as_array().unwrap();
    assert!(names.contains(&json!("MeshV2Table")), "{listed}");
    assert!(!names.contains(&json!("edge_credentials")), "{listed}");
    for operation in ["DescribeTable", "Scan", "DeleteTable"] {
        let answer = ask_door(address, operation, &json!({"TableName": "edge_credentials"}));
        let kind = answer["__type"].as_str().unwrap_or_default();
        assert!(kind.ends_with("#ResourceNotFoundException"), "{operation}: {answer}");
    }
}

#[test]
fn an_endpoint_without_keys_answers_under_names_of_this_machine_alone() {
    let program = testkit::program!();
    let mut command = program.serve();
    command
        .args(["--dynamodb", "127.0.0.1:0"])
        .env("NAGAYA_DYNAMODB_OPEN", "true")
        .env("NAGAYA_HTTP_HOSTS", "box.local");
    let house = Served::open(&mut command);
    let (_, address) = house.named("dynamodb").split_once("://").unwrap();
    let ask = |host: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nx-amz-target: \
             DynamoDB_20120810.ListTables\r\ncontent-length: 2\r\n\r\n{{}}"
        )
        .unwrap();
        program::json(&program::read(stream))
    };
    for own in ["localhost:8000", "127.0.0.1", "[::1]:8000", "box.local:8000"] {
        assert!(ask(own)["TableNames"].is_array(), "{own}");
    }
    for foreign in ["evil.example", "localhost.evil.example:8000"] {
        let refused = ask(foreign);
        let kind = refused["__type"].as_str().unwrap_or_default();
        assert!(kind.ends_with("#AccessDeniedException"), "{foreign}: {refused}");
    }
}

#[test]
fn an_endpoint_without_keys_is_not_opened_to_everybody() {
    let program = testkit::program!();
    for (arguments, words) in [
        ("dynamodb --memory --open --listen 0.0.0.0:0", "must be a loopback address"),
        ("dynamodb --memory --listen 127.0.0.1:0", "the DynamoDB endpoint needs keys"),
    ] {
        let (code, _, error) = program.run(arguments, &[]);
        assert_eq!(code, 2, "{arguments}: {error}");
        assert!(error.contains(words), "{arguments}: {error}");
    }
    let (code, _, error) = run(program
        .command()
        .args(["serve", "--dynamodb", "0.0.0.0:0"])
        .env("NAGAYA_DYNAMODB_OPEN", "true")
        .env("NAGAYA_HTTP_LISTEN", "127.0.0.1:0"));
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("must be a loopback address"), "{error}");
}
