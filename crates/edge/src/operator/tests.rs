//! The operator's way in: links, passwords, cookies, and those who try another way.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use base::{Clock, Ids, Random, Tasks, Timestamp, VirtualTime};
use table::{Delete, Item, Scan, Tables, Update};

use super::{Operator, OperatorOptions};
use crate::limits::guard::{SESSION_LOOK, STARTED_TOGETHER};
use crate::probe::{call, store};
use crate::tables::CREDENTIALS;
use crate::{Client, Keys, secret};

const HOUR: Duration = Duration::from_secs(3_600);
const PASSWORD: &str = "長い長い長屋の合言葉でござる";

struct Setting {
    operator: Operator,
    routes: Router,
    store: Arc<dyn Tables>,
    clock: Clock,
    time: VirtualTime,
}

type Answer = (StatusCode, HeaderMap, String);

async fn setting() -> Setting {
    let (clock, time) = Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000));
    let tasks = Tasks::new();
    let store = store(&clock, &tasks).await;
    let options = OperatorOptions::default();
    let random = Random::seeded(1);
    let operator = Operator::new(store.clone(), &options, &clock, random, &tasks);
    // Where the console stands in a whole house.
    let events = || async {
        let kind = [("content-type", "text/event-stream")];
        (kind, Body::from_stream(futures_util::stream::pending::<Result<&str, Infallible>>()))
    };
    let home = Router::new().route("/console", get(|| async { "in" }));
    let home = operator.guard(home.route("/console/events", get(events)));
    Setting { routes: operator.routes().merge(home), operator, store, clock, time }
}

impl Setting {
    async fn get(&self, path: &str, cookie: &str) -> Answer {
        let request = Request::get(path).header("cookie", cookie).header("accept", "text/html");
        call(&self.routes, request.body(Body::empty()).unwrap()).await
    }

    async fn post(&self, path: &str, cookie: &str, form: &str) -> Answer {
        self.post_from(path, cookie, form, 1, "same-origin").await
    }

    async fn post_from(
        &self,
        path: &str,
        cookie: &str,
        form: &str,
        host: u8,
        site: &str,
    ) -> Answer {
        let request = Request::post(path)
            .header("cookie", cookie)
            .header("sec-fetch-site", site)
            .header("content-type", "application/x-www-form-urlencoded");
        let mut request = request.body(Body::from(form.to_owned())).unwrap();
        let address = [192, 0, 2, host].into();
        request.extensions_mut().insert(Client { address, secure: false, connection: None });
        call(&self.routes, request).await
    }

    async fn link(&self) -> String {
        self.operator.find_first_link().await.unwrap().unwrap()
    }

    /// Sets the password by a new link; the cookie.
    async fn set_up(&self) -> String {
        let token = token_of(&self.link().await);
        cookie_of(&self.post("/console/setup", "", &set_up_form(&token, PASSWORD)).await)
    }

    async fn sign_in(&self, password: &str, host: u8) -> Answer {
        let form = format!("password={password}");
        self.post_from("/console/sign-in", "", &form, host, "same-origin").await
    }

    async fn is_in(&self, cookie: &str) -> bool {
        self.get("/console", cookie).await.0 == StatusCode::OK
    }
}

fn token_of(link: &str) -> String {
    link.strip_prefix("/console/setup?token=").unwrap().to_owned()
}

fn set_up_form(token: &str, password: &str) -> String {
    format!("token={token}&password={password}&again={password}")
}

fn cookie_of((status, headers, body): &Answer) -> String {
    assert_eq!(
        (*status, &headers["location"]),
        (StatusCode::SEE_OTHER, &"/console".parse().unwrap()),
        "{body}"
    );
    let cookie = headers["set-cookie"].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_link_sets_the_password_once() {
    let it = setting().await;
    let link = it.link().await;
    for _ in 0..2 {
        let (status, headers, body) = it.get(&link, "").await;
        assert_eq!(status, StatusCode::OK, "looking uses nothing up");
        assert!(
            headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'")
        );
        assert_eq!(headers["cache-control"], "no-store");
        assert!(body.contains("Set up this house") && !body.contains("<script"), "{body}");
    }
    let form = set_up_form(&token_of(&link), PASSWORD);
    let cookie = cookie_of(&it.post("/console/setup", "", &form).await);
    assert!(it.is_in(&cookie).await);
    assert_eq!(it.post("/console/setup", "", &form).await.0, StatusCode::GONE, "a second time");
    assert_eq!(it.get(&link, "").await.0, StatusCode::GONE);
    assert_eq!(it.operator.find_first_link().await.unwrap(), None);
    assert!(it.is_in(&cookie_of(&it.sign_in(PASSWORD, 1).await)).await);
}

#[tokio::test]
async fn of_two_who_use_a_link_at_once_one_gets_in() {
    let it = setting().await;
    let form = set_up_form(&token_of(&it.link().await), PASSWORD);
    let (one, other) =
        tokio::join!(it.post("/console/setup", "", &form), it.post("/console/setup", "", &form));
    let mut statuses = [one.0, other.0];
    statuses.sort();
    assert_eq!(statuses, [StatusCode::SEE_OTHER, StatusCode::GONE]);
}

#[tokio::test]
async fn a_link_is_worth_nothing_after_a_day_or_after_a_newer_one() {
    let it = setting().await;
    let (old, new) = (it.link().await, it.link().await);
    assert_eq!(it.get(&old, "").await.0, StatusCode::GONE);
    it.time.advance(24 * HOUR - Duration::from_millis(1)).await;
    assert_eq!(it.get(&new, "").await.0, StatusCode::OK);
    it.time.advance(Duration::from_millis(1)).await;
    assert_eq!(it.get(&new, "").await.0, StatusCode::GONE);
    let late = it.post("/console/setup", "", &set_up_form(&token_of(&new), PASSWORD)).await;
    assert_eq!(late.0, StatusCode::GONE);
    for bad in [
        "/console/setup",
        "/console/setup?token=",
        "/console/setup?token=x&token=y",
        "/console/setup?token=%ff",
    ] {
        assert_eq!(it.get(bad, "").await.0, StatusCode::GONE, "{bad}");
    }
}

#[tokio::test]
async fn bad_passwords_are_refused_with_a_word_and_leave_the_link_alone() {
    let it = setting().await;
    let token = token_of(&it.link().await);
    let long = "x".repeat(1_025);
    for (password, again, word) in [
        ("short", "short", "at least 12 characters"),
        ("十一文字の合言葉です。", "十一文字の合言葉です。", "at least 12 characters"),
        (&long, &long, "too long"),
        (PASSWORD, "another sentence", "differ"),
    ] {
        let form = format!("token={token}&password={password}&again={again}");
        let (status, headers, body) = it.post("/console/setup", "", &form).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(body.contains(word) && body.contains(r#"role="alert""#), "{body}");
        assert!(!headers.contains_key("set-cookie") && !body.contains(password));
    }
    assert_eq!(it.post("/console/setup", "", "password=x").await.0, StatusCode::GONE);
    cookie_of(&it.post("/console/setup", "", &set_up_form(&token, PASSWORD)).await);
}

#[tokio::test]
async fn a_wrong_password_opens_nothing_and_tries_are_few() {
    let it = setting().await;
    let early = it.sign_in(PASSWORD, 9).await;
    assert_eq!(early.0, StatusCode::CONFLICT);
    assert!(early.2.contains("no password yet"), "{}", early.2);
    it.set_up().await;
    for wrong in ["", "wrong", &"x".repeat(2_000), "%ff%fe"] {
        let (status, headers, _) = it.sign_in(wrong, 2).await;
        assert!(matches!(status, StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST));
        assert!(!headers.contains_key("set-cookie"));
    }
    let mut last = it.sign_in("wrong", 2).await;
    for _ in 0..10 {
        last = it.sign_in("wrong", 2).await;
    }
    assert_eq!(last.0, StatusCode::TOO_MANY_REQUESTS);
    assert!(last.2.contains("Too many tries") && last.1.contains_key("retry-after"));
    assert_eq!(it.sign_in(PASSWORD, 2).await.0, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(it.sign_in(PASSWORD, 3).await.0, StatusCode::SEE_OTHER, "others are not held up");
    it.time.advance(Duration::from_secs(30)).await;
    assert_eq!(it.sign_in(PASSWORD, 2).await.0, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_session_ends_by_time_by_rest_and_by_sign_out() {
    let it = setting().await;
    it.set_up().await;
    let session = async || cookie_of(&it.sign_in(PASSWORD, 1).await);

    let idle = session().await;
    it.time.advance(HOUR - Duration::from_secs(1)).await;
    assert!(it.is_in(&idle).await);
    it.time.advance(HOUR - Duration::from_secs(1)).await;
    assert!(it.is_in(&idle).await, "each use counts");
    it.time.advance(HOUR).await;
    assert!(!it.is_in(&idle).await);

    let busy = session().await;
    for _ in 0..23 {
        it.time.advance(HOUR / 2).await;
        assert!(it.is_in(&busy).await);
    }
    it.time.advance(HOUR / 2).await;
    assert!(!it.is_in(&busy).await, "twelve hours are over");

    let (one, other) = (session().await, session().await);
    let (status, headers, _) = it.post("/console/sign-out", &one, "").await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert!(headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert!(!it.is_in(&one).await && it.is_in(&other).await);
    let third = session().await;
    it.post("/console/sign-out-everywhere", &other, "").await;
    assert!(!it.is_in(&other).await && !it.is_in(&third).await);
}

#[tokio::test]
async fn a_new_password_ends_the_sessions_of_the_old_one() {
    let it = setting().await;
    let before = it.set_up().await;
    let token = token_of(&it.operator.shared.accounts.make_link().await.unwrap());
    let other = "もっと長い長い合言葉にした";
    cookie_of(&it.post("/console/setup", "", &set_up_form(&token, other)).await);
    assert!(!it.is_in(&before).await);
    assert_eq!(it.sign_in(PASSWORD, 4).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(it.sign_in(other, 4).await.0, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let it = setting().await;
    let token = token_of(&it.link().await);
    let foreign = async |path: &str, cookie: &str, form: &str| {
        let (status, _, body) = it.post_from(path, cookie, form, 1, "cross-site").await;
        assert!(body.contains(r#""code":"cross_site""#), "{body}");
        status
    };
    let form = set_up_form(&token, PASSWORD);
    assert_eq!(foreign("/console/setup", "", &form).await, StatusCode::FORBIDDEN);
    let cookie = cookie_of(&it.post("/console/setup", "", &form).await);
    assert_eq!(foreign("/console/sign-out", &cookie, "").await, StatusCode::FORBIDDEN);
    assert_eq!(foreign("/console/sign-in", "", "password=x").await, StatusCode::FORBIDDEN);
    assert!(it.is_in(&cookie).await);
}

#[tokio::test]
async fn without_a_session_a_browser_is_sent_to_sign_in_and_a_program_is_told() {
    let it = setting().await;
    it.set_up().await;
    for cookie in [
        "",
        "nagaya-operator=",
        "nagaya-operator=x",
        "=;;;",
        "nagaya-operator=0123456789012345678901234567890123456789",
    ] {
        let (status, headers, _) = it.get("/console", cookie).await;
        assert_eq!(
            (status, &headers["location"]),
            (StatusCode::SEE_OTHER, &"/console/sign-in".parse().unwrap())
        );
    }
    let program = Request::get("/console").body(Body::empty()).unwrap();
    let (status, _, body) = call(&it.routes, program).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(body.contains(r#""code":"session_missing""#), "{body}");
}

#[tokio::test]
async fn over_tls_the_cookie_is_bound_to_host_and_tls() {
    let it = setting().await;
    let token = token_of(&it.link().await);
    let request = Request::post("/console/setup")
        .header("sec-fetch-site", "same-origin")
        .header("content-type", "application/x-www-form-urlencoded");
    let mut request = request.body(Body::from(set_up_form(&token, PASSWORD))).unwrap();
    let client = Client { address: [192, 0, 2, 1].into(), secure: true, connection: None };
    request.extensions_mut().insert(client);
    let (_, headers, _) = call(&it.routes, request).await;
    let cookie = headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("__Host-nagaya-operator="), "{cookie}");
    for part in ["; Path=/", "; Max-Age=43200", "; HttpOnly", "; SameSite=Strict", "; Secure"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let pair = cookie.split(';').next().unwrap();
    let mut request = Request::get("/console").header("cookie", pair).body(Body::empty()).unwrap();
    request.extensions_mut().insert(client);
    assert_eq!(call(&it.routes, request).await.0, StatusCode::OK);
    assert!(!it.is_in(pair).await, "not without TLS");
}

#[tokio::test]
async fn the_pages_speak_japanese_to_who_reads_it() {
    let it = setting().await;
    let link = it.link().await;
    for (path, word) in [
        (link.as_str(), "長屋の初期設定"),
        ("/console/sign-in", "ログイン"),
        ("/console/setup?token=x", "このリンクは使えません"),
    ] {
        let request = Request::get(path).header("accept-language", "ja-JP,ja;q=0.9,en;q=0.8");
        let (_, _, body) = call(&it.routes, request.body(Body::empty()).unwrap()).await;
        assert!(body.contains(r#"<html lang="ja">"#) && body.contains(word), "{body}");
    }
}

#[tokio::test]
async fn neither_password_nor_link_nor_cookie_lies_in_the_table() {
    let it = setting().await;
    let token = token_of(&it.link().await);
    let scan = async || format!("{:?}", it.store.scan(Scan::new(CREDENTIALS)).await.unwrap().items);
    assert!(!scan().await.contains(&token));
    let form = set_up_form(&token, PASSWORD);
    let cookie = cookie_of(&it.post("/console/setup", "", &form).await);
    let session = cookie.split_once('=').unwrap().1.to_owned();
    let text = scan().await;
    assert!(text.contains("$argon2id$"), "{text}");
    assert!(!text.contains(PASSWORD) && !text.contains(&session) && !text.contains(&token));
}

#[tokio::test]
async fn signing_in_leads_back_to_the_page_that_was_asked_for_and_to_no_other_house() {
    let mut it = setting().await;
    let cookie = it.set_up().await;
    let room = it.operator.guard(Router::new().route("/room/desk", get(async || "desk")));
    it.routes = it.routes.merge(room);
    let (status, headers, _) = it.get("/room/desk", "").await;
    let sign_in = headers["location"].to_str().unwrap();
    assert_eq!((status, sign_in), (StatusCode::SEE_OTHER, "/console/sign-in?next=/room/desk"));
    let (_, _, page) = it.get(sign_in, "").await;
    assert!(page.contains(r#"name="next" value="/room/desk""#), "{page}");
    let (_, headers, _) = it.get(sign_in, &cookie).await;
    assert_eq!(headers["location"], "/room/desk");
    for (host, next, leads_to) in [
        (2, "/room/desk", "/room/desk"),
        (3, "//evil.example", "/console"),
        (4, "/%5Cevil.example", "/console"),
        (5, "https:%2F%2Fevil.example", "/console"),
        (6, "", "/console"),
    ] {
        let form = format!("password={PASSWORD}&next={next}");
        let answer = it.post_from("/console/sign-in", "", &form, host, "same-origin").await;
        let (status, headers, _) = answer;
        let location = headers["location"].to_str().unwrap();
        assert_eq!((status, location), (StatusCode::SEE_OTHER, leads_to), "{next}");
    }
}

#[tokio::test]
async fn a_key_or_a_session_opens_routes_for_both() {
    let it = setting().await;
    let cookie = it.set_up().await;
    let (clock, _time) = Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000));
    let keys = Keys::new(it.store.clone(), clock.clone(), Ids::new(clock, Random::seeded(2)));
    let key = keys.create("me", &["room".to_owned()], None).await.unwrap().text;
    let desk = Router::new().route("/desk", get(async || "desk").post(async || "done"));
    let desk = it.operator.guard_or_key(desk, &keys, "room:operate");
    let ask = async |method: &str, headers: &[(&str, &str)]| {
        let request = Request::builder().method(method).uri("/desk");
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let (status, headers, body) = call(&desk, request.body(Body::empty()).unwrap()).await;
        let location = headers.get("location").map(|to| to.to_str().unwrap().to_owned());
        (status.as_u16(), location, body)
    };
    let (cookie, page) = (("cookie", cookie.as_str()), ("accept", "text/html"));
    let own = ("sec-fetch-site", "same-origin");
    assert_eq!(ask("GET", &[cookie]).await.2, "desk");
    assert_eq!(ask("POST", &[cookie, own]).await.2, "done");
    assert_eq!(ask("POST", &[("x-api-key", &key)]).await.2, "done");
    // A page of another site has the cookie at most, and no key.
    assert_eq!(ask("POST", &[cookie, ("sec-fetch-site", "cross-site")]).await.0, 403);
    // A wrong key is not made good by a session.
    assert_eq!(ask("GET", &[cookie, ("x-api-key", "nk_x")]).await.0, 401);
    assert!(ask("GET", &[]).await.2.contains(r#""code":"key_missing""#));
    let gone = Some("/console/sign-in?next=/desk".to_owned());
    assert_eq!(ask("GET", &[page]).await.1, gone);
    // A form that was sent too late is not sent again by itself.
    let (status, location, _) = ask("POST", &[page, own]).await;
    assert_eq!((status, location.as_deref()), (303, Some("/console/sign-in")));
}

#[tokio::test]
async fn browsers_that_are_signed_in_are_listed_and_those_that_are_not_are_not() {
    let it = setting().await;
    assert_eq!(it.operator.list_sessions().await.unwrap(), []);
    let token = token_of(&it.link().await);
    cookie_of(&it.post("/console/setup", "", &set_up_form(&token, PASSWORD)).await);
    it.time.advance(HOUR / 2).await;
    let second = cookie_of(&it.sign_in(PASSWORD, 2).await);
    let listed = it.operator.list_sessions().await.unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0].since.since(listed[1].since), HOUR / 2, "the newest first");
    it.post("/console/sign-out", &second, "").await;
    assert_eq!(it.operator.list_sessions().await.unwrap().len(), 1);
    it.time.advance(HOUR).await;
    assert_eq!(it.operator.list_sessions().await.unwrap(), [], "nobody used it for an hour");
}

#[tokio::test]
async fn a_browser_is_known_by_name_and_address_and_ended_alone() {
    let it = setting().await;
    let first = it.set_up().await;
    it.time.advance(HOUR / 10).await;
    let phone = "Mozilla/5.0 (Linux; Android 10; K) Chrome/140.0.0.0 Mobile Safari/537.36";
    let request = Request::post("/console/sign-in")
        .header("sec-fetch-site", "same-origin")
        .header("user-agent", phone)
        .header("content-type", "application/x-www-form-urlencoded");
    let mut request = request.body(Body::from(format!("password={PASSWORD}"))).unwrap();
    let address = [192, 0, 2, 9].into();
    request.extensions_mut().insert(Client { address, secure: false, connection: None });
    let second = cookie_of(&call(&it.routes, request).await);
    let listed = it.operator.list_sessions().await.unwrap();
    let known: Vec<_> =
        listed.iter().map(|one| (one.browser.as_deref(), one.from.as_deref())).collect();
    assert_eq!(known, [(Some("Chrome, Android"), Some("192.0.2.9")), (None, Some("192.0.2.1"))]);
    // Neither what the browser holds nor what the table holds can be told from the id.
    let held = second.split('=').nth(1).unwrap();
    assert!(!held.contains(&listed[0].id) && !secret::digest(held).contains(&listed[0].id));
    for _ in 0..2 {
        it.operator.end_session(&listed[0].id).await.unwrap();
    }
    assert!(!it.is_in(&second).await);
    assert!(it.is_in(&first).await);
    assert_eq!(it.operator.list_sessions().await.unwrap().len(), 1);
    it.operator.end_session("none").await.unwrap();
    assert!(it.is_in(&first).await, "an id that is none ends nothing");
}

#[tokio::test]
async fn a_stream_ends_soon_after_its_session_and_keeps_it_alive_till_then() {
    let it = setting().await;
    let (listening, other) = (it.set_up().await, cookie_of(&it.sign_in(PASSWORD, 2).await));
    let stream = it.get("/console/events", &listening);
    tokio::pin!(stream);
    // Longer than a browser may rest that listens to nothing.
    for _ in 0..8 {
        tokio::select! {
            biased;
            _ = &mut stream => panic!("the stream ended before its session"),
            () = it.time.advance(HOUR / 4) => {}
        }
    }
    assert!(!it.is_in(&other).await, "nobody used it for hours");
    assert!(it.is_in(&listening).await);
    it.post("/console/sign-out", &listening, "").await;
    let ends = async {
        for _ in 0..20 {
            it.time.advance(SESSION_LOOK).await;
        }
    };
    tokio::select! {
        (status, _, body) = &mut stream => assert_eq!((status, body.as_str()), (StatusCode::OK, "")),
        () = ends => panic!("the stream goes on without its session"),
    }
}

#[tokio::test]
async fn what_changes_something_is_audited_in_a_chain_that_shows_a_break() {
    let it = setting().await;
    assert_eq!(it.operator.list_deeds().await.unwrap().deeds, []);
    let cookie = it.set_up().await;
    assert_eq!(it.sign_in("wrong", 7).await.0, StatusCode::UNAUTHORIZED);
    assert!(it.is_in(&cookie).await);
    it.post("/console/sign-out", &cookie, "").await;
    let audited = it.operator.list_deeds().await.unwrap();
    let deeds = audited.deeds.iter();
    let told: Vec<_> =
        deeds.map(|deed| (deed.number, deed.request.as_str(), deed.status)).collect();
    assert_eq!(
        told,
        [
            (3, "POST /console/sign-out", 303),
            (2, "POST /console/sign-in", 401),
            (1, "POST /console/setup", 303),
        ]
    );
    assert!(audited.is_whole);
    assert_eq!(audited.deeds[1].from, "192.0.2.7");
    // No word of it holds what was sent.
    assert!(!format!("{audited:?}").contains(PASSWORD));
    for (number, change) in [(2, true), (3, false)] {
        let it = setting().await;
        it.set_up().await;
        for _ in 0..3 {
            it.sign_in("wrong", 8).await;
        }
        let key = Item::new().with("pk", "audit").with("sk", format!("{number:020}"));
        match change {
            true => drop(it.store.update(Update::new(CREDENTIALS, key).set("status", 200)).await),
            false => drop(it.store.delete(Delete::new(CREDENTIALS, key)).await),
        }
        assert!(!it.operator.list_deeds().await.unwrap().is_whole, "{number}");
    }
}

#[tokio::test]
async fn the_way_in_remembers_the_language_and_offers_the_other() {
    let it = setting().await;
    let (status, headers, page) = it.get("/console/sign-in?next=/mesh/class&lang=ja", "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(headers["set-cookie"].to_str().unwrap().starts_with("lang=ja;"), "{headers:?}");
    assert!(
        page.contains("lang=\"ja\"") && page.contains("?next=/mesh/class&amp;lang=en"),
        "{page}"
    );
    let (_, _, page) = it.get("/console/sign-in", "lang=ja").await;
    assert!(page.contains("<html lang=\"ja\""), "{page}");
}

#[tokio::test]
async fn strangers_write_a_hundred_entries_of_the_audit_an_hour_and_no_more() {
    let it = setting().await;
    it.set_up().await;
    for number in 0..500_u32 {
        let host = u8::try_from(number % 250).unwrap();
        it.post_from("/console/sign-in", "", "nonsense", host, "same-origin").await;
        it.post_from("/console/setup", "", "token=x", host, "same-origin").await;
    }
    let entries = async || {
        let query = table::Query::new(CREDENTIALS, "pk", "audit");
        table::query_all(&*it.store, query).await.unwrap().len()
    };
    // The head of the chain, the set-up, and a hundred failures.
    assert_eq!(entries().await, 1 + 1 + 100);
    cookie_of(&it.sign_in(PASSWORD, 251).await);
    assert_eq!(entries().await, 1 + 1 + 100 + 1, "who gets in is remembered");
}

#[tokio::test]
async fn nobody_of_the_same_address_keeps_the_operator_from_using_a_link() {
    let it = setting().await;
    let token = token_of(&it.link().await);
    for _ in 0..30 {
        it.sign_in("guess", 1).await;
        it.post("/console/setup", "", &set_up_form("guess", PASSWORD)).await;
    }
    assert_eq!(it.sign_in("guess", 1).await.0, StatusCode::TOO_MANY_REQUESTS);
    cookie_of(&it.post("/console/setup", "", &set_up_form(&token, PASSWORD)).await);
}

#[tokio::test]
async fn signing_in_with_the_right_password_is_no_try() {
    let it = setting().await;
    it.set_up().await;
    for _ in 0..20 {
        cookie_of(&it.sign_in(PASSWORD, 1).await);
    }
}

#[tokio::test]
async fn instances_that_start_together_print_one_valid_link() {
    let it = setting().await;
    let instance = |seed| {
        let options = OperatorOptions::default();
        Operator::new(it.store.clone(), &options, &it.clock, Random::seeded(seed), &Tasks::new())
    };
    let instances: Vec<Operator> = (2..8).map(instance).collect();
    let starting = instances.iter().map(Operator::find_shared_link);
    let links = futures_util::future::join_all(starting).await;
    let links: Vec<String> = links.into_iter().filter_map(Result::unwrap).collect();
    let [link] = links.as_slice() else { panic!("{links:?}") };
    assert_eq!(it.get(link, "").await.0, StatusCode::OK);

    it.time.advance(STARTED_TOGETHER).await;
    let later = instance(9).find_shared_link().await.unwrap().unwrap();
    assert_eq!(it.get(link, "").await.0, StatusCode::GONE, "a later start prints a new one");
    let form = set_up_form(&token_of(&later), PASSWORD);
    cookie_of(&it.post("/console/setup", "", &form).await);
    it.time.advance(STARTED_TOGETHER).await;
    assert_eq!(instance(10).find_shared_link().await.unwrap(), None);
}
