//! A look at the past shows what was there, and the history of an item tells all of it.

use std::collections::BTreeMap;

use base::{Random, Timestamp};
use table::{
    AsOf, Embedded, Error, Get, Item, ItemHistory, KeyAttribute, KeySpec, Part, Progress, Put,
    Query, Scan, TableSpec, Tables, Value,
};
use testkit::store::{self, START, Store, small};
use testkit::{depth, seed};

use super::names;
use super::past::{Model, Past};

/// Instants of each history that are looked at.
const INSTANTS: usize = 20;
/// Items of each table that are asked for by their key at each instant.
const GETS: usize = 2;
/// Every id of the history.
const IDS: u64 = 25;

async fn look(store: &Embedded, part: Part<'_>, at: u64) -> Result<AsOf, Error> {
    store.as_of(part, Timestamp::from_millis(at), &Progress::new()).await
}

fn key(id: &str) -> Item {
    Item::new().with("id", id)
}

/// All items of a table as they were, page by page.
async fn scan_then(
    store: &Embedded,
    table: &str,
    at: u64,
) -> Result<BTreeMap<String, Item>, Error> {
    let mut scan = Scan::new(table).limit(7);
    let past = look(store, Part::Scan(&scan), at).await?;
    let mut items = BTreeMap::new();
    loop {
        let page = past.scan(&scan)?;
        for item in page.items {
            let id = item.get("id").unwrap().as_s().unwrap().to_owned();
            assert!(items.insert(id, item).is_none(), "a scan told an item twice");
        }
        match page.last_key {
            Some(last) => scan.start_after = Some(last),
            None => return Ok(items),
        }
    }
}

/// The items of a group as an index had them, the greatest first.
async fn group_then(store: &Embedded, table: &str, group: &str, at: u64) -> Vec<Item> {
    let mut query = Query::new(table, "group", group).index("by-group").descending().limit(3);
    let past = look(store, Part::Query(&query), at).await.unwrap();
    let mut items = Vec::new();
    loop {
        let page = past.query(&query).unwrap();
        items.extend(page.items);
        match page.last_key {
            Some(last) => query.start_after = Some(last),
            None => return items,
        }
    }
}

/// Asserts that looks at an instant show what the model held then.
async fn assert_was(store: &Embedded, at: u64, model: &Model, random: &Random) {
    for number in 0..5 {
        let name = format!("table-{number}");
        let found = scan_then(store, &name, at).await;
        let Some((spec, items)) = model.get(&name) else {
            let told = found.unwrap_err().to_string();
            assert!(told.contains("there was no table"), "`{name}` at {at}: {told}");
            continue;
        };
        assert!(found.unwrap() == *items, "a scan of `{name}` at {at}");
        for _ in 0..GETS {
            let id = format!("id-{}", random.below(IDS));
            let get = Get::new(&name, key(&id));
            let past = look(store, Part::Get(&get), at).await.unwrap();
            assert_eq!(past.spec(), spec);
            assert!(past.get(&get).unwrap().as_ref() == items.get(&id), "{id} of `{name}` at {at}");
            let query = Query::new(&name, "id", id.as_str());
            let past = look(store, Part::Query(&query), at).await.unwrap();
            let page = past.query(&query).unwrap();
            let wanted: Vec<Item> = items.get(&id).cloned().into_iter().collect();
            assert!(page.items == wanted, "{id} of `{name}` at {at} by a query");
        }
        for group in ["g0", "g1", "g2"] {
            if spec.indexes.is_empty() {
                break;
            }
            let of_group = items.values();
            let of_group = of_group.filter(|item| item.get("group") == Some(&Value::from(group)));
            let mut wanted: Vec<Item> = of_group.cloned().collect();
            let v = |item: &Item| *item.get("v").unwrap().as_n().unwrap();
            wanted.sort_by_key(|item| std::cmp::Reverse(v(item)));
            let found = group_then(store, &name, group, at).await;
            assert!(found == wanted, "{group} of `{name}` at {at} by its index");
        }
    }
}

/// Instants of a history: anywhere, at the very moment of changes, and just before it.
fn pick_instants(random: &Random, past: &Past) -> Vec<u64> {
    let known: Vec<u64> = past.instants.keys().copied().collect();
    let (first, last) = (*known.first().unwrap(), past.now().millis());
    let pick = |number: usize| match number % 4 {
        0 => *random.pick(&known).unwrap(),
        1 => *random.pick(&known).unwrap() - 1,
        _ => first + random.below(last - first),
    };
    (0..INSTANTS).map(pick).collect()
}

#[testkit::test]
async fn a_look_at_random_instants_of_a_random_history_shows_what_was_there() {
    for seed in seed::several(depth::pick(1, 3)) {
        let directory = store::quick_directory();
        let mut past = Past::begin(directory.path(), seed).await;
        for _ in 0..500 {
            past.step().await;
        }
        past.step_out_of_this_instant().await;
        assert!(!names(&directory.path().join("checkpoints")).is_empty(), "there are checkpoints");
        assert!(names(&directory.path().join("log")).len() > 3, "there are segments");
        let random = Random::seeded(seed).fork("looks");
        let instants = pick_instants(&random, &past);
        for at in instants.iter().copied() {
            assert_was(&past.store, at, &past.at(at), &random).await;
        }
        // The same after a start.
        past.reopen().await;
        for at in instants.into_iter().take(3) {
            assert_was(&past.store, at, &past.at(at), &random).await;
        }
        let left = names(&directory.path().join("backups"));
        assert!(left.iter().all(|name| !name.starts_with(".look")), "{left:?}");
    }
}

/// All versions of an item, by pages of three.
async fn versions(store: &Embedded, table: &str, id: &str) -> ItemHistory {
    let mut all = store.item_history(table, &key(id), None, 3).await.unwrap();
    while let Some(before) = all.before {
        let page = store.item_history(table, &key(id), Some(before), 3).await.unwrap();
        all.versions.extend(page.versions);
        (all.before, all.is_whole, all.looked_to) = (page.before, page.is_whole, page.looked_to);
    }
    all
}

#[testkit::test]
async fn the_history_of_an_item_tells_what_it_was_at_every_instant() {
    let seed = seed::draw();
    let directory = store::quick_directory();
    let mut past = Past::begin(directory.path(), seed).await;
    for _ in 0..400 {
        past.step().await;
    }
    past.step_out_of_this_instant().await;
    for name in past.store.list_tables().await.unwrap() {
        let described = past.store.describe_table(&name).await.unwrap();
        for id in (0..IDS).step_by(5).map(|id| format!("id-{id}")) {
            let history = versions(&past.store, &name, &id).await;
            assert!(history.versions.is_sorted_by_key(|version| std::cmp::Reverse(version.change)));
            for version in &history.versions {
                let one = past.store.item_version(&name, &key(&id), version.change).await.unwrap();
                assert_eq!(one.as_ref(), Some(version));
            }
            // Of a table that was dropped, what came before is another table's.
            for at in past.instants.keys().copied().filter(|at| *at >= described.created_ms) {
                let Some((spec, items)) = past.at(at).remove(&name) else { continue };
                let then = history.versions.iter().find(|version| version.at.millis() <= at);
                let item = then.and_then(|version| version.item.clone());
                let item = item.filter(|item| !spec.has_expired(item, at / 1_000));
                assert!(item.as_ref() == items.get(&id), "{id} of `{name}` at {at}");
            }
        }
    }
}

#[testkit::test]
async fn a_look_where_there_is_no_past_says_why() {
    let directory = store::quick_directory();
    let store = Store::open(small(directory.path()), START).await.unwrap();
    let by_id = || KeySpec::simple(KeyAttribute::s("id"));
    store.ensure_table(TableSpec::new("kept", by_id())).await.unwrap();
    store.ensure_table(TableSpec::new("moment", by_id()).ephemeral()).await.unwrap();
    store.put(Put::new("kept", key("a"))).await.unwrap();
    let told = async |table: &str, at: u64| {
        let get = Get::new(table, key("a"));
        look(&store, Part::Get(&get), at).await.err().unwrap().to_string()
    };
    let now = store.clock.now().millis();
    assert!(told("kept", now + 1).await.contains("lies in the future"));
    assert!(told("moment", now).await.contains("ephemeral"));
    assert!(told("nothing", now).await.contains("there was no table `nothing`"));
    assert!(told("kept", now - 86_400_000).await.contains("there was no table `kept`"));
    let told = store.item_history("moment", &key("a"), None, 3).await.unwrap_err().to_string();
    assert!(told.contains("ephemeral"), "{told}");
    let reach = store.reach().await.unwrap().unwrap();
    assert!(reach.is_whole && reach.begins <= store.clock.now(), "{reach:?}");
}
