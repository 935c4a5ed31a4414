//! What a reader sees while others write: one moment, never a mixture of two.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Random;
use table::{
    Embedded, Error, Get, Item, KeyAttribute, KeySpec, Put, Query, Scan, TableSpec, Tables,
    TransactItem, TransactWrite, Update, attr,
};
use testkit::store::Store;
use testkit::{depth, seed, wait};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::assert_sound;

const ACCOUNTS: i64 = 12;
const EACH: i64 = 100;
const WRITERS: u64 = 16;
const READERS: u64 = 4;

fn key(number: i64) -> Item {
    Item::new().with("bank", "one").with("number", number)
}

async fn set_up(store: &Store) {
    let key_of = KeySpec::composite(KeyAttribute::s("bank"), KeyAttribute::n("number"));
    let by_bank = KeySpec::composite(KeyAttribute::s("bank"), KeyAttribute::n("held"));
    store.ensure_table(TableSpec::new("accounts", key_of).index("by-held", by_bank)).await.unwrap();
    for number in 0..ACCOUNTS {
        // Long enough that settling goes on all the while.
        let account = key(number).with("held", EACH).with("pad", "p".repeat(3000));
        store.put(Put::new("accounts", account)).await.unwrap();
    }
}

/// From one account to another, if there is enough.
async fn transfer(store: &Embedded, random: &Random) {
    let mut numbers: Vec<i64> = (0..ACCOUNTS).collect();
    random.shuffle(&mut numbers);
    let amount = i64::try_from(1 + random.below(30)).unwrap();
    let minus = Update::new("accounts", key(numbers[0])).add("held", -amount);
    let plus = Update::new("accounts", key(numbers[1])).add("held", amount);
    let writes: Vec<TransactItem> = vec![minus.when(attr("held").ge(amount)).into(), plus.into()];
    match store.transact_write(TransactWrite::new(writes)).await {
        Ok(()) | Err(Error::TransactionCanceled { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

fn sum<'a>(accounts: impl Iterator<Item = &'a Item>) -> (i64, i64) {
    let held = accounts.map(|item| item.get("held").unwrap().as_n().unwrap().to_i64().unwrap());
    held.fold((0, 0), |(count, sum), held| (count + 1, sum + held))
}

/// All accounts in one call, in one of the ways there are.
async fn look(store: &Embedded, way: u64) -> (i64, i64) {
    let query = Query::new("accounts", "bank", "one");
    let page = match way {
        0 => store.query(query).await,
        1 => store.query(query.descending()).await,
        2 => store.query(query.index("by-held")).await,
        3 => store.scan(Scan::new("accounts")).await,
        _ => {
            let gets = (0..ACCOUNTS).map(|number| Get::new("accounts", key(number))).collect();
            let got = store.transact_get(gets).await.unwrap();
            return sum(got.iter().flatten());
        }
    };
    sum(page.unwrap().items.iter())
}

async fn assert_one_moment(store: Store, seed: u64) {
    set_up(&store).await;
    // Everybody is there before the first transfer.
    let start = Arc::new(Barrier::new(usize::try_from(WRITERS + READERS).unwrap()));
    let mut writers = JoinSet::new();
    for task in 0..WRITERS {
        let (tables, random) = (store.tables.clone(), Random::seeded(seed).fork(&task.to_string()));
        let start = Arc::clone(&start);
        writers.spawn(async move {
            start.wait().await;
            for _ in 0..depth::pick(20, 60) {
                transfer(&tables, &random).await;
            }
        });
    }
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for reader in 0..READERS {
        let (tables, done) = (store.tables.clone(), Arc::clone(&done));
        let start = Arc::clone(&start);
        readers.spawn(async move {
            let mut looks = 0;
            start.wait().await;
            while !done.load(Ordering::Acquire) {
                let way = (looks + reader) % 5;
                let seen = look(&tables, way).await;
                assert_eq!(seen, (ACCOUNTS, ACCOUNTS * EACH), "way {way}, seed {seed}");
                looks += 1;
                tokio::task::yield_now().await;
            }
            looks
        });
    }
    wait::bounded("the writers", writers.join_all()).await;
    done.store(true, Ordering::Release);
    let looks = wait::bounded("the readers", readers.join_all()).await;
    assert!(looks.iter().all(|looks| *looks > 0), "{looks:?}");
    assert_sound(&store).await;
}

#[testkit::test(4)]
async fn a_reader_in_memory_sees_one_moment() {
    assert_one_moment(Store::in_memory().await, seed::draw()).await;
}

#[testkit::test(4)]
async fn a_reader_on_disk_sees_one_moment_while_it_settles() {
    let directory = tempfile::tempdir().unwrap();
    assert_one_moment(Store::small(directory.path()).await, seed::draw()).await;
}
