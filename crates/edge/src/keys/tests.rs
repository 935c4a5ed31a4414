//! Keys from their making to their end, and those who try without.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use base::{Clock, Ids, Random, Tasks, Timestamp, VirtualTime};
use proptest::prelude::{any, prop_assert, proptest};
use table::{Scan, Tables};

use super::{Caller, Keys, NewSecret};
use crate::probe::{call, store};
use crate::tables::CREDENTIALS;
use crate::{Error, secret};

const HOUR: Duration = Duration::from_secs(3_600);

struct Setting {
    keys: Keys,
    store: Arc<dyn Tables>,
    time: VirtualTime,
    clock: Clock,
}

async fn setting() -> Setting {
    let (clock, time) = Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000));
    let store = store(&clock, &Tasks::new()).await;
    let ids = Ids::new(clock.clone(), Random::seeded(1));
    Setting { keys: Keys::new(store.clone(), clock.clone(), ids), store, time, clock }
}

fn scopes(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Setting {
    async fn create(&self, name: &str, words: &[&str]) -> Result<NewSecret, Error> {
        self.keys.create(name, &scopes(words), None).await
    }

    fn after(&self, duration: Duration) -> Option<Timestamp> {
        self.clock.now().checked_add(duration)
    }

    async fn works(&self, secret: &NewSecret) -> bool {
        self.keys.verify(&secret.text).await.is_ok()
    }
}

#[tokio::test]
async fn a_key_works_until_it_is_revoked() {
    let it = setting().await;
    let key = it.create("school", &["mesh", "collect:write"]).await.unwrap();
    let caller = it.keys.verify(&key.text).await.unwrap();
    assert_eq!(&**caller.name(), "school");
    for (scope, may) in [
        ("mesh", true),
        ("mesh:read", true),
        ("meshes", false),
        ("collect:write", true),
        ("collect:write:all", true),
        ("collect", false),
        ("collect:read", false),
        ("", false),
    ] {
        assert_eq!(caller.may(scope), may, "{scope}");
    }
    assert_eq!(it.keys.revoke("school", None).await.unwrap(), 1);
    assert!(!it.works(&key).await);
    assert_eq!(it.keys.list().await.unwrap(), []);
}

#[tokio::test]
async fn two_secrets_work_while_a_key_is_rotated() {
    let it = setting().await;
    let old = it.create("school", &["mesh", "live"]).await.unwrap();
    let new = it.create("school", &[]).await.unwrap();
    assert!(it.works(&old).await && it.works(&new).await);
    let third = it.create("school", &["live", "mesh"]).await.unwrap_err().to_string();
    assert_eq!(third, "key `school` has 2 valid secrets; revoke one of them first");
    assert_eq!(it.keys.revoke("school", Some(&old.id)).await.unwrap(), 1);
    assert!(!it.works(&old).await && it.works(&new).await);
    let gone = it.keys.revoke("school", Some(&old.id)).await.unwrap_err().to_string();
    assert_eq!(gone, format!("there is no key `school/{}`", old.id));
    let third = it.create("school", &["live", "mesh", "mesh"]).await.unwrap();
    assert!(it.works(&new).await && it.works(&third).await);
    let other = it.create("school", &["sns"]).await.unwrap_err().to_string();
    assert!(other.starts_with("key `school` exists with the scopes live, mesh;"), "{other}");
}

#[tokio::test]
async fn a_key_expires_to_the_millisecond_and_makes_room() {
    let it = setting().await;
    let expires = it.after(HOUR);
    let short = it.keys.create("school", &scopes(&["mesh"]), expires).await.unwrap();
    let long = it.create("school", &[]).await.unwrap();
    it.time.advance(HOUR - Duration::from_millis(1)).await;
    assert!(it.works(&short).await);
    it.time.advance(Duration::from_millis(1)).await;
    assert!(!it.works(&short).await && it.works(&long).await);
    let next = it.create("school", &[]).await.unwrap();
    assert!(it.works(&next).await && it.works(&long).await);
    let past = it.keys.create("late", &scopes(&["mesh"]), Some(it.clock.now())).await;
    assert!(matches!(past, Err(Error::KeyExpired(_))));
}

impl Setting {
    /// What the table says, as another instance reads it.
    async fn last_used(&self) -> Option<Timestamp> {
        let ids = Ids::new(self.clock.clone(), Random::seeded(9));
        let other = Keys::new(self.store.clone(), self.clock.clone(), ids);
        other.list().await.unwrap()[0].secrets[0].last_used
    }

    /// The version of the only key: each write makes it grow.
    async fn version(&self) -> String {
        let query = table::Query::new(CREDENTIALS, "pk", "key").consistent();
        let items = self.store.query(query).await.unwrap().items;
        format!("{:?}", items[0].get("version"))
    }
}

#[tokio::test]
async fn a_use_is_known_at_once_and_written_once_a_minute() {
    let it = setting().await;
    let tasks = Tasks::new();
    it.keys.save_uses(&tasks);
    let key = it.create("school", &["mesh"]).await.unwrap();
    let made = it.version().await;
    let here = async || it.keys.list().await.unwrap()[0].secrets[0].last_used;
    assert_eq!((here().await, it.last_used().await), (None, None));
    let first = it.clock.now();
    for _ in 0..100 {
        assert!(it.works(&key).await);
    }
    assert_eq!((here().await, it.last_used().await), (Some(first), None));
    assert_eq!(it.version().await, made, "no request has written");
    it.time.advance(Duration::from_secs(59)).await;
    let last = it.clock.now();
    assert!(it.works(&key).await);
    assert_eq!(it.version().await, made);
    it.time.advance(Duration::from_secs(1)).await;
    let written = async || {
        let seen = it.last_used().await;
        testkit::wait::holds(seen == Some(last), seen)
    };
    testkit::wait::until_async("the minute's write", written).await;
    let written = it.version().await;
    it.time.advance(Duration::from_secs(600)).await;
    assert_eq!(it.version().await, written, "a key that nobody uses is not written");
    tasks.finish(&Clock::real(), HOUR).await.unwrap();
}

#[tokio::test]
async fn the_last_use_survives_a_shutdown() {
    let it = setting().await;
    let tasks = Tasks::new();
    it.keys.save_uses(&tasks);
    let key = it.create("school", &["mesh"]).await.unwrap();
    let shared = it.keys.share("mesh", "da2-class").await.unwrap();
    assert_eq!(shared.last_used(), None);
    assert!(it.works(&key).await);
    shared.note_use(&it.clock);
    let used = it.clock.now();
    tasks.finish(&Clock::real(), HOUR).await.unwrap();
    assert_eq!(it.last_used().await, Some(used));
    let ids = Ids::new(it.clock.clone(), Random::seeded(3));
    let again = Keys::new(it.store.clone(), it.clock.clone(), ids);
    assert_eq!(again.share("mesh", "da2-class").await.unwrap().last_used(), Some(used));
    assert_eq!(again.shared().len(), 1);
    let debug = format!("{:?}", again.shared());
    assert!(!debug.contains("da2-class"), "{debug}");
}

#[tokio::test]
async fn a_use_of_a_key_that_was_revoked_or_rotated_meanwhile_harms_nothing() {
    let it = setting().await;
    let old = it.create("school", &["mesh"]).await.unwrap();
    let gone = it.create("robot", &["mesh"]).await.unwrap();
    assert!(it.works(&old).await && it.works(&gone).await);
    let new = it.create("school", &[]).await.unwrap();
    it.keys.revoke("robot", None).await.unwrap();
    it.keys.write_uses().await;
    let keys = it.keys.list().await.unwrap();
    let used: Vec<bool> = keys[0].secrets.iter().map(|it| it.last_used.is_some()).collect();
    assert_eq!((keys.len(), used), (1, vec![true, false]));
    assert!(it.works(&new).await && !it.works(&gone).await);
}

#[tokio::test]
async fn no_secret_lies_in_the_table() {
    let it = setting().await;
    let key = it.create("school", &["mesh"]).await.unwrap();
    let secret = key.text.rsplit('_').next().unwrap().to_owned();
    let items = it.store.scan(Scan::new(CREDENTIALS)).await.unwrap().items;
    let text = format!("{items:?}");
    assert!(!text.contains(&secret) && text.contains(&secret::digest(&secret)), "{text}");
    assert!(!format!("{key:?}{:?}", it.keys).contains(&secret));
}

#[tokio::test]
async fn names_and_scopes_are_checked() {
    let it = setting().await;
    for name in ["", "-a", "A", "a_b", "a b", "ä", &"a".repeat(41)] {
        assert!(matches!(it.create(name, &["mesh"]).await, Err(Error::KeyName(_))), "{name}");
    }
    for scope in ["", ":", "mesh:", "Mesh", "me sh", "*", &"a".repeat(65)] {
        let made = it.create("a", &[scope]).await;
        assert!(matches!(made, Err(Error::KeyScope(_))), "{scope}");
    }
    assert!(matches!(it.create("a", &[]).await, Err(Error::KeyScopes { count: 0, .. })));
    assert!(matches!(it.keys.revoke("a", None).await, Err(Error::NoSuchKey(_))));
}

#[tokio::test]
async fn many_who_make_secrets_at_once_make_two() {
    let it = setting().await;
    it.create("school", &["mesh"]).await.unwrap();
    let ids = Ids::new(it.clock.clone(), Random::seeded(2));
    let other = Keys::new(it.store.clone(), it.clock.clone(), ids);
    let results = [
        it.keys.create("school", &[], None),
        other.create("school", &[], None),
        it.keys.create("school", &[], None),
        other.create("school", &[], None),
    ];
    let [a, b, c, d] = results;
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let made = [a, b, c, d].into_iter().filter(Result::is_ok).count();
    assert_eq!((made, it.keys.list().await.unwrap()[0].secrets.len()), (1, 2));
}

async fn ask(routes: &Router, name: &str, value: &[u8]) -> (StatusCode, HeaderMap, String) {
    let request = Request::get("/").header(name, value).body(Body::empty()).unwrap();
    call(routes, request).await
}

#[tokio::test]
async fn routes_demand_a_scope() {
    let it = setting().await;
    let hello = async |caller: Caller| caller.name().to_string();
    let routes = it.keys.guard(Router::new().route("/", get(hello)), "mesh");
    let key = it.create("school", &["mesh"]).await.unwrap().text;
    let other = it.create("poller", &["collect"]).await.unwrap().text;

    for (name, value) in [("x-api-key", key.clone()), ("authorization", format!("bearer {key}"))] {
        let (status, _, body) = ask(&routes, name, value.as_bytes()).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, "school"));
    }
    let (status, headers, body) = ask(&routes, "x-api-key", other.as_bytes()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(body.contains(r#""code":"scope_missing""#) && body.contains("`mesh`"), "{body}");
    assert!(headers["www-authenticate"].to_str().unwrap().contains("insufficient_scope"));

    let (status, headers, body) = ask(&routes, "x-other", b"").await;
    assert_eq!(
        (status, &headers["www-authenticate"]),
        (
            StatusCode::UNAUTHORIZED,
            &axum::http::HeaderValue::from_static("Bearer realm=\"nagaya\""),
        )
    );
    assert!(body.contains(r#""code":"key_missing""#), "{body}");

    let cut = &key[..key.len() - 1];
    let swapped = format!("{}{}", &key[..key.len() - 40], &other[other.len() - 40..]);
    let huge = "a".repeat(10_000);
    let wrong: [&[u8]; 8] = [
        b"",
        b"nk_",
        b"nk_school_",
        cut.as_bytes(),
        swapped.as_bytes(),
        huge.as_bytes(),
        b"\xff\xfe",
        b"nk_nobody_0123456789012345678901234567890123456789",
    ];
    for value in wrong {
        let (status, _, body) = ask(&routes, "x-api-key", value).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{value:?}");
        assert!(body.contains(r#""code":"key_wrong""#), "{body}");
        assert!(!body.contains("school") && !body.contains("nobody"), "{body}");
    }
}

proptest! {
    #![proptest_config(testkit::depth::cases(32))]

    #[test]
    fn no_text_without_the_secret_is_let_in(text in any::<String>(), tail in "[a-zA-Z0-9]{40}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let it = setting().await;
            it.create("school", &["mesh"]).await.unwrap();
            prop_assert!(it.keys.verify(&text).await.is_err());
            let guessed = format!("nk_school_{tail}");
            prop_assert!(it.keys.verify(&guessed).await.is_err());
            Ok(())
        })?;
    }
}
