//! A class: groups whose members report what their sensors see, and now and then fire events.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::Scene;

const GROUPS: [(&str, &str, &[&str]); 3] = [
    (
        "1年2組 ロボット",
        "田中先生",
        &["佐藤 花子", "鈴木 蓮", "高橋 さくら", "伊藤 美咲", "山本 颯太", "中村 結衣", "加藤 凛"],
    ),
    ("理科部 気象観測", "吉田先生", &["小林 陽翔", "渡辺 葵", "山田 大輝"]),
    ("Team Blue", "Ms Okafor", &["Ben Larsen", "Grace Kim", "Diego Álvarez", "Priya Nair"]),
];

/// What a sensor is called, its least value, and how far it reaches.
const SENSORS: [(&str, u64, u64); 3] = [("光", 5, 90), ("温度", 19, 7), ("音", 0, 60)];
const EVENTS: [&str; 4] = ["スタート", "ジャンプ", "ゴール", "hello"];

/// Members are heard of at least so often.
const HEARTBEAT: Duration = Duration::from_secs(10);

struct Group {
    id: String,
    host: &'static str,
    members: &'static [&'static str],
}

pub(super) async fn play(scene: Scene) -> Result<(), String> {
    let told = ask(&scene, "mutation { createDomain }", json!({})).await?;
    let domain = told.pointer("/createDomain").and_then(Json::as_str).unwrap_or("local").to_owned();
    let mut groups = Vec::new();
    for (name, host, members) in GROUPS {
        groups.push(open(&scene, &domain, name, host, members).await?);
    }
    let mut heard = scene.clock.instant();
    loop {
        for group in &groups {
            act(&scene, &domain, group).await;
        }
        if scene.clock.instant().since(heard) >= HEARTBEAT {
            heard = scene.clock.instant();
            for group in &groups {
                beat(&scene, &domain, group).await?;
            }
        }
        scene.pause(Duration::from_millis(900)).await;
    }
}

async fn open(
    scene: &Scene,
    domain: &str,
    name: &'static str,
    host: &'static str,
    members: &'static [&'static str],
) -> Result<Group, String> {
    let create = "mutation ($n: String!, $h: ID!, $d: String!) {
        createGroup(name: $n, hostId: $h, domain: $d) { id } }";
    let told = ask(scene, create, json!({ "n": name, "h": host, "d": domain })).await?;
    let id = told.pointer("/createGroup/id").and_then(Json::as_str).unwrap_or_default().to_owned();
    let join = "mutation ($g: ID!, $d: String!, $n: ID!) {
        joinGroup(groupId: $g, domain: $d, nodeId: $n) { id } }";
    for member in members {
        ask(scene, join, json!({ "g": id, "d": domain, "n": member })).await?;
    }
    Ok(Group { id, host, members })
}

/// Somebody reports a value, and now and then something happens. One that a teacher has removed is
/// refused, and stays away until the group ends; that a group has ended is told by its heartbeat.
async fn act(scene: &Scene, domain: &str, group: &Group) {
    let node = scene.pick(group.members);
    let report = "mutation ($g: ID!, $d: String!, $n: ID!, $data: [SensorDataInput!]!) {
        reportDataByNode(groupId: $g, domain: $d, nodeId: $n, data: $data) { groupId } }";
    let Some((sensor, least, reach)) = scene.random.pick(&SENSORS) else { return };
    let value = (least + scene.random.below(*reach)).to_string();
    let data = json!([{ "key": sensor, "value": value }]);
    let reported = json!({ "g": group.id, "d": domain, "n": node, "data": data });
    if ask(scene, report, reported).await.is_ok() && scene.random.chance(0.3) {
        let fire = "mutation ($g: ID!, $d: String!, $n: ID!, $e: [EventInput!]!) {
            fireEventsByNode(groupId: $g, domain: $d, nodeId: $n, events: $e) { groupId } }";
        let now = scene.clock.now().to_string();
        let events = json!([{ "eventName": scene.pick(&EVENTS), "firedAt": now }]);
        let fired = json!({ "g": group.id, "d": domain, "n": node, "e": events });
        let _heard = ask(scene, fire, fired).await;
    }
}

async fn beat(scene: &Scene, domain: &str, group: &Group) -> Result<(), String> {
    let renew = "mutation ($g: ID!, $d: String!, $h: ID!) {
        renewHeartbeat(groupId: $g, domain: $d, hostId: $h) { groupId } }";
    ask(scene, renew, json!({ "g": group.id, "d": domain, "h": group.host })).await?;
    let beat = "mutation ($g: ID!, $d: String!, $n: ID!) {
        sendMemberHeartbeat(groupId: $g, domain: $d, nodeId: $n) { nodeId } }";
    for member in group.members {
        // The one that a teacher has removed is refused here too.
        let _heard = ask(scene, beat, json!({ "g": group.id, "d": domain, "n": member })).await;
    }
    Ok(())
}

async fn ask(scene: &Scene, query: &str, variables: Json) -> Result<Json, String> {
    let headers = vec![("x-api-key", scene.mesh_key.clone())];
    let body = json!({ "query": query, "variables": variables });
    let told = scene.wire.post("/mesh/graphql", headers, body).await?;
    match told.json.get("errors") {
        Some(errors) => Err(errors.to_string()),
        None => Ok(told.json.get("data").cloned().unwrap_or_default()),
    }
}
