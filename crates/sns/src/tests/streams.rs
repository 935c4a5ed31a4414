//! What sockets and event streams hear, and when they close.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value as Json, json};
use testkit::{Stream, wait};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::{HOST, Network, PASSWORD, Person, person, roomy};

pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(super) async fn open(
        network: &Network,
        query: &str,
        token: Option<&str>,
    ) -> Result<Socket, u16> {
        let url = format!("ws://{}/sns/v1/ws{query}", network.addresses.all()[0]);
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", value);
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(tokio_tungstenite::tungstenite::Error::Http(answer)) => {
                Err(answer.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) async fn hear(&mut self) -> Option<Json> {
        loop {
            match wait::bounded("a message of the socket", self.0.next()).await?.ok()? {
                message if message.is_text() => {
                    assert!(!message.to_text().unwrap().contains(HOST), "{message}");
                    return Some(serde_json::from_str(message.to_text().unwrap()).unwrap());
                }
                message if message.is_close() => return None,
                _ => {}
            }
        }
    }

    async fn say(&mut self, said: Json) {
        self.0.send(said.to_string().into()).await.unwrap();
    }

    pub(super) async fn is_ready(&mut self, who: &Person) -> String {
        let told = self.hear().await.unwrap();
        assert_eq!(
            (&told["type"], &told["userId"], &told["gap"]),
            (&json!("ready"), &json!(who.id), &json!(false))
        );
        told["cursor"].as_str().unwrap().to_owned()
    }
}

async fn two(network: &Network) -> (Person, Person) {
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    network.sns.follow(bob.user(), ada.user()).await.unwrap();
    network.settle().await;
    (ada, bob)
}

#[testkit::test]
async fn a_socket_hears_what_happens_and_resumes_where_it_was() {
    // The cursors of a carrier that is shared go on where this one's end.
    let network = Network::alone(roomy()).await;
    let (ada, bob) = two(&network).await;
    let mut socket = Socket::open(&network, "", Some(&bob.token)).await.unwrap();
    socket.is_ready(&bob).await;
    let mut hers = Socket::open(&network, "", Some(&ada.token)).await.unwrap();
    hers.is_ready(&ada).await;
    let post = network.say(ada.user(), "hello").await;
    network.settle().await;
    let told = socket.hear().await.unwrap();
    assert_eq!((&told["type"], &told["postId"]), (&json!("newPost"), &json!(post.to_string())));
    assert_eq!(
        (&told["data"]["content"], &told["data"]["author"]["username"]),
        (&json!("hello"), &json!("ada"))
    );
    let cursor = told["cursor"].as_str().unwrap().to_owned();
    assert_eq!(hers.hear().await.unwrap()["type"], "newPost");
    network.sns.like(bob.user(), post).await.unwrap();
    network.settle().await;
    let told = hers.hear().await.unwrap();
    assert_eq!((&told["type"], &told["data"]["likesCount"]), (&json!("likesChanged"), &json!(1)));
    let told = hers.hear().await.unwrap();
    assert_eq!((&told["type"], &told["data"]["kind"]), (&json!("notification"), &json!("like")));
    assert_eq!(socket.hear().await.unwrap()["type"], "likesChanged");
    network.sns.delete_post(ada.user(), post).await.unwrap();
    network.settle().await;
    assert_eq!(socket.hear().await.unwrap()["type"], "postDeleted");
    network.sns.unfollow(bob.user(), ada.user()).await.unwrap();
    let told = socket.hear().await.unwrap();
    assert_eq!((&told["type"], &told["data"]["userId"]), (&json!("unfollowed"), &json!(ada.id)));
    drop(socket);
    let mut again =
        Socket::open(&network, &format!("?cursor={cursor}"), Some(&bob.token)).await.unwrap();
    again.is_ready(&bob).await;
    assert_eq!(again.hear().await.unwrap()["type"], "likesChanged", "what came behind the cursor");
    assert_eq!(Socket::open(&network, "?cursor=x", Some(&bob.token)).await.err(), Some(400));
    let mut late = Socket::open(&network, "?cursor=1-1", Some(&bob.token)).await.unwrap();
    assert_eq!(late.hear().await.unwrap()["gap"], true, "what cannot be had is told");
}

#[testkit::test]
async fn a_client_shows_who_it_is_by_header_ticket_query_or_first_message() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let made = network.ask(&ada, "POST", "/auth/ticket", Json::Null).await.is(200);
    let query = format!("?ticket={}", made["ticket"].as_str().unwrap());
    Socket::open(&network, &query, None).await.unwrap().is_ready(&ada).await;
    assert_eq!(
        Socket::open(&network, &query, None).await.err(),
        Some(401),
        "a ticket is good once"
    );
    let made = network.ask(&ada, "POST", "/auth/ticket", Json::Null).await.is(200);
    network.pass(30).await;
    let query = format!("?ticket={}", made["ticket"].as_str().unwrap());
    assert_eq!(
        Socket::open(&network, &query, None).await.err(),
        Some(401),
        "and for thirty seconds"
    );
    let query = format!("?token={}", ada.token);
    Socket::open(&network, &query, None).await.unwrap().is_ready(&ada).await;
    assert_eq!(Socket::open(&network, "?token=x", None).await.err(), Some(401));
    let mut socket = Socket::open(&network, "", None).await.unwrap();
    socket.say(json!({ "type": "auth", "token": "x" })).await;
    assert_eq!(socket.hear().await.unwrap()["code"], "token_invalid");
    socket.say(json!({ "type": "nonsense" })).await;
    assert_eq!(socket.hear().await.unwrap()["code"], "invalid_body");
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await.unwrap()["type"], "pong");
    socket.say(json!({ "type": "auth", "token": ada.token })).await;
    socket.is_ready(&ada).await;
    network.say(ada.user(), "heard").await;
    assert_eq!(socket.hear().await.unwrap()["data"]["content"], "heard");
    let made = network.ask(&ada, "POST", "/auth/ticket", Json::Null).await.is(200);
    let ticket = made["ticket"].as_str().unwrap();
    let path = format!("/v1/stream?ticket={ticket}");
    network.raw("GET", &format!("{path}&cursor=x"), &[], "").await.is_problem(400, "invalid");
    let mut stream = events(&network, &format!("?ticket={ticket}"), &[]).await;
    stream.read_until("HTTP/1.1 200").await;
}

#[testkit::test]
async fn a_socket_is_one_users_and_ends_with_its_session() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    let mut by_message = Socket::open(&network, "", None).await.unwrap();
    by_message.say(json!({ "type": "auth", "token": ada.token })).await;
    let mut by_header = Socket::open(&network, "", Some(&ada.token)).await.unwrap();
    for socket in [&mut by_message, &mut by_header] {
        socket.is_ready(&ada).await;
        for token in [&bob.token, &ada.token] {
            socket.say(json!({ "type": "auth", "token": token })).await;
            assert_eq!(socket.hear().await.unwrap()["code"], "already_authenticated");
        }
    }
    network.say(bob.user(), "not heard").await;
    network.ask(&ada, "POST", "/auth/logout", Json::Null).await.is(204);
    for mut socket in [by_message, by_header] {
        assert_eq!(socket.hear().await.unwrap()["type"], "sessionEnded");
        assert_eq!(socket.hear().await, None);
    }
}

#[testkit::test]
async fn whatever_ends_a_session_closes_its_sockets_and_no_others() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    let mut stays = Socket::open(&network, "", Some(&bob.token)).await.unwrap();
    stays.is_ready(&bob).await;
    let log_in = async |password: &str| person(&network.log_in("ada", password).await.is(200));
    let open = async |who: &Person| {
        let mut socket = Socket::open(&network, "", Some(&who.token)).await.unwrap();
        socket.is_ready(who).await;
        socket
    };
    let closes = async |mut socket: Socket| {
        assert_eq!(socket.hear().await.unwrap()["type"], "sessionEnded");
        assert_eq!(socket.hear().await, None);
    };
    // A new password ends all but the session that sets it.
    let other = log_in(PASSWORD).await;
    let (mut own, ended) = (open(&ada).await, open(&other).await);
    let change = json!({ "currentPassword": PASSWORD, "newPassword": "another horse" });
    network.ask(&ada, "PUT", "/auth/password", change).await.is(204);
    closes(ended).await;
    own.say(json!({ "type": "ping" })).await;
    assert_eq!(own.hear().await.unwrap()["type"], "pong");
    // A refresh token that comes twice.
    let stolen = log_in("another horse").await;
    let ended = open(&stolen).await;
    let refresh = json!({ "refreshToken": stolen.refresh });
    network.post("/auth/refresh", refresh.clone()).await.is(200);
    network.post("/auth/refresh", refresh).await.is_problem(401, "token_invalid");
    closes(ended).await;
    // Logging out everywhere.
    let second = log_in("another horse").await;
    let ended = open(&second).await;
    network.ask(&ada, "POST", "/auth/logout-all", Json::Null).await.is(204);
    closes(ended).await;
    closes(own).await;
    // Leaving.
    let last = log_in("another horse").await;
    let ended = open(&last).await;
    network.ask(&last, "DELETE", "/users/me", Json::Null).await.is(204);
    closes(ended).await;
    stays.say(json!({ "type": "ping" })).await;
    assert_eq!(stays.hear().await.unwrap()["type"], "pong");
}

#[testkit::test]
async fn a_socket_that_stays_nobodys_is_closed_and_hears_nothing() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let mut socket = Socket::open(&network, "", None).await.unwrap();
    network.say(ada.user(), "not heard").await;
    network.pass(10).await;
    assert_eq!(socket.hear().await, None);
}

#[testkit::test]
async fn logging_out_and_the_end_of_a_token_close_sockets() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let other = super::person(&network.log_in("ada", super::PASSWORD).await.is(200));
    let mut socket = Socket::open(&network, "", Some(&ada.token)).await.unwrap();
    socket.is_ready(&ada).await;
    let mut stays = Socket::open(&network, "", Some(&other.token)).await.unwrap();
    stays.is_ready(&ada).await;
    network.ask(&ada, "POST", "/auth/logout", Json::Null).await.is(204);
    assert_eq!(socket.hear().await.unwrap()["type"], "sessionEnded");
    assert_eq!(socket.hear().await, None);
    network.say(ada.user(), "heard").await;
    assert_eq!(stays.hear().await.unwrap()["data"]["content"], "heard");
    network.jump(3598).await;
    stays.say(json!({ "type": "ping" })).await;
    assert_eq!(stays.hear().await.unwrap()["type"], "pong");
    network.jump(2).await;
    assert_eq!(stays.hear().await.unwrap()["type"], "sessionEnded");
    assert_eq!(stays.hear().await, None);
}

#[testkit::test]
async fn a_socket_that_is_silent_for_ten_minutes_is_closed() {
    // An instance closes its own sockets; another one would only slow the minutes down.
    let network = Network::alone(roomy()).await;
    let ada = network.register("ada").await;
    let mut socket = Socket::open(&network, "", Some(&ada.token)).await.unwrap();
    socket.is_ready(&ada).await;
    // Nobody reads, so nobody answers the pings.
    network.pass(595).await;
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await.unwrap()["type"], "pong");
    network.pass(605).await;
    assert_eq!(socket.hear().await, None);
}

async fn events(network: &Network, query: &str, headers: &[(&str, &str)]) -> Stream {
    let path = format!("/sns/v1/stream{query}");
    Stream::open(network.addresses.all()[0], "GET", &path, headers, "").await
}

#[testkit::test]
async fn events_are_the_sockets_twin() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    let bearer = bob.bearer();
    let bearer = ("authorization", &*bearer);
    let mut first = events(&network, "", &[bearer]).await;
    first.read_until("retry:").await;
    network.say(ada.user(), "one").await;
    network.settle().await;
    let heard = first.read_until("\"one\"").await;
    let id = heard.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    assert!(heard.contains("data: {\"type\":\"newPost\",\"postId\":\""), "{heard}");
    network.say(ada.user(), "two").await;
    network.settle().await;
    for (query, headers) in [
        (String::new(), &[bearer, ("last-event-id", &*id)][..]),
        (format!("?token={}&cursor={id}", bob.token), &[]),
    ] {
        let mut again = events(&network, &query, headers).await;
        let heard = again.read_until("\"two\"").await;
        assert!(!heard.contains("\"one\""), "{heard}");
    }
    network.ask(&bob, "POST", "/auth/logout", Json::Null).await.is(204);
    let heard = first.read_until("event: leave").await;
    assert!(heard.contains("resumeFrom"), "{heard}");
    network.raw("GET", "/v1/stream", &[], "").await.is_problem(401, "token_invalid");
}

#[testkit::test]
async fn an_event_stream_ends_with_its_token() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let mut stream = events(&network, &format!("?token={}", ada.token), &[]).await;
    stream.read_until("retry:").await;
    network.jump(3598).await;
    network.say(ada.user(), "in time").await;
    let heard = stream.read_until("in time").await;
    assert!(!heard.contains("event: leave"), "{heard}");
    network.jump(2).await;
    let heard = stream.read_until("\r\n0\r\n\r\n").await;
    assert!(heard.contains("event: leave"), "{heard}");
}
