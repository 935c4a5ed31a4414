//! Sources that ask the practice upstream of the collect room: three series of their own shapes. One
//! is sometimes late, and two have gaps, of which the ledger knows the reasons.

use std::time::Duration;

use base::Timestamp;
use serde_json::json;

use super::Scene;
use super::wire::Call;

/// What the room's first page shows, and a minute that is not whole yet.
const SHOWN: Duration = Duration::from_secs(31 * 60);

/// A new source is planned from the next whole minute on; by then it is.
const PLANNED: Duration = Duration::from_secs(70);

/// Slots that are asked for in a second: the half hour is there in some seconds, newest first.
const RATE: u64 = 200;

/// A source: its name, what it measures, its path, and of which kind its values are.
const SOURCES: [[&str; 4]; 3] = [
    ["tokyo-shop", "orders", "/orders", "count"],
    ["museum-hall", "visitors", "/visitors", "count"],
    ["class-1-2", "temperature", "/temperature", "gauge"],
];

pub(super) async fn play(scene: Scene) -> Result<(), String> {
    for source in SOURCES {
        add(&scene, source).await?;
    }
    let began = scene.clock.now();
    let from = began.checked_sub(SHOWN).unwrap_or(began);
    for [name, ..] in SOURCES {
        fill(&scene, name, from).await?;
    }
    // What lies between the first filling and the first minute that was planned.
    scene.clock.sleep(PLANNED).await;
    for [name, ..] in SOURCES {
        fill(&scene, name, began).await?;
    }
    // The room goes on by itself.
    std::future::pending().await
}

/// Asks for what was before, so that there is something to see at once.
async fn fill(scene: &Scene, name: &str, from: Timestamp) -> Result<(), String> {
    let whole = |at: Timestamp| Timestamp::from_millis(at.millis() / 1_000 * 1_000).to_string();
    let order = json!({ "from": whole(from), "to": whole(scene.clock.now()), "rate": RATE });
    let path = format!("/collect/sources/{name}/backfill");
    scene.wire.post(&path, key(scene), order).await.map(drop)
}

/// Adds a source, if an earlier demonstration in the same directory has not.
async fn add(scene: &Scene, [name, metric, path, kind]: [&str; 4]) -> Result<(), String> {
    let known = format!("/collect/sources/{name}");
    let known = Call { method: "GET", path: &known, headers: key(scene), body: None };
    if scene.wire.call(known).await?.status == 200 {
        return Ok(());
    }
    let source = json!({
        "name": name,
        "metric": metric,
        "baseUrl": "http://practice.invalid",
        "path": format!("{path}?from={{from}}&to={{to}}"),
        "intervalSeconds": 5,
        "kind": kind,
        "retentionDays": 1,
        "readers": "everyone",
    });
    scene.wire.post("/collect/sources", key(scene), source).await.map(drop)
}

fn key(scene: &Scene) -> Vec<(&'static str, String)> {
    vec![("x-api-key", scene.operator_key.clone())]
}
