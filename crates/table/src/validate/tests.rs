//! Each rule, at its bound and one past it.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{check_item, check_key, check_spec, check_start_key, check_updated, check_value};
use crate::error::Error;
use crate::limits::ITEM_BYTES_MAX;
use crate::number::Number;
use crate::spec::{KeyAttribute, KeySpec, Projected, TableSpec};
use crate::value::{Item, Value};

fn spec() -> TableSpec {
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::b("sk"));
    let by_age = KeySpec::composite(KeyAttribute::s("group"), KeyAttribute::n("age"));
    let by_tag = KeySpec::composite(KeyAttribute::b("tag"), KeyAttribute::s("group"));
    TableSpec::new("people", key).index("by-age", by_age).index("by-tag", by_tag)
}

fn bytes(len: usize) -> Value {
    Value::B(Bytes::from(vec![1; len]))
}

fn text(len: usize) -> Value {
    Value::from("x".repeat(len))
}

fn item() -> Item {
    Item::new().with("pk", "a").with("sk", bytes(1))
}

/// The refusal, which must say `part`.
fn assert_refused(result: Result<(), Error>, part: &str) {
    match result {
        Err(Error::Invalid(message)) => assert!(message.contains(part), "`{message}`: `{part}`"),
        other => panic!("{other:?} should say `{part}`"),
    }
}

#[test]
fn a_declaration_is_checked_whole() {
    let simple = || KeySpec::simple(KeyAttribute::s("id"));
    assert!(check_spec(&spec().expiring_by("until")).is_ok());
    for name in ["ab", "", &"a".repeat(256), "with space", "数字です"] {
        assert_refused(check_spec(&TableSpec::new(name, simple())), "TableName");
        assert_refused(check_spec(&spec().index(name, simple())), "IndexName");
    }
    for name in ["abc", "a.b", "A_b-9", &"a".repeat(255)] {
        assert!(check_spec(&TableSpec::new(name, simple()).index(name, simple())).is_ok());
    }
    let twice = KeySpec::composite(KeyAttribute::s("id"), KeyAttribute::s("id"));
    assert_refused(check_spec(&TableSpec::new("things", twice)), "same name");
    let unnamed = KeySpec::simple(KeyAttribute::s(""));
    assert_refused(check_spec(&TableSpec::new("things", unnamed)), "0 bytes (1 to 255)");
    assert_refused(check_spec(&spec().index("by-age", simple())), "Duplicate index name: by-age");
    let retyped = KeySpec::simple(KeyAttribute::n("pk"));
    assert_refused(check_spec(&spec().index("other", retyped)), "pk has two types");
    let nothing = Projected::Include(Vec::new());
    assert_refused(
        check_spec(&spec().index_projecting("other", simple(), nothing)),
        "no attribute",
    );
    assert_refused(check_spec(&spec().expiring_by("")), "TTL");
    assert_refused(check_spec(&spec().expiring_by("group")), "`group` is not a number");
    assert!(check_spec(&spec().expiring_by("age")).is_ok());
    let many = (0..25).fold(TableSpec::new("many", simple()), |spec, number| {
        spec.index(&format!("index{number}"), KeySpec::simple(KeyAttribute::s("id")))
    });
    assert!(check_spec(&many).is_ok());
    assert_refused(check_spec(&many.index("one-more", simple())), "26 indexes (at most 25)");
}

#[test]
fn an_item_needs_its_key() {
    let spec = spec();
    assert!(check_item(&spec, &item()).is_ok());
    assert_refused(check_item(&spec, &Item::new().with("pk", "a")), "Missing the key sk");
    assert_refused(check_item(&spec, &item().with("pk", 1)), "key pk expected: S actual: N");
    assert_refused(check_item(&spec, &item().with("sk", "a")), "key sk expected: B actual: S");
    assert_refused(check_item(&spec, &item().with("pk", "")), "empty string value. Key: pk");
    assert_refused(check_item(&spec, &item().with("sk", bytes(0))), "empty binary value. Key: sk");
    assert!(check_item(&spec, &item().with("pk", text(2048)).with("sk", bytes(1024))).is_ok());
    assert_refused(check_item(&spec, &item().with("pk", text(2049))), "2048 bytes");
    assert_refused(check_item(&spec, &item().with("sk", bytes(1025))), "1024 bytes");
}

#[test]
fn index_keys_may_be_absent_but_not_wrong() {
    let spec = spec();
    let with = |name: &str, value: Value| check_item(&spec, &item().with(name, value));
    assert!(with("group", text(1024)).is_ok());
    assert_refused(
        with("age", Value::from("x")),
        "Index Key age Expected: N Actual: S IndexName: by-age",
    );
    assert_refused(with("group", Value::Null), "Index Key group Expected: S Actual: NULL");
    assert_refused(with("group", text(0)), "IndexName: by-age, IndexKey: group");
    assert_refused(with("tag", bytes(0)), "empty binary value. IndexName: by-tag");
    // A partition of one index and the sort key of another: the lesser bound counts.
    assert_refused(with("group", text(1025)), "IndexName: by-tag, IndexKey: group");
    assert!(with("tag", bytes(2048)).is_ok());
    assert_refused(with("tag", bytes(2049)), "2048 bytes, IndexName: by-tag");
}

#[test]
fn values_may_be_empty_but_sets_may_not() {
    assert!(check_item(&spec(), &item().with("a", "").with("b", bytes(0))).is_ok());
    for (set, part) in [
        (Value::Ss(BTreeSet::new()), "An string set  may not be empty"),
        (Value::Ns(BTreeSet::new()), "An number set  may not be empty"),
        (Value::Bs(BTreeSet::new()), "Binary sets should not be empty"),
    ] {
        assert_refused(check_value(&set), part);
        let nested = Value::L(vec![Value::M(Item::new().with("s", Value::L(vec![set])))]);
        assert_refused(check_item(&spec(), &item().with("a", nested)), part);
    }
    assert!(check_value(&Value::Ns(BTreeSet::from([Number::ZERO]))).is_ok());
    assert!(check_value(&Value::M(Item::new())).is_ok());
}

#[test]
fn values_nest_32_levels_deep() {
    let nested = |levels: usize| (1..levels).fold(Value::Null, |inner, _| Value::L(vec![inner]));
    assert!(check_value(&nested(32)).is_ok());
    assert_refused(check_value(&nested(33)), "Nesting Levels have exceeded");
    let map = |inner| Value::M(Item::new().with("m", inner));
    assert!(check_value(&map(nested(31))).is_ok());
    assert_refused(check_value(&map(nested(32))), "Nesting Levels have exceeded");
}

#[test]
fn an_item_weighs_400_kilobytes_at_most() {
    let spec = spec();
    let rest = item().with("a", "").size();
    assert!(check_item(&spec, &item().with("a", text(400 * 1024 - rest))).is_ok());
    let heavier = item().with("a", text(400 * 1024 - rest + 1));
    assert_refused(check_item(&spec, &heavier), "Item size has exceeded the maximum allowed size");
}

#[test]
fn a_key_is_exactly_the_key() {
    let key = spec().key;
    assert!(check_key(&key, &item()).is_ok());
    let part = "does not match the schema";
    assert_refused(check_key(&key, &Item::new().with("pk", "a")), part);
    assert_refused(check_key(&key, &item().with("other", 1)), part);
    assert_refused(check_key(&key, &Item::new().with("pk", "a").with("other", bytes(1))), part);
    assert_refused(check_key(&key, &item().with("sk", "a")), part);
    assert_refused(check_key(&key, &item().with("pk", "")), "empty string value");
    assert_refused(check_key(&key, &item().with("sk", bytes(1025))), "1024 bytes");
    let simple = KeySpec::simple(KeyAttribute::n("n"));
    assert!(check_key(&simple, &Item::new().with("n", 1)).is_ok());
}

#[test]
fn a_query_goes_on_from_the_keys_of_table_and_index() {
    let spec = spec();
    let by_age = spec.indexes.first().map(|index| &index.key);
    let whole = item().with("group", "g").with("age", 7);
    assert!(check_start_key(&spec.key, None, &item(), false).is_ok());
    assert!(check_start_key(&spec.key, by_age, &whole, false).is_ok());
    let part = "The provided starting key is invalid";
    assert_refused(check_start_key(&spec.key, None, &whole, false), part);
    assert_refused(check_start_key(&spec.key, by_age, &item(), false), part);
    assert_refused(
        check_start_key(&spec.key, by_age, &whole.clone().with("age", "x"), false),
        part,
    );
    assert_refused(check_start_key(&spec.key, by_age, &whole.clone().with("more", 1), false), part);
    assert_refused(
        check_start_key(&spec.key, by_age, &whole.with("group", text(2049)), false),
        part,
    );
    let by_tag = spec.indexes.get(1).map(|index| &index.key);
    let long = item().with("tag", bytes(1)).with("group", text(1025));
    assert_refused(check_start_key(&spec.key, by_tag, &long, false), part);
    let reason = format!("{part}: The provided key element does not match the schema");
    assert_refused(check_start_key(&spec.key, None, &item().with("more", 1), true), &reason);
    // An index that shares an attribute with the table.
    let shared = KeySpec::composite(KeyAttribute::s("group"), KeyAttribute::s("pk"));
    assert!(check_start_key(&spec.key, Some(&shared), &item().with("group", "g"), false).is_ok());
}

#[test]
fn an_update_is_refused_in_words_of_its_own() {
    let spec = spec();
    assert!(check_updated(&spec, &item().with("group", "g")).is_ok());
    assert_refused(
        check_updated(&spec, &item().with("group", "")),
        "attempted to update a secondary index key to a value that is not supported. The \
         AttributeValue for a key attribute cannot contain an empty string value.",
    );
    let heavier = item().with("text", text(ITEM_BYTES_MAX));
    assert_refused(check_updated(&spec, &heavier), "Item size to update has exceeded");
}
