//! A random history, with the model of every instant remembered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::{Random, Timestamp};
use table::{
    Delete, Item, KeyAttribute, KeySpec, Options, Put, TableSpec, Tables, TransactItem,
    TransactWrite, Update, Value,
};
use testkit::store::{self, START, Store, small};

use super::{assert_sound, scan};

/// Tables by name, with their items by id.
pub(crate) type Model = BTreeMap<String, (TableSpec, BTreeMap<String, Item>)>;

/// A store with its past.
pub(crate) struct Past {
    pub(crate) store: Store,
    pub(crate) random: Random,
    pub(crate) model: Model,
    /// The model at each instant at which time moved on.
    pub(crate) instants: BTreeMap<u64, Model>,
    /// Backups, with when they were made and the model then.
    pub(crate) backups: Vec<(PathBuf, u64, Model)>,
    options: Options,
    written: u64,
}

/// The model as a reader sees it at `now`.
pub(crate) fn seen(model: &Model, now: Timestamp) -> Model {
    let mut seen = model.clone();
    for (spec, items) in seen.values_mut() {
        items.retain(|_, item| !is_gone(spec, item, now));
    }
    seen
}

fn is_gone(spec: &TableSpec, item: &Item, now: Timestamp) -> bool {
    let second = spec.ttl.as_ref().and_then(|ttl| item.get(ttl)?.as_n()?.floor_u64());
    second.is_some_and(|second| second <= now.seconds())
}

fn spec(name: &str, indexed: bool) -> TableSpec {
    let spec = TableSpec::new(name, KeySpec::simple(KeyAttribute::s("id"))).expiring_by("gone");
    let by_group = KeySpec::composite(KeyAttribute::s("group"), KeyAttribute::n("v"));
    if indexed { spec.index("by-group", by_group) } else { spec }
}

impl Past {
    /// A new store that remembers for long.
    pub(crate) async fn begin(path: &Path, seed: u64) -> Past {
        let options = Options { checkpoint_hours: 1, history_days: 3650, ..small(path) };
        let store = Store::open(options.clone(), START).await.unwrap();
        let (model, instants) = (Model::new(), BTreeMap::new());
        let random = Random::seeded(seed);
        let mut past =
            Past { store, random, model, instants, backups: Vec::new(), options, written: 0 };
        past.declare("table-0", true).await;
        past
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.store.clock.now()
    }

    /// What a reader saw at `time`.
    pub(crate) fn at(&self, time: u64) -> Model {
        let past = self.instants.range(..=time).next_back();
        let model = past.map_or_else(Model::new, |(_, model)| model.clone());
        seen(&model, Timestamp::from_millis(time))
    }

    /// Something happens.
    pub(crate) async fn step(&mut self) {
        match self.random.below(100) {
            0..30 => self.put().await,
            30..42 => self.update().await,
            42..50 => self.delete().await,
            50..62 => self.transact().await,
            62..65 => {
                let name = format!("table-{}", self.random.below(5));
                let indexed = self.random.chance(0.5);
                self.declare(&name, indexed).await;
            }
            65 => self.drop_table().await,
            66..92 => self.pass_time().await,
            92..95 => self.store.settle().await.unwrap(),
            95..98 => self.back_up().await,
            _ => self.reopen().await,
        }
    }

    async fn declare(&mut self, name: &str, indexed: bool) {
        self.store.ensure_table(spec(name, indexed)).await.unwrap();
        let (_, items) = self.model.remove(name).unwrap_or((spec(name, false), BTreeMap::new()));
        self.model.insert(name.to_owned(), (spec(name, indexed), items));
    }

    async fn drop_table(&mut self) {
        if self.model.len() > 1 {
            let name = self.pick_table();
            self.store.delete_table(&name).await.unwrap();
            self.model.remove(&name);
        }
    }

    fn pick_table(&self) -> String {
        let names: Vec<&String> = self.model.keys().collect();
        (*self.random.pick(&names).unwrap()).clone()
    }

    fn pick_id(&self) -> String {
        format!("id-{}", self.random.below(25))
    }

    fn item(&mut self, id: &str) -> Item {
        self.written += 1;
        let pad = usize::try_from(self.random.below(6000)).unwrap();
        let mut item = Item::new()
            .with("id", id)
            .with("v", self.written)
            .with("group", format!("g{}", self.random.below(3)))
            .with("pad", "p".repeat(pad));
        if self.random.chance(0.3) {
            item.insert("gone", self.now().seconds() + self.random.below(200));
        }
        item
    }

    fn items(&mut self, table: &str) -> &mut BTreeMap<String, Item> {
        &mut self.model.get_mut(table).unwrap().1
    }

    async fn put(&mut self) {
        let (table, id) = (self.pick_table(), self.pick_id());
        let item = self.item(&id);
        self.store.put(Put::new(&table, item.clone())).await.unwrap();
        self.items(&table).insert(id, item);
    }

    async fn update(&mut self) {
        let (table, id, now) = (self.pick_table(), self.pick_id(), self.now());
        self.written += 1;
        let (group, v) = (format!("g{}", self.random.below(3)), Value::from(self.written));
        let key = Item::new().with("id", id.as_str());
        let update = Update::new(&table, key.clone());
        let update = update.set("v", v.clone()).set("group", group.as_str());
        self.store.update(update).await.unwrap();
        let (spec, items) = self.model.get_mut(&table).unwrap();
        let held = items.remove(&id).filter(|item| !is_gone(spec, item, now));
        items.insert(id, held.unwrap_or(key).with("v", v).with("group", group));
    }

    async fn delete(&mut self) {
        let (table, id) = (self.pick_table(), self.pick_id());
        let key = Item::new().with("id", id.as_str());
        self.store.delete(Delete::new(&table, key)).await.unwrap();
        self.items(&table).remove(&id);
    }

    async fn transact(&mut self) {
        let mut writes: BTreeMap<(String, String), Option<Item>> = BTreeMap::new();
        for _ in 0..2 + self.random.below(4) {
            let (table, id) = (self.pick_table(), self.pick_id());
            let item = self.random.chance(0.7).then(|| self.item(&id));
            writes.insert((table, id), item);
        }
        let items = writes.iter().map(|((table, id), item)| -> TransactItem {
            match item {
                Some(item) => Put::new(table, item.clone()).into(),
                None => Delete::new(table, Item::new().with("id", id.as_str())).into(),
            }
        });
        self.store.transact_write(TransactWrite::new(items.collect())).await.unwrap();
        for ((table, id), item) in writes {
            match item {
                Some(item) => self.items(&table).insert(id, item),
                None => self.items(&table).remove(&id),
            };
        }
    }

    /// An instant is over: nothing will change it any more.
    fn remember(&mut self) {
        self.instants.insert(self.now().millis(), self.model.clone());
    }

    async fn pass_time(&mut self) {
        self.remember();
        match self.random.below(10) {
            0 => {
                // An hour at once, and a minute in which the archivist comes.
                let later = self.now().checked_add(Duration::from_secs(3600)).unwrap();
                self.store.time.set_wall(later).await;
                self.store.time.advance(Duration::from_secs(61)).await;
            }
            1..3 => self.store.time.advance(Duration::from_secs(61)).await,
            _ => {
                let ms = 1 + self.random.below(5000);
                self.store.time.advance(Duration::from_millis(ms)).await;
            }
        }
    }

    /// The last instant of the story.
    pub(crate) async fn step_out_of_this_instant(&mut self) {
        self.remember();
        self.store.time.advance(Duration::from_millis(1)).await;
        self.remember();
    }

    async fn back_up(&mut self) {
        let backup = self.store.backups().create().await.unwrap();
        let now = self.now().millis();
        // A second one within the same second takes the place of the first.
        self.backups.retain(|(path, ..)| *path != backup.path);
        self.backups.push((backup.path, now, self.model.clone()));
    }

    pub(crate) async fn reopen(&mut self) {
        let now = self.now();
        if self.random.chance(0.5) {
            self.store.close().unwrap();
        }
        // The old store must be gone before its directory can be opened again.
        let elsewhere = store::quick_directory();
        self.store = Store::open(small(elsewhere.path()), now).await.unwrap();
        self.store = Store::open(self.options.clone(), now).await.unwrap();
        let now = self.model.clone();
        assert_store_is(&self.store, &seen(&now, self.now())).await;
    }
}

/// Asserts that a store holds exactly what the model holds.
pub(crate) async fn assert_store_is(store: &Store, model: &Model) {
    let names: Vec<String> = model.keys().cloned().collect();
    assert_eq!(store.list_tables().await.unwrap(), names);
    for (name, (spec, items)) in model {
        assert_eq!(store.describe_table(name).await.unwrap().spec, *spec);
        let held = scan(store, name).await;
        assert!(held == *items, "`{name}` differs: {}", first_difference(&held, items));
    }
    assert_sound(store).await;
}

fn first_difference(held: &BTreeMap<String, Item>, wanted: &BTreeMap<String, Item>) -> String {
    let brief =
        |item: Option<&Item>| item.map(|item| (item.get("v").cloned(), item.get("gone").cloned()));
    let ids = held.keys().chain(wanted.keys());
    let differing = ids.into_iter().find(|id| held.get(*id) != wanted.get(*id));
    differing.map_or_else(String::new, |id| {
        format!("{id} is {:?}, not {:?}", brief(held.get(id)), brief(wanted.get(id)))
    })
}
