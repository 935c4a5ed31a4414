//! What the store holds: the items as the seed draws them, values that outlive the process, and
//! tables of an earlier layout.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Tasks, Timestamp};
use serde_json::{Value as Json, json};
use table::{
    Embedded, Faults, Item, KeyAttribute, KeySpec, MemoryDisk, Put, Scan, TableSpec, Tables,
    item_to_json,
};
use testkit::{START, World};

use super::Class;
use crate::Options;

const REPORT: &str = "mutation($g: ID!, $n: ID!, $data: [SensorDataInput!]!) {
    reportDataByNode(groupId: $g, domain: \"local\", nodeId: $n, data: $data) { groupId }
}";
const STATUSES: &str = "query($g: ID!) {
    listGroupStatuses(groupId: $g, domain: \"local\") { nodeId data { key value } }
}";
const STATUS: &str = "query($n: ID!) { getNodeStatus(nodeId: $n) { data { key value } } }";
const LEAVE: &str = "mutation($g: ID!, $n: ID!) {
    leaveGroup(groupId: $g, domain: \"local\", nodeId: $n) { message }
}";
const FIRE: &str = "mutation($g: ID!) {
    fireEventsByNode(groupId: $g, domain: \"local\", nodeId: \"n\", events: [{
        eventName: \"pressed\", payload: \"A\", orderKey: \"7\", firedAt: \"2027-01-15T09:00:00Z\"
    }]) { groupId }
}";
const RENEW: &str = "mutation($g: ID!) {
    renewHeartbeat(groupId: $g, domain: \"local\", hostId: \"h\") { expiresAt }
}";
const BEAT: &str = "mutation($g: ID!) {
    sendMemberHeartbeat(groupId: $g, domain: \"local\", nodeId: \"n\") { expiresAt }
}";

fn report(group: &str, node: &str, pairs: &[(&str, &str)]) -> Json {
    let data = pairs.iter().map(|(key, value)| json!({ "key": key, "value": value }));
    json!({ "g": group, "n": node, "data": data.collect::<Json>() })
}

fn told(node: &str, pairs: &[(&str, &str)]) -> Json {
    let data = pairs.iter().map(|(key, value)| json!({ "key": key, "value": value }));
    json!({ "nodeId": node, "data": data.collect::<Json>() })
}

/// The room on what is on this disk, from this time on, and the tasks of its store.
async fn open_disk(disk: &MemoryDisk, now: Timestamp) -> (Class, Tasks) {
    let ((clock, time), tasks) = (Clock::virtual_at(now), Tasks::new());
    let options = table::Options { segment_mib: 4, ..Default::default() };
    let store = Embedded::on_memory_disk(disk.clone(), options, clock.clone(), &tasks).await;
    let tables: Arc<dyn Tables> = Arc::new(store.unwrap());
    let world = World::on(tables, clock, time, tasks.clone()).await;
    let instance = world.instance().await;
    (Class::on(world, vec![instance], Options::default()).await, tasks)
}

/// All items of a table.
async fn items(class: &Class, table: &str) -> Vec<Item> {
    class.tables.scan(Scan::new(table)).await.unwrap().items
}

/// The item under this key, in DynamoDB's JSON.
async fn item(class: &Class, pk: &str, sk: &str) -> Json {
    let found = items(class, "MeshV2Table").await;
    let is_it = |item: &&Item| {
        item.get("pk").and_then(|pk| pk.as_s()) == Some(pk)
            && item.get("sk").and_then(|sk| sk.as_s()).is_some_and(|at| at.starts_with(sk))
    };
    item_to_json(found.iter().find(is_it).unwrap_or_else(|| panic!("no {pk} {sk}: {found:?}")))
}

#[testkit::test]
async fn values_survive_a_process_that_is_killed() {
    let disk = MemoryDisk::breakable();
    let (class, store_tasks) = open_disk(&disk, START).await;
    let group = class.create("h", "local").await;
    class.join(&group, "local", "n").await;
    class.get(REPORT, report(&group, "n", &[("x", "1"), ("y", "2")])).await;
    class.get(REPORT, report(&group, "n", &[("x", "3")])).await;
    class.get(REPORT, report(&group, "h", &[("z", "4")])).await;
    class.pass(1).await;
    // Nobody closes anything: the disk has what was written until now.
    class.allow(testkit::Left::Jobs);
    store_tasks.shutdown().begin();
    disk.lose_power(|| false);
    let disk = disk.copy();

    let later = START.checked_add(Duration::from_secs(5)).unwrap();
    let (again, _) = open_disk(&disk, later).await;
    let expected = json!([told("h", &[("z", "4")]), told("n", &[("x", "3"), ("y", "2")])]);
    assert_eq!(again.get(STATUSES, json!({ "g": group })).await, expected);
    again.get(REPORT, report(&group, "n", &[("y", "5")])).await;
    let one = again.get(STATUS, json!({ "n": "n" })).await;
    assert_eq!(one["data"], told("", &[("x", "3"), ("y", "5")])["data"]);
}

#[testkit::test]
async fn items_are_as_the_seed_draws_them() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    class.join(&group, "local", "n").await;
    class.get(REPORT, report(&group, "n", &[("温度", "25.5")])).await;
    class.get(FIRE, json!({ "g": group })).await;
    class.pass(1).await;
    let metadata = item(&class, "DOMAIN#local", &format!("GROUP#{group}#METADATA")).await;
    for (name, value) in [
        ("GSI1PK", json!({ "S": "DOMAIN#local" })),
        ("GSI1SK", json!({ "S": "GROUP#2027-01-15T08:00:00.000Z" })),
        ("groupId", json!({ "S": group })),
        ("domain", json!({ "S": "local" })),
        ("name", json!({ "S": "組" })),
        ("hostId", json!({ "S": "h" })),
        ("createdAt", json!({ "S": "2027-01-15T08:00:00.000Z" })),
        ("expiresAt", json!({ "N": "1800003000" })),
    ] {
        assert_eq!(metadata[name], value, "{name}: {metadata}");
    }
    let partition = format!("GROUP#{group}@local");
    let node = item(&class, &partition, "NODE#n").await;
    for (name, value) in [
        ("nodeId", json!({ "S": "n" })),
        ("name", json!({ "S": "Node n" })),
        ("groupId", json!({ "S": group })),
        ("domain", json!({ "S": "local" })),
        ("heartbeatIntervalSeconds", json!({ "N": "120" })),
    ] {
        assert_eq!(node[name], value, "{name}: {node}");
    }
    let event = item(&class, &partition, "EVENT#2027-01-15T08:00:00.000Z#").await;
    for (name, value) in [
        ("eventName", json!({ "S": "pressed" })),
        ("firedByNodeId", json!({ "S": "n" })),
        ("groupId", json!({ "S": group })),
        ("domain", json!({ "S": "local" })),
        ("payload", json!({ "S": "A" })),
        ("timestamp", json!({ "S": "2027-01-15T08:00:00.000Z" })),
    ] {
        assert_eq!(event[name], value, "{name}: {event}");
    }
    let status = item(&class, &format!("NODE#n@{group}"), "STATUS#LATEST").await;
    let pair = json!({ "M": { "key": { "S": "温度" }, "value": { "S": "25.5" } } });
    for (name, value) in [
        ("sk", json!({ "S": "STATUS#LATEST" })),
        ("nodeId", json!({ "S": "n" })),
        ("groupId", json!({ "S": group })),
        ("domain", json!({ "S": "local" })),
        ("data", json!({ "L": [pair] })),
        ("timestamp", json!({ "S": "2027-01-15T08:00:00.000Z" })),
    ] {
        assert_eq!(status[name], value, "{name}: {status}");
    }
    // Heartbeats move the `ttl` of group and node.
    class.pass(60).await;
    for beat in [RENEW, BEAT] {
        class.get(beat, json!({ "g": group })).await;
    }
    let seconds = |item: &Json| item["ttl"]["N"].as_str().unwrap().parse::<u64>().unwrap();
    let host = item(&class, "DOMAIN#local", &format!("GROUP#{group}#METADATA")).await;
    assert_eq!(seconds(&host), seconds(&metadata) + 61);
    let member = item(&class, &partition, "NODE#n").await;
    assert_eq!(seconds(&member), seconds(&node) + 61);
}

/// A table as earlier versions declared it.
fn old_table(name: &str) -> TableSpec {
    let key = |pk, sk| KeySpec::composite(KeyAttribute::s(pk), KeyAttribute::s(sk));
    TableSpec::new(name, key("pk", "sk")).index("GSI1", key("GSI1PK", "GSI1SK")).expiring_by("ttl")
}

#[testkit::test]
async fn tables_of_the_old_layout_go_when_their_rows_have_expired() {
    let world = World::new().await;
    let instance = world.instance().await;
    for name in ["mesh", "mesh-status"] {
        instance.ground.tables.ensure_table(old_table(name)).await.unwrap();
    }
    let key = Item::new().with("pk", "ROOM").with("sk", "KEY").with("key", "da2-kept");
    let ttl = START.seconds() + 3600;
    let row = Item::new().with("pk", "DOMAIN#d").with("sk", "GROUP#g#METADATA").with("ttl", ttl);
    for item in [key, row] {
        instance.ground.tables.put(Put::new("mesh", item)).await.unwrap();
    }
    let class = Class::on(world.clone(), vec![instance], Options::default()).await;
    assert_eq!(class.mesh.api_key(), "da2-kept", "the key of the class is moved");
    let left = world.tables.list_tables().await.unwrap();
    assert!(left.contains(&"mesh".to_owned()), "{left:?}");
    assert!(!left.contains(&"mesh-status".to_owned()), "{left:?}");
    world.sleep(Duration::from_secs(3601)).await;
    let next = world.instance().await;
    let class = Class::on(world.clone(), vec![next], Options::default()).await;
    assert_eq!(class.mesh.api_key(), "da2-kept");
    let left = world.tables.list_tables().await.unwrap();
    assert!(!left.contains(&"mesh".to_owned()), "{left:?}");
    assert!(left.contains(&"MeshV2Table".to_owned()), "{left:?}");
}

/// Two instances on one store that do not hear each other.
async fn strangers(options: Options) -> (Class, Class) {
    let world = World::new().await;
    let open = async || {
        let instance = world.instance().await;
        Class::on(world.clone(), vec![instance], options.clone()).await
    };
    (open().await, open().await)
}

#[testkit::test]
async fn of_two_instances_the_newer_value_wins_whoever_saves_first() {
    let (one, other) = strangers(Options::default()).await;
    let group = one.create("h", "local").await;
    one.join(&group, "local", "n").await;
    one.get(REPORT, report(&group, "n", &[("x", "old"), ("y", "1")])).await;
    one.time.advance(Duration::from_millis(10)).await;
    other.get(REPORT, report(&group, "n", &[("x", "new"), ("z", "2")])).await;
    other.mesh.save_recent().await.unwrap();
    one.mesh.save_recent().await.unwrap();
    let expected = json!([told("n", &[("x", "new"), ("z", "2"), ("y", "1")])]);
    for class in [&one, &other] {
        assert_eq!(class.get(STATUSES, json!({ "g": group })).await, expected);
    }
    // The same after both have forgotten what they heard.
    one.pass(10).await;
    for class in [&one, &other] {
        assert_eq!(class.get(STATUSES, json!({ "g": group })).await, expected);
    }
}

#[testkit::test]
async fn what_is_saved_late_brings_nobody_back() {
    let (one, other) = strangers(Options::default()).await;
    let group = one.create("h", "local").await;
    one.join(&group, "local", "n").await;
    for node in ["n", "h"] {
        one.get(REPORT, report(&group, node, &[("x", "1")])).await;
        other.time.advance(Duration::from_millis(10)).await;
        other.get(LEAVE, json!({ "g": group, "n": node })).await;
    }
    one.pass(10).await;
    for class in [&one, &other] {
        assert_eq!(class.get(STATUSES, json!({ "g": group })).await, json!([]));
        assert_eq!(class.get(STATUS, json!({ "n": "n" })).await, Json::Null);
    }
    // Both may come back, and begin with nothing.
    one.join(&group, "local", "n").await;
    for node in ["n", "h"] {
        one.get(REPORT, report(&group, node, &[("y", "2")])).await;
    }
    other.pass(1).await;
    let expected = json!([told("h", &[("y", "2")]), told("n", &[("y", "2")])]);
    assert_eq!(other.get(STATUSES, json!({ "g": group })).await, expected);
}

#[testkit::test]
async fn nothing_of_a_dissolved_group_is_saved_late() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    class.get(REPORT, report(&group, "h", &[("x", "1")])).await;
    class.get(REPORT, report(&group, "h", &[("x", "2")])).await;
    let dissolve = "mutation($g: ID!) {
        dissolveGroup(groupId: $g, domain: \"local\", hostId: \"h\") { domain }
    }";
    class.get(dissolve, json!({ "g": group })).await;
    class.pass(2).await;
    assert_eq!(items(&class, "MeshV2Table").await, []);
}

#[testkit::test]
async fn a_house_that_is_closed_loses_nothing() {
    let world = World::new().await;
    let instance = world.instance().await;
    let class = Class::on(world.clone(), vec![instance.clone()], Options::default()).await;
    let group = class.create("h", "local").await;
    class.get(REPORT, report(&group, "h", &[("x", "1")])).await;
    instance.close(&world.time).await;
    let next = world.instance().await;
    let class = Class::on(world, vec![next], Options::default()).await;
    let listed = class.get(STATUSES, json!({ "g": group })).await;
    assert_eq!(listed, json!([told("h", &[("x", "1")])]));
}

#[testkit::test]
async fn reports_are_refused_while_they_cannot_be_saved() {
    let disk = MemoryDisk::breakable();
    let (class, _) = open_disk(&disk, START).await;
    let group = class.create("h", "local").await;
    disk.inject(Faults { full: true, ..Faults::default() });
    let value = "x".repeat(4000);
    let keys: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    let mut refused = None;
    // The disk has room for some of them.
    for round in 0..100 {
        let round = format!("{round}{value}");
        let pairs: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), &*round)).collect();
        let answer = class.ask(REPORT, report(&group, "h", &pairs)).await;
        if answer.get("errors").is_some() {
            refused = Some(answer["errors"][0]["errorType"].clone());
            break;
        }
        class.pass(1).await;
    }
    assert_eq!(refused, Some(json!("InsufficientStorageException")));
    let listed = class.get(STATUSES, json!({ "g": group })).await;
    assert_eq!(listed[0]["data"].as_array().unwrap().len(), 50, "what was acknowledged is shown");
    disk.inject(Faults::default());
    class.pass(2).await;
    class.get(REPORT, report(&group, "h", &[("0", "1")])).await;
}

#[testkit::test]
async fn a_table_that_somebody_made_under_an_old_name_stays() {
    let world = World::new().await;
    let instance = world.instance().await;
    for name in ["mesh", "mesh-status"] {
        let theirs = TableSpec::new(name, KeySpec::simple(KeyAttribute::s("id")));
        instance.ground.tables.ensure_table(theirs).await.unwrap();
    }
    let class = Class::on(world, vec![instance], Options::default()).await;
    let left = class.tables.list_tables().await.unwrap();
    for name in ["mesh", "mesh-status"] {
        assert!(left.contains(&name.to_owned()), "{left:?}");
    }
}
