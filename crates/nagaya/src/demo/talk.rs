//! A talk with an audience that comments, and likes what others comment.

use std::time::Duration;

use base::Ids;
use serde_json::json;

use super::Scene;
use super::people::PEOPLE;

const SAID: [&str; 28] = [
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
    "ここ、写真を撮っておきます 📷",
    "Is the code public?",
    "1台でどのくらいの人数まで動きますか?",
    "Hello from the back row",
    "それは知らなかった",
    "What happens when the disk is full?",
    "図がわかりやすいです",
    "DynamoDB と同じ API なのが良い",
    "Can I run it at home?",
    "授業で使ってみたい",
    "🔥🔥🔥",
    "質問:料金はかかりますか?",
    "So one binary does all of this?",
    "うちの会社でも同じことで困ってました",
    "Could you show that again?",
    "マイクの音、ちょうどいいです",
    "長屋という名前がいいですね",
    "Thank you, very clear",
];

/// Comments of one talk, then the next one begins: more than a day of them, and less than a room
/// takes.
const COMMENTS: u32 = 100_000;

/// How often somebody likes a comment, for each one that is written.
const LIKED: f64 = 0.45;

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
    let answer = scene.wire.post("/live/rooms", Vec::new(), room).await?;
    Ok(Room { id: answer.text("/roomId")?, code: answer.text("/code")? })
}

/// A talk in this room, or in one of its own.
pub(super) async fn play(scene: Scene, room: Option<Room>) -> Result<(), String> {
    let room = match room {
        Some(room) => room.id,
        None => open(&scene).await?.id,
    };
    let comments = format!("/live/rooms/{room}/comments");
    for _ in 0..COMMENTS {
        let Some(person) = scene.random.pick(&PEOPLE) else { return Ok(()) };
        let comment = json!({ "content": scene.pick(&SAID), "nickname": person.name });
        let written = scene.wire.post(&comments, Vec::new(), comment).await?;
        if let (true, Ok(id)) = (scene.random.chance(LIKED), written.text("/commentId")) {
            let liked = format!("{comments}/{id}/like");
            let reader = scene.random.pick(&PEOPLE).map_or("reader", |person| person.handle);
            let headers = vec![("x-participant", reader.to_owned())];
            // Somebody who likes a comment twice is refused.
            let _liked = scene.wire.post(&liked, headers, json!({})).await;
        }
        scene.pause(Duration::from_millis(1_600)).await;
    }
    Ok(())
}
