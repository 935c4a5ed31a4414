//! Watches: as long as one holds, reading again answers the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Random;
use proptest::prelude::{any, prop, proptest};
use tokio::task::JoinSet;

use super::small_store::{SmallStore, open};
use crate::attr;
use crate::embedded::MemoryDisk;
use crate::port::{Check, Delete, Put, Query, Tables, TransactWrite, Update};
use crate::spec::{KeyAttribute, KeySpec, TableSpec};
use crate::value::Item;
use crate::watch::{Partition, Watch};

const BY_COLOUR: &str = "by-colour";
const TABLES: [&str; 2] = ["lasting", "fleeting"];

/// A partition that somebody remembers.
struct Memory {
    table: &'static str,
    index: Option<&'static str>,
    value: String,
    watch: Watch,
    items: Vec<Item>,
}

async fn furnished() -> SmallStore {
    let store = open(&MemoryDisk::default()).await;
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
    let spec = |name| {
        TableSpec::new(name, key.clone())
            .index(BY_COLOUR, KeySpec::simple(KeyAttribute::s("colour")))
    };
    store.ensure_table(spec("lasting")).await.unwrap();
    store.ensure_table(spec("fleeting").ephemeral()).await.unwrap();
    store
}

async fn read(
    store: &SmallStore,
    table: &'static str,
    index: Option<&'static str>,
    value: &str,
) -> Vec<Item> {
    let attribute = if index.is_some() { "colour" } else { "pk" };
    let query = Query { index: index.map(str::to_owned), ..Query::new(table, attribute, value) };
    store.query(query).await.unwrap().items
}

async fn remember(
    store: &SmallStore,
    table: &'static str,
    index: Option<&'static str>,
    value: &str,
) -> Memory {
    let mut watch = Watch::default();
    let partition = Partition { table, index, value: value.into() };
    store.watch(&partition, &mut watch);
    let items = read(store, table, index, value).await;
    Memory { table, index, value: value.to_owned(), watch, items }
}

/// One write of some kind, of an item among a few.
async fn write(store: &SmallStore, table: &'static str, random: &Random) {
    let draw = |below| random.below(below);
    let key = Item::new().with("pk", format!("p{}", draw(3))).with("sk", draw(3));
    let colour = format!("c{}", draw(3));
    match draw(4) {
        0 => drop(store.put(Put::new(table, key.with("colour", colour))).await.unwrap()),
        1 => drop(store.delete(Delete::new(table, key)).await.unwrap()),
        // Its entries in the index may stay where they are.
        2 => drop(store.update(Update::new(table, key).add("count", 1)).await.unwrap()),
        _ => {
            let other = Item::new().with("pk", "p9").with("sk", draw(3));
            let writes = vec![
                Put::new(table, key.with("colour", colour)).into(),
                Check::new("lasting", other, attr("pk").not_exists()).into(),
            ];
            store.transact_write(TransactWrite::new(writes)).await.unwrap();
        }
    }
}

proptest! {
    #![proptest_config(testkit::depth::cases(60))]

    #[test]
    fn what_is_watched_is_as_it_was(
        steps in prop::collection::vec(any::<u64>(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = furnished().await;
            let mut memories: Vec<Memory> = Vec::new();
            for seed in steps {
                let random = Random::seeded(seed);
                let table = TABLES[usize::from(random.below(2) == 1)];
                let index = (random.below(2) == 1).then_some(BY_COLOUR);
                let letter = if index.is_some() { 'c' } else { 'p' };
                let value = format!("{letter}{}", random.below(3));
                memories.push(remember(&store, table, index, &value).await);
                write(&store, table, &random).await;
                for known in memories.iter().filter(|known| known.watch.holds()) {
                    let now = read(&store, known.table, known.index, &known.value).await;
                    assert_eq!(now, known.items);
                }
            }
        });
    }
}

#[tokio::test]
async fn a_watch_ends_with_a_write_to_its_partition_and_outlasts_others() {
    for table in TABLES {
        let store = furnished().await;
        let item = |pk: &str, colour: &str| {
            Item::new().with("pk", pk).with("sk", 1).with("colour", colour)
        };
        store.put(Put::new(table, item("a", "red"))).await.unwrap();
        let own = remember(&store, table, None, "a").await;
        let index = remember(&store, table, Some(BY_COLOUR), "red").await;
        store.put(Put::new(table, item("b", "blue"))).await.unwrap();
        assert!(own.watch.holds() && index.watch.holds());
        let key = Item::new().with("pk", "a").with("sk", 1);
        store.update(Update::new(table, key).add("count", 1)).await.unwrap();
        assert!(!own.watch.holds(), "its item is another");
        assert!(!index.watch.holds(), "the entry is the same, the item another");
    }
}

#[tokio::test]
async fn a_new_declaration_ends_all_watches_and_what_is_not_there_is_not_watched() {
    let store = furnished().await;
    let known = remember(&store, "lasting", None, "a").await;
    assert!(known.watch.holds());
    store.delete_table("fleeting").await.unwrap();
    assert!(!known.watch.holds());
    let mut watch = Watch::default();
    assert!(!watch.holds(), "nothing is watched");
    store.watch(&Partition::new("fleeting", "a"), &mut watch);
    assert!(watch.is_blind() && !watch.holds());
    let mut joined = remember(&store, "lasting", None, "a").await.watch;
    assert!(joined.holds());
    joined.join(&watch);
    assert!(!joined.holds());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_holds_is_never_older_than_what_a_writer_was_answered() {
    const WRITES: u64 = 2_000;
    let store = Arc::new(furnished().await);
    let answered = Arc::new(AtomicU64::new(0));
    let mut writer = JoinSet::new();
    writer.spawn({
        let (store, answered) = (Arc::clone(&store), Arc::clone(&answered));
        async move {
            for count in 1..=WRITES {
                let item = Item::new().with("pk", "a").with("sk", 1).with("count", count);
                store.put(Put::new("lasting", item)).await.unwrap();
                answered.store(count, Ordering::Release);
            }
        }
    });
    let mut held = 0;
    let mut known = remember(&store, "lasting", None, "a").await;
    while answered.load(Ordering::Acquire) < WRITES {
        let before = answered.load(Ordering::Acquire);
        if known.watch.holds() {
            let count = known.items.first().and_then(|item| item.get("count")?.as_n()?.floor_u64());
            assert!(count.unwrap_or(0) >= before, "{count:?} is older than {before}");
            held += 1;
        } else {
            known = remember(&store, "lasting", None, "a").await;
        }
    }
    writer.join_next().await.unwrap().unwrap();
    assert!(held > 0);
}
