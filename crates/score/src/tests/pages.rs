//! The pages on the wire: whole without script, harmless whatever a player is called.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use testkit::Answer;

use super::{Arcade, MONTH, options, snake};
use crate::Options;

const PAGES: [&str; 3] = ["", "/board/snake/ALL", "/operate"];

async fn japanese(arcade: &Arcade, path: &str) -> Answer {
    arcade.ask("GET", path, &[("accept-language", "ja")], "").await
}

#[testkit::test]
async fn every_page_speaks_two_languages_under_the_strict_policy() {
    let arcade = Arcade::with_snake(10).await;
    for path in PAGES {
        let english = arcade.get(path).await;
        assert_eq!(english.status, 200, "{path}");
        assert!(english.text().contains("<html lang=\"en\">"), "{path}");
        assert!(japanese(&arcade, path).await.text().contains("<html lang=\"ja\">"), "{path}");
        let policy = english.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("trusted-types"));
        assert!(!policy.contains("inline") && !policy.contains("eval"), "{policy}");
        assert!(!english.text().contains(" style=") && !english.text().contains(" onclick="));
        assert!(!english.text().contains("<script>"), "{path}");
    }
}

#[testkit::test]
async fn every_file_that_a_page_or_a_module_names_is_there() {
    let arcade = Arcade::with_snake(10).await;
    let mut wanted = BTreeSet::from(["/play/game.js".to_owned()]);
    for path in PAGES {
        let page = arcade.get(path).await;
        let page = page.text();
        let named = page.split('"').filter_map(|part| part.strip_prefix("/score/assets/"));
        wanted.extend(named.map(|name| format!("/assets/{name}")));
    }
    for part in arcade.get("/play/").await.text().split('"').filter(|part| part.contains('.')) {
        if ["css", "js", "svg"].iter().any(|end| part.ends_with(end)) {
            wanted.insert(format!("/play/{part}"));
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(path) = wanted.pop_first() {
        let file = arcade.get(&path).await;
        assert_eq!(file.status, 200, "{path}");
        let kind = file.header("content-type").unwrap();
        let kinds = [(".js", "text/javascript"), (".css", "text/css"), (".svg", "image/svg+xml")];
        assert!(
            kinds.iter().any(|(end, is)| path.ends_with(end) && kind.starts_with(is)),
            "{path}"
        );
        let folder = path.rsplit_once('/').unwrap().0;
        for import in file.text().split("from \"./").skip(1) {
            let name = import.split('"').next().unwrap();
            wanted.insert(format!("{folder}/{name}"));
        }
        seen.insert(path);
        wanted.retain(|path| !seen.contains(path));
    }
    for name in ["/kit/dom.js", "/rows.js", "/games-form.js", "/client.js", "/style.css"] {
        assert!(seen.iter().any(|path| path.ends_with(name)), "{name} in {seen:?}");
    }
    assert_eq!(arcade.get("/play").await.header("location"), Some("/score/play/"));
}

#[testkit::test]
async fn a_board_is_whole_without_script() {
    let arcade = Arcade::with_snake(3).await;
    let page = arcade.get("/board/snake/ALL").await;
    let page = page.text();
    assert!(page.contains("Nobody has played yet."), "{page}");
    for (user, score) in [("a", 1), ("b", 2), ("c", 3000), ("d", 4)] {
        arcade.score(user, score).await;
    }
    let page = arcade.get("/board/snake/ALL?me=a").await;
    let page = page.text();
    let rows = page.split("id=\"rows\"").nth(1).unwrap().split("</tbody>").next().unwrap();
    let users: Vec<&str> =
        rows.split("data-user=\"").skip(1).map(|row| row.split('"').next().unwrap()).collect();
    assert_eq!(users, ["c", "d", "b"]);
    assert!(rows.contains(">3,000</td>") && rows.contains(">0.900</td>"), "{rows}");
    assert!(page.contains("Rank 4 of 4") && page.contains("Players: 4"), "beyond the board");
    assert!(page.contains("The top 3 begin at 2."), "{page}");
    let around = page.split("id=\"neighbours\"").nth(1).unwrap();
    assert!(around.contains("<tr class=\"mine\" data-user=\"a\""), "{around}");
    assert!(arcade.get("/board/snake/ALL?me=zed").await.text().contains("id=\"found\" hidden"));
    let ja = japanese(&arcade, "/board/snake/ALL?me=a").await;
    let ja = ja.text();
    assert!(ja.contains("4人中 4位") && ja.contains("上位3位のラインは 2 です。"), "{ja}");
    assert!(page.contains(&format!("href=\"/score/board/snake/{MONTH}?me=a\"")), "{page}");
}

#[testkit::test]
async fn the_months_of_a_game_can_be_chosen_and_closed_ones_say_so() {
    let arcade = Arcade::alone(options(), "2027-01-31T23:00:00Z").await;
    arcade.set_game(&snake(3)).await;
    let mut other = snake(3);
    other["gameName"] = json!("snake2");
    arcade.set_game(&other).await;
    arcade.score("a", 1).await;
    // Boards are trimmed, and closed months archived, at 03:00.
    arcade.jump(4 * 3600 - 60).await;
    arcade.pass(120).await;
    let page = arcade.get(&format!("/board/snake/{MONTH}")).await;
    let page = page.text();
    let links: Vec<&str> = page
        .split("href=\"/score/board/snake/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(links, ["ALL", "2027-02", "2027-01"]);
    assert!(page.contains("<span class=\"badge\">final</span>"), "{page}");
    assert!(page.contains("data-user=\"a\""));
    let page = arcade.get("/board/snake2/ALL").await;
    let page = page.text();
    assert!(!page.contains("2027-01"), "the months of one game alone");
}

#[testkit::test]
async fn what_a_player_is_called_is_text_on_every_page() {
    let arcade = Arcade::with_snake(3).await;
    let play = arcade.play(1000).await;
    let headers = [("x-player", "%3Cimg%20src%3Dx%3E%E2%80%AE%22")];
    let target = ("snake", "ALL", "evil");
    let answer = arcade.submit_with(&play, target, (7, 900), &headers, "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let page = arcade.get("/board/snake/ALL?me=evil").await;
    let page = page.text();
    assert!(!page.contains("<img") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("<bdi data-slot=\"name\">&lt;img src=x&gt;&quot;</bdi>"), "{page}");
}

#[testkit::test]
async fn a_page_of_nothing_says_so() {
    let arcade = Arcade::open().await;
    let gone = arcade.operate("DELETE", "/games/akari", &Json::Null).await;
    assert_eq!(gone.status, 200);
    assert!(arcade.get("").await.text().contains("There is no game yet."));
    let gone = arcade.get("/board/chess/ALL").await;
    assert_eq!(gone.status, 404);
    assert!(gone.text().contains("There is no such game"), "{}", gone.text());
    arcade.set_game(&snake(3)).await;
    assert!(arcade.get("").await.text().contains("href=\"/score/board/snake/ALL\""));
    let led = arcade.get("/board/snake").await;
    assert_eq!((led.status, led.header("location")), (303, Some("/score/board/snake/ALL")));
    for wrong in ["x", "ALL?me=a%20b"] {
        let answer = arcade.get(&format!("/board/snake/{wrong}")).await;
        assert_eq!(answer.refusal().1, "invalid", "{wrong}");
    }
    assert_eq!(arcade.get("/board/snake/ALL?me=").await.status, 200);
}

#[testkit::test]
async fn a_house_without_games_offers_the_sample_until_it_has_one_of_its_own() {
    let arcade = Arcade::alone(options(), super::START).await;
    let names = async || {
        let listed = arcade.get("/games").await.json();
        let games = listed["games"].as_array().unwrap().clone();
        games.iter().map(|game| game["gameName"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["akari"]);
    let page = arcade.get("").await;
    let page = page.text();
    assert!(page.contains("href=\"/score/play/\"") && page.contains("class=\"card offered\""));
    let play = arcade.play(1_000).await;
    let played = arcade.submit_with(&play, ("akari", "ALL", "ada"), (50, 900), &[], "").await;
    assert_eq!(played.status, 200, "{played:?}");
    assert!(arcade.get("/board/akari/ALL").await.text().contains("data-user=\"ada\""));

    arcade.set_game(&snake(3)).await;
    assert_eq!(names().await, ["snake"], "a house with games of its own shows no toy");
    assert!(!arcade.get("").await.text().contains("href=\"/score/play/\""));
    arcade.operate("DELETE", "/games/snake", &Json::Null).await;
    assert_eq!(names().await, ["akari"]);
    arcade.operate("DELETE", "/games/akari", &Json::Null).await;
    assert!(names().await.is_empty(), "one that was deleted stays away");
}

#[testkit::test]
async fn a_house_with_a_file_of_games_offers_no_sample() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[]").unwrap();
    let options = Options { games_file: Some(file.path().to_owned()), ..options() };
    let arcade = Arcade::alone(options, super::START).await;
    assert_eq!(arcade.get("/games").await.json(), json!({ "games": [] }));
}

#[testkit::test]
async fn pages_come_through_the_proxy_and_within_the_rate_as_all_reads_do() {
    let options = Options { edge_auth: "s3cret".to_owned(), reads_per_second: 2, ..options() };
    let arcade = Arcade::alone(options, super::START).await;
    for path in PAGES {
        assert_eq!(arcade.get(path).await.refusal().1, "edge_auth_invalid", "{path}");
    }
    let through = async || arcade.ask("GET", "", &[("x-edge-auth", "s3cret")], "").await;
    for _ in 0..4 {
        assert_eq!(through().await.status, 200);
    }
    assert_eq!(through().await.status, 429);
}

#[testkit::test]
async fn the_desk_is_given_the_sample_and_no_page_a_secret() {
    let arcade = Arcade::with_snake(3).await;
    let page = arcade.get("/operate").await;
    let page = page.text();
    assert!(page.contains("akari"), "{page}");
    assert!(!page.contains(&arcade.key));
    let sample: Json =
        serde_json::from_str(include_str!("../../../../examples/score-game/games.json")).unwrap();
    arcade.set_game(&sample[0]).await;
    let listed = arcade.get("/games").await.json();
    assert_eq!(listed["games"][0]["gameName"], "akari");
}
