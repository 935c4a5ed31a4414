//! Dead letters: found by source and reason, replayed all at once, purged for one source.

use serde_json::json;

use super::upstream::Reply;
use super::{Collector, Trial};

async fn furnished() -> (Trial, Collector) {
    let (trial, collector) = Trial::with_one().await;
    for name in ["osaka", "tokyo"] {
        assert_eq!(
            collector.add(&trial, name, &json!({ "readers": "everyone" })).await.status,
            201
        );
    }
    trial.upstream.answer(|asked| match (asked.who.as_str(), asked.from.get(17..19)) {
        ("osaka", Some("00")) => Reply::Head("403 Forbidden".to_owned()),
        ("osaka" | "tokyo", Some("05" | "10" | "15")) => Reply::Head("404 Not Found".to_owned()),
        _ => Reply::Right,
    });
    // Up to the last slot of the minute.
    trial.pass(&[&collector], 30 + 65).await;
    trial.upstream.answer(|_| Reply::Right);
    (trial, collector)
}

async fn count(collector: &Collector, query: &str) -> usize {
    let path = format!("/dead-letters{query}");
    let answer = collector.operate("GET", &path, &json!(null)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["letters"].as_array().unwrap().len()
}

#[testkit::test]
async fn dead_letters_are_found_by_source_and_reason() {
    let (_trial, collector) = furnished().await;
    for (query, letters) in [
        ("", 7),
        ("?source=osaka", 4),
        ("?source=tokyo", 3),
        ("?reason=403", 1),
        ("?source=tokyo&reason=403", 0),
        ("?source=nobody", 0),
    ] {
        assert_eq!(count(&collector, query).await, letters, "{query}");
    }
    // Pages of a filtered list follow each other, however few of the others are on them.
    let (mut cursor, mut seen) = (String::new(), 0);
    loop {
        let path = format!("/dead-letters?source=tokyo&limit=2{cursor}");
        let page = collector.operate("GET", &path, &json!(null)).await.json();
        seen += page["letters"].as_array().unwrap().len();
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, 3);
    collector.operate("DELETE", "/dead-letters", &json!(null)).await;
}

#[testkit::test]
async fn dead_letters_are_replayed_all_at_once_and_purged_for_a_source() {
    let (trial, collector) = furnished().await;
    let purged = collector.operate("DELETE", "/dead-letters?source=osaka", &json!(null)).await;
    assert_eq!(purged.json(), json!({ "purged": 4 }));
    assert_eq!((count(&collector, "").await, count(&collector, "?source=osaka").await), (3, 0));
    let replayed =
        collector.operate("POST", "/dead-letters/replay?source=tokyo", &json!(null)).await;
    assert_eq!((replayed.status, replayed.json()), (202, json!({ "replayed": 3 })));
    trial.pass(&[&collector], 5).await;
    assert_eq!(count(&collector, "").await, 0);
    let ledger = collector.ledger("tokyo", 1).await;
    assert!(ledger.iter().all(|(_, state)| state == "ok" || state == "late"), "{ledger:?}");
    let ledger = collector.ledger("osaka", 1).await;
    assert_eq!(ledger.iter().filter(|(_, state)| state == "failed").count(), 4, "{ledger:?}");
}

#[testkit::test]
async fn the_desk_finds_replays_and_purges_dead_letters() {
    let (trial, collector) = furnished().await;
    let page = async |path: &str| {
        let page = collector.ask("GET", path, &[("x-api-key", &collector.key)], "").await;
        page.text().matches("name=\"id\"").count()
    };
    assert_eq!(page("/operate").await, 7);
    assert_eq!(page("/operate?of=tokyo").await, 3);
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let send = async |form: &str| {
        let headers = [("x-api-key", collector.key.as_str()), kind];
        collector.ask("POST", "/operate/letters", &headers, form).await
    };
    let purged = send("act=purge&of=osaka").await;
    assert_eq!(purged.status, 303, "{purged:?}");
    assert_eq!(
        purged.header("location"),
        Some("/collect/operate?of=osaka&told=purged#dead-letters")
    );
    assert_eq!(page("/operate").await, 3);
    assert_eq!(send("act=replay-all&of=tokyo").await.status, 303);
    trial.pass(&[&collector], 5).await;
    assert_eq!(page("/operate").await, 0);
}
