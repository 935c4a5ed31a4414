//! Retries. No DynamoDB of the test set-up throttles or fails on demand, so a script plays one: it
//! sends prepared responses and counts its requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base::{Clock, Timestamp, VirtualTime};
use dynamodb::client::Client;
use table::{
    BatchWrite, Error, Get, Item, Put, Tables, TransactWrite, Update, attr, get_all, write_all,
};
use testkit::wait;

use crate::client_at;

const TABLE: &str = r#"{"Table":{"TableStatus":"ACTIVE",
    "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
    "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}}"#;
const THROTTLED: (u16, &str) =
    (400, r#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow"}"#);
const FAILED: (u16, &str) =
    (500, r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"oh"}"#);

const CONFLICT: (u16, &str) = (
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    "Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]",
    "CancellationReasons":[{"Code":"TransactionConflict","Message":"ongoing"}]}"#,
);
const UNWRITTEN: (u16, &str) =
    (200, r#"{"UnprocessedItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}"#);
const UNREAD: (u16, &str) =
    (200, r#"{"Responses":{},"UnprocessedKeys":{"t":{"Keys":[{"id":{"S":"a"}}]}}}"#);

/// Sends `failure` to the first `times` calls on items; returns its endpoint and a count of those
/// calls.
fn script(failure: (u16, &'static str), times: u32) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let calls = counted.clone();
            std::thread::spawn(move || serve(&stream.unwrap(), failure, times, &calls));
        }
    });
    (endpoint, calls)
}

fn serve(stream: &TcpStream, failure: (u16, &str), times: u32, calls: &AtomicU32) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut target, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim().to_ascii_lowercase();
            match line.split_once(": ") {
                Some(("x-amz-target", value)) => target = value.to_owned(),
                Some(("content-length", value)) => length = value.parse().unwrap(),
                _ if line.is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let (status, answer) = if target.ends_with("describetable") {
            (200, TABLE)
        } else if target.ends_with("describetimetolive") {
            (200, "{}")
        } else if calls.fetch_add(1, Ordering::SeqCst) < times {
            failure
        } else {
            (200, "{}")
        };
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", answer.len());
        let mut stream = stream;
        stream.write_all((head + answer).as_bytes()).unwrap();
    }
}

/// A client whose pauses take no real time.
struct QuickClient {
    client: Client,
    clock: Clock,
    time: VirtualTime,
}

impl QuickClient {
    fn at(endpoint: &str) -> QuickClient {
        let (clock, time) = Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000));
        QuickClient { client: client_at(endpoint, "", clock.clone()), clock, time }
    }

    /// The result of a call, while the clock moves past its pauses.
    async fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        wait::while_time_passes(&self.time, call).await.0
    }
}

fn id() -> Item {
    Item::new().with("id", "a")
}

#[tokio::test]
async fn a_throttled_call_is_retried_until_it_succeeds() {
    let (endpoint, calls) = script(THROTTLED, 2);
    let tables = QuickClient::at(&endpoint);
    tables.wait(tables.client.update(Update::new("t", id()).add("n", 1))).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_store_that_stays_throttled_is_reported_as_busy() {
    let (endpoint, calls) = script(THROTTLED, u32::MAX);
    let tables = QuickClient::at(&endpoint);
    let answer = tables.wait(tables.client.put(Put::new("t", id()))).await;
    assert!(matches!(answer, Err(Error::Throttled(_))), "{answer:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn a_call_with_unknown_effect_is_retried_only_if_a_repetition_is_harmless() {
    let (endpoint, calls) = script(FAILED, 1);
    let tables = QuickClient::at(&endpoint);
    let counted = tables.wait(tables.client.update(Update::new("t", id()).add("n", 1))).await;
    assert!(matches!(counted, Err(Error::Io { .. })), "{counted:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);

    let (endpoint, calls) = script(FAILED, 1);
    let tables = QuickClient::at(&endpoint);
    let guarded =
        tables.wait(tables.client.put(Put::new("t", id()).when(attr("id").not_exists()))).await;
    assert!(matches!(guarded, Err(Error::Io { .. })), "{guarded:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);

    let (endpoint, calls) = script(FAILED, 1);
    let tables = QuickClient::at(&endpoint);
    tables.wait(tables.client.get(Get::new("t", id()))).await.unwrap();
    tables.wait(tables.client.put(Put::new("t", id()))).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_missing_server_is_reported_as_no_response() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let tables = QuickClient::at(&endpoint);
    let answer = tables.wait(tables.client.get(Get::new("t", id()))).await;
    assert!(matches!(answer, Err(Error::Io { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_lost_race_between_transactions_is_retried() {
    let put = || TransactWrite::new(vec![Put::new("t", id()).into()]);
    let (endpoint, calls) = script(CONFLICT, 2);
    let tables = QuickClient::at(&endpoint);
    tables.wait(tables.client.transact_write(put())).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 3);

    let (endpoint, calls) = script(CONFLICT, u32::MAX);
    let tables = QuickClient::at(&endpoint);
    let answer = tables.wait(tables.client.transact_write(put())).await;
    assert!(matches!(answer, Err(Error::Throttled(_))), "{answer:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn the_unprocessed_rest_of_a_batch_is_retried_until_it_is_done() {
    let delete = || vec![BatchWrite::Delete { table: "t".to_owned(), key: id() }];
    let (endpoint, calls) = script(UNWRITTEN, 2);
    let tables = QuickClient::at(&endpoint);
    assert_eq!(
        tables.wait(tables.client.batch_write(delete())).await.unwrap(),
        delete(),
        "it is read"
    );
    let offers = write_all(&tables.client, &tables.clock, delete());
    tables.wait(offers).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    let (endpoint, calls) = script(UNREAD, 2);
    let tables = QuickClient::at(&endpoint);
    let offers = get_all(&tables.client, &tables.clock, vec![Get::new("t", id())]);
    let found = tables.wait(offers).await.unwrap();
    assert_eq!((found, calls.load(Ordering::SeqCst)), (Vec::new(), 3));
}

#[tokio::test]
async fn a_store_that_processes_nothing_is_reported_as_busy() {
    let delete = vec![BatchWrite::Delete { table: "t".to_owned(), key: id() }];
    let (endpoint, calls) = script(UNWRITTEN, u32::MAX);
    let tables = QuickClient::at(&endpoint);
    let answer = tables.wait(write_all(&tables.client, &tables.clock, delete)).await;
    assert!(matches!(answer, Err(Error::Throttled(_))), "{answer:?}");
    assert_eq!(calls.load(Ordering::SeqCst), table::limits::OFFERS_MAX);
}
