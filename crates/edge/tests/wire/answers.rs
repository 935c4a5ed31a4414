//! What the house answers when all is well, and when there is nothing to answer.

use axum::Router;
use axum::http::HeaderValue;
use axum::routing::{get, post};
use edge::{Failure, Json, Page, Path, Query, StatusCode, Tagged};
use serde::Deserialize;
use std::time::Duration;

use crate::support::House;

#[tokio::test]
async fn the_house_answers_about_itself() {
    let house = House::open(Router::new()).await;
    assert_eq!(house.get("/livez").await.text(), "alive\n");
    assert_eq!(house.get("/readyz").await.text(), "ready\n");
    let version = house.get("/version").await;
    assert_eq!(version.text(), r#"{"name":"house","version":"1.2.3","commit":"abc"}"#);
    let metrics = house.get("/metrics").await;
    assert!(metrics.text().contains(r#"nagaya_build_info{version="1.2.3",commit="abc"} 1"#));
    for metric in [
        r#"nagaya_http_requests_total{method="GET",route="/livez",status="200"} "#,
        r#"nagaya_http_request_seconds_bucket{method="GET",route="/livez",le="0.1"} "#,
        "nagaya_http_connections ",
        "nagaya_http_requests_under_way 1",
    ] {
        assert!(metrics.text().contains(metric), "{metric}: {}", metrics.text());
    }

    house.readiness.set_red("store", "it has stopped writing");
    let red = house.get("/readyz").await;
    red.assert_problem(503, "not_ready", "store: it has stopped writing");
    house.readiness.set_green("store");
    assert_eq!(house.get("/readyz").await.status, 200);
    house.still_serves().await;
}

#[tokio::test]
async fn what_is_not_there_is_a_problem() {
    let house = House::open(Router::new()).await;
    let nothing = house.get("/nothing?x=1").await;
    nothing.assert_problem(404, "not_found", "there is nothing at `/nothing`");
    for method in ["PUT", "OPTIONS", "BREW"] {
        let request = format!("{method} /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let wrong = house.ask(request).await;
        let detail = format!("`/livez` does not take {method}");
        wrong.assert_problem(405, "method_not_allowed", &detail);
        assert_eq!(wrong.header("allow"), Some("GET,HEAD"));
    }
    let everything = house.ask("OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    everything.assert_problem(404, "not_found", "there is nothing at `*`");
    house.still_serves().await;
}

#[tokio::test]
async fn a_person_is_told_of_a_failure_by_a_page_and_a_program_by_a_problem() {
    let busy = || {
        let failure = Failure::new(StatusCode::TOO_MANY_REQUESTS, "busy", "the <b>disk</b> spins");
        failure.retry_after(Duration::from_secs(7))
    };
    let routes = Router::new().route("/busy", get(move || async move { busy() }));
    let house = House::open(routes).await;
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let ask = |path: &str, accept: &str, more: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n{more}");
        house.ask(format!("{head}connection: close\r\n\r\n"))
    };
    let page = ask("/nowhere", browser, "").await;
    assert_eq!(page.status, 404);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let text = page.text();
    assert!(text.contains("There is nothing here") && text.contains("not_found"), "{text}");
    assert!(text.contains("href=\"/\"") && text.contains("?lang=ja"), "{text}");
    assert!(!text.contains("<script"), "{text}");
    // Its files are there, in every house.
    for file in text.split("href=\"/house/").skip(1) {
        let path = format!("/house/{}", file.split('"').next().unwrap());
        assert_eq!(house.get(&path).await.status, 200, "{path}");
    }
    assert_eq!(text.matches("href=\"/house/").count(), 2, "{text}");
    let japanese = ask("/nowhere", browser, "accept-language: ja\r\n").await;
    assert!(japanese.text().contains("<html lang=\"ja\">"), "{}", japanese.text());
    assert!(japanese.text().contains("「/nowhere」には何もありません"), "{}", japanese.text());
    let chosen = ask("/nowhere?lang=en", browser, "accept-language: ja\r\n").await;
    assert!(chosen.text().contains("There is nothing here"), "{}", chosen.text());
    // What the failure says besides stays, and its trace leads to the log.
    let busy = ask("/busy", browser, "").await;
    assert_eq!((busy.status, busy.header("retry-after")), (429, Some("7")));
    let trace = busy.header("traceparent").unwrap().split('-').nth(1).unwrap();
    assert!(busy.text().contains("One moment, please") && busy.text().contains(trace));
    assert!(busy.text().contains("the &lt;b&gt;disk"), "{}", busy.text());
    for accept in ["*/*", "application/json", "application/json, text/html", "text/event-stream"] {
        let problem = ask("/nowhere", accept, "").await;
        problem.assert_problem(404, "not_found", "there is nothing at `/nowhere`");
    }
    house.still_serves().await;
}

#[tokio::test]
async fn a_head_is_answered_without_its_body() {
    let house = House::open(Router::new()).await;
    let request = "HEAD /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answer = house.ask(request).await;
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(answer.header("content-length"), Some("49"));
    house.still_serves().await;
}

#[tokio::test]
async fn a_problem_has_all_its_members() {
    let busy = || async {
        Failure::new(StatusCode::TOO_MANY_REQUESTS, "busy", "come later")
            .retry_after(Duration::from_millis(1_500))
    };
    let mine = || async {
        Failure::new(StatusCode::CONFLICT, "taken", "it is taken").in_japanese("使われています")
    };
    let routes = Router::new().route("/busy", get(busy)).route("/mine", get(mine));
    let house = House::open(routes).await;
    let busy = house.get("/busy").await;
    let trace_id = busy.header("traceparent").unwrap().split('-').nth(1).unwrap().to_owned();
    let expected = serde_json::json!({
        "type": "about:blank", "title": "Too Many Requests", "status": 429, "code": "busy", "detail": "come later",
        "instance": "/busy",
        "message": "come later", "retryable": true, "traceId": trace_id,
    });
    assert_eq!(busy.json(), expected);
    assert_eq!(busy.header("retry-after"), Some("2"));
    assert_eq!(busy.header("cache-control"), Some("no-store"));
    let mine = house.get("/mine").await.json();
    assert_eq!((&mine["retryable"], &mine["detail"]), (&false.into(), &"it is taken".into()));
    let mine = house.get_with("/mine", "accept-language: ja-JP, en;q=0.5\r\n").await.json();
    assert_eq!(mine["detail"], "使われています");
    house.still_serves().await;
}

#[tokio::test]
async fn the_houses_own_failures_follow_the_callers_language() {
    let routes = Router::new()
        .route("/broken", get(|| async { Failure::internal("the store is gone") }))
        .route("/query", get(|Query(step): Query<Move>| async move { step.x.to_string() }));
    let house = House::open(routes).await;
    let cases =
        [("/nothing", "not_found"), ("/broken", "internal"), ("/query?x=many", "invalid_query")];
    for (path, code) in cases {
        let told = house.get_with(path, "accept-language: ja\r\n").await.json();
        let detail = told["detail"].as_str().unwrap();
        assert_eq!((&told["code"], &told["type"]), (&code.into(), &"about:blank".into()));
        assert!(detail.chars().any(|letter| letter > '\u{3000}'), "{code}: {detail}");
        let told = house.get(path).await.json();
        assert!(told["detail"].as_str().unwrap().is_ascii(), "{told}");
    }
    house.still_serves().await;
}

#[derive(Deserialize)]
struct Move {
    x: u8,
}

#[tokio::test]
async fn what_cannot_be_read_is_named() {
    let routes = Router::new()
        .route("/json", post(|Json(step): Json<Move>| async move { step.x.to_string() }))
        .route("/query", get(|Query(step): Query<Move>| async move { step.x.to_string() }))
        .route("/name/{name}", get(|Path(name): Path<String>| async move { name }))
        .route("/step/{x}", get(|Path(x): Path<u8>| async move { x.to_string() }));
    let house = House::open(routes).await;
    let post = async |kind: &str, body: &str| {
        let length = body.len();
        house
            .ask(format!(
                "POST /json HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\n\
                 content-length: {length}\r\n\r\n{body}"
            ))
            .await
    };
    assert_eq!(post("application/json", r#"{"x":7}"#).await.text(), "7");
    let cases = [
        (post("application/json", "{").await, 400, "malformed_json"),
        (post("application/json", "{\"x\":\"\u{1}\"}").await, 400, "malformed_json"),
        (post("application/json", r#"{"x":300}"#).await, 422, "invalid_body"),
        (post("text/plain", "{}").await, 415, "not_json"),
        (house.get("/query?x=many").await, 400, "invalid_query"),
        (house.get("/query").await, 400, "invalid_query"),
        (house.get("/step/many").await, 400, "invalid_path"),
        (house.get("/name/%ff%fe").await, 400, "invalid_path"),
    ];
    for (answer, status, code) in cases {
        let told = answer.json();
        assert_eq!((answer.status, told["code"].as_str()), (status, Some(code)), "{answer:?}");
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.starts_with(|letter: char| letter.is_lowercase()), "{detail}");
    }
    assert_eq!(house.get("/name/%E8%8A%B1").await.text(), "花");
    house.still_serves().await;
}

#[tokio::test]
async fn a_page_allows_no_script_but_its_own_files() {
    let page = || async { Page::new(maud::html! { p { "<script>" } }) };
    let house = House::open(Router::new().route("/page", get(page))).await;
    let page = house.get("/page").await;
    assert_eq!(page.text(), "<p>&lt;script&gt;</p>");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(policy.contains("require-trusted-types-for 'script'") && !policy.contains("-inline"));
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    for path in ["/page", "/livez", "/nothing", "/openapi"] {
        assert_eq!(house.get(path).await.header("x-content-type-options"), Some("nosniff"));
    }
    house.still_serves().await;
}

#[tokio::test]
async fn text_is_compressed_for_who_asks_and_events_never_are() {
    let typed = |kind: &'static str, body: String| {
        get(move || async move { ([("content-type", kind)], body) })
    };
    let long = "long text ".repeat(1_000);
    let tagged = Tagged::new(HeaderValue::from_static("text/plain"), long.clone());
    let routes = Router::new()
        .route("/long", typed("text/plain", long.clone()))
        .route("/json", typed("application/problem+json", long.clone()))
        .route("/short", typed("text/plain", "short".to_owned()))
        .route("/events", typed("text/event-stream", long.clone()))
        .route("/picture", typed("image/png", long.clone()))
        .route(
            "/tagged",
            get(|headers: axum::http::HeaderMap| async move { tagged.answer(&headers) }),
        );
    let house = House::open(routes).await;
    let gzip = "accept-encoding: br;q=1, gzip;q=0.5\r\n";
    for path in ["/long", "/json", "/tagged"] {
        let small = house.get_with(path, gzip).await;
        assert_eq!(small.header("content-encoding"), Some("gzip"), "{path}");
        assert!(small.body.len() < 1_000 && small.head.contains("accept-encoding"), "{path}");
        let plain = house.get(path).await;
        assert_eq!((plain.header("content-encoding"), plain.text()), (None, long.as_str()));
    }
    for path in ["/short", "/events", "/picture"] {
        assert_eq!(house.get_with(path, gzip).await.header("content-encoding"), None, "{path}");
    }

    let tag = house.get("/tagged").await.header("etag").unwrap().to_owned();
    let weak = house.get_with("/tagged", gzip).await.header("etag").unwrap().to_owned();
    assert_eq!(weak, format!("W/{tag}"), "other bytes, so not the same strong tag");
    for known in [tag, weak] {
        let headers = format!("{gzip}if-none-match: \"x\", {known}\r\n");
        let answer = house.get_with("/tagged", &headers).await;
        assert_eq!((answer.status, answer.body.len()), (304, 0));
        assert!(answer.header("etag").is_some());
    }
    house.still_serves().await;
}
