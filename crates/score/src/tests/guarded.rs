//! What guards the store: rates, keys, tokens of other days, caches, and a look at what is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::options::Value;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use edge::{Ground, Networks};
use serde_json::{Value as Json, json};
use table::{
    Answer, BatchGot, BatchWrite, Delete, Get, Item, Page, Put, Query, Scan, TableDescription,
    TableSpec, Tables, TransactWrite, Update,
};
use testkit::{World, wait};
use tokio::task::JoinSet;

use super::{Arcade, MONTH, Play, board, options, pairs, refused, snake};
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

/// An arcade whose reads are counted.
async fn counted(options: Options) -> (Arcade, Arc<Counted>) {
    counted_in(&World::new().await, options).await
}

/// One more instance of this world whose reads are counted.
async fn counted_in(world: &World, options: Options) -> (Arcade, Arc<Counted>) {
    let ground = world.ground();
    let inner = Arc::clone(&ground.tables);
    let counted = Arc::new(Counted { inner, reads: AtomicUsize::new(0) });
    let tables: Arc<dyn Tables> = Arc::clone(&counted) as _;
    let instance = world.instance_on(Ground { tables, ..ground }).await;
    (Arcade::on(world, vec![instance], options).await, counted)
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

#[testkit::test]
async fn plays_without_or_beyond_their_time_are_refused_though_their_tokens_are_good() {
    let arcade = Arcade::alone_with_snake(10).await;
    arcade.jump(3600).await;
    let at = "2027-01-15T08:59:00.000Z";
    for (to, code, words) in [
        (at, "no_play", "the play ended before it began"),
        ("2027-01-15T08:58:59.999Z", "no_play", "the play ended before it began"),
    ] {
        let play = sealed_play(&arcade.score, at, to);
        assert_eq!(arcade.submit(&play, "ada", 5, 900).await.refusal(), refused(403, code, words));
    }
    let long = sealed_play(&arcade.score, "2027-01-15T08:29:59.999Z", "2027-01-15T09:00:00.000Z");
    let words = "the play lasted 1800001 ms, at most 1800 s allowed";
    let told = arcade.submit(&long, "ada", 5, 900).await.refusal();
    assert_eq!(told, refused(403, "play_too_long", words), "whatever the token allows");
    let list = arcade.operate("GET", "/suspicions", &Json::Null).await.json();
    let reasons: Vec<&Json> = list.as_array().unwrap().iter().map(|it| &it["reason"]).collect();
    assert_eq!(reasons, ["play_too_long", "no_play", "no_play"]);
    let good = sealed_play(&arcade.score, "2027-01-15T08:30:00.000Z", "2027-01-15T09:00:00.000Z");
    assert_eq!(arcade.submit(&good, "ada", 5, 1_790_000).await.status, 200);
}

#[testkit::test]
async fn a_token_whose_key_is_past_its_day_is_none() {
    let arcade = Arcade::alone(options(), "2027-01-15T01:59:58Z").await;
    arcade.set_game(&snake(10)).await;
    let play = arcade.play(1000).await;
    // The keys turn at 02:00, today and tomorrow.
    arcade.pass(60).await;
    arcade.jump(24 * 3600 - 60).await;
    let told = arcade.submit(&play, "ada", 5, 900).await.refusal();
    assert_eq!(told.1, "token_expired", "the key still verifies: {told:?}");
    arcade.pass(120).await;
    let told = arcade.submit(&play, "ada", 5, 900).await.refusal();
    let words = "X-Token-Start is not valid: its key is unknown or too old";
    assert_eq!(told, refused(403, "token_invalid", words));
    let ended = arcade.get(&format!("/get-end?token_start={}", play.start)).await.json();
    assert_eq!((&ended["ok"], &ended["fraud"]["reason"]), (&json!(false), &json!("token_invalid")));
}

/// An arcade behind a proxy that names the caller.
async fn behind_a_proxy(options: Options) -> Arcade {
    let world = World::new().await;
    let instance = world.instance().await;
    let mut trusted_proxies = Networks::default();
    assert!(trusted_proxies.read("127.0.0.0/8"));
    let http = edge::Options { trusted_proxies, ..edge::Options::default() };
    let arcade = Arcade::served_with(&world, vec![instance], options, &http).await;
    arcade.set_game(&snake(10)).await;
    let mut chess = snake(10);
    chess["gameName"] = json!("chess");
    arcade.set_game(&chess).await;
    arcade
}

#[testkit::test]
async fn a_user_has_a_rate_in_each_game_from_wherever_they_come() {
    let options = Options { submits_at_once: 3, submits_per_second: 1, ..options() };
    let arcade = behind_a_proxy(options).await;
    let plays = [0; 8].map(|_| ());
    let mut ready = Vec::new();
    for () in plays {
        ready.push(arcade.play(1000).await);
    }
    arcade.pass(1).await;
    let mut ready = ready.into_iter();
    let mut put = async |game, user, address: &str| {
        let headers = [("x-forwarded-for", address)];
        let play = ready.next().unwrap();
        arcade.submit_with(&play, (game, "ALL", user), (5, 900), &headers, "").await
    };
    for address in ["203.0.113.1", "203.0.113.2", "203.0.113.3"] {
        assert_eq!(put("snake", "ada", address).await.status, 200, "{address}");
    }
    let many = put("snake", "ada", "203.0.113.4").await;
    let words = "too many requests by `score-submits-user`; the next may come in 1 s";
    assert_eq!(many.refusal(), refused(429, "rate_limited", words));
    assert_eq!(put("snake", "bob", "203.0.113.4").await.status, 200, "another user");
    assert_eq!(put("chess", "ada", "203.0.113.4").await.status, 200, "another game");
    arcade.pass(1).await;
    assert_eq!(put("snake", "ada", "203.0.113.5").await.status, 200, "one a second");
}

#[testkit::test]
async fn a_forged_submission_takes_nothing_from_the_rate_of_who_it_names() {
    let options = Options { submits_at_once: 2, submits_per_second: 1, ..options() };
    let arcade = behind_a_proxy(options).await;
    let play = arcade.play(1000).await;
    for number in 1..=6 {
        let address = format!("203.0.113.{number}");
        let forged = [("x-forwarded-for", address.as_str()), ("x-sig", "x")];
        let target = ("snake", "ALL", "ada");
        let answer = arcade.submit_with(&play, target, (5, 900), &forged, "").await;
        assert_eq!(answer.refusal().1, "signature_invalid");
    }
    assert_eq!(arcade.submit(&play, "ada", 5, 900).await.status, 200);
}

#[testkit::test]
async fn the_cookie_is_secure_for_who_speaks_tls() {
    let arcade = behind_a_proxy(options()).await;
    let cookie = async |proto: &str| {
        let headers = [("x-forwarded-for", "203.0.113.1"), ("x-forwarded-proto", proto)];
        let answer = arcade.ask("GET", "/get-start", &headers, "").await;
        answer.header("set-cookie").unwrap().to_owned()
    };
    assert!(cookie("https").await.ends_with("; Max-Age=1800; Secure"));
    assert!(cookie("http").await.ends_with("; Max-Age=1800"));
}

#[testkit::test]
async fn while_a_submission_runs_the_same_key_is_told_to_wait() {
    let arcade = Arc::new(Arcade::with_snake(10).await);
    let play = arcade.play(1000).await;
    // Nobody gets a turn for this player before it is given up.
    let turn = arcade.score.players.enter(("snake", "ada")).await;
    let mut both = JoinSet::new();
    for _ in 0..2 {
        let (arcade, play) = (Arc::clone(&arcade), play.clone());
        both.spawn(async move {
            let headers = [("x-idem-key", "k1")];
            arcade.submit_with(&play, ("snake", "ALL", "ada"), (5, 900), &headers, "").await
        });
    }
    let first = both.join_next().await.unwrap().unwrap();
    assert_eq!(first.refusal().0, 409, "{first:?}");
    assert_eq!(first.refusal().1, "idempotency_in_flight");
    drop(turn);
    let second = both.join_next().await.unwrap().unwrap();
    assert_eq!((second.status, &second.json()["updated"]), (200, &json!(true)));
    let headers = [("x-idem-key", "k1")];
    let again = arcade.submit_with(&play, ("snake", "ALL", "ada"), (5, 900), &headers, "").await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
}

#[testkit::test]
async fn below_the_threshold_nothing_is_read_from_the_store() {
    let (arcade, counted) = counted(options()).await;
    arcade.set_game(&snake(2)).await;
    arcade.score("a", 10).await;
    arcade.score("b", 20).await;
    let (low, tie) = (arcade.play(1000).await, arcade.play(1000).await);
    let worse = arcade.play(1000).await;
    let before = counted.reads();
    let key = [("x-idem-key", "k1")];
    for headers in [&[][..], &key] {
        let target = ("snake", "ALL", "c");
        let answer = arcade.submit_with(&low, target, (9, 900), headers, "").await;
        assert_eq!(answer.json()["reason"], "below-threshold");
    }
    for forged in
        [("x-sig", "x"), ("x-token-end", "x.y"), ("x-score", "1.5"), ("cookie", "game_sid=x")]
    {
        let answer =
            arcade.submit_with(&low, ("snake", "ALL", "c"), (50, 900), &[forged], "").await;
        assert!((400..404).contains(&answer.status), "{answer:?}");
    }
    for path in ["/ranking/snake/ALL", "/ranking/snake/ALL/rank/a", "/threshold/snake/ALL"] {
        assert_eq!(arcade.get(path).await.status, 200, "{path}");
    }
    assert_eq!(counted.reads(), before, "boards are in memory");
    assert_eq!(arcade.submit(&tie, "c", 10, 900).await.status, 200);
    assert_eq!(counted.reads(), before, "the write proves what memory knows");
    assert_eq!(arcade.submit(&worse, "b", 15, 900).await.json()["updated"], false);
    assert!(counted.reads() > before, "the count counts");
}

#[testkit::test(4)]
async fn a_board_that_many_ask_for_at_once_is_read_once() {
    let (arcade, counted) = counted(options()).await;
    arcade.set_game(&snake(2)).await;
    arcade.score("a", 10).await;
    arcade.score.boards.forget();
    arcade.score.rankings.invalidate_all();
    let (arcade, before) = (Arc::new(arcade), counted.reads());
    let mut all = JoinSet::new();
    for _ in 0..50 {
        let arcade = Arc::clone(&arcade);
        all.spawn(async move { arcade.ranking("ALL").await });
    }
    while let Some(rows) = all.join_next().await {
        assert_eq!(rows.unwrap(), pairs(&[("a", 10)]));
    }
    assert_eq!(counted.reads() - before, 2, "its rows and its note");
}

#[testkit::test]
async fn a_month_that_nobody_played_in_is_read_once() {
    let (arcade, counted) = counted(options()).await;
    arcade.set_game(&snake(2)).await;
    let ask = async |month: &str| {
        for path in ["ranking/snake/{}/rank/u", "threshold/snake/{}", "ranking/snake/{}"] {
            arcade.get(&format!("/{}", path.replace("{}", month))).await;
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
        let game = arcade.score.get_game("snake").unwrap();
        arcade.score.board(&game, &period).await.unwrap();
    }
    let before = counted.reads();
    arcade.get("/threshold/snake/2019-05").await;
    assert!(counted.reads() > before, "what is remembered has a bound");
}

#[testkit::test]
async fn boards_of_now_are_read_at_the_start_and_not_by_who_asks_first() {
    let first = Arcade::alone_with_snake(2).await;
    first.score("a", 10).await;
    let (second, counted) = counted_in(&first, options()).await;
    second.time.settle().await;
    let before = counted.reads();
    for period in ["ALL", MONTH] {
        assert_eq!(second.ranking(period).await, pairs(&[("a", 10)]));
    }
    assert_eq!(counted.reads(), before);
}

#[testkit::test]
async fn a_ranking_that_is_stale_is_answered_while_a_new_one_is_made() {
    let options = Options { board_refresh_seconds: 60, ..options() };
    let arcade = Arcade::open_with(options, super::START).await;
    arcade.set_game(&snake(2)).await;
    arcade.score("a", 10).await;
    let old = pairs(&[("a", 10)]);
    assert_eq!(arcade.ranking("ALL").await, old);
    // Behind the room's back, as an instance whose word was lost.
    let (game, period) = (arcade.score.get_game("snake").unwrap(), "ALL".parse().unwrap());
    let slot = arcade.score.board(&game, &period).await.unwrap();
    let mut row = slot.read(|board| board.standing_of("a").unwrap().0.clone());
    let before = Some(row.ver);
    (row.value.score, row.ver) = (99, row.ver + 1);
    let write = items::put_row(&board("ALL"), &row, None, before);
    arcade.tables.transact_write(TransactWrite::new(vec![write])).await.unwrap();
    arcade.time.advance(Duration::from_secs(50)).await;
    assert_eq!(arcade.ranking("ALL").await, old, "as fresh as its board");
    arcade.time.advance(Duration::from_secs(20)).await;
    assert_eq!(arcade.ranking("ALL").await, old, "stale, and answered at once");
    let new = pairs(&[("a", 99)]);
    wait::until_async("the new ranking", async || {
        let shown = arcade.ranking("ALL").await;
        wait::holds(shown == new, shown)
    })
    .await;
    assert_eq!(arcade.ranking(MONTH).await, old, "one board alone was changed");
}
