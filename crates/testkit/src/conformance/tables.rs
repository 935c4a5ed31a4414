//! Declaring tables.

use table::limits::{INDEXES_MAX, NAME_CHARS_MAX};
use table::{
    BatchWrite, Delete, Error, Get, Item, KeyAttribute, KeySpec, Projected, Put, Query, Scan,
    TableSpec, Tables, Update,
};

use super::{
    assert_refused, assert_taken, declare, ensure, get, key, put, query, scan, sort_keys,
    text_and_number,
};

fn by(name: &str) -> KeySpec {
    KeySpec::simple(KeyAttribute::s(name))
}

pub(crate) async fn a_table_is_declared_by_saying_it_again(tables: &dyn Tables) {
    let table = "tables-again";
    let spec = TableSpec::new(table, text_and_number()).index("by-x", by("x"));
    ensure(tables, spec.clone()).await;
    put(tables, table, key("a", 1).with("x", "1")).await;
    ensure(tables, spec.clone()).await;
    assert!(get(tables, table, key("a", 1)).await.is_some());
    let described = tables.describe_table(table).await.expect("the table is there");
    assert_eq!(described.spec, spec);
    assert!(described.created_ms > 0);
    let names = tables.list_tables().await.expect("tables can be listed");
    assert!(names.is_sorted() && names.contains(&table.to_owned()), "{names:?}");
    let other = tables.ensure_table(TableSpec::new(table, by("pk"))).await;
    assert!(matches!(other, Err(Error::TableDiffers(_))), "{other:?}");
    let described = tables.describe_table(table).await.expect("the table is there");
    assert_eq!(described.spec, spec);
}

pub(crate) async fn a_new_index_finds_what_is_there(tables: &dyn Tables) {
    let table = "tables-index";
    declare(tables, table).await;
    put(tables, table, key("a", 1).with("x", "one").with("y", "a")).await;
    put(tables, table, key("a", 2).with("x", 2)).await;
    put(tables, table, key("a", 3).with("x", "")).await;
    let spec = TableSpec::new(table, text_and_number());
    ensure(tables, spec.clone().index("by-x", by("x"))).await;
    // An older item that cannot be in the index stays in the table.
    let found = scan(tables, Scan::new(table).index("by-x")).await;
    assert_eq!(sort_keys(&found.items), ["1"]);
    assert_eq!(scan(tables, Scan::new(table)).await.items.len(), 3);
    put(tables, table, key("a", 4).with("x", "four")).await;
    ensure(tables, spec.clone().index("by-y", by("y"))).await;
    let gone = tables.query(Query::new(table, "x", "one").index("by-x")).await;
    assert!(matches!(gone, Err(Error::NoSuchIndex { .. })), "{gone:?}");
    let found = query(tables, Query::new(table, "y", "a").index("by-y")).await;
    assert_eq!(sort_keys(&found.items), ["1"]);
    // The name can be used again with another key and another projection.
    let composite = KeySpec::composite(KeyAttribute::s("x"), KeyAttribute::n("sk"));
    let spec = spec.index_projecting("by-y", composite, Projected::KeysOnly);
    ensure(tables, spec).await;
    let found = query(tables, Query::new(table, "x", "four").index("by-y")).await;
    assert_eq!(found.items, [key("a", 4).with("x", "four")]);
}

pub(crate) async fn declarations_have_limits(tables: &dyn Tables) {
    let named = |name: &str| TableSpec::new(name, text_and_number());
    let longest = "n".repeat(NAME_CHARS_MAX);
    for name in ["abc", "A_b-9.c", longest.as_str()] {
        assert_taken(tables.ensure_table(named(name)).await, name);
        assert_taken(tables.delete_table(name).await, name);
    }
    let longer = longest + "n";
    for name in ["", "ab", "with space", "名前です", longer.as_str()] {
        assert_refused(tables.ensure_table(named(name)).await, name);
    }
    let table = "tables-limits";
    let same = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("pk"));
    let retyped = KeySpec::simple(KeyAttribute::n("pk"));
    let nothing = Projected::Include(Vec::new());
    let indexes = |count: usize| {
        let names = (0..count).map(|number| format!("index-{number}"));
        names.fold(named(table), |spec, name| spec.index(&name, by("x")))
    };
    let wrong = [
        ("one attribute twice", TableSpec::new(table, same.clone())),
        ("one attribute twice in an index", named(table).index("index", same)),
        ("one attribute of two types", named(table).index("index", retyped)),
        ("an index twice", named(table).index("index", by("x")).index("index", by("y"))),
        ("a short index name", named(table).index("ix", by("x"))),
        ("nothing included", named(table).index_projecting("index", by("x"), nothing)),
        ("a nameless attribute", TableSpec::new(table, by(""))),
        ("a text as time to live", named(table).expiring_by("pk")),
        ("26 indexes", indexes(INDEXES_MAX + 1)),
    ];
    for (what, spec) in wrong {
        assert_refused(tables.ensure_table(spec).await, what);
    }
    assert!(matches!(tables.describe_table(table).await, Err(Error::NoSuchTable(_))));
    // A backend may accept or refuse more: DynamoDB allows five of another kind.
    assert_taken(tables.ensure_table(indexes(INDEXES_MAX - 5)).await, "20 indexes");
}

pub(crate) async fn a_deleted_table_takes_its_items_along(tables: &dyn Tables) {
    let table = "tables-deleted";
    let spec = || TableSpec::new(table, text_and_number()).index("by-x", by("x"));
    for _ in 0..2 {
        ensure(tables, spec()).await;
        assert_eq!(scan(tables, Scan::new(table)).await.items, []);
        assert_eq!(scan(tables, Scan::new(table).index("by-x")).await.items, []);
        put(tables, table, key("a", 1).with("x", "1")).await;
        tables.delete_table(table).await.expect("the table is there");
    }
    let again = tables.delete_table(table).await;
    assert!(matches!(again, Err(Error::NoSuchTable(_))), "{again:?}");
}

pub(crate) async fn what_is_not_there_is_named(tables: &dyn Tables) {
    let table = "tables-missing";
    let named = |answer: Result<(), Error>, what: &str| match answer {
        Err(Error::NoSuchTable(name)) => assert_eq!(name, table, "{what}"),
        other => panic!("{what}: {other:?}"),
    };
    let item = || key("a", 1);
    named(tables.get(Get::new(table, item())).await.map(drop), "get");
    named(tables.put(Put::new(table, item())).await.map(drop), "put");
    named(tables.update(Update::new(table, item()).set("x", 1)).await.map(drop), "update");
    named(tables.delete(Delete::new(table, item())).await.map(drop), "delete");
    named(tables.query(Query::new(table, "pk", "a")).await.map(drop), "query");
    named(tables.scan(Scan::new(table)).await.map(drop), "scan");
    let write = BatchWrite::Delete { table: table.to_owned(), key: Item::new() };
    named(tables.batch_write(vec![write]).await.map(drop), "batch");
    named(tables.transact_get(vec![Get::new(table, item())]).await.map(drop), "transaction");
    named(tables.describe_table(table).await.map(drop), "describe");
    named(tables.delete_table(table).await, "delete");
}
