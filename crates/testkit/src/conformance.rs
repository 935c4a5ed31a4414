//! The promises of every backend of the `Tables` port, as claims. Each claim creates its own
//! tables, named after its subject, and panics if the backend breaks the promise.
//!
//! The claims use only the port; those about time ([`timed`]) need a clock that the test moves.
//! They run on the embedded engine (`crates/table/tests/engine`), and on the DynamoDB client with
//! our own door and with other implementations of DynamoDB (`crates/dynamodb/tests/conformance`).

mod batches;
mod conditions;
mod indexes;
mod items;
mod keys;
mod reads;
mod tables;
pub mod timed;
mod transactions;
mod updates;

use std::fmt::Debug;
use std::pin::Pin;

use bytes::Bytes;
use table::{
    Error, Get, Item, KeyAttribute, KeySpec, Page, Put, Query, Scan, TableSpec, Tables, Value,
};

/// A claim with its name.
pub type Claim = (&'static str, for<'a> fn(&'a dyn Tables) -> Trial<'a>);

/// A running claim.
pub type Trial<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

macro_rules! claims {
    ($($module:ident: $($claim:ident),+;)+) => {
        /// All claims.
        pub fn all() -> Vec<Claim> {
            vec![$($((stringify!($claim), |tables| Box::pin($module::$claim(tables)))),+),+]
        }
    };
}

claims! {
    items:
        an_item_weighs_at_most_400_kb,
        every_type_comes_back_as_it_was,
        sets_are_never_empty,
        values_nest_32_levels,
        a_put_replaces_the_whole_item,
        a_delete_of_nothing_succeeds;
    keys:
        key_values_have_a_greatest_length,
        key_values_are_never_empty,
        empty_values_stand_outside_keys,
        a_key_is_exactly_the_declared_attributes,
        equal_numbers_are_one_key,
        sort_keys_have_the_order_of_their_type;
    updates:
        an_update_makes_a_missing_item,
        an_update_that_only_takes_away_makes_no_item,
        an_update_answers_what_it_edited,
        clauses_read_the_item_as_it_was,
        updates_do_what_they_say,
        impossible_updates_change_nothing,
        key_attributes_are_never_edited,
        an_update_may_not_outgrow_an_item,
        only_updates_answer_new_items;
    conditions:
        conditions_hold_or_fail,
        wrong_conditions_are_refused,
        in_takes_a_hundred_operands,
        a_failed_condition_tells_the_item_if_asked,
        a_condition_guards_every_kind_of_write;
    reads:
        queries_obey_every_sort_condition,
        a_page_ends_at_its_limit,
        the_filter_comes_after_the_limit,
        a_page_ends_at_a_megabyte,
        a_projection_cuts_items_down,
        wrong_reads_are_refused,
        a_read_goes_on_behind_any_key,
        segments_share_a_table;
    indexes:
        an_index_holds_items_that_have_its_key,
        an_index_answers_what_it_projects,
        a_local_index_orders_a_partition_and_is_as_fresh_as_the_table,
        a_local_index_fetches_what_it_does_not_hold,
        pages_of_an_index_go_on_by_both_keys,
        values_that_cannot_be_index_keys_are_refused;
    batches:
        a_batch_gets_up_to_a_hundred_items,
        a_batch_answers_up_to_16_mb,
        a_batch_writes_up_to_25_items,
        a_batch_with_a_wrong_write_does_nothing;
    transactions:
        a_transaction_happens_whole_or_not_at_all,
        a_transaction_has_up_to_a_hundred_writes,
        a_transaction_weighs_at_most_4_mb,
        a_transaction_names_an_item_once,
        a_cancelled_transaction_says_why,
        a_token_makes_a_transaction_happen_once,
        a_transaction_reads_in_the_order_asked;
    tables:
        a_table_is_declared_by_saying_it_again,
        a_new_index_finds_what_is_there,
        declarations_have_limits,
        a_deleted_table_takes_its_items_along,
        what_is_not_there_is_named;
}

/// Declares a table with a text partition and a number sort key.
async fn declare(tables: &dyn Tables, name: &str) {
    ensure(tables, TableSpec::new(name, text_and_number())).await;
}

async fn ensure(tables: &dyn Tables, spec: TableSpec) {
    tables.ensure_table(spec).await.expect("the declaration is valid");
}

fn text_and_number() -> KeySpec {
    KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"))
}

/// A key of a table that [`declare`] made.
fn key(pk: &str, sk: i32) -> Item {
    Item::new().with("pk", pk).with("sk", sk)
}

async fn put(tables: &dyn Tables, table: &str, item: Item) {
    tables.put(Put::new(table, item)).await.expect("the item is valid");
}

async fn get(tables: &dyn Tables, table: &str, key: Item) -> Option<Item> {
    tables.get(Get::new(table, key)).await.expect("the key is valid")
}

async fn query(tables: &dyn Tables, query: Query) -> Page {
    tables.query(query).await.expect("the query is valid")
}

async fn scan(tables: &dyn Tables, scan: Scan) -> Page {
    tables.scan(scan).await.expect("the scan is valid")
}

/// The sort keys of items, as texts.
fn sort_keys(items: &[Item]) -> Vec<String> {
    items.iter().filter_map(|item| Some(item.get("sk")?.as_n()?.to_string())).collect()
}

fn number(text: &str) -> Value {
    Value::N(text.parse().expect("the text is a number"))
}

fn bytes(len: usize) -> Value {
    Value::B(Bytes::from(vec![7; len]))
}

fn text(len: usize) -> Value {
    Value::from("x".repeat(len))
}

#[track_caller]
fn assert_refused<T: Debug>(answer: Result<T, Error>, what: &str) {
    assert!(matches!(answer, Err(Error::Invalid(_))), "{what}: {answer:?}");
}

#[track_caller]
fn assert_taken<T: Debug>(answer: Result<T, Error>, what: &str) {
    assert!(answer.is_ok(), "{what}: {answer:?}");
}
