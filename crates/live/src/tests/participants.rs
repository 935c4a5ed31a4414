//! Participants that the server has signed: what they have apart from callers that name themselves.

use serde_json::{Value as Json, json};

use super::{HOST, Talk};
use crate::Options;

/// Twenty-four comments at once for all signed participants of an address, and as many for all
/// other callers of it.
fn venue() -> Options {
    Options { address_comments_per_second: 6, ..Options::default() }
}

#[testkit::test]
async fn a_spammer_that_invents_names_refuses_no_signed_participant_of_its_address() {
    let talk = Talk::alone_with(venue()).await;
    let room = talk.create().await;
    let mut honest = Vec::new();
    for _ in 0..24 {
        honest.push(talk.issue().await);
    }
    let mut heard = 0;
    for number in 0..200 {
        let spam = talk.speak(&room, &format!("bot-{number}"), "buy").await;
        heard += u32::from(spam.status == 201);
    }
    assert_eq!(heard, 24, "callers that name themselves share the ceiling of their address");
    for who in &honest {
        talk.speak(&room, who, "a question").await.is(201);
    }
    talk.speak(&room, &talk.issue().await, "one too many").await.is_problem(429, "rate_limited");
}

#[testkit::test]
async fn a_signed_spammer_has_one_allowance_for_all_rooms() {
    let talk = Talk::alone_with(venue()).await;
    let (spammer, honest) = (talk.issue().await, talk.issue().await);
    let (mut rooms, mut heard) = (Vec::new(), 0);
    for _ in 0..6 {
        rooms.push(talk.create().await);
    }
    for _ in 0..10 {
        for room in &rooms {
            heard += u32::from(talk.speak(room, &spammer, "buy").await.status == 201);
        }
    }
    assert_eq!(heard, 5);
    for room in rooms.iter().take(5) {
        talk.speak(room, &honest, "a question").await.is(201);
    }
}

#[testkit::test]
async fn a_socket_with_a_signed_participant_is_the_same_participant() {
    let talk = Talk::alone_with(venue()).await;
    let room = talk.create().await;
    let who = talk.issue().await;
    let join = json!({ "action": "joinRoom", "roomId": room, "v": 1, "participant": who });
    let (mut client, _) = talk.join(join).await;
    for number in 0..200 {
        talk.speak(&room, &format!("bot-{number}"), "buy").await;
    }
    client.waiting();
    let told = client.say(json!({ "action": "postComment", "content": "a question" })).await;
    assert!(told.iter().any(|told| told["type"] == "posted"), "{told:?}");
    talk.speak(&room, &who, "another").await.is(201);
    let path = format!("/live/rooms/{room}/comments?before=999&limit=2");
    let page = talk.as_host("GET", &path, "").await.is(200);
    assert_eq!(page["comments"][0]["author"], page["comments"][1]["author"]);
}

#[testkit::test]
async fn participants_are_issued_at_a_rate_and_renewed_without_one() {
    let options = Options { address_participants_per_hour: 3, ..Options::default() };
    let talk = Talk::alone_with(options).await;
    let first = talk.issue().await;
    assert_ne!(talk.issue().await, first);
    talk.issue().await;
    let refused = talk.post("/live/participants", json!({})).await;
    refused.is_problem(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1200"));
    let renewed = talk.ask("POST", "/live/participants", &[("x-participant", &first)], "").await;
    let renewed = renewed.is(201);
    assert_eq!(renewed["expiresAt"], "2027-02-14T08:00:00.000Z", "{renewed}");
    let invented = [("x-participant", "p-1")];
    talk.ask("POST", "/live/participants", &invented, "").await.is_problem(429, "rate_limited");
}

#[testkit::test]
async fn a_renewed_participant_keeps_its_author_and_an_expired_one_is_only_a_name() {
    let talk = Talk::open_with(Options { unused_room_days: 0, ..Options::default() }).await;
    let room = talk.create().await;
    let author = async |content: &str, who: &str| -> Json {
        talk.speak(&room, who, content).await.is(201);
        let path = format!("/live/rooms/{room}/comments?before=999&limit=1");
        let page = talk.as_host("GET", &path, "").await.is(200);
        assert_eq!(page["comments"][0]["content"], content);
        page["comments"][0]["author"].clone()
    };
    let first = talk.issue().await;
    let was = author("first", &first).await;
    talk.pass_long_ms(20 * 24 * 3_600_000).await;
    let renewed = talk.ask("POST", "/live/participants", &[("x-participant", &first)], "").await;
    let renewed = renewed.is(201)["participant"].as_str().unwrap().to_owned();
    assert_ne!(renewed, first);
    assert_eq!(author("renewed", &renewed).await, was);
    // The older one ends after thirty days, the renewed one after fifty.
    talk.pass_long_ms(11 * 24 * 3_600_000).await;
    assert_eq!(author("still good", &renewed).await, was);
    assert_ne!(author("too old", &first).await, was);
    let (text, _) = renewed.rsplit_once('.').unwrap();
    let forged = format!("{text}.{}", "A".repeat(43));
    assert_ne!(
        author("forged", &forged).await,
        was,
        "a signature that does not fit proves nothing"
    );
}

#[testkit::test]
async fn joins_and_streams_have_a_ceiling_for_each_address() {
    let talk =
        Talk::alone_with(Options { address_joins_per_second: 1, ..Options::default() }).await;
    let room = talk.create().await;
    let join = json!({ "action": "joinRoom", "roomId": room, "v": 1 });
    for _ in 0..39 {
        assert_eq!(talk.connect().say(join.clone()).await[0]["type"], "joined");
    }
    let lost = json!({ "action": "joinRoom", "roomId": "nothing", "v": 1 });
    for _ in 0..5 {
        let told = talk.connect().say(lost.clone()).await;
        assert_eq!(told[0]["code"], "room_not_found", "a refused join takes no place");
    }
    let mut last = talk.stream(&format!("{room}/stream"), &[]).await;
    last.read_until("retry: 2000").await;
    assert_eq!(talk.connect().say(join.clone()).await[0]["code"], "rate_limited");
    let path = format!("/live/rooms/{room}/stream");
    talk.get(&path).await.is_problem(429, "rate_limited");
    let mut signed = join.clone();
    signed["participant"] = json!(talk.issue().await);
    assert_eq!(
        talk.connect().say(signed).await[0]["type"],
        "joined",
        "it has a ceiling of its own"
    );
}

#[testkit::test]
async fn a_spammer_that_hosts_rooms_of_its_own_refuses_no_signed_host() {
    // Ten a second for a host, a hundred for all hosts of an address, ten times as much at once.
    let talk =
        Talk::alone_with(Options { host_requests_per_second: 1, ..Options::default() }).await;
    let room = talk.create().await;
    for _ in 0..12 {
        let spammed = talk.create().await;
        for _ in 0..10 {
            let path = format!("/live/rooms/{spammed}/comments");
            talk.as_host("POST", &path, "{\"content\":\"x\"}").await;
        }
    }
    let path = format!("/live/rooms/{room}/comments");
    let spammed = talk.as_host("POST", &path, "{\"content\":\"x\"}").await;
    spammed.is_problem(429, "rate_limited");
    let who = talk.issue().await;
    let headers = [("authorization", &*super::bearer(HOST)), ("x-participant", &who)];
    talk.ask("POST", &path, &headers, "{\"content\":\"an answer\"}").await.is(201);
}
