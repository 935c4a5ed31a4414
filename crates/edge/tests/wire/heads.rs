//! Heads that are no heads: malformed, too large, not text.

use axum::Router;

use crate::support::House;

#[tokio::test]
async fn what_is_not_http_is_told_so() {
    let house = House::open(Router::new()).await;
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
        let answer = house.ask(nonsense).await;
        answer.assert_problem(400, "malformed_request", "the request is not HTTP");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    let metrics = house.get("/metrics").await;
    let counted = r#"nagaya_http_refused_heads_total{code="malformed_request"} 8"#;
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    house.still_serves().await;
}

#[tokio::test]
async fn a_head_past_its_bound_is_told_the_bound() {
    let house = House::open(Router::new()).await;
    let long = format!("GET /livez HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "x".repeat(20_000));
    let detail = "the request's head has more than 16384 bytes";
    house.ask(long).await.assert_problem(431, "head_too_large", detail);
    let many = format!("GET /livez HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(1_000));
    assert_eq!(house.ask(many).await.status, 431);
    let fits = format!("x: {}\r\n", "x".repeat(15_000));
    assert_eq!(house.get_with("/livez", &fits).await.status, 200);
    house.still_serves().await;
}

#[tokio::test]
async fn a_target_that_is_not_text_finds_nothing() {
    let house = House::open(Router::new()).await;
    for target in ["/%ff%fe", "/livez/%00", "/livez?%ff=%fe&%zz", "//livez", "/../livez"] {
        let answer = house.get(target).await;
        assert!([200, 404].contains(&answer.status), "{target}: {answer:?}");
    }
    let raw = house.ask(b"GET /\xe3\x81 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert!([400, 404].contains(&raw.status), "{raw:?}");
    assert!(raw.header("content-type") == Some("application/problem+json"), "{raw:?}");
    house.still_serves().await;
}

#[tokio::test]
async fn an_answer_before_the_nonsense_leaves_whole() {
    let house = House::open(Router::new()).await;
    let pipelined = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n";
    let answer = house.ask(pipelined).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().starts_with("alive\nHTTP/1.1 400 "), "{answer:?}");
    house.still_serves().await;
}
