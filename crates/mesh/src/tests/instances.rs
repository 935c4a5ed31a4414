//! Two instances on one store, with a carrier between them.

use std::sync::Arc;

use serde_json::json;
use testkit::{Broker, World};

use super::Class;
use crate::Options;

const REPORT: &str = "mutation($g: ID!, $n: ID!) {
    reportDataByNode(
        groupId: $g, domain: \"local\", nodeId: $n, data: [{ key: \"k\", value: \"7\" }]
    ) {
        nodeStatus { nodeId data { key value } }
    }
}";
const HEAR: &str = "subscription($g: ID!) {
    onMessageInGroup(groupId: $g, domain: \"local\") { nodeStatus { nodeId data { value } } }
}";
const LIST: &str = "query { listGroupsByDomain(domain: \"local\") { id } }";
const RENEW: &str = "mutation($g: ID!, $n: ID!) {
    sendMemberHeartbeat(groupId: $g, domain: \"local\", nodeId: $n) { expiresAt }
}";

/// Two instances that hear each other.
async fn two() -> (Class, Class) {
    let (world, broker) = (World::new().await, Arc::new(Broker::default()));
    let open = async || {
        let instance = world.instance_with(&broker).await;
        Class::on(world.clone(), vec![instance], Options::default()).await
    };
    (open().await, open().await)
}

#[testkit::test]
async fn who_joins_here_and_reports_there_is_heard_at_both() {
    let (one, other) = two().await;
    let group = one.create("h", "local").await;
    assert_eq!(other.create("h", "local").await, group, "one group of one host");
    let mut here = one.follow(HEAR, json!({ "g": group })).await;
    let mut there = other.follow(HEAR, json!({ "g": group })).await;
    let joined = one.join(&group, "local", "n").await;
    assert_eq!(joined["data"]["joinGroup"]["id"], "n", "{joined}");
    for class in [&other, &one] {
        let told = class.get(REPORT, json!({ "g": group, "n": "n" })).await;
        assert_eq!(told["nodeStatus"]["nodeId"], "n", "{told}");
        let (here, there) = (here.next().await, there.next().await);
        assert_eq!(here, there);
        assert!(here.to_string().contains("\"value\":\"7\""), "{here}");
    }
    assert_eq!(other.get(LIST, json!({})).await, json!([{ "id": group }]));
}

#[testkit::test]
async fn a_member_is_kept_by_whichever_instance_hears_of_it() {
    let (one, other) = two().await;
    let group = one.create("h", "local").await;
    one.join(&group, "local", "n").await;
    let member = json!({ "g": group, "n": "n" });
    for class in [&other, &one, &other] {
        class.pass(60).await;
        class.get(RENEW, member.clone()).await;
        let host = json!({ "g": group });
        let renew = "mutation($g: ID!) {
            renewHeartbeat(groupId: $g, domain: \"local\", hostId: \"h\") { expiresAt }
        }";
        class.get(renew, host).await;
    }
    // Nobody says anything any more: the group lapses, at both.
    one.pass(151).await;
    for class in [&one, &other] {
        assert_eq!(class.get(LIST, json!({})).await, json!([]));
    }
}

#[testkit::test]
async fn a_report_is_read_at_the_other_instance_before_it_is_saved() {
    let (one, other) = two().await;
    let group = one.create("h", "local").await;
    one.join(&group, "local", "n").await;
    for (class, count) in [(&one, 1), (&other, 2)] {
        let told = class.get(REPORT, json!({ "g": group, "n": "n" })).await;
        assert_eq!(told["nodeStatus"]["nodeId"], "n", "{told}");
        let list = "query($g: ID!) {
            listGroupStatuses(groupId: $g, domain: \"local\") { nodeId data { value } timestamp }
        }";
        let here = one.get(list, json!({ "g": group })).await;
        assert_eq!(here, other.get(list, json!({ "g": group })).await, "report {count}");
        assert_eq!(here[0]["data"], json!([{ "value": "7" }]));
        let time = format!("2027-01-15T08:00:00.00{}Z", count - 1);
        assert_eq!(here[0]["timestamp"], time, "time grows over instances too");
        let status = "query { getNodeStatus(nodeId: \"n\") { timestamp } }";
        assert_eq!(other.get(status, json!({})).await["timestamp"], time);
    }
    // A host ends the group where nobody has reported; nothing is saved after that.
    let dissolve = "mutation($g: ID!) {
        dissolveGroup(groupId: $g, domain: \"local\", hostId: \"h\") { domain }
    }";
    other.get(dissolve, json!({ "g": group })).await;
    one.pass(2).await;
    let left = one.mesh.tables.scan(table::Scan::new("MeshV2Table")).await.unwrap();
    assert_eq!(left.items, []);
}
