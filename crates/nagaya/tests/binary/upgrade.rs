//! A house that an older version wrote, opened by this one: everything durable is there.
//!
//! `tests/fixtures/README.md` says which version wrote which fixture, how, and what is in it. It was
//! written on the system's clock, and the clock of tests begins at the system's time. So a fixture
//! grows older from run to run, and what expires is no part of the claims.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value as Json, json};
use testkit::program::{json, run};
use testkit::{Left, Program, Served, wait};

use crate::own_tables::OWN_TABLES;

/// A data directory of an older version, and what its author knows of it.
struct Old {
    program: Program,
    facts: Json,
}

impl Old {
    fn unpack(fixture: &str) -> Old {
        let program = testkit::program!();
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--gzip", "--file"]).arg(archive);
        let (code, _, error) = run(tar.arg("--directory").arg(program.directory()));
        assert_eq!(code, 0, "{error}");
        let facts = std::fs::read(program.directory().join("facts.json")).unwrap();
        Old { program, facts: serde_json::from_slice(&facts).unwrap() }
    }

    fn fact(&self, path: &str) -> &Json {
        self.facts.pointer(path).unwrap_or_else(|| panic!("no {path} in {}", self.facts))
    }

    fn text(&self, path: &str) -> &str {
        self.fact(path).as_str().unwrap()
    }

    fn open(&self) -> Served {
        let mut house = self.program.open();
        // One was there before.
        house.allow(Left::DeadLetters);
        house
    }

    /// Asserts that a house on this data has all of it.
    fn assert_whole(&self, house: &Served) {
        self.assert_operator(house);
        self.assert_keys(house);
        self.assert_sns(house);
        self.assert_live(house);
        self.assert_collect(house);
        self.assert_score(house);
    }

    fn assert_operator(&self, house: &Served) {
        assert_eq!(house.find_named("set up"), None);
        let head = format!(
            "origin: http://{}\r\ncontent-type: application/x-www-form-urlencoded\r\n",
            house.address
        );
        let form = format!("password={}", self.text("/words").replace(' ', "+"));
        let signed_in = house.ask("POST", "/console/sign-in", &head, &form);
        assert!(signed_in.starts_with("HTTP/1.1 303 "), "{signed_in}");
    }

    fn assert_keys(&self, house: &Served) {
        assert_eq!(house.mesh_key(), self.text("/keys/mesh"));
        let query = json!({ "query": r#"{ listGroupsByDomain(domain: "local") { name } }"# });
        for (name, status) in [("mesh", 200), ("class", 200), ("desk", 401), ("revoked", 401)] {
            let head = key(self.text(&format!("/keys/{name}")));
            let answer = house.ask("POST", "/mesh/graphql", &head, &query.to_string());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {answer}");
            if status == 200 {
                // Groups live for minutes.
                assert_eq!(json(&answer), json!({ "data": { "listGroupsByDomain": [] } }));
            }
        }
    }

    /// Signs somebody in with the password of then; answers the header of its session.
    fn sign_in(&self, house: &Served, name: &str) -> String {
        let form =
            json!({ "email": format!("{name}@example.org"), "password": self.text("/words") });
        let session = ask(house, "POST", "/sns/v1/auth/login", "", &form);
        assert_eq!(session["user"]["userId"], *self.fact(&format!("/sns/users/{name}")));
        bearer(session["token"].as_str().unwrap())
    }

    fn assert_sns(&self, house: &Served) {
        let [ada, ben, cat] = ["ada", "ben", "cat"].map(|name| self.sign_in(house, name));
        let id = |name: &str| self.text(&format!("/sns/users/{name}"));
        let get = |who: &str, path: &str| get(house, &format!("/sns/v1{path}"), who);
        let names = |who: &str, path: &str| pluck(&get(who, path)["users"], "username");
        assert_eq!(get(&ada, "/users/me")["displayName"], "Ada L.");
        assert_eq!(get(&ada, "/users/by/username/ben")["userId"], id("ben"));

        let posts = get(&ada, &format!("/users/{}/posts", id("ben")));
        let mut contents = pluck(&posts["posts"], "content");
        contents.reverse();
        assert_eq!(contents, pluck(self.fact("/sns/posts"), "content"));
        let first = self.text("/sns/posts/0/id");
        assert_eq!(get(&ben, &format!("/posts/{first}"))["likesCount"], 2);
        assert_eq!(names(&ben, &format!("/posts/{first}/likes")), ["cat", "ada"]);

        assert_eq!(names(&ada, "/users/me/following"), ["ben"]);
        assert_eq!(names(&ben, "/users/me/followers"), ["ada"]);
        assert_eq!(names(&ada, "/users/me/blocks"), ["cat"]);
        assert_eq!(names(&ben, "/users/me/mutes"), ["ada"]);
        assert_eq!(get(&ada, &format!("/users/{}", id("cat")))["isBlocked"], true);
        assert_eq!(get(&ben, &format!("/users/{}", id("ada")))["isMuted"], true);
        let follow = format!("/sns/v1/users/{}/follow", id("ada"));
        refused(house, "POST", &follow, &cat, &json!({}), "403", "blocked");

        // Names of then are taken, and those that look like them.
        let twin = json!({
            "email": "other@example.org", "username": "Ada", "password": self.text("/words"),
        });
        refused(house, "POST", "/sns/v1/auth/register", "", &twin, "409", "username_taken");
        let post = json!({ "content": "written after the upgrade" });
        ask(house, "POST", "/sns/v1/posts", &ben, &post);
        wait::until("a post on a follower's timeline", || {
            let newest = get(&ada, "/timeline")["posts"][0]["content"].clone();
            wait::holds(newest == post["content"], newest)
        });
    }

    fn assert_live(&self, house: &Served) {
        let (room, host) = (self.text("/live/room"), bearer(self.text("/live/hostId")));
        let found = get(house, &format!("/live/rooms/{}", self.text("/live/code")), &host);
        assert_eq!(found["roomId"], room);
        assert_eq!(found["blockedWords"], json!(["rude"]));
        assert_eq!(found["blockedUsers"], json!([self.text("/live/author")]));
        let rooms = get(house, "/live/rooms", &host);
        assert_eq!(pluck(&rooms["rooms"], "name"), ["Over", "Keynote"]);
        assert_eq!(pluck(&rooms["rooms"], "status"), ["CLOSED", "OPEN"]);

        let path = format!("/live/rooms/{room}/comments");
        let told = ["seq", "content", "nickname", "state", "author", "likes", "pinned", "isHost"];
        let comments = get(house, &path, &host);
        let (found, wanted) = (parts(&comments["comments"], &told), self.fact("/live/comments"));
        assert_eq!(found, parts(wanted, &told));
        let shown = wanted.as_array().unwrap().iter().filter(|one| one["state"] == "SHOWN");
        let shown: Vec<Json> = shown.map(|one| one["content"].clone()).collect();
        assert_eq!(pluck(&get(house, &path, "")["comments"], "content"), shown);

        let last = found.as_array().unwrap().last().unwrap()["seq"].as_u64().unwrap();
        let next = ask(house, "POST", &path, &host, &json!({ "content": "after the upgrade" }));
        assert!(next["seq"].as_u64().unwrap() > last, "{next}");
        let closed = format!("/live/rooms/{}/comments", self.text("/live/closed"));
        let content = json!({ "content": "too late" });
        refused(house, "POST", &closed, &host, &content, "409", "closed");
    }

    fn assert_collect(&self, house: &Served) {
        let desk = key(self.text("/keys/desk"));
        let sources = get(house, "/collect/sources", &desk);
        let forms = Json::Array(pluck(&sources["sources"], "source"));
        assert_eq!(pluck(&forms, "name"), ["deaf", "practice", "skipping"]);
        assert_eq!(pluck(&sources["sources"], "paused"), [true, true, true]);
        let slots = self.fact("/collect/slots").as_object().unwrap();
        let mut states = Vec::new();
        for (name, wanted) in slots {
            let (first, last) = (&wanted[0], wanted.as_array().unwrap().last().unwrap());
            let range = format!(
                "from={}&to={}&limit=1000",
                first["from"].as_str().unwrap(),
                last["to"].as_str().unwrap()
            );
            let found = get(house, &format!("/collect/slots/{name}?{range}"), "");
            let told = ["from", "to", "status", "count"];
            assert_eq!(parts(&found["slots"], &told), parts(wanted, &told), "{name}");
            states.extend(pluck(wanted, "status"));
        }
        for state in ["ok", "missing", "failed"] {
            assert!(states.iter().any(|found| found == state), "no slot is {state}");
        }
        let letters = get(house, "/collect/dead-letters", &desk);
        let told = ["id", "message", "sentAt", "diedAt"];
        let wanted = self.fact("/collect/letters");
        assert_eq!(parts(&letters["letters"], &told), parts(wanted, &told));
    }

    fn assert_score(&self, house: &Served) {
        let desk = key(self.text("/keys/desk"));
        for period in ["ALL", self.text("/score/month")] {
            let rows = get(house, &format!("/score/ranking/akari/{period}"), "");
            assert_eq!(rows, *self.fact("/score/rows"), "{period}");
        }
        let exported = get(house, "/score/export/akari/ALL", &desk);
        let mut rows = exported["rows"].as_array().unwrap().iter();
        let ada = rows.find(|row| row["userId"] == "ada").unwrap();
        assert_eq!(ada["meta"], json!({ "level": 3 }));
        let bans = get(house, "/score/bans", &desk);
        assert_eq!(pluck(&bans, "userId"), ["cat"]);
        let audit = get(house, "/score/audit", &desk);
        assert_eq!(audit["whole"], true, "{audit}");
        let banned = self.play(house, "cat", 90);
        assert!(banned.starts_with("HTTP/1.1 403 "), "{banned}");
        assert_eq!(json(&banned)["code"], "banned");
        assert_eq!(json(&self.play(house, "dan", 40))["updated"], true);
    }

    /// Plays, and submits; the answer to that.
    fn play(&self, house: &Served, user: &str, score: u32) -> String {
        let start = get(house, &format!("/score/get-start?gameId=akari&userId={user}"), "");
        let start = start["token_start"].as_str().unwrap();
        house.advance(Duration::from_secs(1));
        let end = get(house, &format!("/score/get-end?token_start={start}"), "");
        let end = end["token_end"].as_str().unwrap();
        let signed = format!("{user}|{score}|900|ALL");
        let signature = self.program.answer("score sign", &[end, &signed]);
        let head = format!(
            "x-token-start: {start}\r\nx-token-end: {end}\r\nx-score: {score}\r\n\
             x-time-ms: 900\r\nx-player: {user}\r\nx-sig: {}\r\n",
            signature.trim_end()
        );
        house.ask("PUT", &format!("/score/scores/akari/ALL/{user}"), &head, "")
    }
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

fn key(key: &str) -> String {
    format!("x-api-key: {key}\r\ncontent-type: application/json\r\n")
}

/// What is under a name in each of a list.
#[track_caller]
fn pluck(list: &Json, name: &str) -> Vec<Json> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter().map(|one| one[name].clone()).collect()
}

/// The members of these names of each of a list.
#[track_caller]
fn parts(list: &Json, names: &[&str]) -> Json {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    let of = |one: &Json| {
        names.iter().map(|name| ((*name).to_owned(), one[*name].clone())).collect::<Json>()
    };
    list.iter().map(of).collect()
}

#[track_caller]
fn get(house: &Served, path: &str, head: &str) -> Json {
    let answer = house.ask("GET", path, head, "");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    json(&answer)
}

#[track_caller]
fn ask(house: &Served, method: &str, path: &str, head: &str, body: &Json) -> Json {
    let answer = send(house, method, path, head, body);
    assert!(answer.starts_with("HTTP/1.1 20"), "{method} {path}: {answer}");
    json(&answer)
}

#[track_caller]
fn refused(
    house: &Served,
    method: &str,
    path: &str,
    head: &str,
    body: &Json,
    status: &str,
    code: &str,
) {
    let answer = send(house, method, path, head, body);
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {answer}");
    assert_eq!(json(&answer)["code"], code);
}

fn send(house: &Served, method: &str, path: &str, head: &str, body: &Json) -> String {
    let head = match head.contains("content-type") {
        true => head.to_owned(),
        false => format!("content-type: application/json\r\n{head}"),
    };
    house.ask(method, path, &head, &body.to_string())
}

/// Asserts that a house of the first landed version opens, twice, with all that is in it.
fn assert_opens(fixture: &str) {
    let old = Old::unpack(fixture);
    let house = old.open();
    old.assert_whole(&house);
    let listed = old.program.answer("table ls", &[]);
    let tables: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    for name in OWN_TABLES {
        assert!(tables.contains(&name), "{name}: {listed}");
    }
    // What stood in them has expired an hour after it was written.
    for gone in ["mesh", "mesh-status"] {
        assert!(!tables.contains(&gone), "{gone}: {listed}");
    }
    house.advance(Duration::from_secs(120));
    drop(house);
    assert!(old.program.answer("table check", &[]).ends_with("all is well\n"));
    drop(old.open());
}

#[test]
fn a_house_that_012102b_closed_opens_with_everything_in_it() {
    assert_opens("012102b/closed.tar.gz");
}

#[test]
fn a_house_of_012102b_that_was_killed_opens_with_everything_in_it() {
    assert_opens("012102b/killed.tar.gz");
}

#[test]
fn a_backup_that_012102b_made_is_listed_verified_and_restored() {
    let old = Old::unpack("012102b/closed.tar.gz");
    let backup = old.text("/backup");
    let list = old.program.answer("backup list", &[]);
    assert!(list.lines().any(|line| line.starts_with(backup)), "{list}");
    let told = old.program.answer("backup verify", &[backup]);
    assert!(told.starts_with(&format!("{backup} is whole: ")), "{told}");
    old.program.answer("backup restore --to restored", &[backup]);
    let mut command = old.program.serve();
    let house = Served::open(command.args(["--store-path", "restored"]));
    // Made before the collect room was used.
    old.assert_operator(&house);
    old.assert_keys(&house);
    old.assert_score(&house);
    drop(house);
    let check = old.program.answer("table check --store-path restored", &[]);
    assert!(check.ends_with("all is well\n"), "{check}");
}
