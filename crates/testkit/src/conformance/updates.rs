//! The effects and results of updates, and those that are refused.

use table::limits::ITEM_BYTES_MAX;
use table::{Delete, Error, Item, Put, Return, Tables, Term, Update, Value, attr};

use super::{assert_refused, declare, get, key, number, put, text};

fn list<const N: usize>(elements: [i32; N]) -> Value {
    Value::L(elements.map(Value::from).to_vec())
}

fn set<const N: usize>(elements: [&str; N]) -> Value {
    Value::Ss(elements.map(str::to_owned).into())
}

/// The item before every update here.
fn start() -> Item {
    key("a", 1)
        .with("n", 5)
        .with("s", "text")
        .with("l", list([10, 20, 30]))
        .with("m", Item::new().with("x", 1).with("y", 2))
        .with("ss", set(["a", "b"]))
}

pub(crate) async fn an_update_makes_a_missing_item(tables: &dyn Tables) {
    let table = "updates-make";
    declare(tables, table).await;
    let made = tables.update(Update::new(table, key("a", 1)).returning(Return::AllNew)).await;
    assert_eq!(made.expect("an update without actions is valid"), Some(key("a", 1)));
    let update = Update::new(table, key("a", 2)).set("x", attr("x").or(1).plus(1)).add("n", 3);
    let old = tables.update(update.clone().returning(Return::AllOld)).await;
    assert_eq!(old.expect("the update is valid"), None);
    let expected = key("a", 2).with("x", 2).with("n", 3);
    assert_eq!(get(tables, table, key("a", 2)).await, Some(expected));
}

pub(crate) async fn an_update_that_only_takes_away_makes_no_item(tables: &dyn Tables) {
    let table = "updates-take-away";
    declare(tables, table).await;
    let update = || Update::new(table, key("a", 1)).returning(Return::AllNew);
    for (update, what) in [
        (update().remove("x"), "an attribute"),
        (update().remove(attr("x").field("y")), "a part of one"),
        (update().take_out("x", set(["a"])), "an element"),
        (update().remove("x").take_out("y", set(["a"])), "both"),
    ] {
        let answer = tables.update(update).await;
        assert_eq!(answer.expect("there is nothing to take away"), None, "{what}");
        assert_eq!(get(tables, table, key("a", 1)).await, None, "{what}");
    }
    let fails = update().remove("x").when(attr("pk").exists());
    let refused = tables.update(fails).await.expect_err("the condition is judged all the same");
    assert!(matches!(refused, Error::ConditionFailed { .. }), "{refused}");
    let makes = update().remove("x").set("y", 1);
    let made = tables.update(makes).await.expect("something is put");
    assert_eq!(made, Some(key("a", 1).with("y", 1)));
}

pub(crate) async fn an_update_answers_what_it_edited(tables: &dyn Tables) {
    let table = "updates-answer";
    declare(tables, table).await;
    let map = |name: &str, value: i32| Item::new().with("m", Item::new().with(name, value));
    let update = || Update::new(table, key("a", 1));
    let none = Item::new();
    let cases = [
        (update().set("n", 6), Item::new().with("n", 5), Item::new().with("n", 6)),
        (update().set("new", 1), none.clone(), Item::new().with("new", 1)),
        (update().remove("n"), Item::new().with("n", 5), none.clone()),
        (update().set(attr("m").field("x"), 7), map("x", 1), map("x", 7)),
        (update().remove(attr("m").field("y")), map("y", 2), none.clone()),
        (
            update().set(attr("l").at(1), 21),
            Item::new().with("l", list([20])),
            Item::new().with("l", list([21])),
        ),
        (
            update().take_out("ss", set(["a"])),
            Item::new().with("ss", set(["a", "b"])),
            Item::new().with("ss", set(["b"])),
        ),
        (update().remove("gone"), none.clone(), none),
    ];
    for (update, old, new) in cases {
        for (returning, expected) in [
            (Return::None, Item::new()),
            (Return::UpdatedOld, old),
            (Return::UpdatedNew, new),
            (Return::AllOld, start()),
        ] {
            put(tables, table, start()).await;
            let answer = tables.update(update.clone().returning(returning)).await;
            let answer = answer.expect("the update is valid").unwrap_or_default();
            assert_eq!(answer, expected, "{returning:?} of {:?}", update.actions);
        }
        put(tables, table, start()).await;
        let new = tables.update(update.returning(Return::AllNew)).await;
        assert_eq!(new.expect("the update is valid"), get(tables, table, key("a", 1)).await);
    }
}

pub(crate) async fn clauses_read_the_item_as_it_was(tables: &dyn Tables) {
    let table = "updates-before";
    declare(tables, table).await;
    put(tables, table, start()).await;
    let update = Update::new(table, key("a", 1))
        .set("n", attr("s"))
        .set("s", attr("n"))
        .set("copy", attr("l"))
        .remove(attr("l").at(0))
        .set(attr("l").at(1), 21);
    tables.update(update).await.expect("the update is valid");
    let expected = start()
        .with("n", "text")
        .with("s", 5)
        .with("copy", list([10, 20, 30]))
        .with("l", list([21, 30]));
    assert_eq!(get(tables, table, key("a", 1)).await, Some(expected));
}

pub(crate) async fn updates_do_what_they_say(tables: &dyn Tables) {
    let table = "updates-do";
    declare(tables, table).await;
    let update = || Update::new(table, key("a", 1));
    let with = |name: &str, value: Value| start().with(name, value);
    let without = |name: &str| {
        let mut item = start();
        item.remove(name);
        item
    };
    let cases = [
        (update().set("n", attr("n").plus(2)), with("n", 7.into())),
        (update().set("n", attr("n").minus(7)), with("n", (-2).into())),
        (update().set("n", attr("n").or(0)), start()),
        (update().set("z", attr("z").or(attr("n"))), with("z", 5.into())),
        (update().set("l", attr("l").append([40])), with("l", list([10, 20, 30, 40]))),
        (update().set("l", attr("l").prepend([0])), with("l", list([0, 10, 20, 30]))),
        (update().set(attr("l").at(9), 90), with("l", list([10, 20, 30, 90]))),
        (
            update().set(attr("l").at(9), 90).set(attr("l").at(5), 50),
            with("l", list([10, 20, 30, 50, 90])),
        ),
        (
            update().remove(attr("l").at(0)).remove(attr("l").at(2)).remove(attr("l").at(7)),
            with("l", list([20])),
        ),
        (update().remove("s").remove("gone"), without("s")),
        (update().add("n", 3), with("n", 8.into())),
        (update().add("z", 3), with("z", 3.into())),
        (update().add("ss", set(["b", "c"])), with("ss", set(["a", "b", "c"]))),
        (update().take_out("ss", set(["b", "c"])), with("ss", set(["a"]))),
        (update().take_out("ss", set(["a", "b"])), without("ss")),
        (update().take_out("z", set(["a"])), start()),
    ];
    for (update, expected) in cases {
        put(tables, table, start()).await;
        tables.update(update.clone()).await.expect("the update is valid");
        let item = get(tables, table, key("a", 1)).await;
        assert_eq!(item, Some(expected), "{:?}", update.actions);
    }
}

pub(crate) async fn impossible_updates_change_nothing(tables: &dyn Tables) {
    let table = "updates-wrong";
    declare(tables, table).await;
    put(tables, table, start()).await;
    let (most, tenth) = (number(&"9".repeat(38)), number("0.1"));
    let update = || Update::new(table, key("a", 1));
    let cases = [
        ("a missing operand", update().set("n", attr("gone").plus(1))),
        ("a missing source", update().set("z", attr("gone"))),
        ("a sum with a text", update().set("n", attr("s").plus(1))),
        ("a text appended to", update().set("s", attr("s").append([1]))),
        ("an addition to a text", update().add("s", 1)),
        ("a set added to a number", update().add("n", set(["a"]))),
        ("a text added", update().add("z", "a")),
        ("a number taken out", update().take_out("ss", 1)),
        ("a set taken out of a number", update().take_out("n", set(["a"]))),
        ("a way that leads nowhere", update().set(attr("gone").field("x"), 1)),
        ("a field of a list", update().set(attr("l").field("x"), 1)),
        ("an element of a map", update().set(attr("m").at(0), 1)),
        ("a removal in what is missing", update().remove(attr("gone").field("x"))),
        ("one path twice", update().set("n", 1).remove("n")),
        ("a path inside another", update().set("m", 1).set(attr("m").field("x"), 1)),
        ("39 digits", update().set("n", Term::Value(most).plus(tenth))),
        ("an empty set", update().set("z", set([]))),
        ("nothing taken out", update().take_out("ss", set([]))),
    ];
    for (what, update) in cases {
        assert_refused(tables.update(update).await, what);
        assert_eq!(get(tables, table, key("a", 1)).await, Some(start()), "{what}");
    }
}

pub(crate) async fn key_attributes_are_never_edited(tables: &dyn Tables) {
    let table = "updates-key";
    declare(tables, table).await;
    put(tables, table, start()).await;
    let update = || Update::new(table, key("a", 1));
    let cases = [
        update().set("pk", "b"),
        update().set("pk", "a"),
        update().set("sk", attr("sk").plus(1)),
        update().remove("sk"),
        update().add("sk", 1),
        update().set("n", 1).set("sk", 1).when(attr("gone").exists()),
    ];
    for update in cases {
        assert_refused(tables.update(update.clone()).await, &format!("{:?}", update.actions));
    }
    assert_eq!(get(tables, table, key("a", 1)).await, Some(start()));
}

pub(crate) async fn an_update_may_not_outgrow_an_item(tables: &dyn Tables) {
    let table = "updates-size";
    declare(tables, table).await;
    let half = key("a", 1).with("x", text(ITEM_BYTES_MAX / 2));
    put(tables, table, half.clone()).await;
    let update = Update::new(table, key("a", 1)).set("y", text(ITEM_BYTES_MAX / 2));
    assert_refused(tables.update(update).await, "two halves and a key");
    assert_eq!(get(tables, table, key("a", 1)).await, Some(half));
}

pub(crate) async fn only_updates_answer_new_items(tables: &dyn Tables) {
    let table = "updates-new";
    declare(tables, table).await;
    for returning in [Return::AllNew, Return::UpdatedNew, Return::UpdatedOld] {
        let put = Put::new(table, key("a", 1)).returning(returning);
        assert_refused(tables.put(put).await, "a put");
        let delete = Delete::new(table, key("a", 1)).returning(returning);
        assert_refused(tables.delete(delete).await, "a delete");
    }
}
