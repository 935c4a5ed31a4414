//! What is read of boards: rankings, caches, neighbours, ranks, thresholds, streams.

use serde_json::{Value as Json, json};
use testkit::Stream;

use super::{Arcade, MONTH, pairs, refused, snake};

#[testkit::test]
async fn a_ranking_is_cut_after_the_cache_and_has_a_strong_tag() {
    let arcade = Arcade::with_snake(20).await;
    for number in 1..=12 {
        arcade.score(&format!("u{number:02}"), number).await;
    }
    let whole = arcade.get("/ranking/snake/ALL").await;
    let cached = Some("s-maxage=600, stale-while-revalidate=120");
    assert_eq!(whole.header("cache-control"), cached);
    assert_eq!(whole.json().as_array().unwrap().len(), 12);
    let first =
        json!({ "userId": "u12", "userName": "u12", "score": 12, "timeMs": 900, "rank": 1 });
    assert_eq!(whole.json()[0], first);
    let ten = arcade.get("/ranking/snake/ALL?limit=10").await;
    assert_eq!(ten.json().as_array().unwrap(), &whole.json().as_array().unwrap()[..10]);
    let tags = [whole.header("etag").unwrap(), ten.header("etag").unwrap()];
    assert!(tags[0].starts_with('"') && tags[0] != tags[1]);
    let known = async |tag: &str, limit: &str| {
        let path = format!("/ranking/snake/ALL?limit={limit}");
        arcade.ask("GET", &path, &[("if-none-match", tag)], "").await
    };
    let same = known(tags[1], "10").await;
    assert_eq!((same.status, same.text(), same.header("cache-control")), (304, "", cached));
    assert_eq!(known(tags[1], "100").await.status, 200);
    arcade.score("u01", 50).await;
    let newer = known(tags[1], "10").await;
    assert_eq!((newer.status, &newer.json()[0]["userId"]), (200, &json!("u01")), "at once");
    for limit in ["9", "101", "x"] {
        let words = format!("limit must be from 10 to 100, not `{limit}`");
        let told = arcade.get(&format!("/ranking/snake/ALL?limit={limit}")).await.refusal();
        assert_eq!(told, refused(400, "invalid", &words));
    }
}

#[testkit::test]
async fn readings_of_what_is_not_there_are_refused() {
    let arcade = Arcade::with_snake(20).await;
    for path in ["", "/by/score", "/around/u", "/rank/u", "/stream"] {
        let told = arcade.get(&format!("/ranking/chess/ALL{path}")).await.refusal();
        assert_eq!(told, refused(404, "no_such_game", "there is no game `chess`"), "{path}");
        let told = arcade.get(&format!("/ranking/snake/2027-1{path}")).await.refusal();
        let words = "a period is ALL or a month such as 2026-11, not `2027-1`";
        assert_eq!(told, refused(400, "invalid", words), "{path}");
    }
    for path in ["/around/u", "/rank/u"] {
        let told = arcade.get(&format!("/ranking/snake/ALL{path}")).await.refusal();
        let words = "`u` is not on the board of `snake` for ALL";
        assert_eq!(told, refused(404, "no_such_player", words), "{path}");
        let told = arcade.get(&format!("/ranking/snake/ALL{}%20", path)).await.refusal();
        assert_eq!((told.0, told.1.as_str()), (400, "invalid"), "{path}");
    }
    let told = arcade.get("/ranking/snake/ALL/by/luck").await.refusal();
    let words = "a ranking is by score, timeMs or updatedAt, not `luck`";
    assert_eq!(told, refused(400, "invalid", words));
    assert_eq!(arcade.get("/threshold/chess/ALL").await.refusal().1, "no_such_game");
    let told = arcade.get("/threshold?key=x").await.refusal();
    let words = "a key is `htmlgame-thr#g:<game>#p:<period>`, not `x`";
    assert_eq!(told, refused(400, "invalid", words));
    assert_eq!(arcade.get("/threshold").await.refusal().1, "invalid_query");
    let told = arcade.get("/ranking/snake/ALL/around/u?n=51").await.refusal();
    assert_eq!(told, refused(400, "invalid", "n must be from 0 to 50, not `51`"));
    let told = arcade.get("/ranking/snake/ALL/rank/u?score=5").await.refusal();
    assert_eq!(told, refused(400, "invalid", "timeMs must be a whole number, not ``"));
    assert_eq!(arcade.ranking("2019-05").await, [], "a month without plays is empty");
}

#[testkit::test]
async fn a_board_fills_up_is_full_and_lets_the_last_go() {
    let arcade = Arcade::with_snake(2).await;
    let threshold = async || arcade.get("/threshold/snake/ALL").await.json();
    let order = json!([["score", "desc"], ["timeMs", "asc"]]);
    arcade.score("a", 10).await;
    let open = threshold().await;
    assert_eq!((&open["order"], &open["thr"], &open["topN"]), (&order, &json!([]), &json!(2)));
    arcade.score("b", 20).await;
    let full = json!({
        "ver": 1, "order": order, "thr": [{ "score": 10 }, { "timeMs": 900 }], "topN": 2,
        "updatedAt": "2027-01-15T08:00:01.000Z",
    });
    assert_eq!(threshold().await, full);
    for key in ["htmlgame-thr%23g:snake%23p:ALL", "thr%23g:snake%23p:ALL"] {
        let answer = arcade.get(&format!("/threshold?key={key}")).await;
        assert_eq!(answer.json(), full);
        assert!(answer.body.len() <= 1024);
    }
    arcade.score("c", 30).await;
    assert_eq!(threshold().await["thr"][0], json!({ "score": 20 }), "it moves with the board");
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("c", 30), ("b", 20)]));
    let last = arcade.get("/ranking/snake/ALL/rank/a").await.json();
    assert_eq!(last["rank"], json!({ "ordinal": 3, "competition": 3, "dense": 3 }));
}

#[testkit::test]
async fn ties_on_every_key_are_ranked_by_user_and_share_other_ranks() {
    let arcade = Arcade::with_snake(10).await;
    for (user, score) in [("b", 10), ("c", 10), ("a", 10), ("B", 10), ("z", 20), ("y", 5)] {
        arcade.score(user, score).await;
    }
    let expected = pairs(&[("z", 20), ("B", 10), ("a", 10), ("b", 10), ("c", 10), ("y", 5)]);
    assert_eq!(arcade.ranking("ALL").await, expected);
    let rank =
        async |user: &str| arcade.get(&format!("/ranking/snake/{MONTH}/rank/{user}")).await.json();
    let expected = json!({
        "userId": "c", "score": 10, "timeMs": 900,
        "rank": { "ordinal": 5, "competition": 2, "dense": 2 },
        "percentile": 83.33, "total": 6, "estimate": false,
    });
    assert_eq!(rank("c").await, expected);
    assert_eq!(rank("y").await["rank"], json!({ "ordinal": 6, "competition": 6, "dense": 3 }));
    assert_eq!(rank("z").await["percentile"], 100.0);
    let supposed = rank("nobody?score=7&timeMs=1").await;
    assert_eq!(supposed["rank"], json!({ "ordinal": 6, "competition": 6, "dense": 3 }));
    assert_eq!((&supposed["total"], &supposed["score"]), (&json!(7), &json!(7)));
}

#[testkit::test]
async fn neighbours_stand_on_both_sides() {
    let arcade = Arcade::with_snake(3).await;
    for number in 1..=9 {
        arcade.score(&format!("u{number}"), number).await;
    }
    let around = async |user: &str, n: &str| -> Vec<(String, u64)> {
        let rows = arcade.get(&format!("/ranking/snake/ALL/around/{user}{n}")).await.json();
        let pair = |row: &Json| {
            (row["userId"].as_str().unwrap().to_owned(), row["rank"].as_u64().unwrap())
        };
        rows.as_array().unwrap().iter().map(pair).collect()
    };
    let own = |rows: &[(&str, u64)]| -> Vec<(String, u64)> {
        rows.iter().map(|(user, rank)| ((*user).to_owned(), *rank)).collect()
    };
    assert_eq!(around("u5", "?n=1").await, own(&[("u6", 4), ("u5", 5), ("u4", 6)]));
    assert_eq!(around("u9", "?n=1").await, own(&[("u9", 1), ("u8", 2)]));
    assert_eq!(around("u1", "?n=1").await, own(&[("u2", 8), ("u1", 9)]), "beyond the ranking");
    assert_eq!(around("u5", "").await.len(), 9);
    assert_eq!(around("u5", "?n=0").await, own(&[("u5", 5)]));
}

#[testkit::test]
async fn a_distribution_counts_everybody_and_draws_the_line_of_a_full_board() {
    let arcade = Arcade::with_snake(3).await;
    let path = "/ranking/snake/ALL/distribution";
    let empty = json!({ "field": "score", "total": 0, "topN": 3, "line": null, "steps": [],
        "standing": null });
    assert_eq!(arcade.get(path).await.json(), empty);
    for (user, score) in [("a", 10), ("b", 10), ("c", 33), ("d", 57)] {
        arcade.score(user, score).await;
    }
    let told = arcade.get(path).await.json();
    assert_eq!((&told["total"], &told["line"]), (&json!(4), &json!(10)));
    let steps = told["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 24);
    assert_eq!((&steps[0]["from"], &steps[23]["to"]), (&json!(10), &json!(57)));
    let counts: Vec<u64> = steps.iter().map(|step| step["count"].as_u64().unwrap()).collect();
    assert_eq!((counts[0], counts[11], counts[23], counts.iter().sum()), (2, 1, 1, 4));
    arcade.operate("POST", "/trim", &json!({})).await;
    let among = arcade.get(&format!("{path}?userId=d")).await.json();
    assert_eq!(among["standing"], arcade.get("/ranking/snake/ALL/rank/d").await.json());
    let trimmed = arcade.get(path).await.json();
    assert_eq!(trimmed, told, "who was trimmed is counted all the same");
}

#[testkit::test]
async fn a_ranking_by_one_field_has_the_same_rows() {
    let arcade = Arcade::with_snake(2).await;
    for (user, score, time_ms) in [("slow", 30, 900), ("fast", 20, 100), ("out", 10, 1)] {
        let play = arcade.play(1000).await;
        arcade.submit(&play, user, score, time_ms).await;
    }
    let by = async |field: &str| -> Vec<String> {
        let rows = arcade.get(&format!("/ranking/snake/ALL/by/{field}")).await.json();
        let user = |row: &Json| row["userId"].as_str().unwrap().to_owned();
        rows.as_array().unwrap().iter().map(user).collect()
    };
    assert_eq!(by("score").await, ["slow", "fast"]);
    assert_eq!(by("timeMs").await, ["fast", "slow"]);
    assert_eq!(by("time").await, ["fast", "slow"]);
    assert_eq!(by("updatedAt").await, ["fast", "slow"], "the newest first");
}

#[testkit::test]
async fn a_game_may_rank_by_time_and_by_who_was_first() {
    let arcade = Arcade::open().await;
    let mut game = snake(10);
    game["sort"] = json!([{ "by": "timeMs", "dir": "asc" }, { "by": "updatedAt", "dir": "asc" }]);
    arcade.set_game(&game).await;
    for (user, time_ms) in [("z", 500), ("a", 500), ("m", 400)] {
        let play = arcade.play(1000).await;
        arcade.submit(&play, user, 1, time_ms).await;
    }
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("m", 1), ("z", 1), ("a", 1)]));
    let play = arcade.play(1000).await;
    let again = arcade.submit(&play, "a", 99, 500).await.json();
    assert_eq!(
        again["updated"], false,
        "the score is no key of this game, and later is not better"
    );
}

async fn follow(arcade: &Arcade, query: &str, headers: &[(&str, &str)]) -> Stream {
    let path = format!("/score/ranking/snake/ALL/stream{query}");
    Stream::open(arcade.addresses.all()[0], "GET", &path, headers, "").await
}

fn events(text: &str) -> Vec<Json> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[testkit::test]
async fn a_stream_is_the_board_and_then_its_changes() {
    let arcade = Arcade::with_snake(2).await;
    arcade.score("a", 10).await;
    arcade.score("b", 20).await;
    let mut stream = follow(&arcade, "", &[]).await;
    let text = stream.read_until("data: {\"type\":\"board\"").await;
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    let board = &events(&text)[0];
    assert_eq!((&board["topN"], &board["count"]), (&json!(2), &json!(2)));
    assert_eq!((&board["rows"][0]["userId"], &board["rows"][1]["rank"]), (&json!("b"), &json!(2)));
    arcade.score("c", 30).await;
    let text = stream.read_until("\"type\":\"change\"").await;
    let change = events(&text).pop().unwrap();
    let ver = change["row"]["ver"].clone();
    let expected = json!({
        "type": "change",
        "row": { "userId": "c", "userName": "c", "score": 30, "timeMs": 900, "rank": 1, "ver": ver },
        "previousRank": null, "entered": null,
    });
    assert_eq!(change, expected);
    let id = text.rsplit("id: ").next().unwrap().lines().next().unwrap().to_owned();
    let path = "/scores/snake/ALL/c?reason=cheat";
    assert_eq!(arcade.operate("DELETE", path, &Json::Null).await.status, 200);
    let remove = events(&stream.read_until("\"type\":\"remove\"").await).pop().unwrap();
    assert_eq!((&remove["userId"], &remove["previousRank"]), (&json!("c"), &json!(1)));
    assert_eq!(
        (&remove["entered"]["userId"], &remove["entered"]["rank"]),
        (&json!("a"), &json!(2))
    );
    drop(stream);
    let resumed = [
        follow(&arcade, "", &[("last-event-id", &*id)]).await,
        follow(&arcade, &format!("?after={id}"), &[]).await,
    ];
    for mut again in resumed {
        let text = again.read_until("\"type\":\"remove\"").await;
        assert!(!text.contains("\"type\":\"board\""), "only what was missed is told: {text}");
    }
}

#[testkit::test]
async fn behind_a_gap_the_board_comes_again_and_its_changes_go_on() {
    let arcade = Arcade::with_snake(2).await;
    arcade.score("a", 10).await;
    let mut stream = follow(&arcade, "", &[]).await;
    stream.read_until("\"userId\":\"a\"").await;
    let game = arcade.score.get_game("snake").unwrap();
    let slot = arcade.score.board(&game, &"ALL".parse().unwrap()).await.unwrap();
    let mut row = slot.read(|board| board.standing_of("a").unwrap().0.clone());
    // More bytes than a reader's queue and the history hold, before the reader gets its turn.
    row.name = "x".repeat(8 * 1024).into();
    for _ in 0..2000 {
        (row.value.score, row.ver) = (row.value.score + 1, row.ver + 1);
        arcade.score.row_written(&super::board("ALL"), &row);
    }
    let text = stream.read_until("\"type\":\"board\"").await;
    let gap = text.find("event: gap").unwrap();
    assert!(!text[gap..].contains("\"type\":\"change\""), "{}", &text[gap..]);
    let board = events(&text).pop().unwrap();
    assert_eq!((&board["type"], &board["rows"][0]["score"]), (&json!("board"), &json!(2010)));
    arcade.score("b", 5000).await;
    let text = stream.read_until("\"type\":\"change\"").await;
    assert_eq!(events(&text).pop().unwrap()["row"]["userId"], "b");
}

#[testkit::test]
async fn who_watches_a_board_is_told_when_its_game_ranks_otherwise() {
    let arcade = Arcade::with_snake(5).await;
    for (user, score) in [("a", 10), ("b", 20), ("c", 30)] {
        arcade.score(user, score).await;
    }
    let mut stream = follow(&arcade, "", &[]).await;
    stream.read_until("\"topN\":5").await;
    arcade.set_game(&snake(2)).await;
    let board = events(&stream.read_until("\"topN\":2").await).pop().unwrap();
    assert_eq!((&board["type"], board["rows"].as_array().unwrap().len()), (&json!("board"), 2));
    let mut game = snake(2);
    game["sort"] = json!([{ "by": "score", "dir": "asc" }]);
    arcade.set_game(&game).await;
    let board = events(&stream.read_until("\"userId\":\"a\"").await).pop().unwrap();
    assert_eq!((&board["type"], &board["rows"][0]["userId"]), (&json!("board"), &json!("a")));
}

#[testkit::test]
async fn the_description_knows_every_call() {
    let arcade = Arcade::open().await;
    let api = arcade.get("/openapi.json").await.json();
    let mut calls: Vec<String> = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        calls.extend(item.as_object().unwrap().keys().map(|method| format!("{method} {path}")));
    }
    for call in [
        "get /score/get-start",
        "get /score/get-end",
        "put /score/scores/{gameId}/{period}/{userId}",
        "delete /score/scores/{gameId}/{period}/{userId}",
        "delete /score/scores/{gameId}/{userId}",
        "get /score/ranking/{gameId}/{period}",
        "get /score/ranking/{gameId}/{period}/stream",
        "get /score/ranking/{gameId}/{period}/distribution",
        "post /score/trim",
        "get /score/audit",
    ] {
        assert!(calls.contains(&call.to_owned()), "{call} in {calls:?}");
    }
    assert_eq!(calls.len(), 24);
}
