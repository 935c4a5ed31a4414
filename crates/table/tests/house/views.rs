//! What a reader sees while others write: one moment, never a mixture of two.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Random;
use table::{
    Embedded, Error, Get, Item, KeyAttribute, KeySpec, Put, Query, Scan, TableSpec, Tables,
    TransactItem, TransactWrite, Update, attr,
};
use tokio::task::JoinSet;

use super::support::{House, assert_sound, in_memory, open};

const ACCOUNTS: i64 = 12;
const EACH: i64 = 100;
const WRITERS: u64 = 16;
const READERS: u64 = 4;
const TRANSFERS: u64 = 60;

fn key(number: i64) -> Item {
    Item::new().with("bank", "one").with("number", number)
}

async fn set_up(house: &House) {
    let key_of = KeySpec::composite(KeyAttribute::s("bank"), KeyAttribute::n("number"));
    let by_bank = KeySpec::composite(KeyAttribute::s("bank"), KeyAttribute::n("held"));
    house.ensure_table(TableSpec::new("accounts", key_of).index("by-held", by_bank)).await.unwrap();
    for number in 0..ACCOUNTS {
        // Long enough that settling goes on all the while.
        let account = key(number).with("held", EACH).with("pad", "p".repeat(3000));
        house.put(Put::new("accounts", account)).await.unwrap();
    }
}

/// From one account to another, if there is enough.
async fn transfer(house: &Embedded, random: &Random) {
    let mut numbers: Vec<i64> = (0..ACCOUNTS).collect();
    random.shuffle(&mut numbers);
    let amount = i64::try_from(1 + random.below(30)).unwrap();
    let minus = Update::new("accounts", key(numbers[0])).add("held", -amount);
    let plus = Update::new("accounts", key(numbers[1])).add("held", amount);
    let writes: Vec<TransactItem> = vec![minus.when(attr("held").ge(amount)).into(), plus.into()];
    match house.transact_write(TransactWrite::new(writes)).await {
        Ok(()) | Err(Error::TransactionCanceled { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

fn sum<'a>(accounts: impl Iterator<Item = &'a Item>) -> (i64, i64) {
    let held = accounts.map(|item| item.get("held").unwrap().as_n().unwrap().to_i64().unwrap());
    held.fold((0, 0), |(count, sum), held| (count + 1, sum + held))
}

/// All accounts in one call, in one of the ways there are.
async fn look(house: &Embedded, way: u64) -> (i64, i64) {
    let query = Query::new("accounts", "bank", "one");
    let page = match way {
        0 => house.query(query).await,
        1 => house.query(query.descending()).await,
        2 => house.query(query.index("by-held")).await,
        3 => house.scan(Scan::new("accounts")).await,
        _ => {
            let gets = (0..ACCOUNTS).map(|number| Get::new("accounts", key(number))).collect();
            let got = house.transact_get(gets).await.unwrap();
            return sum(got.iter().flatten());
        }
    };
    sum(page.unwrap().items.iter())
}

async fn assert_one_moment(house: House, seed: u64) {
    set_up(&house).await;
    let mut writers = JoinSet::new();
    for task in 0..WRITERS {
        let (tables, random) = (house.tables.clone(), Random::seeded(seed).fork(&task.to_string()));
        writers.spawn(async move {
            for _ in 0..TRANSFERS {
                transfer(&tables, &random).await;
            }
        });
    }
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for reader in 0..READERS {
        let (tables, done) = (house.tables.clone(), Arc::clone(&done));
        readers.spawn(async move {
            let mut looks = 0;
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
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    done.store(true, Ordering::Release);
    while let Some(looks) = readers.join_next().await {
        assert!(looks.unwrap() > 0);
    }
    assert_sound(&house).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_in_memory_sees_one_moment() {
    assert_one_moment(in_memory().await, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_on_disk_sees_one_moment_while_it_settles() {
    let directory = tempfile::tempdir().unwrap();
    assert_one_moment(open(directory.path()).await, 2).await;
}
