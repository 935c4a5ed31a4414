//! The pages on the wire: whole without script, harmless whatever a player is called.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::{Answer, House, MONTH, options, snake};
use crate::Options;

const PAGES: [&str; 3] = ["", "/board/snake/ALL", "/operate"];

async fn japanese(house: &House, path: &str) -> Answer {
    house.ask("GET", path, &[("accept-language", "ja")], "").await
}

#[tokio::test]
async fn every_page_speaks_two_languages_under_the_strict_policy() {
    let house = House::with_snake(10).await;
    for path in PAGES {
        let english = house.get(path).await;
        assert_eq!(english.status, 200, "{path}");
        assert!(english.body.contains("<html lang=\"en\">"), "{path}");
        assert!(japanese(&house, path).await.body.contains("<html lang=\"ja\">"), "{path}");
        let policy = english.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("trusted-types"));
        assert!(!policy.contains("inline") && !policy.contains("eval"), "{policy}");
        assert!(!english.body.contains(" style=") && !english.body.contains(" onclick="));
        assert!(!english.body.contains("<script>"), "{path}");
    }
}

#[tokio::test]
async fn every_file_that_a_page_or_a_module_names_is_there() {
    let house = House::with_snake(10).await;
    let mut wanted = BTreeSet::from(["/play/game.js".to_owned()]);
    for path in PAGES {
        let page = house.get(path).await.body;
        let named = page.split('"').filter_map(|part| part.strip_prefix("/score/assets/"));
        wanted.extend(named.map(|name| format!("/assets/{name}")));
    }
    for part in house.get("/play/").await.body.split('"').filter(|part| part.contains('.')) {
        if ["css", "js", "svg"].iter().any(|end| part.ends_with(end)) {
            wanted.insert(format!("/play/{part}"));
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(path) = wanted.pop_first() {
        let file = house.get(&path).await;
        assert_eq!(file.status, 200, "{path}");
        let kind = file.header("content-type").unwrap();
        let kinds = [(".js", "text/javascript"), (".css", "text/css"), (".svg", "image/svg+xml")];
        assert!(
            kinds.iter().any(|(end, is)| path.ends_with(end) && kind.starts_with(is)),
            "{path}"
        );
        let folder = path.rsplit_once('/').unwrap().0;
        for import in file.body.split("from \"./").skip(1) {
            let name = import.split('"').next().unwrap();
            wanted.insert(format!("{folder}/{name}"));
        }
        seen.insert(path);
        wanted.retain(|path| !seen.contains(path));
    }
    for name in ["/kit/dom.js", "/rows.js", "/games-form.js", "/client.js", "/style.css"] {
        assert!(seen.iter().any(|path| path.ends_with(name)), "{name} in {seen:?}");
    }
    assert_eq!(house.get("/play").await.header("location"), Some("/score/play/"));
}

#[tokio::test]
async fn a_board_is_whole_without_script() {
    let house = House::with_snake(3).await;
    let page = house.get("/board/snake/ALL").await.body;
    assert!(page.contains("Nobody has played yet."), "{page}");
    for (user, score) in [("a", 1), ("b", 2), ("c", 3000), ("d", 4)] {
        house.score(user, score).await;
    }
    let page = house.get("/board/snake/ALL?me=a").await.body;
    let rows = page.split("id=\"rows\"").nth(1).unwrap().split("</tbody>").next().unwrap();
    let users: Vec<&str> =
        rows.split("data-user=\"").skip(1).map(|row| row.split('"').next().unwrap()).collect();
    assert_eq!(users, ["c", "d", "b"]);
    assert!(rows.contains(">3,000</td>") && rows.contains(">0.900</td>"), "{rows}");
    assert!(page.contains("Rank 4 of 4") && page.contains("4 players"), "beyond the board");
    assert!(page.contains("The top 3 begin at 2."), "{page}");
    let around = page.split("id=\"neighbours\"").nth(1).unwrap();
    assert!(around.contains("<tr class=\"mine\" data-user=\"a\""), "{around}");
    assert!(house.get("/board/snake/ALL?me=zed").await.body.contains("id=\"found\" hidden"));
    let ja = japanese(&house, "/board/snake/ALL?me=a").await.body;
    assert!(ja.contains("4人中 4位") && ja.contains("上位3位のラインは 2 です。"), "{ja}");
    assert!(page.contains(&format!("href=\"/score/board/snake/{MONTH}?me=a\"")), "{page}");
}

#[tokio::test]
async fn the_months_of_a_game_can_be_chosen_and_closed_ones_say_so() {
    let house = House::alone(options(), "2027-01-31T23:00:00Z").await;
    house.set_game(&snake(3)).await;
    let mut other = snake(3);
    other["gameName"] = json!("snake2");
    house.set_game(&other).await;
    house.score("a", 1).await;
    house.pass(5 * 3600).await;
    let page = house.get(&format!("/board/snake/{MONTH}")).await.body;
    let links: Vec<&str> = page
        .split("href=\"/score/board/snake/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(links, ["ALL", "2027-02", "2027-01"]);
    assert!(page.contains("<span class=\"badge\">final</span>"), "{page}");
    assert!(page.contains("data-user=\"a\""));
    let page = house.get("/board/snake2/ALL").await.body;
    assert!(!page.contains("2027-01"), "the months of one game alone");
}

#[tokio::test]
async fn what_a_player_is_called_is_text_on_every_page() {
    let house = House::with_snake(3).await;
    let play = house.play(1000).await;
    let headers = [("x-player", "%3Cimg%20src%3Dx%3E%E2%80%AE%22")];
    let target = ("snake", "ALL", "evil");
    let answer = house.submit_with(&play, target, (7, 900), &headers, "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let page = house.get("/board/snake/ALL?me=evil").await.body;
    assert!(!page.contains("<img") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("<bdi data-slot=\"name\">&lt;img src=x&gt;&quot;</bdi>"), "{page}");
}

#[tokio::test]
async fn a_page_of_nothing_says_so() {
    let house = House::open().await;
    assert!(house.get("").await.body.contains("There is no game yet."));
    let gone = house.get("/board/chess/ALL").await;
    assert_eq!(gone.status, 404);
    assert!(gone.body.contains("There is no such game"), "{}", gone.body);
    house.set_game(&snake(3)).await;
    assert!(house.get("").await.body.contains("href=\"/score/board/snake/ALL\""));
    let led = house.get("/board/snake").await;
    assert_eq!((led.status, led.header("location")), (303, Some("/score/board/snake/all")));
    for wrong in ["x", "ALL?me=a%20b"] {
        let answer = house.get(&format!("/board/snake/{wrong}")).await;
        assert_eq!(answer.refusal().1, "invalid", "{wrong}");
    }
    assert_eq!(house.get("/board/snake/ALL?me=").await.status, 200);
}

#[tokio::test]
async fn pages_come_through_the_proxy_and_within_the_rate_as_all_reads_do() {
    let options = Options { edge_auth: "s3cret".to_owned(), reads_per_second: 2, ..options() };
    let house = House::alone(options, super::START).await;
    for path in PAGES {
        assert_eq!(house.get(path).await.refusal().1, "edge_auth_invalid", "{path}");
    }
    let through = async || house.ask("GET", "", &[("x-edge-auth", "s3cret")], "").await;
    for _ in 0..4 {
        assert_eq!(through().await.status, 200);
    }
    assert_eq!(through().await.status, 429);
}

#[tokio::test]
async fn the_desk_is_given_the_sample_and_no_page_a_secret() {
    let house = House::with_snake(3).await;
    let page = house.get("/operate").await.body;
    assert!(page.contains("akari"), "{page}");
    assert!(!page.contains(&house.key));
    let sample: Json =
        serde_json::from_str(include_str!("../../../../examples/score-game/games.json")).unwrap();
    house.set_game(&sample[0]).await;
    let listed = house.get("/games").await.json();
    assert_eq!(listed["games"][0]["gameName"], "akari");
}
