//! The engine against another implementation of DynamoDB, where that one does what AWS does.
//!
//! Requests come from the generators of the model test and go to the other side as DynamoDB's
//! JSON, with expressions written by our renderer; so the renderer is judged too. Where the two
//! differ and the other one is wrong, the difference stands in `exceptions.rs` with what AWS does.

mod exceptions;
mod other;
mod wild;

use std::fmt;

use base::{Clock, Timestamp};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use table::{
    BatchWrite, Check, Delete, Get, Item, Page, Put, Query, Scan, TableSpec, Tables, TransactItem,
    TransactWrite, Update,
};
use testkit::store::{Place, Store};

use self::other::Other;
use crate::support::failure::Failure;
use crate::support::generate::{
    QueryPlan, START_S, ScanPlan, TABLES, condition, delete, get, item, named_key, put, query,
    scan, spec, table, update,
};

proptest! {
    #![proptest_config(testkit::depth::cases(32))]

    #[test]
    fn two_dynamodbs_give_the_same_answers(story in story(step())) {
        testkit::run(0, story.play())?;
    }

    #[test]
    fn two_dynamodbs_refuse_the_same_requests(story in story(wild::step())) {
        testkit::run(0, story.play())?;
    }
}

/// One request.
#[derive(Clone, Debug)]
enum Step {
    Put(Put),
    Update(Update),
    Delete(Delete),
    Get(Get),
    BatchWrite(Vec<BatchWrite>),
    TransactGet(Vec<Get>),
    Transact(TransactWrite),
    /// The last transaction that had a token, once more.
    TransactAgain,
    Query(QueryPlan),
    Scan(ScanPlan),
    /// A query as it stands, on whatever key.
    WildQuery(Query),
}

fn step() -> BoxedStrategy<Step> {
    prop_oneof![
        20 => put().prop_map(Step::Put),
        30 => update().prop_map(Step::Update),
        6 => delete().prop_map(Step::Delete),
        5 => get().prop_map(Step::Get),
        4 => vec(batch_write(), 1..8).prop_map(Step::BatchWrite),
        2 => vec(get(), 1..6).prop_map(Step::TransactGet),
        10 => transaction().prop_map(Step::Transact),
        2 => Just(Step::TransactAgain),
        15 => query().prop_map(Step::Query),
        6 => scan().prop_map(Step::Scan),
    ]
    .boxed()
}

fn batch_write() -> BoxedStrategy<BatchWrite> {
    let put = table().prop_flat_map(|(number, table)| (Just(table), item(number)));
    prop_oneof![
        put.prop_map(|(table, item)| BatchWrite::Put { table, item }),
        named_key().prop_map(|(table, key)| BatchWrite::Delete { table, key }),
    ]
    .boxed()
}

/// A transaction; its token, if it has one, is one of few.
fn transaction() -> BoxedStrategy<TransactWrite> {
    let check = (named_key(), condition(), any::<bool>()).prop_map(
        |((table, key), condition, item_on_failure)| Check {
            table,
            key,
            condition,
            item_on_failure,
        },
    );
    let plain = put().prop_map(|put| TransactItem::Put(Put { condition: None, ..put }));
    let write = prop_oneof![
        4 => plain,
        1 => put().prop_map(TransactItem::Put),
        2 => update().prop_map(TransactItem::Update),
        1 => delete().prop_map(TransactItem::Delete),
        1 => check.prop_map(TransactItem::Check),
    ];
    let token =
        option::of(select(&["one", "two", "three"])).prop_map(|token| token.map(str::to_owned));
    (vec(write, 1..5), token).prop_map(|(writes, token)| TransactWrite { writes, token }).boxed()
}

/// Tables, and what is asked of them.
#[derive(Clone)]
struct Story {
    specs: Vec<TableSpec>,
    steps: Vec<Step>,
}

fn story(step: BoxedStrategy<Step>) -> impl Strategy<Value = Story> {
    let specs: Vec<_> = (0..TABLES.len()).map(spec).collect();
    // The other side sweeps now and then, ours to the second: nothing expires here.
    let specs = specs.prop_map(|specs| {
        specs.into_iter().map(|spec| TableSpec { ttl: None, ..spec }).collect::<Vec<_>>()
    });
    (specs, vec(step, 1..100)).prop_map(|(specs, steps)| Story { specs, steps })
}

/// One line each, also where a failure is told at length.
impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for spec in &self.specs {
            let spec = format!("{spec:?}");
            writeln!(f, "\n  {spec}")?;
        }
        let mut lines = self.steps.iter().enumerate();
        lines.try_for_each(|(number, step)| {
            let step = format!("{step:?}");
            writeln!(f, "\n  {number}: {step}")
        })
    }
}

impl Story {
    async fn play(&self) -> Result<(), TestCaseError> {
        let start = Timestamp::from_seconds(START_S).expect("the start is a time");
        let (clock, time) = Clock::virtual_at(start);
        let ours = Store::on(Place::Memory, clock, time).await.expect("memory opens");
        for spec in &self.specs {
            ours.ensure_table(spec.clone()).await.expect("the declaration is valid");
        }
        let mut pair =
            Pair { ours, other: Other::with(&self.specs), specs: &self.specs, spent: None };
        for (number, step) in self.steps.iter().enumerate() {
            pair.ask(step).await.map_err(|failure| {
                TestCaseError::fail(format!("step {number}, {step:?}: {failure}"))
            })?;
        }
        Ok(())
    }
}

/// The two, side by side.
struct Pair<'s> {
    ours: Store,
    other: Other,
    specs: &'s [TableSpec],
    spent: Option<TransactWrite>,
}

impl Pair<'_> {
    async fn ask(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let (ours, other) = (&self.ours, &self.other);
        if exceptions::is_refused_by_aws(step, self.specs) {
            prop_assert_eq!(self.ours_alone(step).await, Err(Failure::Invalid));
            return Ok(());
        }
        if self.takes_from_nothing(step).await {
            return Ok(());
        }
        match step {
            Step::Put(put) => same(ours.put(put.clone()).await, other.put(put)),
            Step::Update(update) => {
                let (answer, other) = (ours.update(update.clone()).await, other.update(update));
                if exceptions::is_made_from_nothing(update, &answer, &other) {
                    return Ok(());
                }
                if exceptions::answers_elements(update) {
                    return same(answer.map(|_| ()), other.map(|_| ()));
                }
                same(answer, other)
            }
            Step::Delete(delete) => same(ours.delete(delete.clone()).await, other.delete(delete)),
            Step::Get(get) => {
                // An item of which nothing is projected is an empty map here and nothing there.
                let found = ours.get(get.clone()).await;
                same(found.map(|item| item.filter(|item| !item.is_empty())), other.get(get))
            }
            Step::BatchWrite(writes) => {
                same(ours.batch_write(writes.clone()).await.map(|_| ()), other.batch_write(writes))
            }
            Step::TransactGet(gets) => {
                let gets = exceptions::without_projection(gets);
                same(ours.transact_get(gets.clone()).await, other.transact_get(&gets))
            }
            Step::Transact(transaction) => self.transact(transaction.clone()).await,
            Step::TransactAgain => match self.spent.clone() {
                Some(transaction) => self.transact(transaction).await,
                None => Ok(()),
            },
            Step::Query(plan) => self.query(plan).await,
            Step::Scan(plan) => self.scan(plan).await,
            Step::WildQuery(query) => self.query_all(query).await,
        }
    }

    /// Whether an update only takes away from an item that is not there. AWS makes no item of it;
    /// the other one makes it, and the two would part for good.
    async fn takes_from_nothing(&self, step: &Step) -> bool {
        let updates: Vec<&Update> = match step {
            Step::Update(update) => vec![update],
            Step::Transact(transaction) => transaction
                .writes
                .iter()
                .filter_map(|write| match write {
                    TransactItem::Update(update) => Some(update),
                    TransactItem::Put(_) | TransactItem::Delete(_) | TransactItem::Check(_) => None,
                })
                .collect(),
            _ => return false,
        };
        for update in updates.into_iter().filter(|update| exceptions::only_removes(&update.actions))
        {
            let get = Get::new(update.table.as_str(), update.key.clone());
            if matches!(self.ours.get(get).await, Ok(None)) {
                return true;
            }
        }
        false
    }

    /// What ours makes of a request that the other one would take wrongly.
    async fn ours_alone(&self, step: &Step) -> Result<(), Failure> {
        let ours = &self.ours;
        match step.clone() {
            Step::Put(put) => ours.put(put).await.map(|_| ()),
            Step::Update(update) => ours.update(update).await.map(|_| ()),
            Step::Delete(delete) => ours.delete(delete).await.map(|_| ()),
            Step::Get(get) => ours.get(get).await.map(|_| ()),
            Step::Transact(transaction) => ours.transact_write(transaction).await,
            Step::WildQuery(query) => ours.query(query).await.map(|_| ()),
            other => panic!("no exception is known for {other:?}"),
        }
        .map_err(seen)
    }

    async fn transact(&mut self, transaction: TransactWrite) -> Result<(), TestCaseError> {
        let answer = self.ours.transact_write(transaction.clone()).await.map_err(seen);
        let other = self.other.transact_write(&transaction);
        if (&answer, &other) == (&Err(Failure::Invalid), &Err(Failure::TokenMismatch)) {
            // Which of two faults is told is nobody's promise.
            return Ok(());
        }
        if exceptions::names_empty_text(&transaction) && other == Err(Failure::Invalid) {
            prop_assert!(answer.is_err());
            return Ok(());
        }
        prop_assert_eq!(answer, other);
        if transaction.token.is_some() {
            self.spent = Some(transaction);
        }
        Ok(())
    }

    /// A table's partition has one order, and all pages must be alike. Equal sort keys of an index
    /// have none, so there only the pages' sizes and all items together must be.
    async fn query(&self, plan: &QueryPlan) -> Result<(), TestCaseError> {
        let spec = self.specs.iter().find(|spec| spec.name == plan.table).expect("it is declared");
        let key = match &plan.index {
            None => &spec.key,
            Some(name) => spec.find_index(name).map_or(&spec.key, |(_, index)| &index.key),
        };
        self.query_all(&plan.on(key)).await
    }

    async fn query_all(&self, query: &Query) -> Result<(), TestCaseError> {
        let (mut ours, mut theirs) = (Pages::default(), Pages::default());
        let repeats = exceptions::repeats_its_only_item(query, self.specs);
        if repeats && query.start_after.is_some() {
            return Ok(());
        }
        loop {
            let start = |pages: &Pages| pages.next().or_else(|| query.start_after.clone());
            let page = Query { start_after: start(&ours), ..query.clone() };
            let other = self.other.query(&Query { start_after: start(&theirs), ..query.clone() });
            let page = self.ours.query(page).await;
            let more = turn(page, other, query.index.is_none(), &mut ours, &mut theirs)?;
            if !more {
                return ours.compare(theirs);
            }
            if repeats {
                return Ok(());
            }
        }
    }

    /// The two may put items into other segments and pages; all of them together must be alike,
    /// and without segments the sizes of pages too.
    async fn scan(&self, plan: &ScanPlan) -> Result<(), TestCaseError> {
        let (mut ours, mut theirs) = (Pages::default(), Pages::default());
        let Some(total) = plan.segments else {
            loop {
                let page = Scan { start_after: ours.next(), ..plan.scan.clone() };
                let other = Scan { start_after: theirs.next(), ..plan.scan.clone() };
                let (page, other) = (self.ours.scan(page).await, self.other.scan(&other));
                if !turn(page, other, false, &mut ours, &mut theirs)? {
                    return ours.compare(theirs);
                }
            }
        };
        for number in 0..total {
            let scan = plan.scan.clone().segment(number, total);
            loop {
                let page = Scan { start_after: ours.next(), ..scan.clone() };
                let Ok(page) = self.ours.scan(page).await else { break };
                ours.take(page);
                if ours.next().is_none() {
                    break;
                }
            }
            loop {
                let page = Scan { start_after: theirs.next(), ..scan.clone() };
                let Ok(page) = self.other.scan(&page) else { break };
                theirs.take(page);
                if theirs.next().is_none() {
                    break;
                }
            }
        }
        ours.compare(theirs)
    }
}

/// The pages that one side gave.
#[derive(Default)]
struct Pages {
    items: Vec<String>,
    last_key: Option<Item>,
}

impl Pages {
    fn next(&self) -> Option<Item> {
        self.last_key.clone()
    }

    fn take(&mut self, page: Page) {
        self.items.extend(page.items.iter().map(|item| format!("{item:?}")));
        self.last_key = page.last_key;
    }

    fn compare(mut self, mut other: Pages) -> Result<(), TestCaseError> {
        self.items.sort();
        other.items.sort();
        prop_assert_eq!(self.items, other.items);
        Ok(())
    }
}

/// Compares two pages; answers whether more come.
fn turn(
    page: Result<Page, table::Error>,
    other: Result<Page, Failure>,
    has_order: bool,
    ours: &mut Pages,
    theirs: &mut Pages,
) -> Result<bool, TestCaseError> {
    let (page, other) = match (page.map_err(seen), other) {
        (Ok(page), Ok(other)) => (page, other),
        (page, other) => {
            prop_assert_eq!(page, other);
            return Ok(false);
        }
    };
    prop_assert_eq!(page.scanned, other.scanned);
    prop_assert_eq!(page.last_key.is_some(), other.last_key.is_some());
    if has_order {
        prop_assert_eq!(&page.items, &other.items);
        prop_assert_eq!(&page.last_key, &other.last_key);
    }
    ours.take(page);
    theirs.take(other);
    Ok(ours.last_key.is_some())
}

fn same<T: fmt::Debug + PartialEq>(
    answer: Result<T, table::Error>,
    other: Result<T, Failure>,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(answer.map_err(seen), other);
    Ok(())
}

/// Our failure as DynamoDB tells it: an index that is not there is a broken rule like others.
fn seen(error: table::Error) -> Failure {
    match Failure::from(error) {
        Failure::NoSuchIndex => Failure::Invalid,
        failure => failure,
    }
}
