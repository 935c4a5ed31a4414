//! Tests of the engine that reach inside it.

mod damage;
mod ephemeral;
mod full;
mod health;
mod known;
mod power;
mod small_store;
mod stopped;
mod sweeping;
mod tree;
mod watches;

use base::{Clock, Tasks};

use super::Embedded;
use crate::options::Options;
use crate::port::{Get, Put, Tables};
use crate::spec::{KeyAttribute, KeySpec, TableSpec};
use crate::value::Item;

#[tokio::test]
async fn a_house_on_disk_holds_after_reopening_what_it_was_told() {
    let directory = tempfile::tempdir().unwrap();
    let tasks = Tasks::new();
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
    for round in 0..3 {
        let options = Options { path: directory.path().to_owned(), ..Options::default() };
        let store = Embedded::open(options, Clock::real(), &tasks).await.unwrap();
        store
            .ensure_table(
                TableSpec::new("things", key.clone())
                    .index("by-b", KeySpec::simple(KeyAttribute::s("b"))),
            )
            .await
            .unwrap();
        for number in 0..50 {
            let item = Item::new().with("pk", "a").with("sk", round * 100 + number).with("b", "x");
            store.put(Put::new("things", item)).await.unwrap();
        }
        for earlier in 0..=round {
            let key = Item::new().with("pk", "a").with("sk", earlier * 100 + 7);
            assert!(store.get(Get::new("things", key)).await.unwrap().is_some());
        }
        let report = store.check().await.unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
        if round == 1 {
            store.close().unwrap();
        }
    }
}
