//! Rings that turn, by themselves, by hand, and in several houses at once.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use table::Tables;

use super::{KeyRing, Rotation};
use crate::Error;
use crate::limits::guard::{RING_FORMER_MAX, RING_LOOK_AGAIN};
use crate::probe::store;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
const DAILY: Rotation =
    Rotation { every: DAY, at: Duration::from_secs(7_200), keep: Duration::from_secs(4_000) };

struct Setting {
    store: Arc<dyn Tables>,
    clock: Clock,
    time: VirtualTime,
    tasks: Tasks,
}

async fn setting() -> Setting {
    let (clock, time) = Clock::virtual_at("2026-04-01T00:00:00Z".parse().unwrap());
    let tasks = Tasks::new();
    Setting { store: store(&clock, &tasks).await, clock, time, tasks }
}

impl Setting {
    async fn open(&self, seed: u64) -> KeyRing {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        KeyRing::open("test", DAILY, store, clock, Random::seeded(seed), &self.tasks).await.unwrap()
    }

    /// A day, of which only the minutes around the turn pass second by second.
    async fn pass_day(&self) {
        let tomorrow = self.clock.now().checked_add(DAY).unwrap();
        let turn = DAILY.after(self.clock.now());
        let before = turn.millis() - Duration::from_secs(60).as_millis() as u64;
        self.time.set_wall(Timestamp::from_millis(before)).await;
        self.time.advance(Duration::from_secs(120)).await;
        self.time.set_wall(tomorrow).await;
        self.time.advance(Duration::from_secs(120)).await;
    }

    async fn close(self) {
        self.tasks.finish(&self.clock, HOUR).await.unwrap();
    }
}

#[test]
fn a_turn_comes_at_its_hour() {
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    for (now, turn) in [
        ("2026-04-01T00:00:00Z", "2026-04-01T02:00:00Z"),
        ("2026-04-01T01:59:59.999Z", "2026-04-01T02:00:00Z"),
        ("2026-04-01T02:00:00Z", "2026-04-02T02:00:00Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T02:00:00Z"),
        ("1970-01-01T02:00:00Z", "1970-01-02T02:00:00Z"),
    ] {
        assert_eq!(DAILY.after(time(now)), time(turn), "{now}");
    }
}

#[tokio::test]
async fn a_ring_turns_daily_and_remembers_for_a_while() {
    let it = setting().await;
    let ring = it.open(1).await;
    let first = ring.current();
    let mac = first.sign(b"score");
    it.time.advance(2 * HOUR - Duration::from_millis(1)).await;
    assert_eq!(ring.current().kid(), first.kid());
    it.time.advance(Duration::from_millis(1)).await;
    let second = ring.current();
    assert_ne!(second.kid(), first.kid());
    let found = ring.find(first.kid()).await.unwrap().unwrap();
    assert!(found.verify(b"score", &mac) && !found.verify(b"scorf", &mac));
    assert!(!second.verify(b"score", &mac), "no other key than the named one");
    it.time.advance(DAILY.keep).await;
    assert!(ring.find(first.kid()).await.unwrap().is_none());
    it.pass_day().await;
    it.pass_day().await;
    assert!(ring.find(second.kid()).await.unwrap().is_none());
    it.close().await;
}

#[tokio::test]
async fn a_house_that_was_off_for_days_turns_once() {
    let it = setting().await;
    let kid = it.open(1).await.current().kid().to_owned();
    it.tasks.finish(&it.clock, HOUR).await.unwrap();
    // Nothing of it runs, so that nobody sees the days pass one second after the other.
    it.time.set_wall(it.clock.now().checked_add(2 * DAY).unwrap()).await;
    let it = Setting { tasks: Tasks::new(), ..it };
    let ring = it.open(2).await;
    assert_eq!(ring.seen().version, 2);
    assert!(ring.find(&kid).await.unwrap().is_some(), "it was current until a moment ago");
    it.close().await;
}

#[tokio::test]
async fn two_houses_share_one_ring_through_every_turn() {
    let it = setting().await;
    let (one, other) = (it.open(1).await, it.open(2).await);
    assert_eq!(one.current().kid(), other.current().kid());
    for day in 0..2 {
        for (from, to) in [(&one, &other), (&other, &one)] {
            let key = from.current();
            let mac = key.sign(b"hello");
            let found = to.find(key.kid()).await.unwrap().expect("keys are shared");
            assert!(found.verify(b"hello", &mac), "day {day}");
        }
        it.pass_day().await;
    }
    assert_eq!((one.seen().version, other.seen().version), (3, 3), "one of them turned each day");
    it.close().await;
}

#[tokio::test]
async fn what_one_house_signs_after_a_turn_by_hand_the_other_verifies_at_once() {
    let it = setting().await;
    let (one, other) = (it.open(1).await, it.open(2).await);
    one.turn().await.unwrap();
    let mac = one.current().sign(b"hello");
    let known = other.seen().find(one.current().kid(), it.clock.now(), DAILY.keep);
    assert!(known.unwrap().verify(b"hello", &mac), "as the next key it was known before");
    one.turn().await.unwrap();
    one.turn().await.unwrap();
    let kid = one.current().kid().to_owned();
    assert!(other.find(&kid).await.unwrap().is_some(), "an unknown id makes it look");
    one.turn().await.unwrap();
    one.turn().await.unwrap();
    let kid = one.current().kid().to_owned();
    assert!(other.find(&kid).await.unwrap().is_none(), "but not for every caller");
    it.time.advance(RING_LOOK_AGAIN).await;
    assert!(other.find(&kid).await.unwrap().is_some());
    it.close().await;
}

#[tokio::test]
async fn a_ring_is_not_turned_over_keys_that_are_still_good() {
    let it = setting().await;
    let ring = it.open(1).await;
    for _ in 0..RING_FORMER_MAX {
        ring.turn().await.unwrap();
    }
    let full = ring.turn().await;
    assert!(matches!(full, Err(Error::RingFull { .. })));
    it.time.advance(DAILY.keep).await;
    ring.turn().await.unwrap();
    it.close().await;
}

#[tokio::test]
async fn a_sealed_text_opens_for_its_purpose_until_its_time() {
    let it = setting().await;
    let ring = it.open(1).await;
    let expires = it.clock.now().checked_add(HOUR).unwrap();
    let sealed = ring.seal("invite", "部屋 7".as_bytes(), expires);
    assert_eq!(ring.unseal("invite", &sealed).await.unwrap().unwrap(), "部屋 7".as_bytes());
    assert_eq!(ring.unseal("reset", &sealed).await.unwrap(), None);
    it.time.advance(HOUR - Duration::from_secs(1)).await;
    assert!(ring.unseal("invite", &sealed).await.unwrap().is_some());
    it.time.advance(Duration::from_secs(1)).await;
    assert_eq!(ring.unseal("invite", &sealed).await.unwrap(), None);
    let later = sealed.replace(&expires.seconds().to_string(), "99999999999");
    assert_eq!(ring.unseal("invite", &later).await.unwrap(), None);
    it.close().await;
}

proptest! {
    #![proptest_config(testkit::depth::cases(24))]

    #[test]
    fn a_sealed_text_that_was_touched_does_not_open(
        payload in any::<Vec<u8>>(),
        at in any::<proptest::sample::Index>(),
        letter in "[A-Za-z0-9._-]",
        junk in any::<String>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let it = setting().await;
            let ring = it.open(1).await;
            let expires = it.clock.now().checked_add(HOUR).unwrap();
            let sealed = ring.seal("invite", &payload, expires);
            prop_assert_eq!(ring.unseal("invite", &sealed).await.unwrap(), Some(payload));
            let at = at.index(sealed.len());
            let touched = format!("{}{letter}{}", &sealed[..at], &sealed[at + 1..]);
            prop_assert_eq!(ring.unseal("invite", &touched).await.unwrap().is_some(), touched == sealed);
            prop_assert!(ring.unseal("invite", &sealed[..at]).await.unwrap().is_none());
            prop_assert!(ring.unseal("invite", &junk).await.unwrap().is_none());
            Ok(())
        })?;
    }
}
