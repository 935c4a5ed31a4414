//! A small network: people who follow each other, post, and like what they read.

use std::sync::Arc;
use std::time::Duration;

use base::Ids;
use serde_json::json;

use super::Scene;

const NAMES: [&str; 5] = ["hanako", "taro", "ada", "ben", "grace"];
const POSTS: [&str; 7] = [
    "おはようございます ☀️",
    "Rust の勉強会に行ってきました。",
    "Just deployed a long house.",
    "今日のお昼はそば。",
    "Does anybody know a good book on compilers?",
    "猫がキーボードの上にいます。",
    "長屋、静かでいいですね。",
];

/// Somebody with an account.
pub(super) struct User {
    pub(super) email: String,
    pub(super) password: String,
    id: String,
    token: String,
}

/// An account for who looks on.
pub(super) async fn invite(scene: &Scene) -> Result<User, String> {
    let ids = Ids::new(scene.clock.clone(), scene.random.clone());
    register(scene, "guest", &ids.alphanumeric(6).to_lowercase()).await
}

async fn register(scene: &Scene, name: &str, run: &str) -> Result<User, String> {
    let ids = Ids::new(scene.clock.clone(), scene.random.clone());
    let (email, password) = (format!("{name}-{run}@demo.example"), ids.alphanumeric(20));
    let account =
        json!({ "email": email, "username": format!("{name}-{run}"), "password": password });
    let told = scene.wire.post("/sns/v1/auth/register", Vec::new(), account).await?;
    let id = told.text("/user/id").or_else(|_| told.text("/user/userId"))?;
    Ok(User { email, password, id, token: told.text("/token")? })
}

pub(super) async fn play(scene: Scene, guest: Option<Arc<User>>) -> Result<(), String> {
    let ids = Ids::new(scene.clock.clone(), scene.random.clone());
    let run = ids.alphanumeric(6).to_lowercase();
    let mut users = Vec::new();
    for name in NAMES {
        users.push(register(&scene, name, &run).await?);
    }
    for user in &users {
        for other in users.iter().filter(|other| other.id != user.id) {
            let path = format!("/sns/v1/users/{}/follow", other.id);
            scene.wire.post(&path, bearer(user), json!({})).await?;
        }
        // Whoever looks on sees what they say, for as long as the guest's first token is good.
        if let Some(guest) = &guest {
            let path = format!("/sns/v1/users/{}/follow", user.id);
            let _followed = scene.wire.post(&path, bearer(guest), json!({})).await;
        }
    }
    let mut last: Option<String> = None;
    // A token is good for an hour; then others come.
    for _ in 0..900 {
        let Some(user) = scene.random.pick(&users) else { return Ok(()) };
        if scene.random.chance(0.6) {
            let post = json!({ "content": scene.pick(&POSTS) });
            let told = scene.wire.post("/sns/v1/posts", bearer(user), post).await?;
            last = told.text("/id").or_else(|_| told.text("/postId")).ok();
        } else if let Some(post) = &last {
            // Whoever has liked it already is told so.
            let path = format!("/sns/v1/posts/{post}/likes");
            let _liked = scene.wire.post(&path, bearer(user), json!({})).await;
        }
        scene.pause(Duration::from_secs(3)).await;
    }
    Ok(())
}

fn bearer(user: &User) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {}", user.token))]
}
