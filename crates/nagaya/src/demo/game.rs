//! A game: players who play the sample game for some seconds each, and submit by its real flow.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use super::Scene;
use super::people::{PEOPLE, Person};
use super::wire::Call;

/// How many play at once.
pub(super) const PLAYERS: u32 = 4;

/// The sample game, which a house without games of its own offers.
pub(super) const NAME: &str = "akari";

/// The most points that the sample game believes.
const MOST: u64 = 2_000;

/// The longest play, of ten seconds by the rules of the game.
const PLAY: Duration = Duration::from_secs(9);

pub(super) async fn play(scene: Scene) -> Result<(), String> {
    let began = scene.clock.instant();
    loop {
        let Some(player) = scene.random.pick(&PEOPLE) else { return Ok(()) };
        // People get better while they play, so that the board does not come to rest.
        let minutes = scene.clock.instant().since(began).as_secs() / 60;
        play_once(&scene, player, minutes).await?;
        scene.pause(Duration::from_secs(2)).await;
    }
}

async fn play_once(scene: &Scene, player: &Person, minutes: u64) -> Result<(), String> {
    let user = player.handle;
    let path = format!("/score/get-start?gameId={NAME}&userId={user}");
    let started = scene.wire.get(&path, Vec::new()).await?;
    let token_start = started.text("/token_start")?;
    let cookie = started.cookie().map(|cookie| ("cookie", cookie));
    let began = scene.clock.instant();
    scene.pause(PLAY).await;
    let played = u64::try_from(scene.clock.instant().since(began).as_millis()).unwrap_or(u64::MAX);
    let a_second = 15 + minutes.min(60) + scene.random.below(45);
    let score = (played.saturating_mul(a_second) / 1_000).min(MOST);
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
    headers.push(("x-player", percent(player.name)));
    let path = format!("/score/scores/{NAME}/ALL/{user}");
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
    use super::{MOST, NAME};

    const GAMES: &str = include_str!("../../../../examples/score-game/games.json");

    #[test]
    fn the_game_that_is_named_is_the_sample() {
        let games: serde_json::Value = serde_json::from_str(GAMES).unwrap();
        assert_eq!((&games[0]["gameName"], &games[0]["maxScore"]), (&NAME.into(), &MOST.into()));
    }
}
