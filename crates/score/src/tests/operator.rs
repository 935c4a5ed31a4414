//! The operator: games, trims, audit, export and import.

use base::options::Section;
use serde_json::{Value as Json, json};
use testkit::World;

use super::{Arcade, MONTH, START, options, pairs, refused, snake};
use crate::Options;

#[testkit::test]
async fn the_operators_calls_need_a_key_with_their_scope() {
    let arcade = Arcade::with_snake(2).await;
    let other = arcade.instance.key("other", &["score:other"]).await;
    for (method, path) in [
        ("PUT", "/games/snake"),
        ("DELETE", "/games/snake"),
        ("POST", "/trim"),
        ("DELETE", "/scores/snake/ALL/u"),
        ("DELETE", "/scores/snake/u"),
        ("PUT", "/bans/u"),
        ("DELETE", "/bans/u"),
        ("GET", "/bans"),
        ("GET", "/audit"),
        ("GET", "/export/snake/ALL"),
        ("POST", "/import/snake/ALL"),
        ("GET", "/suspicions"),
    ] {
        assert_eq!(arcade.ask(method, path, &[], "").await.status, 401, "{method} {path}");
        let wrong = arcade.ask(method, path, &[("x-api-key", &other)], "").await;
        assert_eq!(wrong.status, 403, "{method} {path}");
    }
}

#[testkit::test]
async fn the_operators_browser_does_what_a_key_does_and_pages_of_others_do_not() {
    let arcade = Arcade::with_snake(2).await;
    let link = arcade.operator.find_first_link().await.unwrap().unwrap();
    let token = link.strip_prefix("/console/setup?token=").unwrap();
    let own = ("sec-fetch-site", "same-origin");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let password = "a-sentence-to-remember";
    let body = format!("token={token}&password={password}&again={password}");
    let answer = arcade.ask_at("POST", "/console/setup", &[own, form], &body).await;
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
    let (cookie, json) = (("cookie", cookie), ("content-type", "application/json"));
    assert_eq!(arcade.ask("GET", "/audit", &[cookie], "").await.status, 200);
    let ban = async |headers: &[(&str, &str)]| {
        arcade.ask("PUT", "/bans/ada", headers, r#"{"reason": "cheats"}"#).await
    };
    assert_eq!(ban(&[cookie, own, json]).await.status, 200);
    let foreign = ban(&[cookie, ("sec-fetch-site", "cross-site"), json]).await;
    assert_eq!(foreign.refusal().1, "cross_site");
    assert_eq!(ban(&[json]).await.refusal().1, "key_missing");
    let audit = arcade.ask("GET", "/audit", &[cookie], "").await.json();
    let last = audit["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["actor"], &last["action"]), (&json!("operator"), &json!("ban")));
    let page = arcade.get("/operate").await;
    let page = page.text();
    assert!(page.contains("href=\"/console/sign-in?next=/score/operate\""), "{page}");
}

#[testkit::test]
async fn a_game_is_set_and_taken_away_at_once() {
    let arcade = Arcade::open().await;
    let answer = arcade.operate("PUT", "/games/snake", &snake(5)).await;
    let mut whole = snake(5);
    whole["timeToleranceMs"] = json!(1500);
    whole["origins"] = json!([]);
    assert_eq!((answer.status, answer.json()), (200, whole.clone()));
    assert_eq!(arcade.get("/games").await.json(), json!({ "games": [whole.clone()] }));
    let told = arcade.operate("PUT", "/games/chess", &snake(5)).await.refusal();
    let words = "gameName must be `chess`, as in the path, not `snake`";
    assert_eq!(told, refused(400, "invalid", words));
    let told = arcade.operate("PUT", "/games/snake", &snake(0)).await.refusal();
    assert_eq!(told, refused(400, "invalid", "topN must be from 1 to 1000, not 0"));
    let mut slashed = snake(5);
    slashed["origins"] = json!(["https://games.example/"]);
    let told = arcade.operate("PUT", "/games/snake", &slashed).await.refusal();
    let words = "an origin is such as `https://games.example`, not `https://games.example/`";
    assert_eq!(told, refused(400, "invalid", words));
    let audit = arcade.operate("GET", "/audit", &Json::Null).await.json();
    let detail = &audit["entries"][0]["detail"];
    let config: Json = serde_json::from_str(detail["config"].as_str().unwrap()).unwrap();
    assert_eq!((&detail["game"], config), (&json!("snake"), whole.clone()));
    let told = arcade.operate("PUT", "/games/snake", &json!({})).await.refusal();
    assert_eq!((told.0, told.1.as_str()), (422, "invalid_body"));
    arcade.score("a", 5).await;
    let gone = arcade.operate("DELETE", "/games/snake", &Json::Null).await;
    assert_eq!(gone.json(), json!({ "deleted": "snake" }));
    assert_eq!(arcade.get("/ranking/snake/ALL").await.refusal().1, "no_such_game");
    let told = arcade.operate("DELETE", "/games/snake", &Json::Null).await.refusal();
    assert_eq!(told, refused(404, "no_such_game", "there is no game `snake`"));
    arcade.set_game(&snake(5)).await;
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("a", 5)]), "its rows have stayed");
}

#[testkit::test]
async fn a_new_sort_ranks_the_same_rows_anew() {
    let arcade = Arcade::with_snake(5).await;
    arcade.score("a", 5).await;
    arcade.score("b", 6).await;
    let mut game = snake(5);
    game["sort"] = json!([{ "by": "score", "dir": "asc" }]);
    arcade.set_game(&game).await;
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("a", 5), ("b", 6)]));
}

#[testkit::test]
async fn what_was_trimmed_under_another_sort_counts_and_has_no_place() {
    let arcade = Arcade::with_snake(1).await;
    for (user, score) in [("a", 10), ("b", 20), ("c", 30)] {
        arcade.score(user, score).await;
    }
    arcade.operate("POST", "/trim", &json!({})).await;
    let rank = async |score: i64| {
        let path = format!("/ranking/snake/ALL/rank/z?score={score}&timeMs=900");
        let told = arcade.get(&path).await.json();
        (told["rank"]["ordinal"].clone(), told["total"].clone(), told["estimate"].clone())
    };
    assert_eq!(rank(5).await, (json!(4), json!(4), json!(true)));
    let mut game = snake(1);
    game["sort"] = json!([{ "by": "score", "dir": "asc" }]);
    arcade.set_game(&game).await;
    assert_eq!(rank(50).await, (json!(2), json!(4), json!(true)), "nobody knows of the others");
    let told = arcade.get("/ranking/snake/ALL/distribution").await.json();
    let counts = told["steps"].as_array().unwrap().iter().map(|it| it["count"].as_u64().unwrap());
    assert_eq!((counts.sum::<u64>(), &told["total"]), (1, &json!(3)));
    arcade.score("d", 25).await;
    arcade.operate("POST", "/trim", &json!({})).await;
    assert_eq!(rank(50).await, (json!(3), json!(5), json!(true)), "who is trimmed now is counted");
}

#[testkit::test]
async fn the_file_of_games_is_read_again_and_a_broken_one_takes_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.json");
    std::fs::write(&path, json!([snake(5)]).to_string()).unwrap();
    let mut options = options();
    options.games_file = Some(path.clone());
    let arcade = Arcade::open_with(options, START).await;
    let names = async || -> Vec<String> {
        let games = arcade.get("/games").await.json();
        let name = |game: &Json| game["gameName"].as_str().unwrap().to_owned();
        games["games"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(names().await, ["snake"]);
    let mut chess = snake(5);
    chess["gameName"] = json!("chess");
    std::fs::write(&path, json!([snake(5), chess]).to_string()).unwrap();
    arcade.pass(30).await;
    assert_eq!(names().await, ["chess", "snake"]);
    for broken in ["[{]", "[{\"gameName\": \"x\", \"sort\": []}]"] {
        std::fs::write(&path, broken).unwrap();
        arcade.pass(30).await;
        assert_eq!(names().await, ["chess", "snake"], "{broken}");
        assert!(arcade.get("/games").await.json()["problem"].is_string(), "{broken}");
    }
    std::fs::remove_file(&path).unwrap();
    arcade.pass(30).await;
    assert_eq!(names().await, ["chess", "snake"]);
    std::fs::write(&path, "[]").unwrap();
    arcade.pass(30).await;
    assert_eq!(names().await, [] as [String; 0]);
    assert_eq!(arcade.get("/games").await.json().get("problem"), None);
}

#[testkit::test]
async fn a_trim_deletes_what_is_beyond_and_counts_it() {
    let arcade = Arcade::with_snake(2).await;
    for (user, score) in [("a", 10), ("b", 20), ("c", 30), ("d", 40)] {
        arcade.score(user, score).await;
    }
    let trim =
        async |dry: bool| arcade.operate("POST", "/trim", &json!({ "dryRun": dry })).await.json();
    let line = |period: &str, kept, deleted| {
        json!({ "gameId": "snake", "period": period, "kept": kept, "deleted": deleted,
            "archived": false, "refused": null })
    };
    let wanted = [line("2027-01", 2, 2), line("ALL", 2, 2)];
    let dry = trim(true).await;
    assert_eq!(dry["boards"], json!([line("2027-01", 4, 2), line("ALL", 4, 2)]).map_kept());
    assert_eq!(arcade.get("/ranking/snake/ALL/rank/a").await.status, 200, "still there");
    assert_eq!(trim(false).await, json!({ "dryRun": false, "boards": wanted }));
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("d", 40), ("c", 30)]));
    assert_eq!(arcade.get("/ranking/snake/ALL/rank/a").await.refusal().1, "no_such_player");
    let low = arcade.get("/ranking/snake/ALL/rank/a?score=15&timeMs=900").await.json();
    assert_eq!((&low["rank"]["competition"], &low["total"]), (&json!(4), &json!(5)));
    assert_eq!(low["estimate"], true);
    assert_eq!(arcade.get("/ranking/snake/ALL/rank/c").await.json()["total"], 4);
    let none = [line("2027-01", 2, 0), line("ALL", 2, 0)];
    assert_eq!(trim(false).await["boards"], json!(none), "nothing is left to trim");
    arcade.score("a", 35).await;
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("d", 40), ("a", 35)]), "back and better");
    let wrong = arcade.operate("POST", "/trim", &json!({ "dry": true })).await;
    assert_eq!(wrong.refusal().1, "invalid_body");
}

/// What a dry run says is kept.
trait Kept {
    fn map_kept(self) -> Json;
}

impl Kept for Json {
    fn map_kept(mut self) -> Json {
        for line in self.as_array_mut().unwrap() {
            line["kept"] =
                json!(line["kept"].as_u64().unwrap() - line["deleted"].as_u64().unwrap());
        }
        self
    }
}

#[testkit::test]
async fn a_trim_without_the_games_config_is_refused() {
    let arcade = Arcade::with_snake(1).await;
    arcade.score("a", 10).await;
    arcade.score("b", 20).await;
    arcade.operate("DELETE", "/games/snake", &Json::Null).await;
    let report = arcade.operate("POST", "/trim", &json!({})).await.json();
    assert_eq!(report["boards"][1]["refused"], "there is no game `snake`");
    arcade.set_game(&snake(5)).await;
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("b", 20), ("a", 10)]));
}

#[testkit::test]
async fn boards_are_trimmed_every_day_and_closed_months_archived() {
    let arcade = Arcade::alone(options(), "2027-01-31T23:00:00Z").await;
    arcade.set_game(&snake(1)).await;
    arcade.score("a", 10).await;
    arcade.score("b", 20).await;
    arcade.jump(4 * 3600 - 60).await;
    arcade.pass(120).await;
    assert_eq!(arcade.get("/ranking/snake/ALL/rank/a").await.status, 404, "trimmed at 03:00");
    assert_eq!(arcade.ranking(MONTH).await, pairs(&[("b", 20)]));
    let archived = refused(409, "archived", "the board of `snake` for 2027-01 is archived");
    let row = json!({ "userId": "z", "userName": "z", "score": 99, "timeMs": 5,
        "updatedAt": "2027-01-01T00:00:00Z" });
    let path = format!("/import/snake/{MONTH}");
    let answer = arcade.operate("POST", &path, &json!({ "rows": [row] })).await;
    assert_eq!(answer.refusal(), archived);
    assert_eq!(arcade.score("b", 30).await["periods"]["2027-02"]["updated"], true);
    let audit = arcade.operate("GET", "/audit", &Json::Null).await.json();
    let last = audit["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["actor"], &last["action"]), (&json!("schedule"), &json!("trim")));
    assert_eq!(last["detail"], json!({ "archived": "1", "boards": "2", "deleted": "2" }));
    let path = format!("/scores/snake/{MONTH}/b?reason=x");
    assert_eq!(arcade.operate("DELETE", &path, &Json::Null).await.status, 200, "the operator may");
    assert_eq!(arcade.ranking(MONTH).await, []);
}

#[testkit::test]
async fn the_audit_is_a_chain_that_shows_every_change() {
    let arcade = Arcade::with_snake(5).await;
    for user in ["x", "y"] {
        arcade.operate("PUT", &format!("/bans/{user}"), &json!({ "reason": "r" })).await;
    }
    let audit = async |query: &str| {
        arcade.operate("GET", &format!("/audit{query}"), &Json::Null).await.json()
    };
    let all = audit("").await;
    let numbers = |audit: &Json| -> Vec<u64> {
        let entries = audit["entries"].as_array().unwrap();
        entries.iter().map(|entry| entry["number"].as_u64().unwrap()).collect()
    };
    assert_eq!((&all["whole"], numbers(&all)), (&json!(true), vec![1, 2, 3]));
    let second = &all["entries"][1];
    assert_eq!((&second["actor"], &second["action"]), (&json!("key:ops"), &json!("ban")));
    assert_eq!(second["detail"], json!({ "user": "x", "reason": "r" }));
    assert_eq!(second["previous"], all["entries"][0]["hash"]);
    let page = audit("?after=1&limit=1").await;
    assert_eq!((&page["whole"], numbers(&page)), (&json!(true), vec![2]));
    assert_eq!(numbers(&audit("?after=3").await), [] as [u64; 0]);
    assert_eq!(numbers(&audit("?limit=2").await), [1, 2]);
    let key = table::Item::new().with("pk", "AUDIT").with("sk", format!("{:020}", 2));
    let forge = table::Update::new("score", key).set("actor", "key:somebody");
    arcade.tables.update(forge).await.unwrap();
    assert_eq!(audit("").await["whole"], false);
    assert_eq!(audit("?after=2").await["whole"], true, "as far as it is looked at");
    let key = table::Item::new().with("pk", "AUDIT").with("sk", format!("{:020}", 3));
    arcade.tables.delete(table::Delete::new("score", key)).await.unwrap();
    let cut = audit("?after=2").await;
    assert_eq!((&cut["whole"], &cut["newest"]), (&json!(false), &json!(3)), "the last is missed");
    assert_eq!(audit("?after=x").await["code"], "invalid");
    assert_eq!(audit("?limit=1001").await["code"], "invalid");
}

#[testkit::test]
async fn what_is_exported_can_be_imported_and_the_better_stays() {
    let arcade = Arcade::with_snake(5).await;
    for (user, score) in [("a", 10), ("b", 20), ("c", 30)] {
        arcade.score(user, score).await;
    }
    let first = arcade.operate("GET", "/export/snake/ALL?limit=2", &Json::Null).await.json();
    assert_eq!((&first["rows"][1]["userId"], &first["next"]), (&json!("b"), &json!("b")));
    let rest = arcade.operate("GET", "/export/snake/ALL?limit=2&after=b", &Json::Null).await.json();
    assert_eq!((&rest["rows"][0]["userId"], &rest["next"]), (&json!("c"), &Json::Null));
    let mut rows = first["rows"].as_array().unwrap().clone();
    rows[0]["score"] = json!(50);
    rows[0]["meta"] = json!({ "from": "elsewhere" });
    rows[1]["score"] = json!(15);
    let import = async |rows: &Json| {
        arcade.operate("POST", "/import/snake/ALL", &json!({ "rows": rows })).await
    };
    assert_eq!(import(&json!(rows)).await.json(), json!({ "rows": 2, "written": 1 }));
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("a", 50), ("c", 30), ("b", 20)]));
    assert_eq!(import(&json!(rows)).await.json()["written"], 0, "once more changes nothing");
    let new: Vec<Json> = (0..250)
        .map(|number| {
            json!({ "userId": format!("n{number}"), "userName": "新", "score": number,
            "timeMs": 5, "updatedAt": "2027-01-01T00:00:00Z" })
        })
        .collect();
    assert_eq!(import(&json!(new)).await.json(), json!({ "rows": 250, "written": 250 }));
    assert_eq!(arcade.get("/ranking/snake/ALL/rank/n0").await.json()["total"], 253);
    for (field, value, words) in [
        ("userId", json!("a b"), "row 0: userId must be 1 to 64 of A-Z a-z 0-9 _ . -, not `a b`"),
        ("timeMs", json!(0), "row 0: X-Time-Ms must be from 1 to 9007199254740992, not 0"),
        ("userName", json!(""), "row 0: text has 0 characters, at least 1 needed"),
        ("updatedAt", json!("now"), "row 0: `now` is not a time such as `2026-04-01T09:30:00Z`"),
        ("userId", json!("n1"), "row 1: `n1` is there twice"),
    ] {
        let mut wrong = new[..2].to_vec();
        wrong[0][field] = value;
        assert_eq!(import(&json!(wrong)).await.refusal(), refused(400, "invalid", words));
    }
    let many: Vec<Json> = (0..1001).map(|_| new[0].clone()).collect();
    assert_eq!(import(&json!(many)).await.refusal().1, "too_many_rows");
}

#[testkit::test]
async fn an_export_of_great_rows_loses_none_and_is_taken_back_page_by_page() {
    let arcade = Arcade::with_snake(5).await;
    let meta = json!({ "text": "x".repeat(2000) });
    let rows: Vec<Json> = (0..1000)
        .map(|number| {
            json!({ "userId": format!("n{number:04}"), "userName": "名".repeat(24),
            "score": number, "timeMs": 5, "updatedAt": "2027-01-01T00:00:00Z", "meta": meta })
        })
        .collect();
    let all = arcade.operate("POST", "/import/snake/ALL", &json!({ "rows": rows })).await;
    assert_eq!(all.json(), json!({ "rows": 1000, "written": 1000 }));
    let (mut seen, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let path = format!("/export/snake/ALL{after}");
        let page = arcade.operate("GET", &path, &Json::Null).await.json();
        let users = page["rows"].as_array().unwrap().iter().map(|row| row["userId"].clone());
        seen.extend(users);
        pages += 1;
        let import = format!("/import/snake/{MONTH}");
        let taken = arcade.operate("POST", &import, &page).await;
        assert_eq!(taken.json()["written"], taken.json()["rows"], "{taken:?}");
        let Some(next) = page["next"].as_str() else { break };
        after = format!("?after={next}");
    }
    let wanted: Vec<Json> = rows.iter().map(|row| row["userId"].clone()).collect();
    assert_eq!(seen, wanted);
    assert!(pages > 1, "a page is full by its bytes");
    let audit = arcade.operate("GET", "/audit", &Json::Null).await.json();
    let exports = audit["entries"].as_array().unwrap().iter();
    let exports = exports.filter(|entry| entry["action"] == "export").count();
    assert_eq!(exports, pages, "each is audited");
}

#[testkit::test]
async fn a_zone_that_is_none_keeps_the_room_closed() {
    let mut options = Options { time_zone: "Mars/Base".to_owned(), ..options() };
    assert_eq!(options.settings().len(), 9);
    let instance = World::new().await.instance().await;
    let opened = crate::Score::open(options, &instance.ground, &instance.dispatch).await;
    let told = opened.err().unwrap().to_string();
    assert_eq!(told, "`score.time_zone`: there is no time zone `Mars/Base`");
}
