//! The room without its wire: GraphQL in, GraphQL out, on a clock that the test moves.

#[path = "../../edge/tests/support/broker.rs"]
mod broker;
mod instances;
mod rendering;
mod rules;
#[path = "../../dynamodb/tests/support/store.rs"]
mod store;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use dispatch::Dispatch;
use edge::{Ground, StreamOptions};
use hub::{Deliveries, Follow, Item, QueueLimits, Subscriber};
use serde_json::{Value as Json, json};
use table::Tables;

use self::broker::Broker;
use crate::api::Api;
use crate::api::schema::{Caller, subscribed};
use crate::api::wire::{self, Asked};
use crate::live::{Selected, topic};
use crate::{Mesh, Options};

pub(crate) const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A room with what its wire needs.
pub(crate) struct Room {
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) api: Arc<Api>,
    pub(crate) time: VirtualTime,
    pub(crate) ground: Ground,
    /// Another instance, where stories are told on DynamoDB: it answers every second question.
    twin: Option<Box<Room>>,
    turns: AtomicUsize,
    _tasks: Tasks,
}

/// Someone who follows a group.
pub(crate) struct Follower {
    deliveries: Deliveries,
    _subscriber: Subscriber,
    _selected: Selected,
}

impl Room {
    pub(crate) async fn open() -> Room {
        Room::open_with(Options::default()).await
    }

    pub(crate) async fn open_with(options: Options) -> Room {
        let (clock, time) = Clock::virtual_at(START);
        let (tasks, random) = (Tasks::new(), Random::seeded(7));
        let tables = store::open(&clock, &tasks).await;
        edge::ensure_tables(&*tables).await.unwrap();
        if store::is_dynamodb() {
            return Room::of_two(options, tables, &clock, time).await;
        }
        let ground = Ground::new(tables, &StreamOptions::default(), &clock, &random, &tasks);
        Room::on(options, ground, time).await
    }

    /// Two instances that hear each other, to the outside one room.
    async fn of_two(
        options: Options,
        tables: Arc<dyn Tables>,
        clock: &Clock,
        time: VirtualTime,
    ) -> Room {
        let broker = Arc::new(Broker::default());
        let twin = broker.ground(store::beside(&tables), clock, 8);
        let twin = Box::new(Room::on(options.clone(), twin, time.clone()).await);
        let room = Room::on(options, broker.ground(tables, clock, 7), time).await;
        Room { twin: Some(twin), ..room }
    }

    /// One more instance on what may be another's store too.
    pub(crate) async fn on(options: Options, ground: Ground, time: VirtualTime) -> Room {
        let Ground { tables, clock, random, tasks, .. } = ground.clone();
        let dispatch = Dispatch::open(tables, clock, random, &tasks).await.unwrap();
        let mesh = Mesh::open(options, &ground, &dispatch).await.unwrap();
        let api = Arc::new(Api::new(Arc::clone(&mesh)));
        let (twin, turns) = (None, AtomicUsize::new(0));
        Room { mesh, api, time, ground, twin, turns, _tasks: tasks }
    }

    /// Asks, and answers in AppSync's form.
    pub(crate) async fn ask(&self, query: &str, variables: Json) -> Json {
        let caller = Caller { domain: "local".to_owned() };
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let other = self.twin.as_ref().filter(|_| turn % 2 == 1);
        let api = other.map_or(&self.api, |twin| &twin.api);
        let response = api.execute(asked(query, variables), caller).await;
        serde_json::from_str(&wire::answer(&response)).unwrap()
    }

    /// Asks, and answers the data of the only field; it must not fail.
    pub(crate) async fn get(&self, query: &str, variables: Json) -> Json {
        let mut answer = self.ask(query, variables).await;
        assert_eq!(answer.get("errors"), None, "{query}: {answer}");
        let data = answer["data"].as_object_mut().unwrap();
        data.iter_mut().next().unwrap().1.take()
    }

    /// Asks, and answers type and message of the only error.
    pub(crate) async fn refusal(&self, query: &str, variables: Json) -> (String, String) {
        let answer = self.ask(query, variables).await;
        let error = &answer["errors"][0];
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        assert!(error.is_object(), "{query}: {answer}");
        (text(&error["errorType"]), text(&error["message"]))
    }

    pub(crate) async fn create(&self, host: &str, domain: &str) -> String {
        let group = self
            .get(
                "mutation($h: ID!, $d: String!) {
                    createGroup(name: \"組\", hostId: $h, domain: $d) { id }
                }",
                json!({ "h": host, "d": domain }),
            )
            .await;
        group["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn join(&self, group: &str, domain: &str, node: &str) -> Json {
        self.ask(
            "mutation($g: ID!, $d: String!, $n: ID!) {
                joinGroup(groupId: $g, domain: $d, nodeId: $n) { id name expiresAt }
            }",
            json!({ "g": group, "d": domain, "n": node }),
        )
        .await
    }

    /// Follows a subscription's document.
    pub(crate) async fn follow(&self, query: &str, variables: Json) -> Follower {
        let document = self.api.documents.find(query).await.unwrap();
        let request = asked(query, variables).request(&document);
        let wanted = subscribed(&self.api.schema, &document, request).await;
        let wanted = wanted.unwrap_or_else(|_| panic!("{query} is refused"));
        let selected = self.mesh.selections.hold(wanted.selection);
        let (subscriber, deliveries) =
            self.ground.hub.subscriber(QueueLimits { pushes: 10_000, bytes: 10_000_000 });
        let follow = Follow { view: selected.view, ..Follow::default() };
        subscriber.follow(&self.mesh.groups, &topic(&wanted.group), follow, |_| None).unwrap();
        Follower { deliveries, _subscriber: subscriber, _selected: selected }
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.time.advance(Duration::from_secs(seconds)).await;
    }
}

fn asked(query: &str, variables: Json) -> Asked {
    let (query, variables) = (query.to_owned(), Some(variables));
    Asked { query, variables, operation_name: None, extensions: None }
}

impl Follower {
    /// The next push, as JSON.
    pub(crate) async fn next(&mut self) -> Json {
        let item = self.deliveries.take(1).await.unwrap().remove(0);
        let Item::Push { text, .. } = item else { panic!("{item:?}") };
        serde_json::from_str(text.as_str()).unwrap()
    }

    /// What waits now.
    pub(crate) fn waiting(&mut self) -> Vec<Json> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut texts = Vec::new();
        let mut items = Vec::new();
        if self.deliveries.poll_take(&mut context, 1_000_000, &mut items).is_ready() {
            for item in items {
                let Item::Push { text, .. } = item else { panic!("{item:?}") };
                texts.push(serde_json::from_str(text.as_str()).unwrap());
            }
        }
        texts
    }
}
