//! Secrets leave the house in calls to their upstream, and nowhere else.

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use testkit::Left;

use super::upstream::{Reply, Upstream};
use super::{Collector, FIRST, Trial};
use crate::Options;

/// What must be seen nowhere.
const SESAME: &str = "sesame-4711";

async fn with_secrets() -> (Trial, TempDir, Collector) {
    let trial = Trial::new().await;
    trial.allow(Left::DeadLetters);
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("token"), format!("{SESAME}\n")).unwrap();
    let secrets_path = folder.path().to_owned();
    let collector = trial.open(Options { secrets_path, ..trial.options() }).await;
    (trial, folder, collector)
}

/// Everything that the room says of its sources, to anybody.
async fn everything(collector: &Collector, name: &str) -> Vec<(String, String)> {
    let mut said = Vec::new();
    let paths = [
        "/sources".to_owned(),
        format!("/sources/{name}"),
        "/explain".to_owned(),
        format!("/slots/{name}?from=2025-12-02T10:22:00Z"),
        format!("/series/{name}?from=2025-12-02T10:22:00Z"),
        "/dead-letters".to_owned(),
        "/operate".to_owned(),
        format!("/operate/edit/{name}"),
        "/operate/new".to_owned(),
        "".to_owned(),
    ];
    for path in paths {
        for accept in ["application/json", "text/csv", "text/plain"] {
            let headers = [("x-api-key", collector.key.as_str()), ("accept", accept)];
            let answer = collector.ask("GET", &path, &headers, "").await;
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            said.push((path.clone(), answer.text().to_owned()));
        }
    }
    for action in ["preview", "trigger"] {
        let path = format!("/sources/{name}/{action}");
        let answer = collector.operate("POST", &path, &json!(null)).await;
        said.push((path, answer.text().to_owned()));
    }
    let headers = [
        ("x-api-key", collector.key.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let form = format!("name={name}&act=preview");
    let page = collector.ask("POST", "/operate/act", &headers, &form).await;
    said.push(("the preview's page".to_owned(), page.text().to_owned()));
    said
}

fn assert_unseen(said: &[(String, String)]) {
    for (place, text) in said {
        assert!(!text.contains(SESAME), "{place}: {text}");
    }
}

#[testkit::test]
async fn a_secret_is_in_no_answer_page_export_or_error() {
    let (trial, _folder, collector) = with_secrets().await;
    // In a header from a file, in a query from a file, and in a query as it was typed. The upstream
    // is one that tells its callers what they said, also where a value should be.
    let forms = [
        ("header", json!({ "headerFiles": { "x-key": "token" } })),
        ("hole", json!({ "path": "/x?from={from}&to={to}&k={secret:token}" })),
        ("typed", json!({ "path": format!("/x?from={{from}}&to={{to}}&api_key={SESAME}") })),
    ];
    for (name, form) in forms {
        let added = collector.add(&trial, name, &form).await;
        assert_eq!(added.status, 201, "{added:?}");
        assert_unseen(&[("the answer to the adding".to_owned(), added.text().to_owned())]);
        for reply in [
            Reply::Count(format!("\"{SESAME}\"")),
            Reply::Body(format!(r#"{{"from": "{SESAME}", "to": "", "count": 1}}"#)),
            Reply::Body(format!("[\"{SESAME}\"")),
            Reply::Head(format!("302 Found\r\nlocation: http://{SESAME}.example/")),
            Reply::Head("404 Not Found".to_owned()),
            Reply::Body(format!(r#"{{"from": "{FIRST}", "to": "x", "note": "{SESAME}"}}"#)),
        ] {
            let own = name.to_owned();
            trial.upstream.answer(move |asked| match asked.who == own {
                true => reply.clone(),
                false => Reply::Right,
            });
            assert_unseen(&everything(&collector, name).await);
        }
        let asked = trial.upstream.asked().into_iter().rfind(|asked| asked.who == name).unwrap();
        assert!(asked.head.contains(SESAME), "the upstream gets it: {}", asked.head);
    }
    trial.pass(&[&collector], 30 + 70).await;
    for name in ["header", "hole", "typed"] {
        assert_unseen(&everything(&collector, name).await);
    }
}

#[testkit::test]
async fn a_source_with_a_hidden_value_can_be_changed_without_it() {
    let (trial, _folder, collector) = with_secrets().await;
    let form = json!({ "path": format!("/x?from={{from}}&to={{to}}&api_key={SESAME}") });
    let added = collector.add(&trial, "typed", &form).await;
    let mut shown = added.json()["source"].clone();
    assert_eq!(shown["path"], "/x?from={from}&to={to}&api_key=[redacted]");
    shown["retentionDays"] = json!(3);
    let changed = collector.operate("PUT", "/sources/typed", &shown).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    collector.operate("POST", "/sources/typed/trigger", &json!(null)).await;
    let asked = trial.upstream.asked().pop().unwrap();
    assert!(asked.head.contains(&format!("api_key={SESAME}")), "{}", asked.head);
    // There is nothing to keep for a new one.
    let refused = collector.add(&trial, "other", &json!({ "path": "/x?api_key=[redacted]" })).await;
    let refused = refused.refusal();
    assert!(refused.2.contains("`api_key`"), "{refused:?}");
    // A refusal does not repeat what it refuses.
    let form = json!({ "path": format!("/x?token={SESAME}&to={{when}}") });
    let refused = collector.add(&trial, "third", &form).await.refusal();
    assert!(refused.0 == 400 && !refused.2.contains(SESAME), "{refused:?}");
}

#[testkit::test]
async fn a_secret_file_is_read_again_when_it_changes() {
    let (trial, folder, collector) = with_secrets().await;
    for (name, form) in [
        ("header", json!({ "headerFiles": { "x-key": "token" } })),
        ("hole", json!({ "path": "/x?from={from}&to={to}&k={secret:token}" })),
    ] {
        assert_eq!(collector.add(&trial, name, &form).await.status, 201);
    }
    let head = async |name: &str| {
        collector.operate("POST", &format!("/sources/{name}/trigger"), &json!(null)).await;
        trial.upstream.asked().into_iter().rfind(|asked| asked.who == name).unwrap().head
    };
    assert!(head("header").await.contains(SESAME));
    std::fs::write(folder.path().join("token"), "another-secret").unwrap();
    trial.pass(&[&collector], 6).await;
    for name in ["header", "hole"] {
        let head = head(name).await;
        assert!(head.contains("another-secret") && !head.contains(SESAME), "{head}");
    }
    // One that is gone for a moment changes nothing.
    std::fs::remove_file(folder.path().join("token")).unwrap();
    trial.pass(&[&collector], 6).await;
    assert!(head("header").await.contains("another-secret"));
}

#[testkit::test]
async fn a_redirect_to_another_port_carries_no_secret() {
    let (trial, _folder, collector) = with_secrets().await;
    let other = Upstream::start().await;
    for (name, form) in [
        ("header", json!({ "headerFiles": { "x-key": "token", "authorization": "token" } })),
        ("hole", json!({ "path": "/x?from={from}&to={to}&k={secret:token}" })),
    ] {
        assert_eq!(collector.add(&trial, name, &form).await.status, 201);
        let window = "from=2025-12-02T10:22:20Z&to=2025-12-02T10:22:25Z";
        let moved = format!("307 Temporary Redirect\r\nlocation: {}/moved?{window}", other.url());
        trial.upstream.answer(move |_| Reply::Head(moved.clone()));
        let path = format!("/sources/{name}/preview");
        let told: Json = collector.operate("POST", &path, &json!(null)).await.json();
        for asked in other.asked() {
            assert!(!asked.head.contains(SESAME), "{told}: {}", asked.head);
            assert!(!asked.head.contains("referer"), "{}", asked.head);
        }
        // One that would carry the secret in its address is not followed at all.
        let moved = format!("307 Temporary Redirect\r\nlocation: {}/moved?k={SESAME}", other.url());
        trial.upstream.answer(move |_| Reply::Head(moved.clone()));
        other.forget();
        let told: Json = collector.operate("POST", &path, &json!(null)).await.json();
        assert!(told["trouble"].as_str().unwrap().contains("redirect"), "{told}");
        assert!(other.asked().is_empty());
    }
}
