//! Pushes are written by hand; the library is the judge of what they should look like.

use base::Random;
use serde_json::{Value as Json, json};

use super::Class;

/// Fields of each type, with the type of those that are objects.
fn fields(of: &str) -> &'static [(&'static str, &'static str)] {
    match of {
        "MeshMessage" => &[
            ("groupId", ""),
            ("domain", ""),
            ("nodeStatus", "NodeStatus"),
            ("batchEvent", "BatchEvent"),
            ("groupDissolve", "GroupDissolvePayload"),
            ("nodeId", ""),
            ("data", "SensorData"),
            ("timestamp", ""),
            ("events", "Event"),
            ("firedByNodeId", ""),
            ("message", ""),
        ],
        "NodeStatus" => &[
            ("nodeId", ""),
            ("groupId", ""),
            ("domain", ""),
            ("data", "SensorData"),
            ("timestamp", ""),
        ],
        "BatchEvent" => &[
            ("events", "Event"),
            ("firedByNodeId", ""),
            ("groupId", ""),
            ("domain", ""),
            ("timestamp", ""),
        ],
        "GroupDissolvePayload" => &[("groupId", ""), ("domain", ""), ("message", "")],
        "SensorData" => &[("key", ""), ("value", "")],
        "Event" => &[
            ("name", ""),
            ("firedByNodeId", ""),
            ("groupId", ""),
            ("domain", ""),
            ("payload", ""),
            ("timestamp", ""),
            ("cursor", ""),
            ("orderKey", ""),
        ],
        other => panic!("{other}"),
    }
}

/// A selection of `of`, with aliases, fragments, directives and repetitions.
fn select(random: &Random, of: &str, depth: u32) -> String {
    let mut text = String::from("{ __typename ");
    for _ in 0..=random.below(5) {
        let (name, below) = *random.pick(fields(of)).unwrap();
        let alias = if random.below(4) == 0 {
            format!("a{}_{name}: ", random.below(2))
        } else {
            String::new()
        };
        let directive = match random.below(6) {
            0 => "@skip(if: $yes) ",
            1 => "@include(if: $yes) ",
            2 => "@include(if: false) ",
            _ => "",
        };
        let set = if below.is_empty() { String::new() } else { select(random, below, depth + 1) };
        let field = format!("{alias}{name} {directive}{set} ");
        text.push_str(&match random.below(5) {
            0 => format!("... on {of} {{ {field} }} "),
            1 => format!("... @include(if: $yes) {{ {field} }} "),
            _ => field,
        });
    }
    if of == "MeshMessage" && depth == 0 && random.below(2) == 0 {
        text.push_str("...Extra ");
    }
    text.push_str("} ");
    text
}

const EXTRA: &str = "fragment Extra on MeshMessage { domain nodeStatus { data { value } } }";

#[testkit::test]
async fn a_push_looks_as_the_library_would_answer_it() {
    let class = Class::open().await;
    let random = testkit::seed::random();
    let mut alike = 0;
    for round in 0..300 {
        let group = class.create(&format!("先生 {round}"), "local").await;
        let mut set = select(&random, "MeshMessage", 0);
        let fragment = if set.contains("...Extra") { EXTRA } else { "" };
        // A document must use what it declares.
        set = set.replacen('{', "{ used: domain @include(if: $yes) ", 1);
        let variables = json!({ "g": group, "yes": true });
        let subscription = format!(
            "subscription($g: ID!, $yes: Boolean!) {{
                onMessageInGroup(groupId: $g, domain: \"local\") {set}
            }} {fragment}"
        );
        let call = match random.below(3) {
            0 => {
                "reportDataByNode(groupId: $g, domain: \"local\", nodeId: $h,
                    data: [{key: \"温度\", value: \"25\\\"5\\n\"}, {key: \"温度\", value: \"\"}])"
            }
            1 => {
                "fireEventsByNode(groupId: $g, domain: \"local\", nodeId: $h, events: [
                    {eventName: \"押した\", firedAt: \"2027-01-15T17:00:00+09:00\", payload: \"p\"},
                    {eventName: \"\", firedAt: \"2027-01-15T08:00:00.5Z\", orderKey: \"k\"}])"
            }
            _ => "dissolveGroup(groupId: $g, domain: \"local\", hostId: $h)",
        };
        let mutation = format!(
            "mutation($g: ID!, $h: ID!, $yes: Boolean!) {{ told: {call} {set} }} {fragment}"
        );
        let answered = class.ask(&subscription, variables.clone()).await;
        if answered["errors"][0]["message"].as_str().is_some_and(|told| told.contains("conflict")) {
            // The generator made one key of two different fields.
            continue;
        }
        let mut follower = class.follow(&subscription, variables.clone()).await;
        let mut variables = variables;
        variables["h"] = json!(format!("先生 {round}"));
        let answer = class.ask(&mutation, variables).await;
        assert_eq!(answer.get("errors"), None, "{mutation}: {answer}");
        let pushed = follower.next().await;
        assert_eq!(
            pushed["data"]["onMessageInGroup"], answer["data"]["told"],
            "round {round}: {set}"
        );
        alike += 1;
    }
    assert!(alike > 100, "{alike} selections were compared");
}

#[testkit::test]
async fn each_subscription_hears_what_it_is_for() {
    let class = Class::open().await;
    let group = class.create("h", "local").await;
    let of = |field: &str, set: &str| {
        let query =
            format!("subscription($g: ID!) {{ {field}(groupId: $g, domain: \"local\") {set} }}");
        (query, json!({ "g": group }))
    };
    let (query, variables) = of("onDataUpdateInGroup", "{ nodeId data { key value } }");
    let mut data = class.follow(&query, variables).await;
    let (query, variables) = of("onBatchEventInGroup", "{ events { name } }");
    let mut events = class.follow(&query, variables).await;
    let (query, variables) = of("onGroupDissolve", "{ groupId domain message }");
    let mut dissolve = class.follow(&query, variables).await;
    let call = |text: &str| {
        let query = format!("mutation($g: ID!) {{ {text} {{ groupId }} }}");
        (query, json!({ "g": group }))
    };
    for text in [
        "reportDataByNode(groupId: $g, domain: \"local\", nodeId: \"h\", data: [])",
        "fireEventsByNode(groupId: $g, domain: \"local\", nodeId: \"h\", events: [])",
        "recordEventsByNode(groupId: $g, domain: \"local\", nodeId: \"h\",
            events: [{eventName: \"e\", firedAt: \"2027-01-01T00:00:00Z\"}])",
        "dissolveGroup(groupId: $g, domain: \"local\", hostId: \"h\")",
    ] {
        let (query, variables) = call(text);
        class.get(&query, variables).await;
    }
    let field = |pushes: Vec<Json>, name: &str| -> Vec<Json> {
        pushes.into_iter().map(|mut push| push["data"][name].take()).collect()
    };
    assert_eq!(
        field(data.waiting(), "onDataUpdateInGroup"),
        [json!({ "nodeId": "h", "data": [] })]
    );
    assert_eq!(
        field(events.waiting(), "onBatchEventInGroup"),
        [json!({ "events": [] }), json!({ "events": [{ "name": "e" }] })]
    );
    let message = format!("Group {group}@local has been dissolved successfully.");
    assert_eq!(
        field(dissolve.waiting(), "onGroupDissolve"),
        [json!({ "groupId": group, "domain": "local", "message": message })]
    );
}
