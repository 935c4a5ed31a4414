//! A house there and back: embedded, DynamoDB (the client in front of a door), embedded.

use std::sync::Arc;

use base::{Clock, Random, Tasks, Timestamp};
use dynamodb::client::Client;
use dynamodb::door::{Door, Guard};
use table::{Embedded, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables};

use super::{AtTarget, Compared, JOURNAL, Migration, Progress};
use crate::Error;

const START_S: u64 = 1_800_000_000;
/// Some pages of a table.
const ITEMS: u64 = 600;

struct Sides {
    clock: Clock,
    tasks: Tasks,
}

impl Sides {
    fn new() -> Sides {
        let (clock, _) = Clock::virtual_at(Timestamp::from_seconds(START_S).unwrap());
        Sides { clock, tasks: Tasks::new() }
    }

    async fn embedded(&self) -> Arc<dyn Tables> {
        Arc::new(Embedded::in_memory(self.clock.clone(), &self.tasks).await.unwrap())
    }

    async fn dynamodb(&self) -> Arc<dyn Tables> {
        let store = Embedded::in_memory(self.clock.clone(), &self.tasks).await.unwrap();
        let (clock, random) = (self.clock.clone(), Random::seeded(1));
        let door =
            Door::open(store, Guard::open(), table::Secrets::default(), clock, random, &self.tasks);
        Arc::new(Client::through(door.await.unwrap(), self.clock.clone(), Random::seeded(2)))
    }

    fn migration(&self, source: &Arc<dyn Tables>, target: &Arc<dyn Tables>) -> Migration {
        Migration {
            source: Arc::clone(source),
            target: Arc::clone(target),
            declared: vec![large()],
            clock: self.clock.clone(),
        }
    }
}

fn large() -> TableSpec {
    let by_group = KeySpec::simple(KeyAttribute::s("group"));
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
    TableSpec::new("large", key).index("by-group", by_group).expiring_by("until")
}

/// A house with a table of several pages, one that is no room's, and an empty one.
async fn fill(store: &dyn Tables) {
    store.ensure_table(large()).await.unwrap();
    for name in ["empty", "visitor"] {
        let key = KeySpec::simple(KeyAttribute::b("id"));
        store.ensure_table(TableSpec::new(name, key)).await.unwrap();
    }
    for number in 0..ITEMS {
        let item = Item::new().with("pk", format!("p{}", number % 7)).with("sk", number);
        let item = item.with("text", "x".repeat(6_000)).with("group", "g");
        let item = match number % 3 {
            0 => item.with("until", START_S + 86_400),
            1 => item.with("until", START_S + 60),
            _ => item,
        };
        store.put(Put::new("large", item)).await.unwrap();
    }
    let id = bytes::Bytes::from_static(b"\x00\xff");
    let item = Item::new().with("id", id).with("nested", Item::new().with("n", 1));
    store.put(Put::new("visitor", item)).await.unwrap();
}

async fn apply(migration: &Migration) -> Vec<Progress> {
    let mut heard = Vec::new();
    migration
        .apply(&mut |progress| {
            heard.push(progress);
            Ok(())
        })
        .await
        .unwrap();
    heard
}

fn assert_same(compared: &[Compared]) {
    for Compared { table, source, target } in compared {
        assert_eq!(source, target, "{table}");
    }
    let items: Vec<u64> = compared.iter().map(|compared| compared.source.items).collect();
    assert_eq!(items, [0, ITEMS / 3 * 2, 1], "without those that expire within the hour");
}

#[tokio::test]
async fn a_house_that_goes_to_dynamodb_and_back_is_the_same() {
    let sides = Sides::new();
    let (first, middle, last) =
        (sides.embedded().await, sides.dynamodb().await, sides.embedded().await);
    fill(&*first).await;
    let there = sides.migration(&first, &middle);
    let plan = there.plan().await.unwrap();
    assert!(plan.iter().all(|planned| planned.at_target == AtTarget::Nothing), "{plan:?}");
    let heard = apply(&there).await;
    let done: Vec<(&str, u64)> = heard
        .iter()
        .filter(|progress| progress.is_done)
        .map(|progress| (progress.table.as_str(), progress.items))
        .collect();
    assert_eq!(done, [("empty", 0), ("large", ITEMS), ("visitor", 1)]);
    assert!(heard.len() > 5, "pages: {}", heard.len());
    assert_same(&there.verify(&mut |_| {}).await.unwrap());

    let back = sides.migration(&middle, &last);
    apply(&back).await;
    assert_same(&back.verify(&mut |_| {}).await.unwrap());
    assert_same(&sides.migration(&first, &last).verify(&mut |_| {}).await.unwrap());
    assert_eq!(last.describe_table("large").await.unwrap().spec, large());
    assert_eq!(last.list_tables().await.unwrap(), ["empty", "large", "visitor"]);
}

#[tokio::test]
async fn a_copy_that_was_interrupted_goes_on_behind_the_last_page() {
    let sides = Sides::new();
    let (source, target) = (sides.embedded().await, sides.dynamodb().await);
    fill(&*source).await;
    let migration = sides.migration(&source, &target);
    let mut first = Vec::new();
    let stopped = migration
        .apply(&mut |progress| {
            first.push(progress);
            match first.len() {
                3 => Err(Error::Usage("stop".to_owned())),
                _ => Ok(()),
            }
        })
        .await;
    assert_eq!(stopped.unwrap_err().to_string(), "stop");
    let copied = first.last().unwrap().items;
    let plan = migration.plan().await.unwrap();
    let begun: Vec<&AtTarget> = plan.iter().map(|planned| &planned.at_target).collect();
    assert_eq!(begun, [&AtTarget::Copied(0), &AtTarget::Begun(copied), &AtTarget::Nothing]);

    let heard = apply(&migration).await;
    let large = heard.iter().find(|progress| progress.table == "large").unwrap();
    assert!(large.is_resumed && large.items > copied, "{large:?}");
    assert_same(&migration.verify(&mut |_| {}).await.unwrap());
    assert!(!target.list_tables().await.unwrap().contains(&JOURNAL.to_owned()));
}

#[tokio::test]
async fn a_house_does_not_move_in_with_another() {
    let sides = Sides::new();
    let (source, target) = (sides.embedded().await, sides.dynamodb().await);
    fill(&*source).await;
    target.ensure_table(large()).await.unwrap();
    let item = Item::new().with("pk", "mine").with("sk", 1);
    target.put(Put::new("large", item)).await.unwrap();
    let refused = sides.migration(&source, &target).apply(&mut |_| Ok(())).await.unwrap_err();
    assert!(refused.to_string().starts_with("table `large` holds items"), "{refused}");
}

#[tokio::test]
async fn one_item_that_differs_is_found() {
    let sides = Sides::new();
    let (source, target) = (sides.embedded().await, sides.dynamodb().await);
    fill(&*source).await;
    let migration = sides.migration(&source, &target);
    apply(&migration).await;
    let item = Item::new().with("pk", "p2").with("sk", 2).with("text", "other");
    target.put(Put::new("large", item)).await.unwrap();
    let compared = migration.verify(&mut |_| {}).await.unwrap();
    let different = compared.iter().filter(|compared| compared.source != compared.target);
    let different: Vec<&str> = different.map(|compared| compared.table.as_str()).collect();
    assert_eq!(different, ["large"]);
}
