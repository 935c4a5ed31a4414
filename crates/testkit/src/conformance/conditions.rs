//! The results of conditions, and the effects of failed ones.

use table::limits::IN_OPERANDS_MAX;
use table::{
    Check, Condition, Delete, Error, Item, Number, Put, Tables, TransactItem, TransactWrite,
    Update, Value, ValueType, attr,
};

use super::{assert_refused, assert_taken, bytes, declare, get, key, put};

fn item() -> Item {
    key("a", 1)
        .with("n", 5)
        .with("s", "banana")
        .with("wide", "日本")
        .with("b", bytes(3))
        .with("t", true)
        .with("null", Value::Null)
        .with("l", vec![Value::from(1), Value::from("x")])
        .with("m", Item::new().with("x", 1).with("deep", Item::new().with("y", "z")))
        .with("ss", Value::Ss(["a", "b"].map(str::to_owned).into()))
        .with("ns", Value::Ns([Number::from(1), Number::from(2)].into()))
}

/// Conditions that are true for [`item`].
fn holding() -> Vec<Condition> {
    let deep = || attr("m").field("deep").field("y");
    vec![
        attr("n").eq(5).and(attr("n").ne(6)).and(attr("n").ne("5")),
        attr("n").lt(6).and(attr("n").le(5)).and(attr("n").gt(4)).and(attr("n").ge(5)),
        attr("s").gt("Banana").and(attr("s").lt("bananas")),
        attr("n").between(5, 5).and(attr("s").between("b", "c")),
        attr("n").is_in([4, 5]).and(!attr("n").is_in([4, 6])),
        attr("gone").ne(1).and(!attr("gone").eq(1)).and(!attr("gone").lt(1)),
        !attr("s").lt(6).or(attr("s").ge(6)),
        attr("n").exists().and(attr("gone").not_exists()).and(deep().exists()),
        attr("l").at(1).eq("x").and(attr("l").at(2).not_exists()),
        deep().eq("z").and(attr("m").field("x").lt(attr("n"))),
        attr("n").is_type(ValueType::N).and(attr("null").is_type(ValueType::Null)),
        attr("t").is_type(ValueType::Bool).and(!attr("gone").is_type(ValueType::S)),
        attr("s").begins_with("ban").and(!attr("s").begins_with("an")),
        attr("s").contains("nan").and(attr("ss").contains("b")).and(attr("ns").contains(2)),
        attr("l").contains("x").and(!attr("l").contains("1")).and(!attr("ss").contains("c")),
        attr("s").size().eq(6).and(attr("wide").size().eq(2)).and(attr("b").size().eq(3)),
        attr("l").size().eq(2).and(attr("m").size().eq(2)).and(attr("ss").size().ge(2)),
        !attr("n").size().ge(0).and(!attr("gone").size().ge(0)),
        attr("l").eq(vec![Value::from(1), Value::from("x")]).and(attr("t").eq(true)),
        attr("gone").exists().or(attr("n").exists()).and(!attr("gone").exists()),
    ]
}

pub(crate) async fn conditions_hold_or_fail(tables: &dyn Tables) {
    let table = "conditions-hold";
    declare(tables, table).await;
    put(tables, table, item()).await;
    for condition in holding() {
        let write = Put::new(table, item()).when(condition.clone());
        assert_taken(tables.put(write).await, &format!("{condition:?}"));
        let write = Put::new(table, item()).when(!condition.clone());
        let answer = tables.put(write).await;
        assert!(matches!(answer, Err(Error::ConditionFailed { .. })), "{condition:?}: {answer:?}");
    }
}

pub(crate) async fn wrong_conditions_are_refused(tables: &dyn Tables) {
    let table = "conditions-wrong";
    declare(tables, table).await;
    put(tables, table, item()).await;
    let long = (0..32).fold(attr("m"), |path, _| path.field("x"));
    let wrong = [
        ("a path compared with itself", attr("n").eq(attr("n"))),
        ("a map in an order", attr("n").lt(Item::new())),
        ("a truth in an order", attr("n").between(1, true)),
        ("bounds the wrong way round", attr("n").between(2, 1)),
        ("bounds of two types", attr("n").between(1, "2")),
        ("nothing to choose from", attr("n").is_in(Vec::<Value>::new())),
        ("33 levels", long.exists()),
        ("an empty set", attr("ss").eq(Value::Ss([].into()))),
        ("a way into the key", attr("pk").field("x").exists()),
    ];
    for (what, condition) in wrong {
        let hidden = attr("gone").exists().and(condition.clone());
        for condition in [condition, hidden] {
            assert_refused(tables.put(Put::new(table, item()).when(condition)).await, what);
        }
    }
}

pub(crate) async fn in_takes_a_hundred_operands(tables: &dyn Tables) {
    let table = "conditions-in";
    declare(tables, table).await;
    let last = u32::try_from(IN_OPERANDS_MAX).expect("a hundred is small");
    put(tables, table, item().with("n", last)).await;
    let write = |last: u32| Put::new(table, item()).when(attr("n").is_in(1..=last));
    assert_refused(tables.put(write(last + 1)).await, "101 operands");
    assert_taken(tables.put(write(last)).await, "100 operands");
}

pub(crate) async fn a_failed_condition_tells_the_item_if_asked(tables: &dyn Tables) {
    let table = "conditions-tell";
    declare(tables, table).await;
    put(tables, table, item()).await;
    let never = || attr("gone").exists();
    let returned_item = |answer: Result<Option<Item>, Error>| match answer {
        Err(Error::ConditionFailed { item }) => item.map(|item| *item),
        other => panic!("the condition fails: {other:?}"),
    };
    for (key, held) in [(key("a", 1), Some(item())), (key("a", 2), None)] {
        let write = Put::new(table, key.clone()).when(never());
        assert_eq!(returned_item(tables.put(write.clone()).await), None);
        assert_eq!(returned_item(tables.put(write.telling()).await), held);
        let write = Update::new(table, key.clone()).set("n", 1).when(never());
        assert_eq!(returned_item(tables.update(write.clone()).await), None);
        assert_eq!(returned_item(tables.update(write.telling()).await), held);
        let write = Delete::new(table, key).when(never());
        assert_eq!(returned_item(tables.delete(write.clone()).await), None);
        assert_eq!(returned_item(tables.delete(write.telling()).await), held);
    }
    assert_eq!(get(tables, table, key("a", 1)).await, Some(item()));
}

pub(crate) async fn a_condition_guards_every_kind_of_write(tables: &dyn Tables) {
    let table = "conditions-guard";
    declare(tables, table).await;
    let absent = || attr("pk").not_exists();
    let writes = || -> Vec<TransactItem> {
        vec![
            Put::new(table, key("a", 1)).when(absent()).into(),
            Update::new(table, key("a", 1)).set("n", 1).when(absent()).into(),
            Check::new(table, key("a", 1), absent()).into(),
            Delete::new(table, key("a", 1)).when(absent()).into(),
        ]
    };
    for write in writes() {
        let transaction = TransactWrite::new(vec![write]);
        assert_taken(tables.transact_write(transaction).await, "nothing is there");
        tables.delete(Delete::new(table, key("a", 1))).await.expect("the key is valid");
    }
    put(tables, table, item()).await;
    for write in writes() {
        let answer = tables.transact_write(TransactWrite::new(vec![write])).await;
        assert!(matches!(answer, Err(Error::TransactionCanceled { .. })), "{answer:?}");
    }
    assert_eq!(get(tables, table, key("a", 1)).await, Some(item()));
}
