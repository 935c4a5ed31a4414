//! The secret of a host: with it a group is the host's alone, and without one nothing changes.

use serde_json::{Value as Json, json};

use super::Class;

const SECRET: &str = "kept by the host";
const CREATE: &str = "mutation($s: String) {
    createGroup(name: \"組\", hostId: \"h\", domain: \"local\", hostSecret: $s) { id }
}";
const RENEW: &str = "mutation($g: ID!, $s: String) {
    renewHeartbeat(groupId: $g, domain: \"local\", hostId: \"h\", hostSecret: $s) { groupId }
}";
const DISSOLVE: &str = "mutation($g: ID!, $s: String) {
    dissolveGroup(groupId: $g, domain: \"local\", hostId: \"h\", hostSecret: $s) { groupId }
}";
/// As clients call it that know no secret.
const OLD_DISSOLVE: &str = "mutation($g: ID!) {
    dissolveGroup(groupId: $g, domain: \"local\", hostId: \"h\") { groupId }
}";

async fn made_with(class: &Class, secret: Option<&str>) -> String {
    let made = class.get(CREATE, json!({ "s": secret })).await;
    made["id"].as_str().unwrap().to_owned()
}

fn with(group: &str, secret: Json) -> Json {
    json!({ "g": group, "s": secret })
}

#[testkit::test]
async fn a_group_with_a_secret_is_renewed_and_dissolved_with_it_alone() {
    let class = Class::open().await;
    let group = made_with(&class, Some(SECRET)).await;
    for secret in [json!(null), json!("kept by another host")] {
        for (call, what) in [(RENEW, "renew the heartbeat"), (DISSOLVE, "dissolve the group")] {
            let refused = class.refusal(call, with(&group, secret.clone())).await;
            let message = format!("Only the host can {what}");
            assert_eq!(refused, ("Unauthorized".to_owned(), message), "{secret}");
        }
    }
    for call in [RENEW, DISSOLVE] {
        let refused = class.refusal(call, with(&group, json!("too short"))).await;
        assert_eq!(refused.0, "ValidationError", "no group has such a secret");
    }
    let refused = class.refusal(OLD_DISSOLVE, json!({ "g": group })).await;
    assert_eq!(refused.0, "Unauthorized");
    let again = made_with(&class, None).await;
    assert_eq!(again, group, "who makes it again gets it, and no right to it");
    class.get(RENEW, with(&group, json!(SECRET))).await;
    class.get(DISSOLVE, with(&group, json!(SECRET))).await;
}

#[testkit::test]
async fn a_group_without_a_secret_is_its_hosts_as_before() {
    let class = Class::open().await;
    let group = made_with(&class, None).await;
    class.get(RENEW, with(&group, json!(null))).await;
    class.get(RENEW, with(&group, json!("a secret that nobody asked for"))).await;
    class.get(OLD_DISSOLVE, json!({ "g": group })).await;
}

#[testkit::test]
async fn a_teacher_ends_a_group_without_its_secret() {
    let class = Class::alone().await;
    made_with(&class, Some(SECRET)).await;
    assert_eq!(class.mesh.end_all_groups("local").await.unwrap(), 1);
}

#[testkit::test]
async fn a_secret_that_can_be_guessed_is_refused_and_makes_nothing() {
    let class = Class::open().await;
    let refused = class.refusal(CREATE, json!({ "s": "short" })).await;
    let bound = "hostSecret must be 16 to 256 characters, not 5";
    assert_eq!(refused, ("ValidationError".to_owned(), bound.to_owned()));
    made_with(&class, Some(SECRET)).await;
}
