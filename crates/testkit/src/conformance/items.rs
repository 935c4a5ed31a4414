//! The limits of an item.

use table::limits::{DEPTH_MAX, ITEM_BYTES_MAX};
use table::{Delete, Item, Put, Return, Tables, Value};

use super::{assert_refused, assert_taken, bytes, declare, get, key, number, put, text};

pub(crate) async fn an_item_weighs_at_most_400_kb(tables: &dyn Tables) {
    declare(tables, "items-weight").await;
    // Names count, and so do keys: `pk` + `a`, `sk` + 2 for the number 1, and `body`.
    let rest = 2 + 1 + 2 + 2 + 4;
    let item = |len| key("a", 1).with("body", text(len));
    assert_eq!(item(ITEM_BYTES_MAX - rest).size(), ITEM_BYTES_MAX);
    let largest = Put::new("items-weight", item(ITEM_BYTES_MAX - rest));
    assert_taken(tables.put(largest).await, "an item of 400 KB");
    let larger = Put::new("items-weight", item(ITEM_BYTES_MAX - rest + 1));
    assert_refused(tables.put(larger).await, "an item of 400 KB and a byte");
    let kept = get(tables, "items-weight", key("a", 1)).await.expect("the first one is there");
    assert_eq!(kept.size(), ITEM_BYTES_MAX);
}

pub(crate) async fn every_type_comes_back_as_it_was(tables: &dyn Tables) {
    declare(tables, "items-types").await;
    let numbers = ["0", "-1.5", "12345678901234567890123456789012345678", "1E-130", "9E+125"];
    let map = Item::new().with("空", "").with("list", vec![Value::Null, Value::Bool(false)]);
    let item = key("types", 1)
        .with("s", "日本\0語")
        .with("b", bytes(3))
        .with("true", true)
        .with("null", Value::Null)
        .with("m", map)
        .with("l", vec![number("1"), Value::M(Item::new()), Value::L(Vec::new())])
        .with("ss", Value::Ss(["", "a", "b"].map(str::to_owned).into()))
        .with("ns", Value::Ns(numbers.map(|text| text.parse().expect("a number")).into()))
        .with("bs", Value::Bs([bytes::Bytes::new(), bytes::Bytes::from_static(&[0xFF])].into()));
    put(tables, "items-types", item.clone()).await;
    assert_eq!(get(tables, "items-types", key("types", 1)).await, Some(item));
}

pub(crate) async fn sets_are_never_empty(tables: &dyn Tables) {
    declare(tables, "items-sets").await;
    for set in [Value::Ss([].into()), Value::Ns([].into()), Value::Bs([].into())] {
        let inside = Value::L(vec![Value::M(Item::new().with("set", set.clone()))]);
        for value in [set, inside] {
            let put = Put::new("items-sets", key("a", 1).with("x", value));
            assert_refused(tables.put(put).await, "an empty set");
        }
    }
    assert_eq!(get(tables, "items-sets", key("a", 1)).await, None);
}

pub(crate) async fn values_nest_32_levels(tables: &dyn Tables) {
    declare(tables, "items-depth").await;
    let nested = |levels| (1..levels).fold(Value::Null, |inner, _| Value::L(vec![inner]));
    let put = |levels| Put::new("items-depth", key("a", 1).with("x", nested(levels)));
    assert_taken(tables.put(put(DEPTH_MAX)).await, "32 levels");
    assert_refused(tables.put(put(DEPTH_MAX + 1)).await, "33 levels");
}

pub(crate) async fn a_put_replaces_the_whole_item(tables: &dyn Tables) {
    declare(tables, "items-put").await;
    let first = key("a", 1).with("x", 1).with("y", 2);
    let second = key("a", 1).with("z", 3);
    let returning = |item: &Item| Put::new("items-put", item.clone()).returning(Return::AllOld);
    assert_eq!(tables.put(returning(&first)).await.expect("it is valid"), None);
    assert_eq!(tables.put(returning(&second)).await.expect("it is valid"), Some(first));
    assert_eq!(get(tables, "items-put", key("a", 1)).await, Some(second));
}

pub(crate) async fn a_delete_of_nothing_succeeds(tables: &dyn Tables) {
    declare(tables, "items-delete").await;
    let delete = || Delete::new("items-delete", key("a", 1)).returning(Return::AllOld);
    assert_eq!(tables.delete(delete()).await.expect("it is valid"), None);
    put(tables, "items-delete", key("a", 1)).await;
    assert_eq!(tables.delete(delete()).await.expect("it is valid"), Some(key("a", 1)));
    assert_eq!(get(tables, "items-delete", key("a", 1)).await, None);
}
