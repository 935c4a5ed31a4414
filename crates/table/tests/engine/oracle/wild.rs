//! Requests that often break a rule: operands of any type anywhere, paths inside each other, key
//! conditions on the wrong values.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use table::{
    Actions, Check, Comparator, Condition, Delete, Get, KeyCondition, KeyType, Operand, Put, Query,
    SetValue, SortCondition, Term, TransactItem, TransactWrite, Update, Value, attr,
};

use super::Step;
use crate::support::generate::expressions::{path, paths_of};
use crate::support::generate::{
    item, key, key_value, named_key, put, query, table, table_key, update, value,
};

/// A request that may break a rule.
pub(crate) fn step() -> BoxedStrategy<Step> {
    let put_plain = put().prop_map(|put| Put { condition: None, ..put });
    prop_oneof![
        10 => put_plain.prop_map(Step::Put),
        5 => wild_put().prop_map(Step::Put),
        10 => wild_update().prop_map(Step::Update),
        5 => wild_delete().prop_map(Step::Delete),
        3 => wild_get().prop_map(Step::Get),
        8 => wild_query().prop_map(Step::WildQuery),
        1 => query().prop_map(Step::Query),
        3 => wild_transaction().prop_map(Step::Transact),
    ]
    .boxed()
}

fn wild_put() -> BoxedStrategy<Put> {
    let item = table().prop_flat_map(|(number, name)| (Just(name), item(number)));
    (item, condition())
        .prop_map(|((table, item), condition)| Put::new(table, item).when(condition))
        .boxed()
}

fn wild_update() -> BoxedStrategy<Update> {
    // The other one looks at the condition before it looks at types inside terms; AWS does not.
    (update(), actions())
        .prop_map(|(update, actions)| Update { actions, condition: None, ..update })
        .boxed()
}

fn wild_delete() -> BoxedStrategy<Delete> {
    (named_key(), condition())
        .prop_map(|((table, key), condition)| Delete::new(table, key).when(condition).telling())
        .boxed()
}

fn wild_get() -> BoxedStrategy<Get> {
    (named_key(), vec(path(), 1..4))
        .prop_map(|((table, key), paths)| Get::new(table, key).project(paths))
        .boxed()
}

fn wild_transaction() -> BoxedStrategy<TransactWrite> {
    // Whether a path into a key fails the call or one write is not recorded of AWS.
    let check = (named_key(), condition()).prop_filter_map("into a key", |((table, key), when)| {
        let mut inside = paths_of(&when).into_iter().filter(|path| !path.steps.is_empty());
        let enters = inside.any(|path| ["pk", "s1", "n1"].contains(&path.root.as_str()));
        (!enters).then(|| TransactItem::Check(Check::new(table, key, when)))
    });
    let write = prop_oneof![
        2 => put().prop_map(|put| TransactItem::Put(Put { condition: None, ..put })),
        1 => update().prop_map(TransactItem::Update),
        1 => check,
    ];
    vec(write, 1..4).prop_map(TransactWrite::new).boxed()
}

fn wild_query() -> BoxedStrategy<Query> {
    table().prop_flat_map(|(number, name)| wild_query_of(number, name)).boxed()
}

/// Mostly one partition and a start in it, but either may be anything.
fn wild_query_of(number: usize, table: String) -> BoxedStrategy<Query> {
    let name = |usual: &str| {
        let other = select(&["pk", "sk", "s1", "n1"]).prop_map(str::to_owned);
        prop_oneof![6 => Just(usual.to_owned()), 1 => other]
    };
    let kind = table_key(number).sort.map_or(KeyType::S, |sort| sort.kind);
    let sort = option::of((name("sk"), sort_condition(kind)));
    let partition = prop_oneof![8 => Just(None), 1 => value().prop_map(Some)];
    let start = prop_oneof![
        3 => Just(None),
        2 => key(number).prop_map(Some),
        1 => (key(number), value()).prop_map(|(key, value)| Some(key.with("n1", value))),
    ];
    let index = option::weighted(0.1, select(&["first", "second"]).prop_map(str::to_owned));
    let filter = option::weighted(0.2, condition());
    (key(number), name("pk"), partition, sort, start, index, filter, any::<bool>())
        .prop_map(move |(key, name, partition, sort, start, index, filter, descending)| {
            let pk = key.get("pk").cloned().unwrap_or(Value::Null);
            let start_after = start.map(|start| match start.get("more") {
                Some(_) => start,
                None => start.with("pk", pk.clone()),
            });
            let partition = (name, partition.unwrap_or(pk));
            let key = KeyCondition { partition, sort };
            Query { key, index, start_after, filter, descending, ..Query::new(&table, "", 0) }
        })
        .boxed()
}

fn sort_condition(kind: KeyType) -> BoxedStrategy<SortCondition> {
    let value = || prop_oneof![5 => key_value(kind), 1 => value()];
    // No equality: in text, two of them may stand in any order, so that a sort attribute named as
    // partition is right again.
    prop_oneof![
        value().prop_map(SortCondition::Lt),
        value().prop_map(SortCondition::Ge),
        (value(), value()).prop_map(|(low, high)| SortCondition::Between(low, high)),
        value().prop_map(SortCondition::BeginsWith),
    ]
    .boxed()
}

fn operand() -> BoxedStrategy<Operand> {
    prop_oneof![5 => plain(), 1 => path().prop_map(Operand::Size)].boxed()
}

fn plain() -> BoxedStrategy<Operand> {
    let inside = select(vec![attr("pk").field("a"), attr("s1").at(0), attr("n1").field("a")]);
    prop_oneof![
        12 => path().prop_map(Operand::Path),
        8 => any_value().prop_map(Operand::Value),
        1 => inside.prop_map(Operand::Path),
    ]
    .boxed()
}

/// Any value, also those that cannot be stored.
fn any_value() -> BoxedStrategy<Value> {
    let empty = select(vec![Value::Ss([].into()), Value::Ns([].into()), Value::Bs([].into())]);
    prop_oneof![20 => value(), 1 => empty].boxed()
}

fn condition() -> BoxedStrategy<Condition> {
    let how = select(&[
        Comparator::Eq,
        Comparator::Ne,
        Comparator::Lt,
        Comparator::Le,
        Comparator::Gt,
        Comparator::Ge,
    ]);
    let single = prop_oneof![
        (operand(), how, operand())
            .prop_map(|(left, how, right)| { Condition::Compare(left, how, right) }),
        (operand(), operand(), operand())
            .prop_map(|(middle, low, high)| { Condition::Between(middle, low, high) }),
        (operand(), vec(operand(), 1..4)).prop_map(|(one, many)| Condition::In(one, many)),
        (plain(), plain()).prop_map(|(whole, part)| Condition::BeginsWith(whole, part)),
        (plain(), plain()).prop_map(|(whole, part)| Condition::Contains(whole, part)),
    ];
    single
        .prop_recursive(2, 4, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(left, right)| left.and(right)),
                (inner.clone(), inner.clone()).prop_map(|(left, right)| left.or(right)),
                inner.prop_map(|condition| !condition),
            ]
        })
        .boxed()
}

fn actions() -> BoxedStrategy<Actions> {
    let set = vec((path(), set_value()), 0..3);
    let pairs = || vec((path(), any_value()), 0..2);
    (set, vec(path(), 0..2), pairs(), pairs())
        .prop_map(|(set, remove, add, delete)| Actions { set, remove, add, delete })
        .boxed()
}

fn set_value() -> BoxedStrategy<SetValue> {
    prop_oneof![
        3 => term().prop_map(SetValue::Term),
        1 => (term(), term()).prop_map(|(left, right)| SetValue::Plus(left, right)),
        1 => (term(), term()).prop_map(|(left, right)| SetValue::Minus(left, right)),
    ]
    .boxed()
}

fn term() -> BoxedStrategy<Term> {
    let single = prop_oneof![path().prop_map(Term::Path), any_value().prop_map(Term::Value)];
    single
        .prop_recursive(2, 3, 2, |inner| {
            prop_oneof![
                (path(), inner.clone()).prop_map(|(path, otherwise)| path.or(otherwise)),
                (inner.clone(), inner).prop_map(|(first, second)| {
                    Term::ListAppend(Box::new(first), Box::new(second))
                }),
            ]
        })
        .boxed()
}
