//! Conditional writes of single items under 64 concurrent tasks, checked for an order.

use std::sync::Arc;

use base::Random;
use table::{
    Delete, Embedded, Error, Get, Item, KeyAttribute, KeySpec, Put, Return, TableSpec, Tables,
    Update, attr,
};
use testkit::store::Store;
use testkit::{depth, seed};
use tokio::task::JoinSet;

use super::assert_sound;
use super::history::{Recorder, Sequential, check};

const TASKS: u64 = 64;
const CALLS: u64 = 40;
const ITEMS: u64 = 6;

/// One item with a value.
struct OneItem;

#[derive(Clone, Debug)]
enum Ask {
    Get,
    Put(i64),
    PutIfAbsent(i64),
    Swap(i64, i64),
    Add(i64),
    Delete,
}

/// Everything that the store tells in its answer.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Was(Option<i64>),
    Is(Option<i64>),
    Refused(Option<i64>),
}

impl Sequential for OneItem {
    type State = Option<i64>;
    type Asked = Ask;
    type Answered = Answer;

    fn step(state: &Option<i64>, asked: &Ask) -> (Option<i64>, Answer) {
        let state = *state;
        match *asked {
            Ask::Get => (state, Answer::Is(state)),
            Ask::Put(value) => (Some(value), Answer::Was(state)),
            Ask::PutIfAbsent(value) if state.is_none() => (Some(value), Answer::Was(None)),
            Ask::Swap(from, to) if state == Some(from) => (Some(to), Answer::Was(state)),
            Ask::PutIfAbsent(_) | Ask::Swap(..) => (state, Answer::Refused(state)),
            Ask::Add(value) => {
                let sum = state.unwrap_or(0) + value;
                (Some(sum), Answer::Is(Some(sum)))
            }
            Ask::Delete => (None, Answer::Was(state)),
        }
    }
}

fn key(number: u64) -> Item {
    Item::new().with("id", format!("item-{number}"))
}

fn item(number: u64, value: i64) -> Item {
    // Long enough that settling goes on all the while.
    key(number).with("v", value).with("pad", "p".repeat(1500))
}

fn value(item: Option<&Item>) -> Option<i64> {
    item.map(|item| item.get("v").unwrap().as_n().unwrap().to_i64().unwrap())
}

async fn ask(store: &Embedded, number: u64, asked: &Ask) -> Answer {
    let put = |value| Put::new("items", item(number, value)).returning(Return::AllOld).telling();
    let written = match *asked {
        Ask::Get => {
            let got = store.get(Get::new("items", key(number))).await.unwrap();
            return Answer::Is(value(got.as_ref()));
        }
        Ask::Add(value_added) => {
            let update = Update::new("items", key(number)).add("v", value_added);
            let new = store.update(update.returning(Return::AllNew)).await.unwrap();
            return Answer::Is(value(new.as_ref()));
        }
        Ask::Put(value) => store.put(put(value)).await,
        Ask::PutIfAbsent(value) => store.put(put(value).when(attr("id").not_exists())).await,
        Ask::Swap(from, to) => store.put(put(to).when(attr("v").eq(from))).await,
        Ask::Delete => {
            let delete = Delete::new("items", key(number)).returning(Return::AllOld);
            store.delete(delete).await
        }
    };
    match written {
        Ok(old) => Answer::Was(value(old.as_ref())),
        Err(Error::ConditionFailed { item }) => Answer::Refused(value(item.as_deref())),
        Err(other) => panic!("{other}"),
    }
}

async fn assert_linearisable(store: Store, seed: u64) {
    let by_value = KeySpec::simple(KeyAttribute::n("v"));
    let spec = TableSpec::new("items", KeySpec::simple(KeyAttribute::s("id")));
    store.ensure_table(spec.index("by-value", by_value)).await.unwrap();
    let recorders: Arc<Vec<Recorder<Ask, Answer>>> =
        Arc::new((0..ITEMS).map(|_| Recorder::default()).collect());
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (tables, recorders) = (store.tables.clone(), Arc::clone(&recorders));
        let random = Random::seeded(seed).fork(&task.to_string());
        tasks.spawn(async move {
            let mut last = vec![0; recorders.len()];
            for number in 0..CALLS {
                let item = random.below(ITEMS);
                let place = usize::try_from(item).unwrap();
                // Every value written is another one.
                let fresh = i64::try_from(task * CALLS + number).unwrap() * 1_000_000;
                let asked = match random.below(12) {
                    0..3 => Ask::Get,
                    3 => Ask::Put(fresh),
                    4 => Ask::PutIfAbsent(fresh),
                    5..8 => Ask::Swap(last[place], fresh),
                    8..11 => Ask::Add(1),
                    _ => Ask::Delete,
                };
                let begun = recorders[place].begin();
                let answered = ask(&tables, item, &asked).await;
                let (Answer::Was(told) | Answer::Is(told) | Answer::Refused(told)) = answered;
                last[place] = told.unwrap_or(0);
                recorders[place].end(begun, asked, answered);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    for (number, recorder) in recorders.iter().enumerate() {
        let calls = recorder.take();
        let won = |answer: &Answer| matches!(answer, Answer::Was(Some(_)));
        assert!(calls.iter().any(|call| won(&call.answered)) && calls.len() > 200);
        if let Err(most) = check::<OneItem>(calls.clone()) {
            panic!("item {number}: {most} of {} calls have an order (seed {seed})", calls.len());
        }
    }
    assert_sound(&store).await;
}

#[testkit::test(4)]
async fn single_items_in_memory_change_one_call_after_the_other() {
    for seed in seed::several(depth::pick(1, 4)) {
        assert_linearisable(Store::in_memory().await, seed).await;
    }
}

#[testkit::test(4)]
async fn single_items_on_disk_change_one_call_after_the_other() {
    for seed in seed::several(depth::pick(1, 4)) {
        let directory = tempfile::tempdir().unwrap();
        assert_linearisable(Store::small(directory.path()).await, seed).await;
    }
}
