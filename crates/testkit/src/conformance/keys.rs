//! The limits of keys, and their order.

use bytes::Bytes;
use table::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use table::{
    Delete, Get, Item, KeyAttribute, KeySpec, KeyType, Put, Query, TableSpec, Tables, Update, Value,
};

use super::{
    assert_refused, assert_taken, bytes, declare, ensure, get, key, number, put, query, text,
};

/// Two tables, with text keys and with binary keys.
async fn declare_both(tables: &dyn Tables, name: &str) -> [(String, fn(usize) -> Value); 2] {
    let texts = format!("{name}-text");
    let binaries = format!("{name}-bytes");
    let spec = |name: &str, kind| {
        let part = |name: &str| KeyAttribute { name: name.to_owned(), kind };
        TableSpec::new(name, KeySpec::composite(part("pk"), part("sk")))
    };
    ensure(tables, spec(&texts, KeyType::S)).await;
    ensure(tables, spec(&binaries, KeyType::B)).await;
    [(texts, text), (binaries, bytes)]
}

pub(crate) async fn key_values_have_a_greatest_length(tables: &dyn Tables) {
    for (table, value) in declare_both(tables, "keys-length").await {
        let key = |pk, sk| Item::new().with("pk", value(pk)).with("sk", value(sk));
        let (pk, sk) = (PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX);
        put(tables, &table, key(pk, sk).with("x", 1)).await;
        assert_eq!(get(tables, &table, key(pk, sk)).await, Some(key(pk, sk).with("x", 1)));
        for long in [key(pk + 1, 1), key(1, sk + 1)] {
            assert_refused(tables.put(Put::new(&table, long.clone())).await, "put");
            assert_refused(tables.get(Get::new(&table, long.clone())).await, "get");
            assert_refused(tables.update(Update::new(&table, long.clone())).await, "update");
            assert_refused(tables.delete(Delete::new(&table, long)).await, "delete");
        }
    }
}

pub(crate) async fn key_values_are_never_empty(tables: &dyn Tables) {
    for (table, value) in declare_both(tables, "keys-empty").await {
        let key = |pk, sk| Item::new().with("pk", value(pk)).with("sk", value(sk));
        for empty in [key(0, 1), key(1, 0)] {
            assert_refused(tables.put(Put::new(&table, empty.clone())).await, "put");
            assert_refused(tables.get(Get::new(&table, empty.clone())).await, "get");
            assert_refused(tables.update(Update::new(&table, empty.clone())).await, "update");
            assert_refused(tables.delete(Delete::new(&table, empty)).await, "delete");
        }
    }
}

pub(crate) async fn empty_values_stand_outside_keys(tables: &dyn Tables) {
    declare(tables, "keys-outside").await;
    let item = key("a", 1).with("text", "").with("bytes", bytes(0));
    put(tables, "keys-outside", item.clone()).await;
    assert_eq!(get(tables, "keys-outside", key("a", 1)).await, Some(item));
}

pub(crate) async fn a_key_is_exactly_the_declared_attributes(tables: &dyn Tables) {
    let table = "keys-exact";
    declare(tables, table).await;
    let wrong = [
        ("no sort key", Item::new().with("pk", "a")),
        ("no partition key", Item::new().with("sk", 1)),
        ("a sort key of another type", Item::new().with("pk", "a").with("sk", "1")),
        ("a partition key of another type", Item::new().with("pk", 1).with("sk", 1)),
        ("nothing", Item::new()),
    ];
    for (what, wrong) in wrong {
        assert_refused(tables.put(Put::new(table, wrong.clone())).await, what);
        assert_refused(tables.get(Get::new(table, wrong.clone())).await, what);
        assert_refused(tables.delete(Delete::new(table, wrong.clone())).await, what);
        assert_refused(tables.update(Update::new(table, wrong).set("x", 1)).await, what);
    }
    let more = key("a", 1).with("x", 1);
    assert_refused(tables.get(Get::new(table, more.clone())).await, "one attribute more");
    assert_taken(tables.put(Put::new(table, more)).await, "an item has more than its key");
}

pub(crate) async fn equal_numbers_are_one_key(tables: &dyn Tables) {
    declare(tables, "keys-equal").await;
    for (at, spelling) in ["100", "1E2", "100.0", "0100", "+100"].iter().enumerate() {
        let at = u32::try_from(at).expect("there are few spellings");
        let item = Item::new().with("pk", "a").with("sk", number(spelling)).with("at", at);
        put(tables, "keys-equal", item).await;
    }
    let page = query(tables, Query::new("keys-equal", "pk", "a")).await;
    assert_eq!(page.items, [key("a", 100).with("at", 4)]);
}

pub(crate) async fn sort_keys_have_the_order_of_their_type(tables: &dyn Tables) {
    let binary = |bytes: &'static [u8]| Value::B(Bytes::from_static(bytes));
    let kinds = [
        (
            KeyType::N,
            ["-1E+20", "-10", "-9.5", "-1E-20", "0", "1E-20", "2", "10", "1E+20"].map(number),
        ),
        // By UTF-8 bytes: in UTF-16 the last two would change places.
        (KeyType::S, ["A", "B", "Ba", "a", "a\0", "a ", "ä", "\u{FFFD}", "😀"].map(Value::from)),
        (
            KeyType::B,
            [
                binary(&[0]),
                binary(&[0, 0]),
                binary(&[0, 1]),
                binary(&[1]),
                binary(&[127]),
                binary(&[128]),
                binary(&[255]),
                binary(&[255, 0]),
                binary(&[255, 255]),
            ],
        ),
    ];
    for (kind, values) in kinds {
        let table = format!("keys-order-{kind:?}");
        let sort = KeyAttribute { name: "sk".to_owned(), kind };
        let spec = TableSpec::new(&table, KeySpec::composite(KeyAttribute::s("pk"), sort));
        ensure(tables, spec).await;
        for value in values.iter().rev() {
            put(tables, &table, Item::new().with("pk", "a").with("sk", value.clone())).await;
        }
        let up = query(tables, Query::new(&table, "pk", "a")).await;
        let found: Vec<_> = up.items.iter().filter_map(|item| item.get("sk").cloned()).collect();
        assert_eq!(found, values);
        let down = query(tables, Query::new(&table, "pk", "a").descending()).await;
        assert!(down.items.iter().eq(up.items.iter().rev()));
    }
}
