//! Responses of the door to browsers, and to callers that are not DynamoDB clients.

use base::options::Value;

use super::super::{BODY_BYTES_MAX, Origins};
use super::{Call, Guard, Reply, Trial};

async fn send(trial: &Trial, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let find = |name: &str| headers.iter().find(|(held, _)| *held == name).map(|(_, value)| *value);
    trial.door.answer(Call { method, path, headers: &find, body: b"{}" }).await
}

fn header<'r>(reply: &'r Reply, name: &str) -> Option<&'r str> {
    let found = reply.headers.iter().find(|(held, _)| *held == name);
    found.map(|(_, value)| value.as_str())
}

async fn for_pages() -> Trial {
    let mut origins = Origins::default();
    assert!(origins.read("https://example.org, http://localhost:3000"));
    Trial::kept_by(Guard::open().allowing(origins)).await
}

const LIST: (&str, &str) = ("x-amz-target", "DynamoDB_20120810.ListTables");

#[tokio::test]
async fn a_browser_learns_what_a_listed_page_may_do() {
    let trial = for_pages().await;
    let asks = [
        ("origin", "http://localhost:3000"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,x-amz-date,x-amz-target"),
    ];
    let reply = send(&trial, "OPTIONS", "/", &asks).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    for (name, value) in [
        ("access-control-allow-origin", "http://localhost:3000"),
        ("access-control-allow-methods", "POST"),
        ("access-control-allow-headers", "authorization,x-amz-date,x-amz-target"),
        ("access-control-max-age", "172800"),
        ("vary", "origin"),
    ] {
        assert_eq!(header(&reply, name), Some(value), "{name}");
    }
    let reply = send(&trial, "POST", "/", &[LIST, ("origin", "https://example.org")]).await;
    assert_eq!(reply.status, 200);
    assert_eq!(header(&reply, "access-control-allow-origin"), Some("https://example.org"));
    assert_eq!(
        header(&reply, "access-control-expose-headers"),
        Some("x-amz-crc32, x-amzn-requestid")
    );
}

#[tokio::test]
async fn a_page_that_is_not_listed_reads_nothing() {
    let listed = [for_pages().await, Trial::new().await];
    for (trial, origin) in listed.iter().zip(["https://example.com", "https://example.org"]) {
        let asks = [("origin", origin), ("access-control-request-method", "POST")];
        let preflight = send(trial, "OPTIONS", "/", &asks).await;
        assert_eq!(preflight.status, 404, "{origin}");
        let call = send(trial, "POST", "/", &[LIST, ("origin", origin)]).await;
        for reply in [preflight, call] {
            assert_eq!(header(&reply, "access-control-allow-origin"), None, "{origin}");
        }
    }
}

#[test]
fn origins_are_what_browsers_send_and_nothing_more() {
    let mut origins = Origins::default();
    for wrong in ["*", "null", "example.org", "https://example.org/", "https://a@b", "https://X"] {
        assert!(!origins.read(wrong), "{wrong}");
    }
    assert!(origins.read(" https://example.org,http://[::1]:3000 ,"));
    assert_eq!(origins.write(), "https://example.org, http://[::1]:3000");
    assert!(origins.read("") && origins.is_empty());
}

#[tokio::test]
async fn other_methods_and_paths_do_not_exist() {
    let trial = Trial::new().await;
    for (method, path) in [
        ("PUT", "/"),
        ("DELETE", "/"),
        ("OPTIONS", "/"),
        ("POST", "/elsewhere"),
        ("GET", "/shell"),
        ("POST", "//"),
    ] {
        let reply = send(&trial, method, path, &[LIST]).await;
        assert_eq!(reply.status, 404, "{method} {path}");
        assert_eq!(reply.body, "<UnknownOperationException/>\n", "{method} {path}");
        assert_eq!(header(&reply, "x-amz-crc32"), Some("3552371480"), "{method} {path}");
    }
    assert_eq!(send(&trial, "GET", "/", &[]).await.status, 200);
    assert_eq!(send(&trial, "POST", "/?x=1", &[LIST]).await.status, 200);
}

#[tokio::test]
async fn a_body_of_more_than_16_mb_is_too_large() {
    let trial = Trial::with_things().await;
    assert_eq!(BODY_BYTES_MAX, 16 * 1024 * 1024);
    let mut body = br#"{"TableName": "things"}"#.to_vec();
    body.resize(BODY_BYTES_MAX, b' ');
    assert_eq!(trial.send_bytes("DescribeTable", &body).await.status, 200);
    body.push(b' ');
    let reply = trial.send_bytes("DescribeTable", &body).await;
    assert_eq!(reply.status, 413);
    assert!(reply.body.contains("#RequestEntityTooLargeException"), "{}", reply.body);
}
