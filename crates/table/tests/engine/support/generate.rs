//! Random tables, items and requests for tests that compare the engine with something else.
//!
//! Everything is drawn from small pools, so that keys collide, items are overwritten, conditions
//! hold about as often as they fail, and a few requests break a rule. Expressions are in
//! `expressions.rs`, queries and scans in `reads.rs`.

pub(crate) mod expressions;
mod reads;

use bytes::Bytes;
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use table::{
    Delete, Get, Item, KeyAttribute, KeySpec, KeyType, Number, Projected, Put, Return, TableSpec,
    Update, Value,
};

pub(crate) use expressions::{actions, condition, projection};
pub(crate) use reads::{QueryPlan, ScanPlan, query, scan};

/// The second at which every test begins.
pub(crate) const START_S: u64 = 1_700_000_000;

/// The tables, by name; each has another key.
pub(crate) const TABLES: [&str; 4] = ["lessons", "plain", "odd", "brief"];

/// The number and name of a table.
pub(crate) fn table() -> BoxedStrategy<(usize, String)> {
    let named: Vec<_> = TABLES.iter().map(|name| (*name).to_owned()).enumerate().collect();
    select(named).boxed()
}

/// The key of a table.
pub(crate) fn table_key(table: usize) -> KeySpec {
    match table {
        0 => KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk")),
        1 => KeySpec::simple(KeyAttribute::s("pk")),
        2 => KeySpec::composite(KeyAttribute::n("pk"), KeyAttribute::b("sk")),
        _ => KeySpec::composite(KeyAttribute::b("pk"), KeyAttribute::s("sk")),
    }
}

/// Some declaration of a table; all have one key. The last table is ephemeral.
pub(crate) fn spec(table: usize) -> BoxedStrategy<TableSpec> {
    let names = ["first", "second", "third"];
    let indexes: Vec<_> = names.iter().map(|_| option::of(index(table))).collect();
    let ttl = prop_oneof![3 => Just(Some("exp")), 1 => Just(Some("n1")), 1 => Just(None)];
    (indexes, ttl, any::<bool>())
        .prop_map(move |(indexes, ttl, old_images)| {
            let mut spec =
                TableSpec::new(TABLES.get(table).copied().unwrap_or(""), table_key(table));
            for (name, (key, projection)) in
                names.iter().zip(indexes).filter_map(|(name, index)| Some((name, index?)))
            {
                spec = spec.index_projecting(name, key, projection);
            }
            spec.ttl = ttl.map(str::to_owned);
            spec.old_images = old_images;
            if table == TABLES.len() - 1 { spec.ephemeral() } else { spec }
        })
        .boxed()
}

fn index(table: usize) -> BoxedStrategy<(KeySpec, Projected)> {
    let mut pool = vec![
        KeyAttribute::s("s1"),
        KeyAttribute::n("n1"),
        KeyAttribute::n("n2"),
        KeyAttribute::b("b1"),
    ];
    pool.extend(table_key(table).attributes().cloned());
    let projection = prop_oneof![
        2 => Just(Projected::All),
        1 => Just(Projected::KeysOnly),
        1 => Just(Projected::Include(vec!["x".to_owned(), "m".to_owned()])),
    ];
    (select(pool.clone()), option::weighted(0.7, select(pool)), projection)
        .prop_map(|(partition, sort, projection)| {
            let sort = sort.filter(|sort| sort.name != partition.name);
            (KeySpec { partition, sort }, projection)
        })
        .boxed()
}

/// Few values of a type that keys use.
pub(crate) fn key_value(kind: KeyType) -> BoxedStrategy<Value> {
    match kind {
        KeyType::S => select(&["a", "b", "ab", "b\0", "あ"]).prop_map(Value::from).boxed(),
        KeyType::N => number().prop_map(Value::N).boxed(),
        KeyType::B => bytes().prop_map(Value::B).boxed(),
    }
}

fn number() -> BoxedStrategy<Number> {
    select(&["-2", "-1.5", "0", "1", "2", "100000000000000000000"])
        .prop_map(|text| text.parse().expect("the pool holds numbers"))
        .boxed()
}

fn bytes() -> BoxedStrategy<Bytes> {
    let pool: &[&[u8]] = &[&[0], &[0, 0], &[0x61], &[0xFF], &[0xFF, 0xFF]];
    select(pool).prop_map(Bytes::from_static).boxed()
}

/// A key of the table, seldom a wrong one.
pub(crate) fn key(table: usize) -> BoxedStrategy<Item> {
    let key = table_key(table);
    let parts: Vec<_> = key.attributes().map(|attribute| key_value(attribute.kind)).collect();
    let names: Vec<String> = key.attributes().map(|attribute| attribute.name.clone()).collect();
    let right = parts.prop_map(move |values| names.iter().cloned().zip(values).collect::<Item>());
    prop_oneof![
        60 => right.clone(),
        1 => right.clone().prop_map(|key| key.with("pk", "")),
        1 => right.clone().prop_map(|key| key.with("pk", true)),
        1 => right.prop_map(|key| key.with("more", 1)),
    ]
    .boxed()
}

/// An item of the table.
pub(crate) fn item(table: usize) -> BoxedStrategy<Item> {
    let attributes: Vec<_> = ATTRIBUTES.iter().map(|name| option::of(attribute(name))).collect();
    (key(table), attributes)
        .prop_map(|(key, values)| {
            let more = ATTRIBUTES.iter().zip(values);
            let more = more.filter_map(|(name, value)| Some((table::Name::from(*name), value?)));
            key.into_iter().chain(more).collect()
        })
        .boxed()
}

/// The attributes beside the key.
const ATTRIBUTES: [&str; 12] =
    ["s1", "s2", "n1", "n2", "b1", "exp", "ss", "ns", "bs", "l", "m", "x"];

/// A value for the attribute of that name, seldom of a type that is unusual there.
fn attribute(name: &str) -> BoxedStrategy<Value> {
    let usual = match name {
        "s1" | "s2" => key_value(KeyType::S),
        "n1" | "n2" => key_value(KeyType::N),
        "b1" => key_value(KeyType::B),
        "exp" => second().prop_map(Value::N).boxed(),
        "ss" => texts().boxed(),
        "ns" => btree_set(number(), 1..4).prop_map(Value::Ns).boxed(),
        "bs" => btree_set(bytes(), 1..3).prop_map(Value::Bs).boxed(),
        "l" => list(),
        "m" => map(),
        _ => value(),
    };
    prop_oneof![30 => usual, 1 => value()].boxed()
}

/// Seconds around the start: soon, later, long ago, and numbers that are no second at all.
fn second() -> BoxedStrategy<Number> {
    let soon = (1..40_u64).prop_map(|later| Number::from(START_S + later));
    let later = (40..2000_u64).prop_map(|later| Number::from(START_S + later));
    let odd = select(&["0", "-1", "1700000003.5", "1500000000", "1700000005000", "1E+30"])
        .prop_map(|text| text.parse().expect("the pool holds numbers"));
    prop_oneof![4 => soon, 3 => later, 1 => odd].boxed()
}

fn texts() -> impl Strategy<Value = Value> + 'static {
    let pool = select(&["a", "b", "ab", ""]).prop_map(str::to_owned);
    btree_set(pool, 1..4).prop_map(Value::Ss)
}

fn list() -> BoxedStrategy<Value> {
    vec(leaf(), 0..4).prop_map(Value::L).boxed()
}

fn map() -> BoxedStrategy<Value> {
    let fields: Vec<_> = FIELDS.iter().map(|_| option::of(leaf())).collect();
    fields
        .prop_map(|values| {
            let fields = FIELDS.iter().zip(values);
            let fields =
                fields.filter_map(|(name, value)| Some((table::Name::from(*name), value?)));
            Value::M(fields.collect())
        })
        .boxed()
}

/// The fields of maps.
const FIELDS: [&str; 3] = ["a", "b", "c"];

/// A value of any type, maps and lists among them.
pub(crate) fn value() -> BoxedStrategy<Value> {
    prop_oneof![4 => leaf(), 1 => list(), 1 => map()].boxed()
}

/// A value of any type but maps and lists; seldom a small one of these too.
fn leaf() -> BoxedStrategy<Value> {
    prop_oneof![
        3 => scalar(),
        1 => Just(Value::from("")),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
        1 => texts(),
        1 => btree_set(number(), 1..3).prop_map(Value::Ns),
        1 => Just(Value::L(vec![Value::from(1), Value::from("a")])),
        1 => Just(Value::M(Item::new().with("a", 1))),
    ]
    .boxed()
}

/// A text, a number or bytes.
fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![key_value(KeyType::S), key_value(KeyType::N), key_value(KeyType::B)].boxed()
}

/// A put of any kind.
pub(crate) fn put() -> BoxedStrategy<Put> {
    let item = table().prop_flat_map(|(number, name)| (Just(name), item(number)));
    let returning = prop_oneof![Just(Return::None), Just(Return::AllOld)];
    (item, option::of(condition()), returning, any::<bool>())
        .prop_map(|((table, item), condition, returning, item_on_failure)| Put {
            table,
            item,
            condition,
            returning,
            item_on_failure,
        })
        .boxed()
}

/// A delete of any kind.
pub(crate) fn delete() -> BoxedStrategy<Delete> {
    let returning = prop_oneof![Just(Return::None), Just(Return::AllOld)];
    (named_key(), option::of(condition()), returning, any::<bool>())
        .prop_map(|((table, key), condition, returning, item_on_failure)| Delete {
            table,
            key,
            condition,
            returning,
            item_on_failure,
        })
        .boxed()
}

/// An update of any kind.
pub(crate) fn update() -> BoxedStrategy<Update> {
    let returning = select(&[
        Return::None,
        Return::AllOld,
        Return::UpdatedOld,
        Return::AllNew,
        Return::UpdatedNew,
    ]);
    (named_key(), actions(), option::weighted(0.3, condition()), returning, any::<bool>())
        .prop_map(|((table, key), actions, condition, returning, item_on_failure)| Update {
            table,
            key,
            actions,
            condition,
            returning,
            item_on_failure,
        })
        .boxed()
}

/// A read of one item.
pub(crate) fn get() -> BoxedStrategy<Get> {
    (named_key(), projection(), any::<bool>())
        .prop_map(|((table, key), projection, consistent)| Get {
            table,
            key,
            projection,
            consistent,
        })
        .boxed()
}

/// A table and a key of it.
pub(crate) fn named_key() -> BoxedStrategy<(String, Item)> {
    table().prop_flat_map(|(number, name)| (Just(name), key(number))).boxed()
}
