//! One step of a sequence: a call of the port, or something that happens to the house.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use table::{
    BatchWrite, Check, Delete, Get, KeyAttribute, KeySpec, Put, TableSpec, TransactItem,
    TransactWrite, Update,
};

use crate::support::generate::{
    QueryPlan, ScanPlan, TABLES, condition, delete, get, item, named_key, put, query, scan, spec,
    table, update,
};

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Put(Put),
    Update(Update),
    Delete(Delete),
    Get(Get),
    BatchGet(Vec<Get>),
    BatchWrite(Vec<BatchWrite>),
    TransactGet(Vec<Get>),
    Transact(TransactWrite),
    /// The last transaction that had a token, once more.
    TransactAgain,
    Query(Box<QueryPlan>),
    Scan(ScanPlan),
    Ensure(TableSpec),
    DeleteTable(String),
    /// Seconds pass.
    Advance(u64),
    Settle,
    Check,
    Reopen {
        close: bool,
    },
}

/// Any step; writes and reads mostly.
pub(crate) fn step() -> BoxedStrategy<Step> {
    let gets = vec(get(), 1..6);
    let seconds = prop_oneof![8 => 1..6_u64, 1 => Just(0), 1 => Just(599), 1 => Just(600)];
    prop_oneof![
        20 => put().prop_map(Step::Put),
        20 => update().prop_map(Step::Update),
        6 => delete().prop_map(Step::Delete),
        4 => get().prop_map(Step::Get),
        2 => gets.clone().prop_map(Step::BatchGet),
        4 => vec(batch_write(), 1..8).prop_map(Step::BatchWrite),
        2 => gets.prop_map(Step::TransactGet),
        10 => transaction().prop_map(Step::Transact),
        3 => Just(Step::TransactAgain),
        12 => query().prop_map(|plan| Step::Query(Box::new(plan))),
        6 => scan().prop_map(Step::Scan),
        3 => declaration().prop_map(Step::Ensure),
        1 => table().prop_map(|(_, name)| Step::DeleteTable(name)),
        5 => seconds.prop_map(Step::Advance),
        2 => Just(Step::Settle),
        1 => Just(Step::Check),
        3 => any::<bool>().prop_map(|close| Step::Reopen { close }),
    ]
    .boxed()
}

/// A declaration; seldom one with another key.
fn declaration() -> BoxedStrategy<TableSpec> {
    let other = KeySpec::simple(KeyAttribute::n("other"));
    let known = (0..TABLES.len()).prop_flat_map(spec);
    prop_oneof![9 => known, 1 => Just(TableSpec::new("plain", other))].boxed()
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
    // Most writes of one transaction must be possible, or none ever happens.
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
