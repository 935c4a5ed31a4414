//! Random values, items and expressions, from few names so that paths meet.

use bytes::Bytes;
use proptest::collection::{btree_set, vec};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;

use crate::expr::{
    Actions, Comparator, Condition, KeyCondition, Operand, Path, SetValue, SortCondition, Step,
    Term,
};
use crate::number::Number;
use crate::value::{Item, Value, ValueType};

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "d.e", "size", "AND"]).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    select(vec!["", "a", "ab", "abc", "b", "é", "S", "a b"]).prop_map(str::to_owned)
}

fn number() -> impl Strategy<Value = Number> {
    (-3_i64..4).prop_map(Number::from)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(0_u8..3, 0..3).prop_map(Bytes::from)
}

pub(super) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        number().prop_map(Value::N),
        bytes().prop_map(Value::B),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        btree_set(text(), 1..3).prop_map(Value::Ss),
        btree_set(number(), 1..3).prop_map(Value::Ns),
        btree_set(bytes(), 1..3).prop_map(Value::Bs),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::L),
            vec((name(), inner), 0..4).prop_map(|fields| Value::M(fields.into_iter().collect())),
        ]
    })
}

pub(super) fn item() -> impl Strategy<Value = Item> {
    vec((name(), value()), 0..6).prop_map(|attributes| attributes.into_iter().collect())
}

pub(super) fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![name().prop_map(Step::Field), (0_u32..4).prop_map(Step::Index)];
    let steps = prop_oneof![2 => Just(Vec::new()), 1 => vec(step, 1..3)];
    (name(), steps).prop_map(|(root, steps)| Path { root, steps })
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        3 => path().prop_map(Operand::Path),
        3 => value().prop_map(Operand::Value),
        1 => path().prop_map(Operand::Size),
    ]
}

fn comparator() -> impl Strategy<Value = Comparator> {
    select(vec![
        Comparator::Eq,
        Comparator::Ne,
        Comparator::Lt,
        Comparator::Le,
        Comparator::Gt,
        Comparator::Ge,
    ])
}

fn kind() -> impl Strategy<Value = ValueType> {
    value().prop_map(|value| value.kind())
}

pub(super) fn condition() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        3 => (operand(), comparator(), operand())
            .prop_map(|(left, comparator, right)| Condition::Compare(left, comparator, right)),
        1 => (operand(), operand(), operand())
            .prop_map(|(value, low, high)| Condition::Between(value, low, high)),
        1 => (operand(), vec(operand(), 1..4))
            .prop_map(|(value, choices)| Condition::In(value, choices)),
        1 => path().prop_map(Condition::Exists),
        1 => path().prop_map(Condition::NotExists),
        1 => (path(), kind()).prop_map(|(path, kind)| path.is_type(kind)),
        1 => (operand(), operand())
            .prop_map(|(value, prefix)| Condition::BeginsWith(value, prefix)),
        1 => (operand(), operand())
            .prop_map(|(value, part)| Condition::Contains(value, part)),
    ];
    leaf.prop_recursive(5, 16, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.and(right)),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.or(right)),
            inner.prop_map(|inner| !inner),
        ]
    })
}

fn term() -> impl Strategy<Value = Term> {
    let leaf = prop_oneof![path().prop_map(Term::Path), value().prop_map(Term::Value)];
    leaf.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            (path(), inner.clone())
                .prop_map(|(path, otherwise)| Term::IfNotExists(path, Box::new(otherwise))),
            (inner.clone(), inner)
                .prop_map(|(left, right)| Term::ListAppend(Box::new(left), Box::new(right))),
        ]
    })
    .prop_map(flat)
}

/// Without appending to what was appended to, which DynamoDB refuses.
fn flat(term: Term) -> Term {
    match term {
        Term::ListAppend(first, second) => Term::ListAppend(
            Box::new(without_appending(*first)),
            Box::new(without_appending(*second)),
        ),
        Term::IfNotExists(path, otherwise) => Term::IfNotExists(path, Box::new(flat(*otherwise))),
        Term::Path(_) | Term::Value(_) => term,
    }
}

fn without_appending(term: Term) -> Term {
    match term {
        Term::ListAppend(first, _) => without_appending(*first),
        Term::IfNotExists(path, otherwise) => {
            Term::IfNotExists(path, Box::new(without_appending(*otherwise)))
        }
        Term::Path(_) | Term::Value(_) => term,
    }
}

fn set_value() -> impl Strategy<Value = SetValue> {
    prop_oneof![
        2 => term().prop_map(SetValue::Term),
        1 => (term(), term()).prop_map(|(left, right)| SetValue::Plus(left, right)),
        1 => (term(), term()).prop_map(|(left, right)| SetValue::Minus(left, right)),
    ]
}

/// What `ADD` and `DELETE` take, mostly.
fn added() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => number().prop_map(Value::N),
        3 => btree_set(text(), 1..3).prop_map(Value::Ss),
        3 => btree_set(number(), 1..3).prop_map(Value::Ns),
        1 => value(),
    ]
}

pub(super) fn actions() -> impl Strategy<Value = Actions> {
    (
        vec((path(), set_value()), 0..3),
        vec(path(), 0..3),
        vec((path(), added()), 0..2),
        vec((path(), added()), 0..2),
    )
        .prop_map(|(set, remove, add, delete)| Actions { set, remove, add, delete })
        .prop_filter("an expression is never empty", |actions| *actions != Actions::default())
}

fn sort_condition() -> impl Strategy<Value = SortCondition> {
    prop_oneof![
        value().prop_map(SortCondition::Eq),
        value().prop_map(SortCondition::Lt),
        value().prop_map(SortCondition::Le),
        value().prop_map(SortCondition::Gt),
        value().prop_map(SortCondition::Ge),
        (value(), value()).prop_map(|(low, high)| SortCondition::Between(low, high)),
        value().prop_map(SortCondition::BeginsWith),
    ]
}

/// On a table with a text `pk` and a text `sk`; the values are of any type.
pub(super) fn key_condition() -> impl Strategy<Value = KeyCondition> {
    let partition = prop_oneof![3 => text().prop_map(Value::from), 1 => value()];
    let sort = prop_oneof![
        3 => text().prop_map(|text| Some(SortCondition::Ge(Value::from(text)))),
        3 => (text(), text())
            .prop_map(|(low, high)| Some(SortCondition::Between(low.into(), high.into()))),
        3 => sort_condition().prop_map(Some),
        1 => Just(None),
    ];
    (partition, sort).prop_map(|(partition, sort)| KeyCondition {
        partition: ("pk".to_owned(), partition),
        sort: sort.map(|condition| ("sk".to_owned(), condition)),
    })
}

/// Texts that come close to expressions.
pub(super) fn word_salad() -> impl Strategy<Value = String> {
    let words = select(vec![
        "a",
        "b",
        "#n",
        "#x",
        ":v",
        ":s",
        ":x",
        "(",
        ")",
        "((",
        "[",
        "]",
        "[0]",
        "[99999999999]",
        ".",
        ",",
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "-",
        "AND",
        "or",
        "NOT",
        "BETWEEN",
        "IN",
        "SET",
        "remove",
        "ADD",
        "DELETE",
        "size(",
        "contains(",
        "attribute_exists(",
        "attribute_type(",
        "begins_with(",
        "if_not_exists(",
        "list_append(",
        "nope(",
        "name",
        "é",
        "\"",
        "0",
        " ",
    ]);
    vec(words, 0..16).prop_map(|words| words.join(" "))
}
