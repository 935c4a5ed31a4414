//! The DynamoDB endpoint of a house that serves, and who it is not opened to.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::house::{House, ask, nagaya, read, run};

/// Asks an endpoint that is open.
fn ask_door(address: &str, operation: &str, body: &Json) -> Json {
    let (mut stream, body) = (TcpStream::connect(address).unwrap(), body.to_string());
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-amz-target: \
         DynamoDB_20120810.{operation}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let answer = read(stream);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{operation}: {answer}"))
}

#[test]
fn a_house_shows_its_tables_to_dynamodbs_tools_and_not_its_secrets() {
    let directory = TempDir::new().unwrap();
    let house = House::open(
        nagaya(directory.path())
            .args(["serve", "--dynamodb", "127.0.0.1:0"])
            .env("NAGAYA_DYNAMODB_OPEN", "true"),
    );
    let lines = house.welcome.lines();
    let line = lines.into_iter().find(|line| line.trim().starts_with("dynamodb ")).unwrap();
    let address = line.split("://").nth(1).unwrap().trim().to_owned();
    let listed = ask_door(&address, "ListTables", &json!({}));
    let names = listed["TableNames"].as_array().unwrap();
    assert!(names.contains(&json!("mesh")), "{listed}");
    assert!(!names.contains(&json!("edge_credentials")), "{listed}");
    for operation in ["DescribeTable", "Scan", "DeleteTable"] {
        let answer = ask_door(&address, operation, &json!({"TableName": "edge_credentials"}));
        let kind = answer["__type"].as_str().unwrap_or_default();
        assert!(kind.ends_with("#ResourceNotFoundException"), "{operation}: {answer}");
    }
}

#[test]
fn an_endpoint_without_keys_is_not_opened_to_everybody() {
    let directory = TempDir::new().unwrap();
    for (arguments, words) in [
        ("dynamodb --memory --open --listen 0.0.0.0:0", "must be a loopback address"),
        ("dynamodb --memory --listen 127.0.0.1:0", "the DynamoDB endpoint needs keys"),
    ] {
        let (code, _, error) = ask(directory.path(), arguments, &[]);
        assert_eq!(code, 2, "{arguments}: {error}");
        assert!(error.contains(words), "{arguments}: {error}");
    }
    let (code, _, error) = run(nagaya(directory.path())
        .args(["serve", "--dynamodb", "0.0.0.0:0"])
        .env("NAGAYA_DYNAMODB_OPEN", "true")
        .env("NAGAYA_HTTP_LISTEN", "127.0.0.1:0"));
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("must be a loopback address"), "{error}");
}
