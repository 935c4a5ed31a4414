//! Order: closing against posting, and replay after coming back, in whatever interleaving.

use std::sync::Arc;

use base::Random;
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use serde_json::{Value as Json, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Client, HOST, Talk, flat};
use crate::error::Error;
use crate::live::V1;
use crate::model::{ChangeRoom, PostComment, State, Status};
use crate::ops::Following;
use crate::{Live, Options};

fn post(content: &str, participant: &str) -> PostComment {
    PostComment {
        content: content.to_owned(),
        nickname: None,
        client_id: None,
        participant: participant.to_owned(),
        host_id: None,
    }
}

#[testkit::test(2)]
async fn nothing_is_stored_after_the_acknowledged_close_in_1000_interleavings() {
    // Two instances on one store: between them only the conditions of the commits decide.
    let options = Options { address_rooms_per_hour: 1_000_000, ..Options::default() };
    let one = Talk::open_with(options).await;
    let two = one.second().await;
    let lives = [Arc::clone(&one.live), Arc::clone(&two.live)];
    let random = testkit::seed::random();
    let rounds = if testkit::is_dynamodb() { testkit::depth::pick(200, 1_000) } else { 1_000 };
    let mut refused = 0;
    for round in 0..rounds {
        // Each by another host: one opens fewer in an hour.
        let host = format!("host-of-the-round-{round}");
        let room = one.try_create(&host).await.is(201)["roomId"].as_str().unwrap().to_owned();
        let (closing, is_closed) = watch::channel(false);
        let (mut early, mut others) = (JoinSet::new(), JoinSet::new());
        for number in 0..4 {
            let (live, room) = (Arc::clone(&lives[number % 2]), room.clone());
            let mut is_closed = is_closed.clone();
            let start = Start::draw(&random);
            let tasks = if matches!(start, Start::BeforeClose) { &mut early } else { &mut others };
            tasks.spawn(async move {
                match start {
                    Start::BeforeClose => {}
                    Start::Beside(yields) => yield_often(yields).await,
                    Start::AfterClose => drop(is_closed.wait_for(|closed| *closed).await),
                }
                live.post_comment(&room, post("x", &number.to_string())).await.map(|c| c.seq)
            });
        }
        let mut done = early.join_all().await;
        yield_often(random.below(30)).await;
        let close = ChangeRoom { status: Some(Status::Closed), ..ChangeRoom::default() };
        let closed = lives[round % 2].change_room(&room, Some(&host), &close).await.unwrap();
        closing.send_replace(true);
        let stored_at_close = stored(&one.live, &room).await;
        done.extend(others.join_all().await);
        let mut acknowledged = Vec::new();
        for posted in done {
            match posted {
                Ok(seq) => acknowledged.push(seq),
                Err(Error::Closed) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        acknowledged.sort_unstable();
        let stored = stored(&one.live, &room).await;
        assert_eq!(stored, stored_at_close, "round {round}");
        assert_eq!(stored, acknowledged, "round {round}");
        assert!(stored.iter().all(|seq| *seq < closed.seq), "round {round}");
    }
    let few = rounds / 10;
    assert!((few..4 * rounds - few).contains(&refused), "the rounds should differ: {refused}");
}

/// When a post begins. Some posts surely come before the close and some surely after it, however the
/// machine schedules the ones beside it.
enum Start {
    BeforeClose,
    /// After so many turns of the other tasks.
    Beside(u64),
    AfterClose,
}

impl Start {
    fn draw(random: &Random) -> Start {
        match random.below(4) {
            0 => Start::BeforeClose,
            1 => Start::AfterClose,
            _ => Start::Beside(random.below(30)),
        }
    }
}

async fn yield_often(times: u64) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

async fn stored(live: &Live, room: &str) -> Vec<u64> {
    let (comments, _) = live.export_comments(room, None).await.unwrap();
    comments.iter().map(|comment| comment.seq).collect()
}

#[testkit::test(2)]
async fn ids_and_numbers_of_two_instances_have_one_order() {
    let one = Talk::open().await;
    let two = one.second().await;
    let room = one.create().await;
    let mut tasks = JoinSet::new();
    for number in 0..100 {
        let live = Arc::clone(if number % 2 == 0 { &one.live } else { &two.live });
        let room = room.clone();
        tasks.spawn(async move {
            live.post_comment(&room, post("x", &number.to_string())).await.unwrap()
        });
    }
    assert_eq!(tasks.join_all().await.len(), 100);
    assert_eq!(stored(&one.live, &room).await, (1..=100).collect::<Vec<_>>());
}

#[testkit::test(2)]
async fn of_a_crowd_everybody_is_told_their_own_outcome() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.patch(&room, json!({ "hostId": HOST, "slowModeSeconds": 30 })).await.is(200);
    let mut tasks = JoinSet::new();
    for number in 0..300 {
        let (live, room) = (Arc::clone(&talk.live), room.clone());
        // Of three with one name one may speak; every third says too much; a twelfth says it twice.
        let mut said = post(&format!("{number}"), &(number / 3).to_string());
        match number % 12 {
            0 | 3 | 6 | 9 => said.content = "x".repeat(1_000),
            4 | 5 => (said.content, said.client_id) = ("twice".into(), Some(number.to_string())),
            _ => {}
        }
        if number % 12 == 5 {
            said.client_id = Some((number - 1).to_string());
        }
        tasks.spawn(async move { (number, live.post_comment(&room, said).await) });
    }
    let (mut told, mut twice) = (Vec::new(), 0);
    while let Some(done) = tasks.join_next().await {
        let (number, outcome) = done.unwrap();
        match outcome {
            Ok(comment) if number % 12 == 4 || number % 12 == 5 => {
                twice += 1;
                assert_eq!(comment.content, "twice");
                told.push(comment.seq);
            }
            Ok(comment) => {
                assert_eq!(comment.content, number.to_string());
                told.push(comment.seq);
            }
            Err(Error::SlowMode { .. }) => assert!(number % 3 != 0),
            Err(Error::Invalid(_)) => assert!(number % 3 == 0),
            Err(error) => panic!("{error}"),
        }
    }
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), 100, "one of each name");
    assert_eq!(twice, 50, "a retry is told what its first try made");
    let (comments, _) = talk.live.export_comments(&room, None).await.unwrap();
    assert_eq!(comments.iter().map(|comment| comment.seq).collect::<Vec<_>>(), told);
}

#[testkit::test]
async fn who_goes_away_takes_nobody_along() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let mut first = Box::pin(talk.live.post_comment(&room, post("gone", "1")));
    let mut second = Box::pin(talk.live.post_comment(&room, post("here", "2")));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    assert_eq!(second.await.unwrap().content, "here");
    assert_eq!(stored(&talk.live, &room).await, [1, 2]);
}

#[derive(Clone, Debug)]
enum Step {
    Say(usize),
    Hide(usize),
    Restore(usize),
    /// The reader goes, and comes back with the last number it has heard.
    Reconnect,
    /// The reader goes, reads the pages, and comes back with the last number it has read.
    Fetch,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..70_usize).prop_map(Step::Say),
        1 => (0..50_usize).prop_map(Step::Hide),
        1 => (0..50_usize).prop_map(Step::Restore),
        4 => Just(Step::Reconnect),
        2 => Just(Step::Fetch),
        // Shorter than a frame, and longer than memory.
        3 => prop_oneof![0..150_u64, Just(700_000_u64)].prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 1..25)
}

/// What a client has put together from what it heard.
#[derive(Default)]
struct Screen {
    last: u64,
    /// The numbers that new comments came with, as they came.
    heard: Vec<u64>,
    shown: std::collections::BTreeMap<u64, Json>,
}

impl Screen {
    fn hear(&mut self, told: Vec<Json>) {
        for told in flat(told) {
            assert_ne!(told["type"], "goAway", "{told}");
            assert_eq!(told.get("gap"), None, "{told}");
            if told["type"] == "joined" {
                continue;
            }
            let seq = told["seq"].as_u64().unwrap();
            assert!(seq > self.last, "{told} behind {}", self.last);
            self.last = seq;
            match told["type"].as_str().unwrap() {
                "comment" => {
                    self.heard.push(told["comment"]["seq"].as_u64().unwrap());
                    self.show(&told["comment"]);
                }
                "hidden" if told["hidden"] == true => {
                    self.shown.retain(|_, comment| comment["commentId"] != told["commentId"]);
                }
                "hidden" => self.show(&told["comment"]),
                other => panic!("{other}"),
            }
        }
    }

    fn show(&mut self, comment: &Json) {
        self.shown.insert(comment["seq"].as_u64().unwrap(), comment.clone());
    }
}

async fn join(talk: &Talk, room: &str, after: u64, screen: &mut Screen) -> Client {
    let said = json!({ "action": "joinRoom", "roomId": room, "v": 1, "after": after });
    let (client, told) = talk.join(said).await;
    screen.hear(told);
    client
}

async fn play(steps: Vec<Step>) {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let mut screen = Screen::default();
    let mut client = join(&talk, &room, 0, &mut screen).await;
    let mut said: Vec<Json> = Vec::new();
    for step in steps {
        match step {
            Step::Say(count) => {
                for _ in 0..count {
                    let post = PostComment { host_id: Some(HOST.to_owned()), ..post("x", "h") };
                    let comment = talk.live.post_comment(&room, post).await.unwrap();
                    said.push(json!({ "commentId": comment.id }));
                }
                // At most what a replay from the store holds is missed.
                screen.hear(client.waiting());
            }
            Step::Hide(index) if index < said.len() => {
                talk.act(&room, &said[index], "hide").await.is(200);
            }
            Step::Restore(index) if index < said.len() => {
                talk.act(&room, &said[index], "restore").await.is(200);
            }
            Step::Hide(_) | Step::Restore(_) => {}
            Step::Reconnect => {
                drop(client);
                client = join(&talk, &room, screen.last, &mut screen).await;
            }
            Step::Fetch => {
                drop(client);
                // A new client, which has nothing but the pages.
                screen = Screen::default();
                let mut query = String::new();
                loop {
                    let path = format!("/live/rooms/{room}/comments?limit=200{query}");
                    let page = talk.get(&path).await.is(200);
                    for comment in page["comments"].as_array().unwrap() {
                        screen.show(comment);
                        screen.last = comment["seq"].as_u64().unwrap();
                    }
                    match page["next"].as_str() {
                        Some(next) => query = format!("&after={next}"),
                        None => break,
                    }
                }
                client = join(&talk, &room, screen.last, &mut screen).await;
            }
            Step::Pass(millis) => talk.pass_ms(millis).await,
        }
    }
    talk.pass_ms(200).await;
    screen.hear(client.waiting());
    let shown: Vec<u64> = screen.shown.keys().copied().collect();
    assert_eq!(shown, all_shown(&talk, &room).await);
    let mut once = screen.heard.clone();
    once.dedup();
    assert_eq!(once, screen.heard, "told twice");
}

async fn all_shown(talk: &Talk, room: &str) -> Vec<u64> {
    let (mut seqs, mut start) = (Vec::new(), None);
    loop {
        let (comments, last) = talk.live.export_comments(room, start).await.unwrap();
        let shown = comments.iter().filter(|c| c.state == State::Shown);
        seqs.extend(shown.map(|comment| comment.seq));
        match last {
            Some(last) => start = Some(last),
            None => return seqs,
        }
    }
}

proptest! {
    #![proptest_config(testkit::depth::cases(if testkit::is_dynamodb() { 4 } else { 20 }))]

    #[test]
    fn a_reader_that_comes_and_goes_sees_every_comment_once(steps in steps()) {
        testkit::run(0, play(steps));
    }
}

#[testkit::test]
async fn a_hundred_who_come_back_at_once_are_served_from_memory() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (_first, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    for number in 0..100 {
        talk.say(&room, &number.to_string()).await;
        talk.pass_ms(21).await;
    }
    let shown = talk.live.get_room(&room).await.unwrap();
    for _ in 0..100 {
        let said = json!({ "action": "joinRoom", "roomId": room, "v": 1, "after": 0 });
        let following = Following { view: V1, after: Some(0) };
        let start = talk.live.find_start(&shown, following).await.unwrap();
        assert_eq!(start.replay, [], "nothing is read from the store");
        let (_client, told) = talk.join(said).await;
        assert_eq!(flat(told).len(), 101);
    }
}

#[testkit::test]
async fn what_was_hidden_is_not_replayed() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (mut client, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    let rude = talk.say(&room, "secret words").await;
    talk.say(&room, "fine").await;
    talk.act(&room, &rude, "hide").await.is(200);
    assert!(client.waiting().iter().any(|told| told.to_string().contains("secret words")));
    for more in [json!({}), json!({ "v": 1 })] {
        let mut said = json!({ "action": "joinRoom", "roomId": room, "after": 0 });
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (_client, told) = talk.join(said).await;
        let told = Json::from(told).to_string();
        assert!(!told.contains("secret words") && told.contains("fine"), "{told}");
    }
}

#[testkit::test]
async fn who_missed_more_than_a_replay_holds_is_told_to_read_the_pages() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    for number in 0..501 {
        talk.say(&room, &number.to_string()).await;
    }
    talk.pass_ms(700_000).await;
    let said = json!({ "action": "joinRoom", "roomId": room, "v": 1, "after": 0 });
    let (_client, told) = talk.join(said).await;
    assert_eq!((told.len(), &told[0]["gap"], &told[0]["seq"]), (1, &json!(true), &json!(501)));
    let said = json!({ "action": "joinRoom", "roomId": room, "v": 1, "after": 1 });
    let (_client, told) = talk.join(said).await;
    assert_eq!(flat(told).len(), 501);
}
