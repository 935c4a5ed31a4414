//! The engine against a model: random sequences of everything that the port offers, on a store in
//! memory, on one that settles all the time, and on one that is closed and opened in between.
//!
//! The model (`reference.rs`, `reads.rs`, `evaluate.rs`) is plain maps and plain code. Requests
//! come from the generators that the oracle test uses too.

mod evaluate;
mod ground;
mod reads;
mod reference;
mod steps;

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::{Strategy, proptest};
use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use table::{Error, Scan, Tables};

use self::ground::{Ground, GroundStore};
use self::reads::{judge_query, judge_scan};
use self::reference::Model;
use self::steps::{Step, step};
use crate::support::failure::Failure;
use crate::support::generate::{ScanPlan, TABLES, spec};

/// How often the sweeper is waited for; it needs a round for each table.
const SWEEPS_MAX: u32 = 20;

proptest! {
    #![proptest_config(testkit::depth::cases(32))]

    #[test]
    fn a_house_answers_what_the_model_answers(story in story()) {
        for ground in [Ground::Memory, Ground::Settling, Ground::Reopening] {
            let told = testkit::run(0, story.play(ground));
            told.map_err(|failure| TestCaseError::fail(format!("{ground:?}: {failure}")))?;
        }
    }
}

/// Declarations, and what happens then.
#[derive(Clone)]
struct Story {
    steps: Vec<Step>,
}

fn story() -> impl Strategy<Value = Story> {
    let specs: Vec<_> = (0..TABLES.len()).map(spec).collect();
    (specs, vec(step(), 1..120)).prop_map(|(specs, steps)| Story {
        steps: specs.into_iter().map(Step::Ensure).chain(steps).collect(),
    })
}

/// One step a line, also where a failure is told at length.
impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.steps.iter().enumerate();
        lines.into_iter().try_for_each(|(number, step)| {
            let step = format!("{step:?}");
            writeln!(f, "\n  {number}: {step}")
        })
    }
}

impl Story {
    async fn play(&self, ground: Ground) -> Result<(), TestCaseError> {
        let store = GroundStore::build(ground).await.map_err(broken)?;
        let mut game = Game { store, model: Model::new(), spent: None };
        for (number, step) in self.steps.iter().enumerate() {
            game.play(step).await.map_err(|failure| {
                TestCaseError::fail(format!("step {number}, {step:?}: {failure}"))
            })?;
        }
        game.finish().await
    }
}

/// A store and its model, side by side.
struct Game {
    store: GroundStore,
    model: Model,
    /// The last transaction that had a token.
    spent: Option<table::TransactWrite>,
}

impl Game {
    async fn play(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let tables = self.store.tables();
        let model = &mut self.model;
        match step {
            Step::Put(put) => same(tables.put(put.clone()).await, model.put(put)),
            Step::Update(update) => same(tables.update(update.clone()).await, model.update(update)),
            Step::Delete(delete) => same(tables.delete(delete.clone()).await, model.delete(delete)),
            Step::Get(get) => same(tables.get(get.clone()).await, model.get(get)),
            Step::BatchGet(gets) => {
                let got = tables.batch_get(gets.clone()).await;
                let got = got.map(|got| {
                    assert!(got.unprocessed.is_empty(), "small items fit one answer");
                    sorted(got.items)
                });
                same(got, model.batch_get(gets).map(sorted))
            }
            Step::BatchWrite(writes) => {
                let left = tables.batch_write(writes.clone()).await;
                same(left, model.batch_write(writes).map(|()| Vec::new()))
            }
            Step::TransactGet(gets) => {
                same(tables.transact_get(gets.clone()).await, model.transact_get(gets))
            }
            Step::Transact(transaction) => self.transact(transaction.clone()).await,
            Step::TransactAgain => match self.spent.clone() {
                Some(transaction) => self.transact(transaction).await,
                None => Ok(()),
            },
            Step::Query(plan) => judge_query(tables, model, plan).await,
            Step::Scan(plan) => judge_scan(tables, model, plan).await,
            Step::Ensure(spec) => same(tables.ensure_table(spec.clone()).await, model.ensure(spec)),
            Step::DeleteTable(name) => {
                same(tables.delete_table(name).await, model.delete_table(name))
            }
            Step::Advance(seconds) => self.advance(*seconds).await,
            Step::Settle => tables.settle().await.map_err(broken),
            Step::Check => self.check().await,
            Step::Reopen { close } => {
                if self.store.reopen(*close).await.map_err(broken)? {
                    self.model.restart();
                }
                Ok(())
            }
        }
    }

    async fn transact(&mut self, transaction: table::TransactWrite) -> Result<(), TestCaseError> {
        let answer = self.store.tables().transact_write(transaction.clone()).await;
        same(answer, self.model.transact(&transaction))?;
        if transaction.token.is_some() {
            self.spent = Some(transaction);
        }
        Ok(())
    }

    /// Lets time pass, and waits until the sweeper has done its work.
    async fn advance(&mut self, seconds: u64) -> Result<(), TestCaseError> {
        self.store.advance(seconds).await;
        if seconds > 0 {
            self.model.advance(seconds);
        }
        for _ in 0..SWEEPS_MAX {
            if self.counts_differ().await?.is_none() {
                return Ok(());
            }
            self.store.tables().settle().await.map_err(broken)?;
        }
        self.check().await
    }

    /// The first table whose counts are not the model's.
    async fn counts_differ(&self) -> Result<Option<String>, TestCaseError> {
        for (name, table) in self.model.tables() {
            let described = self.store.tables().describe_table(name).await.map_err(broken)?;
            let counts = (described.items, described.bytes);
            if counts != table.counts() {
                return Ok(Some(format!("{name} counts {counts:?}, not {:?}", table.counts())));
            }
        }
        Ok(None)
    }

    /// Compares everything that does not depend on a request.
    async fn check(&self) -> Result<(), TestCaseError> {
        let tables = self.store.tables();
        let report = tables.check().await.map_err(broken)?;
        prop_assert_eq!(report.problems, Vec::<String>::new());
        let names = tables.list_tables().await.map_err(broken)?;
        prop_assert_eq!(&names, &self.model.tables().keys().cloned().collect::<Vec<_>>());
        for (name, table) in self.model.tables() {
            let described = tables.describe_table(name).await.map_err(broken)?;
            prop_assert_eq!(described.spec, table.spec.clone());
        }
        prop_assert_eq!(self.counts_differ().await?, None);
        Ok(())
    }

    /// Reads everything at every limit, checks, and ends the store.
    async fn finish(mut self) -> Result<(), TestCaseError> {
        self.check().await?;
        for (name, table) in self.model.tables() {
            let indexes = table.spec.indexes.iter().map(|index| Some(index.name.clone()));
            for index in indexes.chain([None]) {
                let (items, _) = table.counts();
                for limit in 1..=u32::try_from(items + 1).expect("a test table is small") {
                    let scan = Scan { index: index.clone(), limit: Some(limit), ..Scan::new(name) };
                    let plan = ScanPlan { scan, segments: None };
                    judge_scan(self.store.tables(), &self.model, &plan).await?;
                }
            }
        }
        prop_assert!(self.store.tables().stopped().is_none());
        self.store.end(true).await.map_err(broken)
    }
}

fn same<T: std::fmt::Debug + PartialEq>(
    answer: Result<T, Error>,
    expected: Result<T, Failure>,
) -> Result<(), TestCaseError> {
    let answer = answer.map_err(Failure::from);
    prop_assert_eq!(answer, expected);
    Ok(())
}

fn sorted(mut items: Vec<(String, table::Item)>) -> Vec<(String, table::Item)> {
    items.sort_by_key(|named| format!("{named:?}"));
    items
}

fn broken(error: Error) -> TestCaseError {
    TestCaseError::fail(format!("the store is broken: {error}"))
}
