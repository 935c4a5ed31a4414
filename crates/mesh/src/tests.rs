//! The room without its wire: GraphQL in, GraphQL out, on a clock that the test moves.

mod class;
mod fuzz;
mod instances;
mod rendering;
mod rules;
mod secret;
mod stored;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use hub::{Deliveries, Follow, Item, QueueLimits, Subscriber};
use serde_json::{Value as Json, json};
use testkit::wait::bounded;
use testkit::{Instance, Turns, World};

use crate::api::Api;
use crate::api::schema::{Caller, subscribed};
use crate::api::wire::{self, Asked};
use crate::live::{Selected, topic};
use crate::{Mesh, Options};

/// A world with the room in it. Its instances answer in turns; calls past GraphQL and followers
/// are of the first one.
pub(crate) struct Class {
    world: World,
    pub(crate) instance: Instance,
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) api: Arc<Api>,
    apis: Turns<Arc<Api>>,
}

/// A subscriber of a group.
pub(crate) struct Follower {
    deliveries: Deliveries,
    _subscriber: Subscriber,
    _selected: Selected,
}

impl Deref for Class {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Class {
    pub(crate) async fn open() -> Class {
        Class::open_with(Options::default()).await
    }

    pub(crate) async fn open_with(options: Options) -> Class {
        let world = World::new().await;
        let instances = world.instances().await;
        Class::on(world, instances, options).await
    }

    /// One instance on any store, for what each puts in order for itself.
    pub(crate) async fn alone() -> Class {
        let world = World::new().await;
        let instance = world.instance().await;
        Class::on(world, vec![instance], Options::default()).await
    }

    /// The room on these instances.
    pub(crate) async fn on(world: World, instances: Vec<Instance>, options: Options) -> Class {
        let mut rooms = Vec::new();
        for Instance { ground, dispatch, .. } in &instances {
            rooms.push(Mesh::open(options.clone(), ground, dispatch).await.unwrap());
        }
        let apis: Vec<Arc<Api>> =
            rooms.iter().map(|mesh| Arc::new(Api::new(Arc::clone(mesh)))).collect();
        let (instance, mesh) = (instances[0].clone(), Arc::clone(&rooms[0]));
        Class { world, instance, mesh, api: Arc::clone(&apis[0]), apis: Turns::new(apis) }
    }

    /// Asks, and answers in AppSync's form.
    pub(crate) async fn ask(&self, query: &str, variables: Json) -> Json {
        let caller = Caller { domain: "local".to_owned(), connection: None };
        let response = self.apis.next().execute(asked(query, variables), caller).await;
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

    /// Lets a long time pass. On DynamoDB, where every look of a job is a request, the machine
    /// sleeps meanwhile; jobs go on when time passes again.
    pub(crate) async fn pass_long(&self, seconds: u64) {
        if testkit::is_dynamodb() {
            self.sleep(Duration::from_secs(seconds)).await;
        } else {
            self.pass(seconds).await;
        }
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
        let request = asked(query, variables).request(&document).unwrap();
        let wanted = subscribed(&self.api.schema, &document.parsed, request).await;
        let wanted = wanted.unwrap_or_else(|_| panic!("{query} is refused"));
        let selected = self.mesh.selections.hold(wanted.selection);
        let (subscriber, deliveries) =
            self.instance.ground.hub.subscriber(QueueLimits { pushes: 10_000, bytes: 10_000_000 });
        let follow = Follow { view: selected.view, ..Follow::default() };
        subscriber.follow(&self.mesh.groups, &topic(&wanted.group), follow, |_| None).unwrap();
        Follower { deliveries, _subscriber: subscriber, _selected: selected }
    }
}

fn asked(query: &str, variables: Json) -> Asked {
    let (query, variables) = (query.to_owned(), Some(variables));
    Asked { query, variables, operation_name: None, extensions: None }
}

impl Follower {
    /// The next push, as JSON.
    pub(crate) async fn next(&mut self) -> Json {
        let item = bounded("a push", self.deliveries.take(1)).await.unwrap().remove(0);
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
