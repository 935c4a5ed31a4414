//! Transactions over a few items under 64 concurrent tasks, checked for an order.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Random;
use table::{
    CancelReason, Check, Embedded, Error, Get, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables,
    TransactItem, TransactWrite, Update, Value, attr,
};
use testkit::store::Store;
use testkit::{depth, seed};
use tokio::task::JoinSet;

use super::assert_sound;
use super::history::{Recorder, Sequential, check};

const TASKS: u64 = 64;
const CALLS: u64 = 14;
const ITEMS: usize = 4;

/// The values of all items; 0 for one that is not there.
type Values = [i64; ITEMS];

struct FourItems;

#[derive(Clone, Debug)]
enum Ask {
    GetAll,
    Get(usize),
    /// Both must be what they were; both change.
    SwapTwo {
        places: [usize; 2],
        seen: [i64; 2],
        to: [i64; 2],
    },
    /// One must be what it was; another changes.
    CheckAndPut {
        checked: usize,
        seen: i64,
        place: usize,
        to: i64,
    },
    /// From one to another, if there is enough.
    Move {
        from: usize,
        to: usize,
        amount: i64,
    },
}

/// With a number of its own, which it leaves in what it writes.
#[derive(Clone, Debug)]
struct Signed {
    number: i64,
    ask: Ask,
}

#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Values(Vec<i64>),
    Done,
    /// The items that stood in the way, by place in the transaction, with their values.
    Refused(Vec<(usize, i64)>),
}

impl Sequential for FourItems {
    type State = Values;
    type Asked = Signed;
    type Answered = Answer;

    fn step(state: &Values, asked: &Signed) -> (Values, Answer) {
        let mut after = *state;
        let refused = match asked.ask {
            Ask::GetAll => return (after, Answer::Values(state.to_vec())),
            Ask::Get(place) => return (after, Answer::Values(vec![state[place]])),
            Ask::SwapTwo { places, seen, to } => {
                for (place, value) in places.into_iter().zip(to) {
                    after[place] = value;
                }
                let places = places.into_iter().zip(seen).enumerate();
                places
                    .filter(|(_, (place, seen))| state[*place] != *seen)
                    .map(|(number, (place, _))| (number, state[place]))
                    .collect()
            }
            Ask::CheckAndPut { checked, seen, place, to } => {
                after[place] = to;
                if state[checked] == seen { vec![] } else { vec![(0, state[checked])] }
            }
            Ask::Move { from, to, amount } => {
                after[from] -= amount;
                after[to] += amount;
                if state[from] >= amount { vec![] } else { vec![(0, state[from])] }
            }
        };
        if refused.is_empty() { (after, Answer::Done) } else { (*state, Answer::Refused(refused)) }
    }
}

/// Two tables share the items.
fn table(place: usize) -> &'static str {
    if place.is_multiple_of(2) { "even" } else { "odd" }
}

fn key(place: usize) -> Item {
    Item::new().with("id", place as u64)
}

fn value(item: Option<&Item>) -> i64 {
    item.map_or(0, |item| item.get("v").unwrap().as_n().unwrap().to_i64().unwrap())
}

fn get(place: usize) -> Get {
    Get::new(table(place), key(place))
}

fn put(place: usize, value: i64, number: i64) -> Put {
    let item = key(place).with("v", value).with("by", number).with("pad", "p".repeat(1000));
    Put::new(table(place), item)
}

fn is(value: i64) -> table::Condition {
    let same = attr("v").eq(value);
    if value == 0 { same.or(attr("id").not_exists()) } else { same }
}

fn writes(asked: &Signed) -> Vec<TransactItem> {
    let number = asked.number;
    match asked.ask {
        Ask::GetAll | Ask::Get(_) => Vec::new(),
        Ask::SwapTwo { places: [one, other], seen, to } => vec![
            put(one, to[0], number).when(is(seen[0])).telling().into(),
            put(other, to[1], number).when(is(seen[1])).telling().into(),
        ],
        Ask::CheckAndPut { checked, seen, place, to } => {
            let mut check = Check::new(table(checked), key(checked), is(seen));
            check.item_on_failure = true;
            vec![check.into(), put(place, to, number).into()]
        }
        Ask::Move { from, to, amount } => {
            let minus = Update::new(table(from), key(from)).add("v", -amount).set("by", number);
            let plus = Update::new(table(to), key(to)).add("v", amount).set("by", number);
            vec![minus.when(attr("v").ge(amount)).telling().into(), plus.into()]
        }
    }
}

async fn ask(store: &Embedded, asked: &Signed) -> Answer {
    match &asked.ask {
        Ask::GetAll => {
            let got = store.transact_get((0..ITEMS).map(get).collect()).await.unwrap();
            return Answer::Values(got.iter().map(|item| value(item.as_ref())).collect());
        }
        Ask::Get(place) => {
            let got = store.get(get(*place)).await.unwrap();
            return Answer::Values(vec![value(got.as_ref())]);
        }
        Ask::SwapTwo { .. } | Ask::CheckAndPut { .. } | Ask::Move { .. } => {}
    }
    match store.transact_write(TransactWrite::new(writes(asked))).await {
        Ok(()) => Answer::Done,
        Err(Error::TransactionCanceled { reasons }) => {
            let reasons = reasons.into_iter().enumerate();
            let blamed = reasons.filter_map(|(number, reason)| match reason {
                CancelReason::None => None,
                CancelReason::ConditionFailed { item } => Some((number, value(item.as_deref()))),
                CancelReason::Invalid(why) => panic!("{why}"),
            });
            Answer::Refused(blamed.collect())
        }
        Err(other) => panic!("{other}"),
    }
}

/// What a task asks next, by what it saw last.
fn next(random: &Random, seen: &Values, fresh: i64) -> Ask {
    let mut places: Vec<usize> = (0..ITEMS).collect();
    random.shuffle(&mut places);
    let (one, other) = (places[0], places[1]);
    match random.below(10) {
        0..3 => Ask::GetAll,
        3 => Ask::Get(one),
        4..7 => {
            let seen = [seen[one], seen[other]];
            Ask::SwapTwo { places: [one, other], seen, to: [fresh, fresh + 1] }
        }
        7..9 => Ask::CheckAndPut { checked: one, seen: seen[one], place: other, to: fresh },
        _ => Ask::Move { from: one, to: other, amount: 1 + fresh % 97 },
    }
}

/// Who wrote, and which change of all it was.
async fn order_of_changes(store: &Store) -> BTreeMap<i64, u64> {
    let last = store.last_change();
    let mut feed = store.changes(0);
    let mut order = BTreeMap::new();
    loop {
        let told = feed.next().await.unwrap();
        for change in &told.changes {
            let by = change.new.as_ref().and_then(|item| item.get("by"));
            if let Some(by) = by.and_then(Value::as_n) {
                order.insert(by.to_i64().unwrap(), told.seq);
            }
        }
        if told.seq == last {
            return order;
        }
    }
}

async fn assert_linearisable(store: Store, seed: u64) {
    for name in ["even", "odd"] {
        let by_value = KeySpec::simple(KeyAttribute::n("v"));
        let spec = TableSpec::new(name, KeySpec::simple(KeyAttribute::n("id")));
        store.ensure_table(spec.index("by-value", by_value)).await.unwrap();
    }
    let recorder: Arc<Recorder<Signed, Answer>> = Arc::new(Recorder::default());
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (tables, recorder) = (store.tables.clone(), Arc::clone(&recorder));
        let random = Random::seeded(seed).fork(&task.to_string());
        tasks.spawn(async move {
            let mut seen = [0; ITEMS];
            for number in 0..CALLS {
                let fresh = i64::try_from((task * CALLS + number) * 1000 + 1).unwrap();
                let asked = Signed { number: fresh, ask: next(&random, &seen, fresh) };
                let begun = recorder.begin();
                let answered = ask(&tables, &asked).await;
                if let Answer::Values(values) = &answered
                    && let Ok(all) = Values::try_from(values.as_slice())
                {
                    seen = all;
                }
                recorder.end(begun, asked, answered);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let mut calls = recorder.take();
    let order = order_of_changes(&store).await;
    for call in &mut calls {
        call.witnessed = order.get(&call.asked.number).copied();
    }
    let done = calls.iter().filter(|call| call.answered == Answer::Done).count();
    assert!(done > 30, "{done} transactions were made");
    if let Err(most) = check::<FourItems>(calls.clone()) {
        panic!("{most} of {} calls have an order (seed {seed})", calls.len());
    }
    assert_sound(&store).await;
}

#[testkit::test(4)]
async fn transactions_in_memory_happen_one_after_the_other() {
    for seed in seed::several(depth::pick(1, 4)) {
        assert_linearisable(Store::in_memory().await, seed).await;
    }
}

#[testkit::test(4)]
async fn transactions_on_disk_happen_one_after_the_other() {
    for seed in seed::several(depth::pick(1, 4)) {
        let directory = tempfile::tempdir().unwrap();
        assert_linearisable(Store::small(directory.path()).await, seed).await;
    }
}
