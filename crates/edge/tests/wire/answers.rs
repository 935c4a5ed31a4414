//! What the server answers when all is well, and when there is nothing to answer.

use axum::Router;
use axum::http::HeaderValue;
use axum::routing::{get, post};
use edge::{Failure, Json, Page, Path, Query, StatusCode, Tagged};
use serde::Deserialize;
use std::time::Duration;

use crate::support::Site;

#[testkit::test]
async fn the_house_answers_about_itself() {
    let site = Site::open(Router::new()).await;
    assert_eq!(site.get("/livez").await.text(), "alive\n");
    assert_eq!(site.get("/readyz").await.text(), "ready\n");
    let version = site.get("/version").await;
    assert_eq!(version.text(), r#"{"name":"house","version":"1.2.3","commit":"abc"}"#);
    let metrics = site.get("/metrics").await;
    assert!(metrics.text().contains(r#"nagaya_build_info{version="1.2.3",commit="abc"} 1"#));
    for metric in [
        r#"nagaya_http_requests_total{method="GET",route="/livez",status="200"} "#,
        r#"nagaya_http_request_seconds_bucket{method="GET",route="/livez",le="0.1"} "#,
        "nagaya_http_connections ",
        "nagaya_http_requests_under_way 1",
    ] {
        assert!(metrics.text().contains(metric), "{metric}: {}", metrics.text());
    }

    site.readiness.set_red("store", "it has stopped writing");
    let red = site.get("/readyz").await;
    red.is_problem_of(503, "not_ready", "store: it has stopped writing");
    site.readiness.set_green("store");
    assert_eq!(site.get("/readyz").await.status, 200);
    site.still_serves().await;
}

#[testkit::test]
async fn what_is_not_there_is_a_problem() {
    let site = Site::open(Router::new()).await;
    let nothing = site.get("/nothing?x=1").await;
    nothing.is_problem_of(404, "not_found", "there is nothing at `/nothing`");
    for method in ["PUT", "OPTIONS", "BREW"] {
        let request = format!("{method} /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let wrong = site.ask(request).await;
        let detail = format!("`/livez` does not take {method}");
        wrong.is_problem_of(405, "method_not_allowed", &detail);
        assert_eq!(wrong.header("allow"), Some("GET,HEAD"));
    }
    let everything = site.ask("OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    everything.is_problem_of(404, "not_found", "there is nothing at `*`");
    site.still_serves().await;
}

#[testkit::test]
async fn a_person_is_told_of_a_failure_by_a_page_and_a_program_by_a_problem() {
    let busy = || {
        let failure = Failure::new(StatusCode::TOO_MANY_REQUESTS, "busy", "the <b>disk</b> spins");
        failure.retry_after(Duration::from_secs(7))
    };
    let routes = Router::new().route("/busy", get(move || async move { busy() }));
    let site = Site::open(routes).await;
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let ask = |path: &str, accept: &str, more: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n{more}");
        site.ask(format!("{head}connection: close\r\n\r\n"))
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
    // Its files are there, on every server.
    for file in text.split("href=\"/house/").skip(1) {
        let path = format!("/house/{}", file.split('"').next().unwrap());
        assert_eq!(site.get(&path).await.status, 200, "{path}");
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
        problem.is_problem_of(404, "not_found", "there is nothing at `/nowhere`");
    }
    site.still_serves().await;
}

#[testkit::test]
async fn a_head_is_answered_without_its_body() {
    let site = Site::open(Router::new()).await;
    let request = "HEAD /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answer = site.ask(request).await;
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(answer.header("content-length"), Some("49"));
    site.still_serves().await;
}

#[testkit::test]
async fn a_problem_has_all_its_members() {
    let busy = || async {
        Failure::new(StatusCode::TOO_MANY_REQUESTS, "busy", "come later")
            .retry_after(Duration::from_millis(1_500))
    };
    let mine = || async {
        Failure::new(StatusCode::CONFLICT, "taken", "it is taken").in_japanese("使われています")
    };
    let routes = Router::new().route("/busy", get(busy)).route("/mine", get(mine));
    let site = Site::open(routes).await;
    let busy = site.get("/busy").await;
    let trace_id = busy.header("traceparent").unwrap().split('-').nth(1).unwrap().to_owned();
    let expected = serde_json::json!({
        "type": "about:blank", "title": "Too Many Requests", "status": 429, "code": "busy", "detail": "come later",
        "instance": "/busy",
        "message": "come later", "retryable": true, "traceId": trace_id,
    });
    assert_eq!(busy.json(), expected);
    assert_eq!(busy.header("retry-after"), Some("2"));
    assert_eq!(busy.header("cache-control"), Some("no-store"));
    let mine = site.get("/mine").await.json();
    assert_eq!((&mine["retryable"], &mine["detail"]), (&false.into(), &"it is taken".into()));
    let mine = site.get_with("/mine", "accept-language: ja-JP, en;q=0.5\r\n").await.json();
    assert_eq!(mine["detail"], "使われています");
    site.still_serves().await;
}

#[testkit::test]
async fn the_houses_own_failures_follow_the_callers_language() {
    let routes = Router::new()
        .route("/broken", get(|| async { Failure::internal("the store is gone") }))
        .route("/query", get(|Query(step): Query<Move>| async move { step.x.to_string() }));
    let site = Site::open(routes).await;
    let cases =
        [("/nothing", "not_found"), ("/broken", "internal"), ("/query?x=many", "invalid_query")];
    for (path, code) in cases {
        let told = site.get_with(path, "accept-language: ja\r\n").await.json();
        let detail = told["detail"].as_str().unwrap();
        assert_eq!((&told["code"], &told["type"]), (&code.into(), &"about:blank".into()));
        assert!(detail.chars().any(|letter| letter > '\u{3000}'), "{code}: {detail}");
        let told = site.get(path).await.json();
        assert!(told["detail"].as_str().unwrap().is_ascii(), "{told}");
    }
    site.still_serves().await;
}

#[derive(Deserialize)]
struct Move {
    x: u8,
}

#[testkit::test]
async fn what_cannot_be_read_is_named() {
    let routes = Router::new()
        .route("/json", post(|Json(step): Json<Move>| async move { step.x.to_string() }))
        .route("/query", get(|Query(step): Query<Move>| async move { step.x.to_string() }))
        .route("/name/{name}", get(|Path(name): Path<String>| async move { name }))
        .route("/step/{x}", get(|Path(x): Path<u8>| async move { x.to_string() }));
    let site = Site::open(routes).await;
    let post = async |kind: &str, body: &str| {
        let length = body.len();
        site.ask(format!(
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
        (site.get("/query?x=many").await, 400, "invalid_query"),
        (site.get("/query").await, 400, "invalid_query"),
        (site.get("/step/many").await, 400, "invalid_path"),
        (site.get("/name/%ff%fe").await, 400, "invalid_path"),
    ];
    for (answer, status, code) in cases {
        let told = answer.json();
        assert_eq!((answer.status, told["code"].as_str()), (status, Some(code)), "{answer:?}");
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.starts_with(|letter: char| letter.is_lowercase()), "{detail}");
    }
    assert_eq!(site.get("/name/%E8%8A%B1").await.text(), "花");
    site.still_serves().await;
}

#[testkit::test]
async fn a_page_allows_no_script_but_its_own_files() {
    let page = || async { Page::new(maud::html! { p { "<script>" } }) };
    let site = Site::open(Router::new().route("/page", get(page))).await;
    let page = site.get("/page").await;
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
        assert_eq!(site.get(path).await.header("x-content-type-options"), Some("nosniff"));
    }
    site.still_serves().await;
}

#[testkit::test]
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
    let site = Site::open(routes).await;
    let gzip = "accept-encoding: br;q=1, gzip;q=0.5\r\n";
    for path in ["/long", "/json", "/tagged"] {
        let small = site.get_with(path, gzip).await;
        assert_eq!(small.header("content-encoding"), Some("gzip"), "{path}");
        assert!(small.body.len() < 1_000 && small.head.contains("accept-encoding"), "{path}");
        let plain = site.get(path).await;
        assert_eq!((plain.header("content-encoding"), plain.text()), (None, long.as_str()));
    }
    for path in ["/short", "/events", "/picture"] {
        assert_eq!(site.get_with(path, gzip).await.header("content-encoding"), None, "{path}");
    }

    let tag = site.get("/tagged").await.header("etag").unwrap().to_owned();
    let weak = site.get_with("/tagged", gzip).await.header("etag").unwrap().to_owned();
    assert_eq!(weak, format!("W/{tag}"), "other bytes, so not the same strong tag");
    for known in [tag, weak] {
        let headers = format!("{gzip}if-none-match: \"x\", {known}\r\n");
        let answer = site.get_with("/tagged", &headers).await;
        assert_eq!((answer.status, answer.body.len()), (304, 0));
        assert!(answer.header("etag").is_some());
    }
    site.still_serves().await;
}

/// Routes whose failures are longer than what is compressed: by a problem, and by an answer of the
/// room's own, as GraphQL has.
pub(crate) fn long_failures() -> Router {
    let long = || "long ".repeat(1_000);
    let problem = move || async move { Failure::new(StatusCode::BAD_REQUEST, "long", long()) };
    let graphql = move || async move {
        let errors = serde_json::json!({ "errors": [{ "message": long() }] });
        (StatusCode::BAD_REQUEST, axum::Json(errors))
    };
    Router::new().route("/problem", get(problem)).route("/graphql", get(graphql))
}

#[testkit::test]
async fn a_long_failure_is_what_its_encoding_says() {
    let site = Site::open(long_failures()).await;
    let long = "long ".repeat(1_000);
    let gzip = "accept-encoding: gzip, deflate, br\r\n";
    let problem = site.get_with("/problem", gzip).await;
    assert_eq!(problem.header("content-encoding"), None);
    problem.is_problem_of(400, "long", &long);
    let nothing = site.get_with(&format!("/{}", "x".repeat(2_000)), gzip).await;
    assert_eq!((nothing.header("content-encoding"), nothing.status), (None, 404));
    nothing.is_problem(404, "not_found");
    let page = site.get_with("/problem", &format!("{gzip}accept: text/html\r\n")).await;
    assert_eq!((page.header("content-encoding"), page.status), (None, 400));
    assert!(page.text().contains(long.trim_end()), "{}", page.text());
    let graphql = site.get_with("/graphql", gzip).await;
    assert_eq!((graphql.header("content-encoding"), graphql.status), (Some("gzip"), 400));
    assert!(graphql.body.starts_with(&[0x1f, 0x8b]), "{:?}", graphql.body.get(..20));
    site.still_serves().await;
}
