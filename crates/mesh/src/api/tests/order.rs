//! Everybody sees what was acknowledged, in that order, whatever happens to the connections.

use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::{Api, Class, Client, KEY, open};
use crate::api::appsync::AppSync;
use crate::model::{EventTime, FiredEvent, GroupKey, SensorData};

const SUBSCRIPTION: &str = "subscription($g: ID!) {
    onMessageInGroup(groupId: $g, domain: \"local\") {
        nodeStatus { data { value } }
        batchEvent { events { name } }
    }
}";

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    /// These members speak at the same time, by reports or by events.
    Speak(Vec<(u8, bool)>),
    /// This subscriber reads what waits.
    Read(usize),
    /// This subscriber loses its connection, with what it had not read, and comes back.
    Reconnect(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let speak = proptest::collection::vec((0..5_u8, any::<bool>()), 1..8).prop_map(Step::Speak);
    let read = (0..3_usize).prop_map(Step::Read);
    let reconnect = (0..3_usize).prop_map(Step::Reconnect);
    proptest::collection::vec(prop_oneof![speak, read, reconnect], 1..40)
}

/// A subscriber with what it saw.
struct Reader {
    client: Client<AppSync>,
    cursor: String,
    seen: Vec<String>,
}

impl Reader {
    async fn connect(class: &Class, api: &Arc<Api>, group: &str, cursor: &str) -> Reader {
        let mut client = Client::appsync(class, api, Some(KEY));
        let mut start = super::started("1", KEY, SUBSCRIPTION, group);
        start["payload"]["extensions"]["resumeFrom"] = json!(cursor);
        let frames = client.say(&start).await;
        let (ack, missed) = frames.split_first().unwrap();
        assert_eq!(ack["payload"]["gap"], json!(false), "{ack}");
        let begin = if cursor.is_empty() { &ack["payload"]["cursor"] } else { &json!(cursor) };
        let cursor = begin.as_str().unwrap().to_owned();
        let mut reader = Reader { client, cursor, seen: Vec::new() };
        reader.take(missed);
        reader
    }

    fn read(&mut self) {
        let frames = self.client.waiting();
        self.take(&frames);
    }

    fn take(&mut self, frames: &[Json]) {
        for frame in frames {
            let told = &frame["payload"]["data"]["onMessageInGroup"];
            let value = &told["nodeStatus"]["data"][0]["value"];
            let name = &told["batchEvent"]["events"][0]["name"];
            self.seen.push(value.as_str().or(name.as_str()).unwrap().to_owned());
            self.cursor = frame["cursor"].as_str().unwrap().to_owned();
        }
    }
}

async fn play(steps: Vec<Step>) {
    let (class, api, group) = open().await;
    let key = GroupKey { id: group.clone(), domain: "local".to_owned() };
    for member in 0..5 {
        class.join(&group, "local", &member.to_string()).await;
    }
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let mut readers = Vec::new();
    for _ in 0..3 {
        readers.push(Reader::connect(&class, &api, &group, "").await);
    }
    let mut count = 0;
    for step in steps {
        match step {
            Step::Speak(speakers) => {
                let mut speaking = JoinSet::new();
                for (member, fires) in speakers {
                    count += 1;
                    let (mesh, key) = (Arc::clone(&class.mesh), key.clone());
                    let (acknowledged, what) = (Arc::clone(&acknowledged), count.to_string());
                    speaking.spawn(async move {
                        let member = member.to_string();
                        if fires {
                            let event = FiredEvent {
                                name: what.clone(),
                                payload: None,
                                fired_at: testkit::START,
                                order_key: None,
                            };
                            let fired = [event];
                            let fired = mesh.fire_events(&key, &member, &fired, EventTime::Sender);
                            fired.await.unwrap();
                        } else {
                            let data =
                                vec![SensorData { key: "k".to_owned(), value: what.clone() }];
                            mesh.report_data(&key, &member, data).await.unwrap();
                        }
                        // Nothing is awaited between the answer and this.
                        acknowledged.lock().push(what);
                    });
                }
                while let Some(spoken) = speaking.join_next().await {
                    spoken.unwrap();
                }
            }
            Step::Read(reader) => readers[reader].read(),
            Step::Reconnect(reader) => {
                let seen = std::mem::take(&mut readers[reader].seen);
                let cursor = readers[reader].cursor.clone();
                let mut again = Reader::connect(&class, &api, &group, &cursor).await;
                again.seen.splice(0..0, seen);
                readers[reader] = again;
            }
        }
    }
    let acknowledged = acknowledged.lock().clone();
    for mut reader in readers {
        reader.read();
        assert_eq!(reader.seen, acknowledged);
    }
}

proptest! {
    #![proptest_config(testkit::depth::cases(64))]
    #[test]
    fn everybody_sees_the_acknowledged_order_over_every_reconnect(steps in steps()) {
        testkit::run(0, play(steps));
    }
}

#[testkit::test]
async fn who_knows_only_the_last_event_resumes_behind_it() {
    let (class, api, group) = open().await;
    let key = GroupKey { id: group.clone(), domain: "local".to_owned() };
    let event = |name: &str| FiredEvent {
        name: name.to_owned(),
        payload: None,
        fired_at: testkit::START,
        order_key: None,
    };
    let mut cursors = Vec::new();
    for name in ["1", "2"] {
        let fired = [event(name)];
        let fired = class.mesh.fire_events(&key, "h", &fired, EventTime::Sender);
        cursors.push(fired.await.unwrap().1.text());
    }
    let mut reader = Reader::connect(&class, &api, &group, &cursors[0]).await;
    reader.read();
    assert_eq!(reader.seen, ["2"]);
    let mut client = Client::appsync(&class, &api, Some(KEY));
    let mut start = super::started("1", KEY, SUBSCRIPTION, &group);
    start["payload"]["extensions"]["resumeFrom"] = json!("EVENT#0000000000001#0000000001");
    assert_eq!(client.say(&start).await[0]["payload"]["gap"], json!(true), "it is forgotten");
    start["payload"]["extensions"]["resumeFrom"] = json!("yesterday");
    let words = "`yesterday` is not a cursor to resume from";
    start["id"] = json!("2");
    assert_eq!(client.say(&start).await, super::refused("2", "BadRequestException", words));
}
