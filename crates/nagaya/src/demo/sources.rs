//! Sources: two that answer at once, and one that is sometimes late and sometimes wrong.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Scene;
use super::wire::Call;

pub(super) async fn play(scene: Scene) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|cause| cause.to_string())?;
    let moody = listener.local_addr().map_err(|cause| cause.to_string())?;
    let house = format!("http://{}/collect", scene.wire.address());
    for (name, base) in
        [("tokyo", &house), ("osaka", &house), ("moody", &format!("http://{moody}"))]
    {
        add(&scene, name, base).await?;
    }
    loop {
        let (stream, _) = listener.accept().await.map_err(|cause| cause.to_string())?;
        // One after the other: who waits is late, as it is meant to be.
        let _answered = answer(&scene, stream).await;
    }
}

/// Names a source, or changes where one is that an earlier demonstration named.
async fn add(scene: &Scene, name: &str, base: &str) -> Result<(), String> {
    let key = || vec![("x-api-key", scene.operator_key.clone())];
    let source = json!({ "name": format!("demo-{name}"), "metric": "orders", "baseUrl": base, "intervalSeconds": 5, "retentionDays": 1 });
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
