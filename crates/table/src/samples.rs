//! Random values for property tests.

use bytes::Bytes;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};

use crate::number::Number;
use crate::value::{Item, Value};

/// Numbers of all sizes, small integers often.
pub(crate) fn number() -> BoxedStrategy<Number> {
    let wide = (any::<bool>(), 0..10_u128.pow(38), -130..=88_i16)
        .prop_filter_map("the magnitude is too small", |(negative, mantissa, exponent)| {
            Number::from_parts(negative, mantissa, exponent).ok()
        });
    prop_oneof![(-50..50_i32).prop_map(Number::from), any::<i64>().prop_map(Number::from), wide]
        .boxed()
}

/// Texts with all kinds of characters, often alike and often around the length of a group.
pub(crate) fn text(len: std::ops::Range<usize>) -> BoxedStrategy<String> {
    let letter = prop_oneof![Just('a'), Just('\0'), Just('\u{1}'), Just('あ'), any::<char>()];
    vec(letter, len).prop_map(String::from_iter).boxed()
}

/// Bytes, often alike.
pub(crate) fn bytes(len: std::ops::Range<usize>) -> BoxedStrategy<Bytes> {
    let byte = prop_oneof![Just(0), Just(0xFF), any::<u8>()];
    vec(byte, len).prop_map(Bytes::from).boxed()
}

/// Values of all types, nested a little; no set is empty.
pub(crate) fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        text(0..20).prop_map(Value::from),
        number().prop_map(Value::N),
        bytes(0..20).prop_map(Value::B),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        btree_set(text(0..5), 1..4).prop_map(Value::Ss),
        btree_set(number(), 1..4).prop_map(Value::Ns),
        btree_set(bytes(0..5), 1..4).prop_map(Value::Bs),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::L),
            btree_map(text(0..5), inner, 0..4).prop_map(|map| Value::M(Item::from_iter(map))),
        ]
    })
    .boxed()
}

/// Items of any attributes.
pub(crate) fn item() -> BoxedStrategy<Item> {
    btree_map(text(1..8), value(), 0..6).prop_map(Item::from_iter).boxed()
}
