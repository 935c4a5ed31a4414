//! DynamoDB's own tools at the DynamoDB endpoint: boto3, the AWS CLI and dynamodb-admin.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use testkit::node::{Node, node, packages, python_program};
use testkit::program::{read, run};
use testkit::{Program, wait};

const KEY: &str = "AKIDOFTHEHOUSE";
const SECRET: &str = "the-secret-of-the-house";

/// The endpoint on an empty store, with one key.
struct Endpoint {
    running: Node,
    url: String,
    program: Program,
}

impl Endpoint {
    fn open() -> Endpoint {
        let program = testkit::program!();
        let keys = program.directory().join("keys");
        std::fs::write(&keys, format!("# of the tests\n{KEY} {}\n", SECRET)).unwrap();
        let mut command = program.command();
        command.args(["dynamodb", "--listen", "127.0.0.1:0"]);
        command.arg("--path").arg(program.directory().join("data"));
        command.arg("--dynamodb-keys-file").arg(keys);
        let mut running = Node::start(&mut command);
        running.until("The DynamoDB endpoint is open.");
        let line = running.line().unwrap();
        let url = line.trim().strip_prefix("address").unwrap().trim().to_owned();
        Endpoint { running, url, program }
    }

    fn aws(&self, arguments: &[&str]) -> serde_json::Value {
        let mut command = Command::new(python_program("aws"));
        command.args(["--endpoint-url", &self.url, "--output", "json", "dynamodb"]).args(arguments);
        self.with_key(&mut command);
        let (code, out, error) = run(&mut command);
        assert_eq!(code, 0, "{arguments:?}: {error}");
        serde_json::from_str(&out).unwrap_or_default()
    }

    fn with_key(&self, command: &mut Command) {
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.env("AWS_REGION", "us-east-1").env("AWS_DEFAULT_REGION", "us-east-1");
        command.env("HOME", self.program.directory());
    }

    fn close(self) {
        self.running.signal(Signal::TERM);
        assert!(self.running.wait().success());
    }
}

#[test]
fn boto3_finds_what_it_knows_from_dynamodb() {
    let endpoint = Endpoint::open();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/dynamodb.py");
    let mut command = Command::new(python_program("python"));
    command.arg(script).args([&endpoint.url, KEY, SECRET]);
    let (code, out, error) = run(&mut command);
    assert_eq!((code, out.as_str()), (0, "boto3 is content\n"), "{error}");
    endpoint.close();
}

#[test]
fn the_aws_cli_makes_fills_and_reads_a_table() {
    let endpoint = Endpoint::open();
    let key = "AttributeName=pk,KeyType=HASH";
    let made = endpoint.aws(&[
        "create-table",
        "--table-name",
        "things",
        "--billing-mode",
        "PAY_PER_REQUEST",
        "--attribute-definitions",
        "AttributeName=pk,AttributeType=S",
        "--key-schema",
        key,
    ]);
    assert_eq!(made["TableDescription"]["TableStatus"], "ACTIVE");
    endpoint.aws(&["wait", "table-exists", "--table-name", "things"]);
    let item = r#"{"pk": {"S": "a"}, "n": {"N": "7"}}"#;
    endpoint.aws(&["put-item", "--table-name", "things", "--item", item]);
    let got =
        endpoint.aws(&["get-item", "--table-name", "things", "--key", r#"{"pk": {"S": "a"}}"#]);
    assert_eq!(got["Item"]["n"]["N"], "7");
    let scanned = endpoint.aws(&["scan", "--table-name", "things", "--select", "COUNT"]);
    assert_eq!(scanned["Count"], 1);
    let listed = endpoint.aws(&["list-tables"]);
    assert_eq!(listed["TableNames"], serde_json::json!(["things"]));
    endpoint.close();
}

#[test]
fn cloudformation_would_take_the_tables_of_the_house() {
    let program = testkit::program!();
    let template = program.directory().join("template.json");
    std::fs::write(&template, program.answer("tables cloudformation", &[])).unwrap();
    let (code, said, errors) = run(Command::new(python_program("cfn-lint")).arg(&template));
    assert_eq!((code, said.as_str()), (0, ""), "{errors}");
}

#[test]
fn dynamodb_admin_shows_the_tables_and_their_items() {
    let endpoint = Endpoint::open();
    let key = "AttributeName=pk,KeyType=HASH";
    endpoint.aws(&[
        "create-table",
        "--table-name",
        "things",
        "--billing-mode",
        "PAY_PER_REQUEST",
        "--attribute-definitions",
        "AttributeName=pk,AttributeType=S",
        "--key-schema",
        key,
    ]);
    let item = r#"{"pk": {"S": "a-thing-to-be-seen"}}"#;
    endpoint.aws(&["put-item", "--table-name", "things", "--item", item]);
    let package = packages("npm-dynamodb", &["dynamodb-admin"]).join("node_modules/dynamodb-admin");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = node(&package.join("dist/dynamodb-admin.js"));
    command.args(["--host", "127.0.0.1", "--port", &free.port().to_string()]);
    command.args(["--dynamo-endpoint", &endpoint.url]);
    endpoint.with_key(&mut command);
    let _admin = Node::start(&mut command);
    let page = wait::until("dynamodb-admin", || {
        let mut stream = TcpStream::connect(free).map_err(|error| error.to_string())?;
        let path = "/tables/things/items";
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {free}\r\nconnection: close\r\n\r\n").unwrap();
        Some(read(stream)).filter(|page| !page.is_empty()).ok_or("an empty answer".to_owned())
    });
    assert!(page.contains("a-thing-to-be-seen"), "{page}");
    endpoint.close();
}
