//! A talk with an audience that comments.

use std::time::Duration;

use base::Ids;
use serde_json::json;

use super::Scene;

const SAID: [&str; 10] = [
    "はじめまして!楽しみにしています 🎉",
    "How does it stay in order?",
    "88888888",
    "なるほど〜",
    "👏👏👏",
    "質問:再接続したらどうなりますか?",
    "Great slide!",
    "もう一度お願いします",
    "Where can I read more?",
    "おもしろい!",
];
const WHO: [&str; 6] = ["花子", "Ada", "太郎", "Ben", "さくら", "Grace"];

/// A room takes this many comments; then the next talk begins.
const COMMENTS: u32 = 2_000;

/// A room in which somebody talks.
pub(super) struct Room {
    pub(super) id: String,
    /// What the audience types to come in.
    pub(super) code: String,
}

pub(super) async fn open(scene: &Scene) -> Result<Room, String> {
    let ids = Ids::new(scene.clock.clone(), scene.random.clone());
    let host = ids.random().simple().to_string();
    let room = json!({ "name": "Rust で作る長屋", "hostId": host });
    let told = scene.wire.post("/live/rooms", Vec::new(), room).await?;
    Ok(Room { id: told.text("/roomId")?, code: told.text("/code")? })
}

/// A talk in this room, or in one of its own.
pub(super) async fn play(scene: Scene, room: Option<Room>) -> Result<(), String> {
    let room = match room {
        Some(room) => room.id,
        None => open(&scene).await?.id,
    };
    for _ in 0..COMMENTS {
        let comment = json!({ "content": scene.pick(&SAID), "nickname": scene.pick(&WHO) });
        scene.wire.post(&format!("/live/rooms/{room}/comments"), Vec::new(), comment).await?;
        scene.pause(Duration::from_millis(2_500)).await;
    }
    Ok(())
}
