//! Any text as a token or a signature; and any words inside a token, sealed.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use edge::{KeyRing, MacKey, Rotation};
use ring::hmac;
use table::Embedded;

use super::{End, Start, is_signed, open_end, open_start, seal_end, seal_start};
use crate::model::play::Claim;

const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);
/// Stands for the id of the ring's key, so that inputs do not depend on it.
const KID: &str = "KID";

async fn ring(tasks: &Tasks) -> KeyRing {
    let (clock, _time) = Clock::virtual_at(START);
    let store = Embedded::in_memory(clock.clone(), tasks).await.unwrap();
    edge::ensure_tables(&store).await.unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let rotation = Rotation { every: day, at: Duration::ZERO, keep: day };
    KeyRing::open("plays", rotation, Arc::new(store), clock, Random::seeded(1), tasks)
        .await
        .unwrap()
}

/// A token that opens was sealed by the ring, and sealed again it says the same.
async fn check_token(ring: &KeyRing, key: &MacKey, token: &str) {
    let is_sealed = || {
        let (text, mac) = token.split_once('.').unwrap();
        key.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(mac).unwrap())
    };
    if let Ok((start, used)) = open_start(ring, token).await {
        assert!(is_sealed() && used.kid() == key.kid(), "{token}");
        assert_eq!(open_start(ring, &seal_start(&start, key)).await.unwrap().0, start);
    }
    if let Ok(end) = open_end(ring, token).await {
        assert!(is_sealed(), "{token}");
        assert_eq!(open_end(ring, &seal_end(&end, key)).await.unwrap(), end);
    }
}

/// A play with any words in it: its tokens open as what they are, and as nothing else.
async fn check_play(ring: &KeyRing, key: &MacKey, words: &str) {
    let mut words = words.splitn(3, '\n').map(str::to_owned);
    let (sid, game, user) = (words.next().unwrap_or_default(), words.next(), words.next());
    let seconds = sid.bytes().fold(7_u64, |sum, byte| sum * 31 % 99_991 + u64::from(byte));
    let ended = START.checked_add(Duration::from_millis(seconds)).unwrap();
    let start = Start {
        game: game.clone(),
        user: user.clone(),
        sid: sid.clone(),
        browser: game.clone(),
        owner: user.clone(),
        started: START,
        max_seconds: seconds,
    };
    let end = End { game, user, sid, started: START, ended };
    let (start_token, end_token) = (seal_start(&start, key), seal_end(&end, key));
    match open_start(ring, &start_token).await {
        Ok((opened, _)) => assert_eq!(opened, start),
        Err(error) => assert!(error.to_string().contains("too long"), "{error}"),
    }
    match open_end(ring, &end_token).await {
        Ok(opened) => assert_eq!(opened, end),
        Err(error) => assert!(error.to_string().contains("too long"), "{error}"),
    }
    assert!(open_start(ring, &end_token).await.is_err(), "an end token starts a play");
    assert!(open_end(ring, &start_token).await.is_err(), "a start token ends a play");
}

/// A signature fits one play, in both spellings.
fn check_signature(token: &str, signature: &str) {
    let claim = Claim { score: -3, time_ms: 5 };
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    let mac = hmac::sign(&key, b"ada|-3|5|2027-01");
    let spelled = [URL_SAFE_NO_PAD.encode(mac.as_ref()), base::hex(mac.as_ref())];
    let fits = |signature: &str| is_signed(token, "ada", &claim, "2027-01", signature);
    assert!(spelled.iter().all(|it| fits(it)));
    let is_one = spelled.iter().any(|it| it.eq_ignore_ascii_case(signature));
    assert!(!fits(signature) || is_one, "{signature}");
}

#[test]
fn every_token_that_opens_was_sealed_by_the_ring() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tasks = Tasks::new();
    let ring = runtime.block_on(ring(&tasks));
    let key = ring.current();
    testkit::fuzz::check("plays", |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let text = text.replace(KID, key.kid());
        runtime.block_on(async {
            check_token(&ring, &key, &text).await;
            let payload = URL_SAFE_NO_PAD.encode(&text);
            let mac = URL_SAFE_NO_PAD.encode(key.sign(payload.as_bytes()));
            check_token(&ring, &key, &format!("{payload}.{mac}")).await;
            check_play(&ring, &key, &text).await;
        });
        check_signature("token", &text);
    });
}
