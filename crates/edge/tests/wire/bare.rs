//! A listener without rooms: the head of a request is judged before its body is read.

use std::sync::Arc;

use axum::http::{Request, Response};
use base::Clock;
use bytes::Bytes;
use edge::{Answered, Bare, Bound, Failure, Head, Options, Parts, Readiness, Server};
use testkit::{Answer, wait};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{options, read};

/// Reads the bodies of those who say `please`, up to `bytes_max`, and tells their length.
async fn listen(bytes_max: usize, options: Options) -> Server {
    let admit = move |head: &Parts| match head.headers.get("say").map(|say| say.as_bytes()) {
        Some(b"please") => Head::Read(bytes_max),
        Some(_) => Head::Ignore,
        None => Head::Answer(Response::builder().status(401).body(Bytes::new()).unwrap()),
    };
    let answer = |request: Request<Bytes>| -> Answered {
        let length = request.body().len();
        Box::pin(async move { Response::new(Bytes::from(length.to_string())) })
    };
    let refuse = |failure: &Failure| {
        let response = Response::builder().status(failure.status());
        response.body(Bytes::from_static(failure.code().as_bytes())).unwrap()
    };
    let bare = Bare { admit: Arc::new(admit), answer: Arc::new(answer), refuse: Arc::new(refuse) };
    let listen = ([127, 0, 0, 1], 0).into();
    let options = Options { listen, ..options };
    let bound = Bound::at(options.listen).unwrap();
    Server::start_bare(&options, bound, bare, Clock::real(), Readiness::new()).await.unwrap()
}

fn head(say: &str, length: usize) -> String {
    format!(
        "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{say}content-length: {length}\r\n\r\n"
    )
}

async fn begin(server: &Server, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn ask(server: &Server, request: &str) -> Answer {
    wait::bounded("an answer", read(begin(server, request).await)).await
}

#[testkit::test]
async fn a_body_is_not_read_before_its_head_is_let_in() {
    let server = listen(1_000, options()).await;
    // No byte of these bodies is ever sent.
    assert_eq!(ask(&server, &head("", 900)).await.status, 401);
    assert_eq!(ask(&server, &head("say: hello\r\n", 900)).await.text(), "0");
    let large = ask(&server, &head("say: please\r\n", 1_001)).await;
    assert_eq!((large.status, large.text()), (413, "body_too_large"));
    let whole = head("say: please\r\n", 1_000) + &"x".repeat(1_000);
    assert_eq!(ask(&server, &whole).await.text(), "1000");
    let twice = whole.replace("host: x\r\n", "host: x\r\nhost: y\r\n");
    assert_eq!(ask(&server, &twice).await.text(), "invalid_host");
    server.drain().await.unwrap();
}

#[testkit::test]
async fn all_bodies_together_have_a_bound() {
    let options = Options { known_bytes_max: 100_000, ..options() };
    let server = listen(90_000, options).await;
    let first = begin(&server, &(head("say: please\r\n", 80_000) + &"x".repeat(79_000))).await;
    let refused = wait::until_async("the first refusal", async || {
        let answer = ask(&server, &(head("say: please\r\n", 50_000) + &"x".repeat(50_000))).await;
        if answer.status == 503 { Ok(answer) } else { Err(answer) }
    })
    .await;
    assert_eq!(refused.text(), "bodies_full");
    drop(first);
    wait::until_async("room for a body", async || {
        let answer = ask(&server, &(head("say: please\r\n", 50_000) + &"x".repeat(50_000))).await;
        wait::holds(answer.status == 200, answer)
    })
    .await;
    server.drain().await.unwrap();
}
