//! What guards the store: rates, keys, tokens of other days, caches, and a look at what is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::options::Value;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use edge::Networks;
use serde_json::{Value as Json, json};
use table::{
    Answer, BatchGot, BatchWrite, Delete, Get, Item, Page, Put, Query, Scan, TableDescription,
    TableSpec, Tables, TransactWrite, Update,
};
use tokio::task::JoinSet;

use super::{House, MONTH, Play, board, options, pairs, refused, snake};
use crate::items;
use crate::limits::UNPLAYED_MAX;
use crate::{Options, Score};

/// A store that counts what is read from the tables of the room.
pub(super) struct Counted {
    inner: Arc<dyn Tables>,
    reads: AtomicUsize,
}

impl Counted {
    fn reads(&self) -> usize {
        self.reads.load(Ordering::Acquire)
    }

    fn count(&self, table: &str) {
        let is_own = ["ScoreTable", "score"].contains(&table);
        self.reads.fetch_add(usize::from(is_own), Ordering::AcqRel);
    }
}

impl Tables for Counted {
    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.count(&get.table);
        self.inner.get(get)
    }

    fn batch_get(&self, gets: Vec<Get>) -> Answer<'_, BatchGot> {
        gets.iter().for_each(|get| self.count(&get.table));
        self.inner.batch_get(gets)
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        self.inner.put(put)
    }

    fn update(&self, update: Update) -> Answer<'_, Option<Item>> {
        self.inner.update(update)
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        self.inner.delete(delete)
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        self.count(&query.table);
        self.inner.query(query)
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        self.count(&scan.table);
        self.inner.scan(scan)
    }

    fn batch_write(&self, writes: Vec<BatchWrite>) -> Answer<'_, Vec<BatchWrite>> {
        self.inner.batch_write(writes)
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        self.inner.transact_write(transaction)
    }

    fn transact_get(&self, gets: Vec<Get>) -> Answer<'_, Vec<Option<Item>>> {
        gets.iter().for_each(|get| self.count(&get.table));
        self.inner.transact_get(gets)
    }

    fn ensure_table(&self, spec: TableSpec) -> Answer<'_, ()> {
        self.inner.ensure_table(spec)
    }

    fn describe_table(&self, name: &str) -> Answer<'_, TableDescription> {
        self.inner.describe_table(name)
    }

    fn list_tables(&self) -> Answer<'_, Vec<String>> {
        self.inner.list_tables()
    }

    fn delete_table(&self, name: &str) -> Answer<'_, ()> {
        self.inner.delete_table(name)
    }
}

/// A house whose reads are counted.
async fn counted(options: Options) -> (House, Arc<Counted>) {
    let (mut ground, time, tasks) = House::ground(super::START, 7).await;
    let inner = Arc::clone(&ground.tables);
    let counted = Arc::new(Counted { inner, reads: AtomicUsize::new(0) });
    ground.tables = Arc::clone(&counted) as Arc<dyn Tables>;
    (House::open_on(options, ground, time, tasks).await, counted)
}

/// A token that the house itself could have made.
fn sealed(score: &Score, mut payload: Json) -> String {
    let key = score.ring.current();
    payload["kid"] = json!(key.kid());
    payload["ver"] = json!(1);
    let text = URL_SAFE_NO_PAD.encode(payload.to_string());
    let mac = URL_SAFE_NO_PAD.encode(key.sign(text.as_bytes()));
    format!("{text}.{mac}")
}

/// A play from one time to another, whatever they are.
fn sealed_play(score: &Score, from: &str, to: &str) -> Play {
    let sid = "AbCdEfGhIjKlMnOpQrStUvWx";
    let start = json!({ "t_start": from, "max_dur_s": 1_000_000, "sid": sid });
    let end = json!({ "t_start": from, "t_end": to, "sid": sid });
    Play { start: sealed(score, start), end: sealed(score, end), sid: sid.to_owned() }
}

#[tokio::test]
async fn plays_without_or_beyond_their_time_are_refused_though_their_tokens_are_good() {
    let house = House::alone_with_snake(10).await;
    house.pass(3600).await;
    let at = "2027-01-15T08:59:00.000Z";
    for (to, code, words) in [
        (at, "no_play", "the play ended before it began"),
        ("2027-01-15T08:58:59.999Z", "no_play", "the play ended before it began"),
    ] {
        let play = sealed_play(&house.score, at, to);
        assert_eq!(house.submit(&play, "ada", 5, 900).await.refusal(), refused(403, code, words));
    }
    let long = sealed_play(&house.score, "2027-01-15T08:29:59.999Z", "2027-01-15T09:00:00.000Z");
    let words = "the play lasted 1800001 ms, at most 1800 s allowed";
    let told = house.submit(&long, "ada", 5, 900).await.refusal();
    assert_eq!(told, refused(403, "play_too_long", words), "whatever the token allows");
    let list = house.operate("GET", "/suspicions", &Json::Null).await.json();
    let reasons: Vec<&Json> = list.as_array().unwrap().iter().map(|it| &it["reason"]).collect();
    assert_eq!(reasons, ["play_too_long", "no_play", "no_play"]);
    let good = sealed_play(&house.score, "2027-01-15T08:30:00.000Z", "2027-01-15T09:00:00.000Z");
    assert_eq!(house.submit(&good, "ada", 5, 900).await.status, 200);
}

#[tokio::test]
async fn a_token_whose_key_is_past_its_day_is_none() {
    let house = House::alone(options(), "2027-01-15T01:59:58Z").await;
    house.set_game(&snake(10)).await;
    let play = house.play(1000).await;
    house.pass(24 * 3600).await;
    let told = house.submit(&play, "ada", 5, 900).await.refusal();
    assert_eq!(told.1, "token_expired", "the key still verifies: {told:?}");
    house.pass(120).await;
    let told = house.submit(&play, "ada", 5, 900).await.refusal();
    let words = "X-Token-Start is not valid: its key is unknown or too old";
    assert_eq!(told, refused(403, "token_invalid", words));
    let ended = house.get(&format!("/get-end?token_start={}", play.start)).await.json();
    assert_eq!((&ended["ok"], &ended["fraud"]["reason"]), (&json!(false), &json!("token_invalid")));
}

/// A house behind a proxy that says who asks.
async fn behind_a_proxy(options: Options) -> House {
    let (ground, time, tasks) = House::ground(super::START, 7).await;
    let mut trusted_proxies = Networks::default();
    assert!(trusted_proxies.read("127.0.0.0/8"));
    let http = edge::Options { trusted_proxies, ..edge::Options::default() };
    let house = House::open_behind(options, ground, time, tasks, http).await;
    house.set_game(&snake(10)).await;
    let mut chess = snake(10);
    chess["gameName"] = json!("chess");
    house.set_game(&chess).await;
    house
}

#[tokio::test]
async fn a_user_has_a_rate_in_each_game_from_wherever_they_come() {
    let options = Options { submits_at_once: 3, submits_per_second: 1, ..options() };
    let house = behind_a_proxy(options).await;
    let plays = [0; 8].map(|_| ());
    let mut ready = Vec::new();
    for () in plays {
        ready.push(house.play(1000).await);
    }
    house.pass(1).await;
    let mut ready = ready.into_iter();
    let mut put = async |game, user, address: &str| {
        let headers = [("x-forwarded-for", address)];
        let play = ready.next().unwrap();
        house.submit_with(&play, (game, "ALL", user), (5, 900), &headers, "").await
    };
    for address in ["203.0.113.1", "203.0.113.2", "203.0.113.3"] {
        assert_eq!(put("snake", "ada", address).await.status, 200, "{address}");
    }
    let many = put("snake", "ada", "203.0.113.4").await;
    let words = "too many requests by `score-submits-user`; the next may come in 1 s";
    assert_eq!(many.refusal(), refused(429, "rate_limited", words));
    assert_eq!(put("snake", "bob", "203.0.113.4").await.status, 200, "another user");
    assert_eq!(put("chess", "ada", "203.0.113.4").await.status, 200, "another game");
    house.pass(1).await;
    assert_eq!(put("snake", "ada", "203.0.113.5").await.status, 200, "one a second");
}

#[tokio::test]
async fn a_forged_submission_takes_nothing_from_the_rate_of_who_it_names() {
    let options = Options { submits_at_once: 2, submits_per_second: 1, ..options() };
    let house = behind_a_proxy(options).await;
    let play = house.play(1000).await;
    for number in 1..=6 {
        let address = format!("203.0.113.{number}");
        let forged = [("x-forwarded-for", address.as_str()), ("x-sig", "x")];
        let target = ("snake", "ALL", "ada");
        let answer = house.submit_with(&play, target, (5, 900), &forged, "").await;
        assert_eq!(answer.refusal().1, "signature_invalid");
    }
    assert_eq!(house.submit(&play, "ada", 5, 900).await.status, 200);
}

#[tokio::test]
async fn the_cookie_is_secure_for_who_speaks_tls() {
    let house = behind_a_proxy(options()).await;
    let cookie = async |proto: &str| {
        let headers = [("x-forwarded-for", "203.0.113.1"), ("x-forwarded-proto", proto)];
        let answer = house.ask("GET", "/get-start", &headers, "").await;
        answer.header("set-cookie").unwrap().to_owned()
    };
    assert!(cookie("https").await.ends_with("; max-age=1800; secure"));
    assert!(cookie("http").await.ends_with("; max-age=1800"));
}

#[tokio::test]
async fn while_a_submission_runs_the_same_key_is_told_to_wait() {
    let house = Arc::new(House::with_snake(10).await);
    let play = house.play(1000).await;
    // Nobody gets a turn for this player before it is given up.
    let turn = house.score.players.enter(("snake", "ada")).await;
    let mut both = JoinSet::new();
    for _ in 0..2 {
        let (house, play) = (Arc::clone(&house), play.clone());
        both.spawn(async move {
            let headers = [("x-idem-key", "k1")];
            house.submit_with(&play, ("snake", "ALL", "ada"), (5, 900), &headers, "").await
        });
    }
    let first = both.join_next().await.unwrap().unwrap();
    assert_eq!(first.refusal().0, 409, "{first:?}");
    assert_eq!(first.refusal().1, "idempotency_in_flight");
    drop(turn);
    let second = both.join_next().await.unwrap().unwrap();
    assert_eq!((second.status, &second.json()["updated"]), (200, &json!(true)));
    let headers = [("x-idem-key", "k1")];
    let again = house.submit_with(&play, ("snake", "ALL", "ada"), (5, 900), &headers, "").await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
}

#[tokio::test]
async fn below_the_threshold_nothing_is_read_from_the_store() {
    let (house, counted) = counted(options()).await;
    house.set_game(&snake(2)).await;
    house.score("a", 10).await;
    house.score("b", 20).await;
    let (low, tie) = (house.play(1000).await, house.play(1000).await);
    let worse = house.play(1000).await;
    let before = counted.reads();
    let key = [("x-idem-key", "k1")];
    for headers in [&[][..], &key] {
        let target = ("snake", "ALL", "c");
        let answer = house.submit_with(&low, target, (9, 900), headers, "").await;
        assert_eq!(answer.json()["reason"], "below-threshold");
    }
    for forged in
        [("x-sig", "x"), ("x-token-end", "x.y"), ("x-score", "1.5"), ("cookie", "game_sid=x")]
    {
        let answer = house.submit_with(&low, ("snake", "ALL", "c"), (50, 900), &[forged], "").await;
        assert!((400..404).contains(&answer.status), "{answer:?}");
    }
    for path in ["/ranking/snake/ALL", "/ranking/snake/ALL/rank/a", "/threshold/snake/ALL"] {
        assert_eq!(house.get(path).await.status, 200, "{path}");
    }
    assert_eq!(counted.reads(), before, "boards are in memory");
    assert_eq!(house.submit(&tie, "c", 10, 900).await.status, 200);
    assert_eq!(counted.reads(), before, "the write proves what memory knows");
    assert_eq!(house.submit(&worse, "b", 15, 900).await.json()["updated"], false);
    assert!(counted.reads() > before, "the count counts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_board_that_many_ask_for_at_once_is_read_once() {
    let (house, counted) = counted(options()).await;
    house.set_game(&snake(2)).await;
    house.score("a", 10).await;
    house.score.boards.forget();
    house.score.rankings.invalidate_all();
    let (house, before) = (Arc::new(house), counted.reads());
    let mut all = JoinSet::new();
    for _ in 0..50 {
        let house = Arc::clone(&house);
        all.spawn(async move { house.ranking("ALL").await });
    }
    while let Some(rows) = all.join_next().await {
        assert_eq!(rows.unwrap(), pairs(&[("a", 10)]));
    }
    assert_eq!(counted.reads() - before, 2, "its rows and its note");
}

#[tokio::test]
async fn a_month_that_nobody_played_in_is_read_once() {
    let (house, counted) = counted(options()).await;
    house.set_game(&snake(2)).await;
    let ask = async |month: &str| {
        for path in ["ranking/snake/{}/rank/u", "threshold/snake/{}", "ranking/snake/{}"] {
            house.get(&format!("/{}", path.replace("{}", month))).await;
        }
    };
    ask("2019-05").await;
    let before = counted.reads();
    ask("2019-05").await;
    assert_eq!(counted.reads(), before);
    ask("2019-06").await;
    assert!(counted.reads() > before, "the count counts");
    for number in 0..UNPLAYED_MAX {
        let month = format!("{:04}-01", 3000 + number);
        let period = month.parse().unwrap();
        let game = house.score.get_game("snake").unwrap();
        house.score.board(&game, &period).await.unwrap();
    }
    let before = counted.reads();
    house.get("/threshold/snake/2019-05").await;
    assert!(counted.reads() > before, "what is remembered has a bound");
}

#[tokio::test]
async fn boards_of_now_are_read_at_the_start_and_not_by_who_asks_first() {
    let first = House::alone_with_snake(2).await;
    first.score("a", 10).await;
    let (mut ground, tasks) = super::instances::beside(&first);
    let inner = Arc::clone(&ground.tables);
    let counted = Arc::new(Counted { inner, reads: AtomicUsize::new(0) });
    ground.tables = Arc::clone(&counted) as Arc<dyn Tables>;
    let second = House::open_on(options(), ground, first.time.clone(), tasks).await;
    second.time.settle().await;
    let before = counted.reads();
    for period in ["ALL", MONTH] {
        assert_eq!(second.ranking(period).await, pairs(&[("a", 10)]));
    }
    assert_eq!(counted.reads(), before);
}

#[tokio::test]
async fn a_ranking_that_is_stale_is_answered_while_a_new_one_is_made() {
    let options = Options { board_refresh_seconds: 60, ..options() };
    let house = House::open_with(options, super::START).await;
    house.set_game(&snake(2)).await;
    house.score("a", 10).await;
    let old = pairs(&[("a", 10)]);
    assert_eq!(house.ranking("ALL").await, old);
    // Behind the room's back, as an instance whose word was lost.
    let (game, period) = (house.score.get_game("snake").unwrap(), "ALL".parse().unwrap());
    let slot = house.score.board(&game, &period).await.unwrap();
    let mut row = slot.read(|board| board.standing_of("a").unwrap().0.clone());
    let before = Some(row.ver);
    (row.value.score, row.ver) = (99, row.ver + 1);
    let write = items::put_row(&board("ALL"), &row, None, before);
    house.ground.tables.transact_write(TransactWrite::new(vec![write])).await.unwrap();
    house.time.advance(Duration::from_secs(50)).await;
    assert_eq!(house.ranking("ALL").await, old, "as fresh as its board");
    house.time.advance(Duration::from_secs(20)).await;
    assert_eq!(house.ranking("ALL").await, old, "stale, and answered at once");
    let new = pairs(&[("a", 99)]);
    while house.ranking("ALL").await != new {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.ranking(MONTH).await, old, "one board alone was changed");
}
