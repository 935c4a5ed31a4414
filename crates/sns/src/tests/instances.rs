//! Two instances on one store, with a carrier between them.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use testkit::{Broker, World};

use super::streams::Socket;
use super::{Network, roomy};

/// Two instances that hear each other.
async fn two() -> (Network, Network) {
    let (world, broker) = (World::new().await, Arc::new(Broker::default()));
    let open = async || {
        let instance = world.instance_with(&broker).await;
        Network::on(world.clone(), vec![instance], roomy()).await
    };
    (open().await, open().await)
}

#[testkit::test]
async fn what_is_posted_here_is_heard_and_read_there() {
    let (one, other) = two().await;
    let (ada, bob) = (one.register("ada").await, other.register("bob").await);
    let path = format!("/users/{}/follow", ada.id);
    other.ask(&bob, "POST", &path, Json::Null).await.is(201);
    one.settle().await;
    let mut socket = Socket::open(&other, "", Some(&bob.token)).await.unwrap();
    socket.is_ready(&bob).await;
    let post = one.ask(&ada, "POST", "/posts", json!({ "content": "hello" })).await.is(201);
    one.settle().await;
    let told = socket.hear().await.unwrap();
    assert_eq!((&told["type"], &told["postId"]), (&json!("newPost"), &post["postId"]));
    for network in [&one, &other] {
        assert_eq!(network.timeline(bob.user()).await, ["hello"]);
    }
    let id = post["postId"].as_str().unwrap();
    one.ask(&ada, "DELETE", &format!("/posts/{id}"), Json::Null).await.is(204);
    one.settle().await;
    assert_eq!(socket.hear().await.unwrap()["type"], "postDeleted");
    assert!(other.timeline(bob.user()).await.is_empty());
}

#[testkit::test]
async fn logging_out_here_closes_the_socket_there() {
    let (one, other) = two().await;
    let ada = one.register("ada").await;
    let mut socket = Socket::open(&other, "", Some(&ada.token)).await.unwrap();
    socket.is_ready(&ada).await;
    one.ask(&ada, "POST", "/auth/logout", Json::Null).await.is(204);
    assert_eq!(socket.hear().await.unwrap()["type"], "sessionEnded");
    assert_eq!(socket.hear().await, None);
    other.get(&ada, "/timeline").await.is_problem(401, "token_invalid");
}
