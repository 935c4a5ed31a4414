//! Heads that are no heads: malformed, too large, not text.

use axum::Router;

use crate::support::Site;

#[testkit::test]
async fn what_is_not_http_is_told_so() {
    let site = Site::open(Router::new()).await;
    for nonsense in [
        &b"hello\r\n\r\n"[..],
        b"GET / HTTP/3.7\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: a\x00b\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: x\r\n\x01\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\nhello",
    ] {
        let answer = site.ask(nonsense).await;
        answer.is_problem_of(400, "malformed_request", "the request is not HTTP");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    let metrics = site.get("/metrics").await;
    let counted = r#"nagaya_http_refused_heads_total{code="malformed_request"} 8"#;
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    site.still_serves().await;
}

#[testkit::test]
async fn a_head_past_its_bound_is_told_the_bound() {
    let site = Site::open(Router::new()).await;
    let long = format!("GET /livez HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "x".repeat(20_000));
    let detail = "the request's head has more than 16384 bytes";
    site.ask(long).await.is_problem_of(431, "head_too_large", detail);
    let many = format!("GET /livez HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(1_000));
    assert_eq!(site.ask(many).await.status, 431);
    let fits = format!("x: {}\r\n", "x".repeat(15_000));
    assert_eq!(site.get_with("/livez", &fits).await.status, 200);
    site.still_serves().await;
}

#[testkit::test]
async fn a_target_that_is_not_text_finds_nothing() {
    let site = Site::open(Router::new()).await;
    for target in ["/%ff%fe", "/livez/%00", "/livez?%ff=%fe&%zz", "//livez", "/../livez"] {
        let answer = site.get(target).await;
        assert!([200, 404].contains(&answer.status), "{target}: {answer:?}");
    }
    let raw = site.ask(b"GET /\xe3\x81 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert!([400, 404].contains(&raw.status), "{raw:?}");
    assert!(raw.header("content-type") == Some("application/problem+json"), "{raw:?}");
    site.still_serves().await;
}

#[testkit::test]
async fn an_answer_before_the_nonsense_leaves_whole() {
    let site = Site::open(Router::new()).await;
    let pipelined = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n";
    let answer = site.ask(pipelined).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().starts_with("alive\nHTTP/1.1 400 "), "{answer:?}");
    site.still_serves().await;
}
