//! DynamoDB's own tools at the DynamoDB endpoint: boto3, the AWS CLI and dynamodb-admin.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::node::{Node, node, packages};

const KEY: &str = "AKIDOFTHEHOUSE";
const SECRET: &str = "the-secret-of-the-house";

/// The endpoint on an empty store, with one key.
struct Endpoint {
    program: Node,
    url: String,
    directory: TempDir,
}

impl Endpoint {
    fn open() -> Endpoint {
        let directory = TempDir::new().unwrap();
        let keys = directory.path().join("keys");
        std::fs::write(&keys, format!("# of the tests\n{KEY} {}\n", SECRET)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_nagaya"));
        command.current_dir(directory.path()).args(["dynamodb", "--listen", "127.0.0.1:0"]);
        command.arg("--path").arg(directory.path().join("data"));
        command.arg("--dynamodb-keys-file").arg(keys);
        let mut program = Node::start(&mut command);
        program.until("The DynamoDB endpoint is open.");
        let line = program.line().unwrap();
        let url = line.trim().strip_prefix("address").unwrap().trim().to_owned();
        Endpoint { program, url, directory }
    }

    fn aws(&self, arguments: &[&str]) -> serde_json::Value {
        let mut command = Command::new(python_program("aws"));
        command.args(["--endpoint-url", &self.url, "--output", "json", "dynamodb"]).args(arguments);
        self.with_key(&mut command);
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    fn with_key(&self, command: &mut Command) {
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.env("AWS_REGION", "us-east-1").env("AWS_DEFAULT_REGION", "us-east-1");
        command.env("HOME", self.directory.path());
    }

    fn close(self) {
        self.program.signal(Signal::TERM);
        assert!(self.program.wait().success());
    }
}

/// A program of the packages that `cargo xtask test tools` has installed.
#[track_caller]
pub(crate) fn python_program(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let program = target.join("tools/pypi/bin").join(name);
    assert!(program.is_file(), "{} is missing: run `cargo xtask test tools`", program.display());
    program
}

#[test]
fn boto3_finds_what_it_knows_from_dynamodb() {
    let endpoint = Endpoint::open();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/dynamodb.py");
    let mut command = Command::new(python_program("python"));
    command.arg(script).args([&endpoint.url, KEY, SECRET]);
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "boto3 is content\n");
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
    let directory = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nagaya"));
    command.current_dir(directory.path()).args(["tables", "cloudformation"]);
    let template = directory.path().join("template.json");
    std::fs::write(&template, command.output().unwrap().stdout).unwrap();
    let judged = Command::new(python_program("cfn-lint")).arg(&template).output().unwrap();
    let said = String::from_utf8_lossy(&judged.stdout).into_owned();
    let errors = String::from_utf8_lossy(&judged.stderr);
    assert_eq!((judged.status.code(), said.as_str()), (Some(0), ""), "{errors}");
}

/// dynamodb-admin beside an endpoint; ended when dropped.
struct Admin {
    child: Child,
}

impl Drop for Admin {
    fn drop(&mut self) {
        // Fails for one that has ended, which is as good.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
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
    command.args(["--dynamo-endpoint", &endpoint.url]).stdout(Stdio::null());
    endpoint.with_key(&mut command);
    let _admin = Admin { child: command.spawn().unwrap() };
    let mut page = String::new();
    while page.is_empty() {
        let Ok(mut stream) = TcpStream::connect(free) else {
            std::thread::yield_now();
            continue;
        };
        let path = "/tables/things/items";
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {free}\r\nconnection: close\r\n\r\n").unwrap();
        stream.read_to_string(&mut page).unwrap();
    }
    assert!(page.contains("a-thing-to-be-seen"), "{page}");
    endpoint.close();
}
