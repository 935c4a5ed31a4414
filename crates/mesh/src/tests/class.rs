//! What a teacher does: names that stay for a school day, and the end of all groups.

use std::collections::HashSet;

use serde_json::json;

use super::Class;
use crate::Error;
use crate::limits::LABELS_MAX;

const PUPIL: &str = "0123456789abcdef0123456789abcdef";
const DAY_SECONDS: u64 = 24 * 3600;
const LIST: &str = "query($d: String!) { listGroupsByDomain(domain: $d) { id } }";
const DISSOLVED: &str = "subscription($g: ID!) {
    onMessageInGroup(groupId: $g, domain: \"local\") { groupDissolve { groupId } }
}";

async fn name_of(class: &Class, domain: &str, node: &str) -> Option<String> {
    class.mesh.list_labels(domain).await.unwrap().remove(node)
}

#[testkit::test]
async fn a_name_is_of_one_class_is_replaced_by_another_and_removed_by_an_empty_one() {
    let class = Class::open().await;
    class.mesh.name_node("local", PUPIL, " 花子 ").await.unwrap();
    assert_eq!(name_of(&class, "local", PUPIL).await.as_deref(), Some("花子"));
    assert_eq!(name_of(&class, "elsewhere", PUPIL).await, None, "another class");
    class.mesh.name_node("local", PUPIL, "太郎").await.unwrap();
    assert_eq!(name_of(&class, "local", PUPIL).await.as_deref(), Some("太郎"));
    class.mesh.name_node("local", PUPIL, "").await.unwrap();
    assert_eq!(name_of(&class, "local", PUPIL).await, None);
}

#[testkit::test]
async fn a_name_is_forgotten_after_a_school_day() {
    let class = Class::open().await;
    class.mesh.name_node("local", PUPIL, "花子").await.unwrap();
    class.jump(DAY_SECONDS - 60).await;
    assert_eq!(name_of(&class, "local", PUPIL).await.as_deref(), Some("花子"));
    class.jump(120).await;
    assert_eq!(name_of(&class, "local", PUPIL).await, None);
}

#[testkit::test]
async fn a_name_that_cannot_be_is_refused_and_the_one_before_stays() {
    let class = Class::open().await;
    class.mesh.name_node("local", PUPIL, "花子").await.unwrap();
    let long = "花".repeat(41);
    for (node, label) in [(PUPIL, long.as_str()), (PUPIL, "a\u{202e}b"), ("", "花子")] {
        let refused = class.mesh.name_node("local", node, label).await.unwrap_err();
        assert_eq!(refused.error_type(), "ValidationError", "{node} {label}");
    }
    assert_eq!(name_of(&class, "local", PUPIL).await.as_deref(), Some("花子"));
}

#[testkit::test]
async fn a_full_class_takes_no_more_names_and_changes_those_that_it_has() {
    let class = Class::alone().await;
    for number in 0..LABELS_MAX {
        let node = format!("n{number}");
        let put = crate::items::put_label("local", &node, "x", class.clock.now());
        class.tables.put(put).await.unwrap();
    }
    let refused = class.mesh.name_node("local", PUPIL, "花子").await.unwrap_err();
    assert_eq!(refused.to_string(), "the class has 2000 of at most 2000 names");
    class.mesh.name_node("local", "n7", "花子").await.unwrap();
    class.mesh.name_node("local", "n8", "").await.unwrap();
    class.mesh.name_node("local", PUPIL, "太郎").await.unwrap();
}

#[testkit::test]
async fn the_end_of_all_groups_is_told_to_each_and_leaves_other_classes_alone() {
    let class = Class::alone().await;
    let mut followers = Vec::new();
    for number in 0..12 {
        let group = class.create(&format!("h{number}"), "local").await;
        class.join(&group, "local", "n").await;
        followers.push((class.follow(DISSOLVED, json!({ "g": group })).await, group));
    }
    let other = class.create("h0", "elsewhere").await;
    assert_eq!(class.mesh.end_all_groups("local").await.unwrap(), 12);
    for (mut follower, group) in followers {
        let told = follower.next().await.to_string();
        assert!(told.contains(&group), "{told}");
    }
    assert_eq!(class.get(LIST, json!({ "d": "local" })).await, json!([]));
    assert_eq!(class.get(LIST, json!({ "d": "elsewhere" })).await, json!([{ "id": other }]));
    assert_eq!(class.mesh.end_all_groups("local").await.unwrap(), 0, "again does no harm");
}

#[testkit::test]
async fn the_end_of_all_groups_asks_no_pace_of_their_hosts() {
    let class = Class::alone().await;
    let mut groups = HashSet::new();
    for number in 0..5 {
        groups.insert(class.create(&format!("h{number}"), "local").await);
    }
    let busy = groups.iter().next().unwrap().clone();
    let key = crate::model::GroupKey { id: busy, domain: "local".to_owned() };
    for host in 0..5 {
        let host = format!("h{host}");
        while class.mesh.pace.call(&key, &host).is_ok() {}
        assert!(matches!(class.mesh.pace.call(&key, &host), Err(Error::TooFast)));
    }
    assert_eq!(class.mesh.end_all_groups("local").await.unwrap(), groups.len());
}
