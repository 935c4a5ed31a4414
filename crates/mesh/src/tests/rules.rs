//! The rows of the contract's table of operations.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::Class;
use crate::model::{CreateGroup, GroupKey, SensorData};
use crate::{Membership, Options};

const REPORT: &str = "mutation($g: ID!, $d: String!, $n: ID!, $data: [SensorDataInput!]!) {
    reportDataByNode(groupId: $g, domain: $d, nodeId: $n, data: $data) {
        nodeStatus { timestamp data { key value } }
    }
}";
const FIRE: &str = "mutation($g: ID!, $d: String!, $n: ID!, $e: [EventInput!]!) {
    fireEventsByNode(groupId: $g, domain: $d, nodeId: $n, events: $e) {
        batchEvent { events { name payload timestamp cursor orderKey } }
    }
}";
const STATUSES: &str = "query($g: ID!, $d: String!) {
    listGroupStatuses(groupId: $g, domain: $d) { nodeId data { key value } }
}";
const NODES: &str = "query($g: ID!, $d: String!) {
    listNodesInGroup(groupId: $g, domain: $d) { id name useWebSocket pollingIntervalSeconds }
}";
const EVENTS: &str = "query($g: ID!, $d: String!, $s: String!) {
    getEventsSince(groupId: $g, domain: $d, since: $s) { name cursor orderKey timestamp }
}";
const RENEW: &str = "mutation($g: ID!, $d: String!, $h: ID!) {
    renewHeartbeat(groupId: $g, domain: $d, hostId: $h) { expiresAt heartbeatIntervalSeconds }
}";
const BEAT: &str = "mutation($g: ID!, $d: String!, $n: ID!) {
    sendMemberHeartbeat(groupId: $g, domain: $d, nodeId: $n) { expiresAt heartbeatIntervalSeconds }
}";
const DISSOLVE: &str = "mutation($g: ID!, $d: String!, $h: ID!) {
    dissolveGroup(groupId: $g, domain: $d, hostId: $h) { groupDissolve { message } }
}";
const LIST: &str = "query($d: String!) { listGroupsByDomain(domain: $d) { id } }";

fn of(group: &str, who: &str) -> Json {
    json!({ "g": group, "d": "local", "n": who, "h": who })
}

fn data(group: &str, who: &str, pairs: &[(&str, &str)]) -> Json {
    let mut variables = of(group, who);
    let pairs = pairs.iter().map(|(key, value)| json!({ "key": key, "value": value }));
    variables["data"] = pairs.collect();
    variables
}

fn fired(group: &str, who: &str, count: usize) -> Json {
    let mut variables = of(group, who);
    let event = |number| {
        json!({
            "eventName": format!("e{number}"),
            "firedAt": "2027-01-15T08:00:00.5Z",
            "payload": "",
            "orderKey": format!("k{number}"),
        })
    };
    variables["e"] = (0..count).map(event).collect();
    variables
}

fn unauthorized(what: &str) -> (String, String) {
    ("Unauthorized".to_owned(), what.to_owned())
}

#[testkit::test]
async fn a_hundred_simultaneous_calls_of_one_host_make_one_group() {
    let class = Class::open().await;
    let mut calls = JoinSet::new();
    for number in 0..100 {
        let mesh = Arc::clone(&class.mesh);
        calls.spawn(async move {
            let command = CreateGroup {
                name: format!("組 {number}"),
                host_id: "h".to_owned(),
                host_secret: None,
                domain: "local".to_owned(),
                max_connection_time_seconds: None,
                use_web_socket: number % 2 == 0,
            };
            mesh.create_group(command).await.unwrap().group()
        });
    }
    let mut groups = Vec::new();
    while let Some(group) = calls.join_next().await {
        groups.push(group.unwrap());
    }
    assert!(groups.iter().all(|group| *group == groups[0]));
    let listed = class.get(LIST, json!({ "d": "local" })).await;
    assert_eq!(listed, json!([{ "id": groups[0].key.id }]));
}

#[testkit::test]
async fn a_group_that_lapsed_makes_room_for_another_of_the_same_host() {
    let class = Class::open().await;
    let first = class.create("h", "local").await;
    assert_eq!(class.create("h", "local").await, first);
    class.pass(150).await;
    let second = class.create("h", "local").await;
    assert_ne!(second, first);
    assert_ne!(class.create("h", "elsewhere").await, second, "another domain, another group");
    // The first one can still be dissolved, and takes nothing of the second with it.
    class.get(DISSOLVE, of(&first, "h")).await;
    assert_eq!(class.create("h", "local").await, second);
}

#[testkit::test]
async fn nobody_but_members_speaks_in_a_group() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let stranger = class.refusal(REPORT, data(&group, "x", &[])).await;
    assert_eq!(stranger, unauthorized("Only members of the group can report data"));
    let stranger = class.refusal(FIRE, fired(&group, "x", 1)).await;
    assert_eq!(stranger, unauthorized("Only members of the group can fire events"));
    let stranger = class.refusal(BEAT, of(&group, "x")).await;
    assert_eq!(stranger, ("NodeNotFound".to_owned(), "Node not found".to_owned()));
    class.get(REPORT, data(&group, "h", &[])).await;
    class.join(&group, "local", "x").await;
    class.get(REPORT, data(&group, "x", &[])).await;
    let open = Options { membership: Membership::Open, ..Options::default() };
    let class = Class::open_with(open).await;
    let group = class.create("h", "local").await;
    class.get(REPORT, data(&group, "x", &[("a", "1")])).await;
    let told = class.get(STATUSES, of(&group, "")).await;
    assert_eq!(told[0]["nodeId"], "x");
}

#[testkit::test]
async fn three_clocks_run_apart() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    class.join(&group, "local", "n").await;
    let end = class.get(RENEW, of(&group, "h")).await;
    assert_eq!(
        end,
        json!({ "expiresAt": "2027-01-15T08:50:00.000Z", "heartbeatIntervalSeconds": 30 })
    );
    // The member's lease is 600 s; the host's would have lapsed without heartbeats.
    for _ in 0..5 {
        class.pass_long(120).await;
        assert_eq!(class.get(RENEW, of(&group, "h")).await, end, "the end does not move");
    }
    assert_eq!(class.get(NODES, of(&group, "")).await, json!([]), "the member has lapsed");
    let lapsed = class.refusal(BEAT, of(&group, "n")).await;
    assert_eq!(lapsed.0, "NodeNotFound");
    class.join(&group, "local", "n").await;
    let beat = class.get(BEAT, of(&group, "n")).await;
    assert_eq!(beat["expiresAt"], "2027-01-15T08:20:00.000Z");
    // At most 150 s between heartbeats; then the group is gone for everyone.
    class.pass(150).await;
    let (kind, told) = class.refusal(RENEW, of(&group, "h")).await;
    assert_eq!(kind, "GroupNotFound");
    assert_eq!(told, format!("Group not found: {group}@local (heartbeat expired)"));
    assert_eq!(class.get(LIST, json!({ "d": "local" })).await, json!([]));
    assert_eq!(class.get(NODES, of(&group, "")).await, json!([]));
    assert_eq!(class.get(STATUSES, of(&group, "")).await, json!([]));
}

#[testkit::test]
async fn a_group_ends_at_its_end_whatever_its_host_does() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    for _ in 0..29 {
        class.pass_long(100).await;
        class.get(RENEW, of(&group, "h")).await;
    }
    class.pass(100).await;
    let (kind, told) = class.refusal(RENEW, of(&group, "h")).await;
    assert_eq!(kind, "GroupNotFound");
    let expected = format!("Group expired: {group}@local (expiresAt: 2027-01-15T08:50:00.000Z)");
    assert_eq!(told, expected);
}

#[testkit::test]
async fn joining_twice_does_no_harm_and_forty_are_a_class() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let mut calls = JoinSet::new();
    for number in 0..45 {
        let (mesh, id) = (Arc::clone(&class.mesh), group.clone());
        calls.spawn(async move {
            let key = crate::model::GroupKey::new(id, "local".to_owned()).unwrap();
            mesh.join_group(&key, &format!("n{number}")).await.is_ok()
        });
    }
    let mut admitted = 0;
    while let Some(joined) = calls.join_next().await {
        admitted += u32::from(joined.unwrap());
    }
    assert_eq!(admitted, 40);
    let nodes = class.get(NODES, of(&group, "")).await;
    assert_eq!(nodes.as_array().unwrap().len(), 40);
    let one = nodes[0]["id"].as_str().unwrap();
    let again = class.join(&group, "local", one).await;
    assert_eq!(again["data"]["joinGroup"]["name"], format!("Node {one}"));
    let full = class.join(&group, "local", "late").await;
    assert_eq!(full["errors"][0]["errorType"], "ValidationError");
    assert_eq!(full["data"], Json::Null, "a field that cannot be null takes the data with it");
}

#[testkit::test]
async fn a_late_joiner_sees_every_variable() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    class.get(REPORT, data(&group, "h", &[("温度", "1"), ("b", "2")])).await;
    class.get(REPORT, data(&group, "h", &[("温度", "3")])).await;
    let told = class.get(STATUSES, of(&group, "")).await;
    let merged = json!([{ "key": "温度", "value": "3" }, { "key": "b", "value": "2" }]);
    assert_eq!(told, json!([{ "nodeId": "h", "data": merged }]));
    // One that left and came back begins with nothing.
    class.join(&group, "local", "n").await;
    class.get(REPORT, data(&group, "n", &[("x", "1")])).await;
    class
        .get(
            "mutation($g: ID!, $d: String!, $n: ID!) {
            leaveGroup(groupId: $g, domain: $d, nodeId: $n) { message }
        }",
            of(&group, "n"),
        )
        .await;
    assert_eq!(class.get(STATUSES, of(&group, "")).await.as_array().unwrap().len(), 1);
}

#[testkit::test]
async fn two_schools_with_equal_ids_stay_apart() {
    let class = Class::open().await;
    let (here, there) = (class.create("h", "local").await, class.create("h", "there").await);
    let mut variables = data(&there, "h", &[("secret", "1")]);
    variables["d"] = json!("there");
    class.get(REPORT, variables).await;
    assert_eq!(class.get(STATUSES, of(&here, "")).await, json!([]));
    let status = "query($n: ID!) { getNodeStatus(nodeId: $n) { domain data { value } } }";
    class.get(REPORT, data(&here, "h", &[("open", "2")])).await;
    let own = class.get(status, json!({ "n": "h" })).await;
    assert_eq!(own, json!({ "domain": "local", "data": [{ "value": "2" }] }));
}

#[testkit::test]
async fn events_are_read_once_by_their_cursors() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    for count in [110, 150] {
        let told = class.get(FIRE, fired(&group, "h", count)).await;
        let events = told["batchEvent"]["events"].as_array().unwrap().clone();
        assert_eq!(events.len(), count);
        assert_eq!(events[0]["payload"], Json::Null, "an empty payload is none");
        assert_eq!(events[0]["timestamp"], "2027-01-15T08:00:00.500Z", "the sender's time");
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["orderKey"], format!("k{number}"));
        }
    }
    let (mut since, mut read) = (String::new(), Vec::new());
    loop {
        let mut variables = of(&group, "");
        variables["s"] = json!(since);
        let page = class.get(EVENTS, variables).await;
        let page = page.as_array().unwrap().clone();
        assert!(page.len() <= 100);
        let Some(last) = page.last() else { break };
        since = last["cursor"].as_str().unwrap().to_owned();
        read.extend(page);
    }
    assert_eq!(read.len(), 260);
    assert!(read.windows(2).all(|pair| pair[0]["cursor"].as_str() < pair[1]["cursor"].as_str()));
    let names = read.iter().map(|event| event["name"].as_str().unwrap().to_owned());
    let right = (0..110).chain(0..150).map(|number| format!("e{number}"));
    assert!(names.eq(right), "in the order in which they were fired");
    let mut variables = of(&group, "");
    // Eleven writes of at most 25 events, each with a millisecond of its own.
    variables["s"] = json!("2027-01-15T08:00:00.010Z");
    assert_eq!(class.get(EVENTS, variables.clone()).await, json!([]), "strictly after an instant");
    variables["s"] = json!("2027-01-15T07:59:59.999Z");
    assert_eq!(class.get(EVENTS, variables.clone()).await.as_array().unwrap().len(), 100);
    class.pass(62).await;
    assert_eq!(class.get(EVENTS, variables).await, json!([]), "they are kept for a minute");
    let too_many = class.refusal(FIRE, fired(&group, "h", 1001)).await;
    let bound = "at most 1000 events can be sent in one call, not 1001";
    assert_eq!(too_many, ("ValidationError".to_owned(), bound.to_owned()));
}

#[testkit::test]
async fn recording_answers_where_to_go_on() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let record = "mutation($g: ID!, $d: String!, $n: ID!, $e: [EventInput!]!) {
        recordEventsByNode(groupId: $g, domain: $d, nodeId: $n, events: $e) {
            recordedCount nextSince
        }
    }";
    class.pass(5).await;
    let told = class.get(record, fired(&group, "h", 3)).await;
    assert_eq!(told["recordedCount"], 3);
    let mut variables = of(&group, "");
    variables["s"] = json!("");
    let read = class.get(EVENTS, variables.clone()).await;
    assert_eq!(read[0]["timestamp"], "2027-01-15T08:00:05.000Z", "the server's time");
    assert_eq!(read[2]["cursor"], told["nextSince"]);
    variables["s"] = told["nextSince"].clone();
    assert_eq!(class.get(EVENTS, variables).await, json!([]));
}

#[testkit::test]
async fn what_is_not_there_is_no_error_to_list_leave_or_poll() {
    let class = Class::open().await;
    let mut variables = of("nothing", "n");
    variables["s"] = json!("");
    for query in [STATUSES, NODES, EVENTS] {
        assert_eq!(class.get(query, variables.clone()).await, json!([]));
    }
    let polled = class
        .get(
            "query($g: ID!, $d: String!, $s: String!) {
                pollGroupData(groupId: $g, domain: $d, since: $s) {
                    events { name } nodeStatuses { nodeId }
                }
            }",
            variables.clone(),
        )
        .await;
    assert_eq!(polled, json!({ "events": [], "nodeStatuses": [] }));
    let left = class
        .get(
            "mutation($g: ID!, $d: String!, $n: ID!) {
                leaveGroup(groupId: $g, domain: $d, nodeId: $n) { message }
            }",
            variables.clone(),
        )
        .await;
    assert_eq!(left["message"], "Peer n successfully left group nothing");
    let answer = class.ask(DISSOLVE, variables).await;
    assert_eq!(answer["data"], json!({ "dissolveGroup": null }));
    assert_eq!(answer["errors"][0]["message"], "Group not found: nothing@local");
    assert_eq!(answer["errors"][0]["path"], json!(["dissolveGroup"]));
    assert_eq!(answer["errors"][0]["locations"][0]["sourceName"], Json::Null);
}

#[testkit::test]
async fn only_the_host_dissolves_and_then_nothing_is_left() {
    let class = Class::open_with(Options { api_key: "k".to_owned(), ..Options::default() }).await;
    let group = class.create("h", "local").await;
    class.join(&group, "local", "n").await;
    class.get(REPORT, data(&group, "n", &[("x", "1")])).await;
    class.get(FIRE, fired(&group, "n", 30)).await;
    let other = class.refusal(DISSOLVE, of(&group, "n")).await;
    assert_eq!(other, unauthorized("Only the host can dissolve the group"));
    class.get(DISSOLVE, of(&group, "h")).await;
    for (query, variables) in [(REPORT, data(&group, "h", &[])), (RENEW, of(&group, "h"))] {
        let (kind, told) = class.refusal(query, variables).await;
        assert_eq!(
            (kind.as_str(), told),
            ("GroupNotFound", format!("Group not found: {group}@local"))
        );
    }
    let left = class.mesh.tables.scan(table::Scan::new("MeshV2Table")).await.unwrap();
    assert_eq!(left.items, []);
}

#[testkit::test]
async fn a_search_finds_living_groups_of_all_domains_by_name() {
    let class = Class::open().await;
    for (name, domain) in [("3年2組", "a"), ("3年1組", "b"), ("4年1組", "a")] {
        class
            .get(
                "mutation($n: String!, $d: String!) {
                createGroup(name: $n, hostId: \"h\", domain: $d, useWebSocket: false) { id }
            }",
                json!({ "n": name, "d": format!("{domain}{name}") }),
            )
            .await;
    }
    let search = "query($p: String!) { searchGroupsByNamePrefix(namePrefix: $p) {
        name pollingIntervalSeconds } }";
    let found = class.get(search, json!({ "p": "3年" })).await;
    assert_eq!(found[0], json!({ "name": "3年1組", "pollingIntervalSeconds": 2 }));
    assert_eq!(found.as_array().unwrap().len(), 2);
    for prefix in ["", "1234567"] {
        assert_eq!(class.refusal(search, json!({ "p": prefix })).await.0, "ValidationError");
    }
    class.pass(150).await;
    assert_eq!(class.get(search, json!({ "p": "3年" })).await, json!([]));
}

#[testkit::test]
async fn members_are_told_once_when_a_group_lapses_and_not_while_its_host_is_there() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let query = "subscription($g: ID!) {
        onGroupDissolve(groupId: $g, domain: \"local\") { groupId message }
    }";
    let mut member = class.follow(query, json!({ "g": group })).await;
    for _ in 0..4 {
        class.pass_long(100).await;
        class.get(RENEW, of(&group, "h")).await;
    }
    assert_eq!(member.waiting(), [] as [Json; 0]);
    class.pass(149).await;
    assert_eq!(member.waiting(), [] as [Json; 0]);
    class.pass(2).await;
    let told = json!({ "groupId": group, "message": format!("Group {group}@local has ended.") });
    assert_eq!(member.next().await, json!({ "data": { "onGroupDissolve": told } }));
    class.pass_long(3600).await;
    class.pass(100).await;
    assert_eq!(member.waiting(), [] as [Json; 0], "once");
}

#[testkit::test]
async fn any_script_is_good_for_names_ids_keys_and_domains() {
    let class = Class::open().await;
    let create = "mutation($d: String!) {
        createGroup(name: \"理科室 🧪\", hostId: \"先生\", domain: $d) { id fullId name hostId domain }
    }";
    let group = class.get(create, json!({ "d": "第三小学校" })).await;
    let id = group["id"].as_str().unwrap().to_owned();
    assert_eq!(group["fullId"], format!("{id}@第三小学校"));
    assert_eq!(group["name"], "理科室 🧪");
    let mut variables = data(&id, "花子", &[("温度", "二十一"), ("😀", "")]);
    variables["d"] = json!("第三小学校");
    class
        .get(
            "mutation($g: ID!, $d: String!, $n: ID!) {
        joinGroup(groupId: $g, domain: $d, nodeId: $n) { name }
    }",
            variables.clone(),
        )
        .await;
    class.get(REPORT, variables.clone()).await;
    let listed = class.get(STATUSES, variables.clone()).await;
    assert_eq!(
        listed,
        json!([{ "nodeId": "花子", "data": [
            { "key": "温度", "value": "二十一" }, { "key": "😀", "value": "" },
        ] }])
    );
    let found =
        class.get("{ searchGroupsByNamePrefix(namePrefix: \"理科\") { name } }", json!({})).await;
    assert_eq!(found, json!([{ "name": "理科室 🧪" }]));
}

#[testkit::test]
async fn a_report_that_races_a_dissolve_is_told_before_it_or_refused() {
    // The order is one instance's; two may tell in another one what they commit at once.
    let class = Class::alone().await;
    for round in 0..50 {
        let host = format!("h{round}");
        let group = class.create(&host, "local").await;
        let query = "subscription($g: ID!) {
            onMessageInGroup(groupId: $g, domain: \"local\") {
                nodeStatus { nodeId } groupDissolve { groupId }
            }
        }";
        let mut member = class.follow(query, json!({ "g": group })).await;
        let mut reports = JoinSet::new();
        for number in 0..8 {
            let (mesh, host) = (Arc::clone(&class.mesh), host.clone());
            let key = GroupKey { id: group.clone(), domain: "local".to_owned() };
            reports.spawn(async move {
                for _ in 0..(number + round) % 8 {
                    tokio::task::yield_now().await;
                }
                let data = vec![SensorData { key: "k".to_owned(), value: "v".to_owned() }];
                mesh.report_data(&key, &host, data).await.is_ok()
            });
        }
        for _ in 0..round % 8 {
            tokio::task::yield_now().await;
        }
        class.get(DISSOLVE, of(&group, &host)).await;
        let mut acknowledged = 0;
        while let Some(done) = reports.join_next().await {
            acknowledged += usize::from(done.unwrap());
        }
        let told = member.waiting();
        let end = told.len() - 1;
        assert_eq!(end, acknowledged, "all that were acknowledged, and nothing behind the end");
        for (place, push) in told.iter().enumerate() {
            let is_end = !push["data"]["onMessageInGroup"]["groupDissolve"].is_null();
            assert_eq!(is_end, place == end, "{push}");
        }
    }
}

#[testkit::test]
async fn the_sender_hears_itself_and_what_is_told_is_as_it_was_sent() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let query = "subscription($g: ID!) {
        onDataUpdateInGroup(groupId: $g, domain: \"local\") { nodeId data { key value } timestamp }
    }";
    let mut sender = class.follow(query, json!({ "g": group })).await;
    class.get(REPORT, data(&group, "h", &[("b", "1"), ("a", "2"), ("b", "3")])).await;
    class.get(REPORT, data(&group, "h", &[])).await;
    let first = sender.next().await["data"]["onDataUpdateInGroup"].clone();
    assert_eq!(
        first["data"],
        json!([
            { "key": "b", "value": "1" }, { "key": "a", "value": "2" }, { "key": "b", "value": "3" },
        ]),
        "order and doubles are kept"
    );
    let second = sender.next().await["data"]["onDataUpdateInGroup"].clone();
    assert_eq!(second["data"], json!([]));
    assert_eq!(first["timestamp"], "2027-01-15T08:00:00.000Z");
    assert_eq!(
        second["timestamp"], "2027-01-15T08:00:00.001Z",
        "time never stands still for a node"
    );
}

#[testkit::test]
async fn making_a_group_again_changes_nothing_and_renews_nothing() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    class.pass_long(100).await;
    let again = "mutation {
        createGroup(name: \"other\", hostId: \"h\", domain: \"local\", useWebSocket: false) {
            id name useWebSocket pollingIntervalSeconds
        }
    }";
    let same = json!({
        "id": group, "name": "組", "useWebSocket": true, "pollingIntervalSeconds": null,
    });
    assert_eq!(class.get(again, json!({})).await, same);
    // 150 s after the group was made, and 50 s after it was asked for again.
    class.pass(50).await;
    let (_, told) = class.refusal(RENEW, of(&group, "h")).await;
    assert_eq!(told, format!("Group not found: {group}@local (heartbeat expired)"));
}

#[testkit::test]
async fn a_message_too_long_to_be_pushed_is_refused_and_leaves_nothing() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let value = "x".repeat(4096);
    let keys: Vec<String> = (0..61).map(|number| number.to_string()).collect();
    let pairs: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), value.as_str())).collect();
    let (kind, told) = class.refusal(REPORT, data(&group, "h", &pairs)).await;
    assert_eq!(kind, "ValidationError");
    assert!(told.starts_with("a message is at most 245760 bytes, not 25"), "{told}");
    assert_eq!(class.get(STATUSES, of(&group, "")).await, json!([]));
}

#[testkit::test]
async fn pollers_read_the_times_of_the_server() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    // The sender's clock is two hours ahead, then behind; every instant is read back as `since`.
    let (mut since, mut read) = ("2027-01-15T07:59:59Z".to_owned(), Vec::new());
    for (number, fired_at) in ["2027-01-15T10:00:00Z", "2027-01-15T06:00:00Z"].iter().enumerate() {
        for call in 0..3 {
            let mut variables = of(&group, "h");
            let name = format!("{number}-{call}");
            variables["e"] = json!([{ "eventName": name, "firedAt": fired_at }]);
            let told = class.get(FIRE, variables).await;
            let pushed = &told["batchEvent"]["events"][0]["timestamp"];
            assert_eq!(pushed.as_str().unwrap()[..19], fired_at[..19], "pushes have the sender's");
            let mut variables = of(&group, "");
            variables["s"] = json!(since);
            let page = class.get(EVENTS, variables).await;
            for event in page.as_array().unwrap() {
                since = event["timestamp"].as_str().unwrap().to_owned();
                read.push(event["name"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(read, ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2"], "each once");
    // Pages end between two times, so that the last time of a page leaves nothing out.
    class.get(FIRE, fired(&group, "h", 130)).await;
    for expected in [100, 30] {
        let mut variables = of(&group, "");
        variables["s"] = json!(since);
        let page = class.get(EVENTS, variables).await;
        let page = page.as_array().unwrap();
        assert_eq!(page.len(), expected);
        since = page.last().unwrap()["timestamp"].as_str().unwrap().to_owned();
    }
}

#[testkit::test]
async fn a_poller_whose_clock_is_ahead_misses_nothing() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let mut variables = of(&group, "");
    variables["s"] = json!("2027-01-15T08:05:00Z");
    assert_eq!(class.get(EVENTS, variables.clone()).await, json!([]));
    class.pass(2).await;
    class.get(FIRE, fired(&group, "h", 1)).await;
    class.pass(1).await;
    let page = class.get(EVENTS, variables.clone()).await;
    assert_eq!(page[0]["name"], "e0");
    variables["s"] = page[0]["cursor"].clone();
    assert_eq!(class.get(EVENTS, variables).await, json!([]));
}

#[testkit::test]
async fn a_since_may_be_the_beginning_of_a_sort_key() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    class.get(FIRE, fired(&group, "h", 1)).await;
    for (since, count) in [
        ("EVENT#2027-01-15T08:00:00.000Z", 1),
        ("EVENT#2027-01-15T08:00:00.000Z#evt-001", 0),
        ("EVENT#2027-01-15T07:59:59.999Z#evt-001", 1),
        ("EVENT#1799999999999#0000000001", 1),
        ("EVENT#1800000000000#9999999999", 0),
    ] {
        let mut variables = of(&group, "");
        variables["s"] = json!(since);
        let page = class.get(EVENTS, variables).await;
        assert_eq!(page.as_array().unwrap().len(), count, "{since}");
    }
    let mut variables = of(&group, "");
    variables["s"] = json!("EVENT#yesterday");
    let (kind, told) = class.refusal(EVENTS, variables).await;
    assert_eq!(kind, "ValidationError");
    assert!(told.starts_with("since must be empty, a cursor or an instant"), "{told}");
}

#[testkit::test]
async fn what_is_empty_is_none_or_refused() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let mut variables = of(&group, "h");
    let event = json!({ "eventName": "e", "firedAt": "2027-01-15T08:00:00Z", "orderKey": "" });
    variables["e"] = json!([event]);
    let told = class.get(FIRE, variables).await;
    assert_eq!(told["batchEvent"]["events"][0]["orderKey"], Json::Null);
    let create = "mutation($h: ID!, $d: String!) {
        createGroup(name: \"n\", hostId: $h, domain: $d) { id }
    }";
    for (variables, words) in [
        (json!({ "h": "", "d": "local" }), "hostId must not be empty"),
        (json!({ "h": "h", "d": "" }), "domain must not be empty"),
    ] {
        let refused = class.refusal(create, variables).await;
        assert_eq!(refused, ("ValidationError".to_owned(), words.to_owned()));
    }
    let nameless = class.join(&group, "local", "").await;
    assert_eq!(nameless["errors"][0]["message"], "nodeId must not be empty");
}
