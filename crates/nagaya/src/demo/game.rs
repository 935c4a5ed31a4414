//! A game: players who play the sample game for some seconds each, and submit by its real flow.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::Scene;
use super::wire::Call;

/// How many play at once.
pub(super) const PLAYERS: u32 = 3;

/// The sample game, whose page the house serves.
const GAMES: &str = include_str!("../../../../examples/score-game/games.json");
pub(super) const NAME: &str = "akari";
const NAMES: [&str; 8] = ["花子", "太郎", "さくら", "Ada", "Ben", "Grace", "けん", "Eve"];

/// Makes the game, if it is not there.
pub(super) async fn open(scene: &Scene) -> Result<(), String> {
    if scene.wire.get(&format!("/score/ranking/{NAME}/ALL"), Vec::new()).await.is_ok() {
        return Ok(());
    }
    let games: Json = serde_json::from_str(GAMES).map_err(|cause| cause.to_string())?;
    let game = games.get(0).cloned().unwrap_or_default();
    let headers = vec![("x-api-key", scene.operator_key.clone())];
    let path = format!("/score/games/{NAME}");
    scene.wire.call(Call { method: "PUT", path: &path, headers, body: Some(game) }).await.map(drop)
}

pub(super) async fn play(scene: Scene) -> Result<(), String> {
    open(&scene).await?;
    loop {
        play_once(&scene, NAME).await?;
        scene.pause(Duration::from_secs(2)).await;
    }
}

async fn play_once(scene: &Scene, game: &str) -> Result<(), String> {
    let number = usize::try_from(scene.random.below(NAMES.len() as u64)).unwrap_or_default();
    let (user, player) = (format!("demo-{number}"), NAMES.get(number).copied().unwrap_or_default());
    let path = format!("/score/get-start?gameId={game}&userId={user}");
    let started = scene.wire.get(&path, Vec::new()).await?;
    let token_start = started.text("/token_start")?;
    let cookie = started.cookie().map(|cookie| ("cookie", cookie));
    let began = scene.clock.instant();
    scene.pause(Duration::from_secs(8)).await;
    let played = u64::try_from(scene.clock.instant().since(began).as_millis()).unwrap_or(u64::MAX);
    let score = played / 1_000 * (20 + scene.random.below(100));
    let claim = || {
        let claim = [("x-score", score.to_string()), ("x-time-ms", played.to_string())];
        let start = [("x-token-start", token_start.clone())];
        claim.into_iter().chain(start).chain(cookie.clone()).collect::<Vec<_>>()
    };
    let token_end = scene.wire.get("/score/get-end", claim()).await?.text("/token_end")?;
    let signed = score::sign(&token_end, &format!("{user}|{score}|{played}|ALL"));
    let mut headers = claim();
    headers.push(("x-token-end", token_end));
    headers.push(("x-sig", signed));
    headers.push(("x-player", percent(player)));
    let path = format!("/score/scores/{game}/ALL/{user}");
    scene.wire.call(Call { method: "PUT", path: &path, headers, body: Some(json!({})) }).await?;
    Ok(())
}

fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        let _ = write!(encoded, "%{byte:02X}");
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::{GAMES, NAME};

    #[test]
    fn the_game_that_is_named_is_the_sample() {
        let games: serde_json::Value = serde_json::from_str(GAMES).unwrap();
        assert_eq!(games[0]["gameName"], NAME);
    }
}
