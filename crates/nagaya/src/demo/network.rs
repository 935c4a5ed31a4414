//! A small network: people who follow each other, post, and like what they read.

use std::sync::Arc;
use std::time::Duration;

use base::Ids;
use serde_json::json;

use super::Scene;
use super::people::{PEOPLE, Person};
use super::wire::Call;

/// People with accounts: as many as follow each other in some seconds. Each registration hashes a
/// password.
const ACCOUNTS: usize = 8;

const POSTS: [&str; 24] = [
    "おはようございます ☀️",
    "Rust の勉強会に行ってきました。",
    "Just deployed a long house.",
    "今日のお昼はそば。",
    "Does anybody know a good book on compilers?",
    "猫がキーボードの上にいます。",
    "長屋、静かでいいですね。",
    "The cherry trees by the river are out 🌸",
    "電車が遅れています。ゆっくり行きます。",
    "First run this year: 8 km, slowly.",
    "新しい豆を買いました ☕",
    "Reading old logs is like reading a diary.",
    "ベランダのトマトが赤くなりました 🍅",
    "Who else is at the talk this afternoon?",
    "消したはずの電気がついている…",
    "TIL that a group of row houses is a terrace.",
    "明日の授業の準備が終わりました。",
    "My bread did not rise. Again.",
    "図書館で一日すごしました 📚",
    "Rain on the roof, tea in the cup.",
    "テストが全部緑になった瞬間が好き。",
    "Somebody left an umbrella in the meeting room.",
    "今週の目標:早く寝る。",
    "Found the bug. It was me.",
];

/// Posts that stand there before the first one comes by itself.
const AT_ONCE: u32 = 10;

/// Posts and likes of less than an hour: then access tokens end, and everybody logs in again.
const STEPS: u32 = 1_400;

/// Somebody with an account.
pub(super) struct User {
    pub(super) email: String,
    pub(super) password: String,
    id: String,
    token: String,
}

/// An account for the reader of the box.
pub(super) async fn invite(scene: &Scene) -> Result<User, String> {
    register(scene, &Person { handle: "guest", name: "Guest" }).await
}

/// Makes an account. A name that an earlier demonstration in the same directory took gets an
/// ending, because nobody knows its password any more.
async fn register(scene: &Scene, person: &Person) -> Result<User, String> {
    let ids = Ids::new(scene.clock.clone(), scene.random.clone());
    let plain = person.handle.to_owned();
    let other = format!("{plain}_{}", ids.alphanumeric(6).to_lowercase());
    let password = ids.alphanumeric(20);
    for username in [plain, other] {
        let email = format!("{username}@demo.example");
        let account = json!({ "email": email, "username": username, "password": password });
        let path = "/sns/v1/auth/register";
        let call = Call { method: "POST", path, headers: Vec::new(), body: Some(account) };
        let answer = scene.wire.call(call).await?;
        if answer.status == 409 {
            continue;
        }
        let (id, token) = (answer.text("/user/userId")?, answer.text("/token")?);
        let user = User { email, password: password.clone(), id, token };
        let path = format!("/sns/v1/users/{}", user.id);
        let named = Some(json!({ "displayName": person.name }));
        let headers = bearer(&user);
        scene.wire.call(Call { method: "PUT", path: &path, headers, body: named }).await?;
        return Ok(user);
    }
    Err(format!("every name for {} is taken", person.handle))
}

pub(super) async fn play(scene: Scene, guest: Option<Arc<User>>) -> Result<(), String> {
    let mut users = Vec::new();
    for person in PEOPLE.iter().take(ACCOUNTS) {
        users.push(register(&scene, person).await?);
    }
    for user in &users {
        for other in users.iter().filter(|other| other.id != user.id) {
            follow(&scene, user, other).await?;
        }
        if let Some(guest) = &guest {
            // The guest's first token lasts an hour, and later ones are the guest's own.
            let _followed = follow(&scene, guest, user).await;
            let _followed = follow(&scene, user, guest).await;
        }
    }
    let mut last = None;
    for _ in 0..AT_ONCE {
        last = write(&scene, &users).await?;
    }
    loop {
        for _ in 0..STEPS {
            scene.pause(Duration::from_secs(3)).await;
            match (&last, scene.random.pick(&users)) {
                (Some(post), Some(user)) if scene.random.chance(0.5) => {
                    // Somebody who likes a post twice is refused.
                    let path = format!("/sns/v1/posts/{post}/likes");
                    let _liked = scene.wire.post(&path, bearer(user), json!({})).await;
                }
                _ => last = write(&scene, &users).await?,
            }
        }
        for user in &mut users {
            user.token = log_in(&scene, user).await?;
        }
    }
}

/// Somebody posts something; answers its id.
async fn write(scene: &Scene, users: &[User]) -> Result<Option<String>, String> {
    let Some(user) = scene.random.pick(users) else { return Ok(None) };
    let post = json!({ "content": scene.pick(&POSTS) });
    let answer = scene.wire.post("/sns/v1/posts", bearer(user), post).await?;
    answer.text("/postId").map(Some)
}

async fn log_in(scene: &Scene, user: &User) -> Result<String, String> {
    let account = json!({ "email": user.email, "password": user.password });
    scene.wire.post("/sns/v1/auth/login", Vec::new(), account).await?.text("/token")
}

async fn follow(scene: &Scene, user: &User, other: &User) -> Result<(), String> {
    let path = format!("/sns/v1/users/{}/follow", other.id);
    scene.wire.post(&path, bearer(user), json!({})).await.map(drop)
}

fn bearer(user: &User) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {}", user.token))]
}
