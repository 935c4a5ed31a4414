//! Pages of other origins.

use axum::Router;
use axum::routing::{get, post};
use base::options::Value;
use edge::{Cors, Options, OriginList, Room};
use testkit::Answer;

use crate::support::{Site, options};

const HERS: &str = "https://her.example";

async fn site() -> Site {
    let mut cors_origins = OriginList::default();
    assert!(cors_origins.read(HERS));
    let room = |name: &'static str, path: &str, cors| {
        let route = get(|| async { "hello" }).merge(post(|_: axum::body::Bytes| async { "taken" }));
        Room::new(name, Router::new().route(path, route)).with_cors(cors)
    };
    let rooms = vec![
        room("listed", "/listed", Cors::Listed),
        room("cookies", "/cookies", Cors::ListedWithCookies),
        room("anyone", "/anyone", Cors::Anyone),
        room("nobody", "/nobody", Cors::Nobody),
    ];
    let options = Options { cors_origins, ..options() };
    Site::of(rooms, options).await
}

async fn preflight(site: &Site, path: &str, origin: &str) -> Answer {
    site
        .ask(format!(
            "OPTIONS {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\norigin: {origin}\r\n\
             access-control-request-method: PUT\r\naccess-control-request-headers: x-api-key\r\n\r\n"
        ))
        .await
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

#[testkit::test]
async fn each_room_has_its_own_policy() {
    let site = site().await;
    let theirs = "https://their.example";
    for (path, origin, expected) in [
        ("/listed", HERS, Some(HERS)),
        ("/listed", theirs, None),
        ("/listed", "null", None),
        ("/cookies", HERS, Some(HERS)),
        ("/cookies", theirs, None),
        ("/anyone", theirs, Some("*")),
        ("/nobody", HERS, None),
        ("/livez", HERS, None),
        ("/openapi", theirs, Some("*")),
    ] {
        let answer = site.get_with(path, &format!("origin: {origin}\r\n")).await;
        assert_eq!((answer.status, allowed(&answer)), (200, expected), "{path} {origin}");
        assert_eq!(allowed(&preflight(&site, path, origin).await), expected, "{path} {origin}");
    }
    let cookies = site.get_with("/cookies", &format!("origin: {HERS}\r\n")).await;
    assert_eq!(cookies.header("access-control-allow-credentials"), Some("true"));
    let listed = site.get_with("/listed", &format!("origin: {HERS}\r\n")).await;
    assert_eq!(listed.header("access-control-allow-credentials"), None);
    assert!(listed.header("access-control-expose-headers").unwrap().contains("x-request-id"));
    assert!(listed.header("vary").unwrap().contains("origin"));
    site.still_serves().await;
}

#[testkit::test]
async fn a_preflight_says_what_may_be_sent() {
    let site = site().await;
    let answer = preflight(&site, "/listed", HERS).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("access-control-allow-methods").unwrap().contains("PUT"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("x-api-key"));
    assert_eq!(answer.header("access-control-max-age"), Some("7200"));
    site.still_serves().await;
}

#[testkit::test]
async fn a_page_can_read_why_it_failed() {
    let site = site().await;
    let long = format!(
        "POST /listed HTTP/1.1\r\nhost: x\r\nconnection: close\r\norigin: {HERS}\r\n\
         content-length: 5000\r\n\r\n"
    );
    let answer = site.ask(long).await;
    answer.is_problem_of(413, "body_too_large", "the body has more than 1024 bytes");
    assert_eq!(allowed(&answer), Some(HERS));
    site.still_serves().await;
}
