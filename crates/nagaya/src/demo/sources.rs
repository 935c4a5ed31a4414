//! Sources: two that answer at once, and one that is sometimes late and sometimes wrong.

use std::time::Duration;

use base::Timestamp;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Scene;
use super::wire::Call;

/// What the room's first page shows.
const SHOWN: Duration = Duration::from_secs(30 * 60);

/// A new source is planned from the next whole minute on; by then it is.
const PLANNED: Duration = Duration::from_secs(70);

/// Slots that are asked for in a second: the half hour is there in some seconds, newest first; one
/// that answers slowly is asked slowly, for it would be left alone else.
const QUICK: u64 = 100;
const SLOW: u64 = 2;

pub(super) async fn play(scene: Scene) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|cause| cause.to_string())?;
    let moody = listener.local_addr().map_err(|cause| cause.to_string())?;
    let house = format!("http://{}/collect", scene.wire.address());
    for (name, base) in
        [("tokyo", &house), ("osaka", &house), ("moody", &format!("http://{moody}"))]
    {
        add(&scene, name, base).await?;
    }
    let fill = async {
        let now = scene.clock.now();
        let from = Timestamp::from_millis(now.millis().saturating_sub(SHOWN.as_secs() * 1_000));
        let sources = [("tokyo", QUICK), ("osaka", QUICK), ("moody", SLOW)];
        for (name, rate) in sources {
            fill(&scene, name, rate, from).await?;
        }
        scene.clock.sleep(PLANNED).await;
        for (name, rate) in sources {
            fill(&scene, name, rate, now).await?;
        }
        Ok(())
    };
    tokio::try_join!(fill, serve(&scene, &listener)).map(|((), ())| ())
}

/// Asks for what was before, so that there is something to see at once, and no hole in it.
async fn fill(scene: &Scene, name: &str, rate: u64, from: Timestamp) -> Result<(), String> {
    let now = scene.clock.now();
    let whole = |at: Timestamp| Timestamp::from_millis(at.millis() / 1_000 * 1_000).to_string();
    let order = json!({ "from": whole(from), "to": whole(now), "rate": rate });
    let path = format!("/collect/sources/demo-{name}/backfill");
    let key = vec![("x-api-key", scene.operator_key.clone())];
    scene.wire.post(&path, key, order).await.map(drop)
}

async fn serve(scene: &Scene, listener: &TcpListener) -> Result<(), String> {
    loop {
        let (stream, _) = listener.accept().await.map_err(|cause| cause.to_string())?;
        // One after the other: who waits is late, as it is meant to be.
        let _answered = answer(scene, stream).await;
    }
}

/// Names a source, or changes where one is that an earlier demonstration named.
async fn add(scene: &Scene, name: &str, base: &str) -> Result<(), String> {
    let key = || vec![("x-api-key", scene.operator_key.clone())];
    let source = json!({ "name": format!("demo-{name}"), "metric": "orders", "baseUrl": base, "intervalSeconds": 5, "retentionDays": 1, "readers": "everyone" });
    let path = format!("/collect/sources/demo-{name}");
    let gone = Call { method: "DELETE", path: &path, headers: key(), body: None };
    let _gone = scene.wire.call(gone).await?;
    scene.wire.post("/collect/sources", key(), source).await.map(drop)
}

async fn answer(scene: &Scene, mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = vec![0; 8_192];
    let read = stream.read(&mut head).await?;
    let head = String::from_utf8_lossy(head.get(..read).unwrap_or_default()).into_owned();
    let asked = |name: &str| {
        let query = head.split(['?', ' ']).nth(2).unwrap_or_default();
        let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        pair.unwrap_or_default().replace("%3A", ":")
    };
    if scene.random.chance(0.15) {
        scene.clock.sleep(Duration::from_millis(1_500)).await;
    }
    let (status, body) = match scene.random.chance(0.08) {
        true => ("503 Service Unavailable", json!({ "error": "moody" })),
        false => {
            let count = scene.random.below(40);
            ("200 OK", json!({ "from": asked("from"), "to": asked("to"), "count": count }))
        }
    };
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await
}
