//! Keys and ranges against a naive filter over values.

use std::cmp::Ordering;
use std::ops::{Bound, RangeBounds};

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof, proptest};
use proptest::{prop_assert, prop_assert_eq};

use super::{
    EXPIRY, KEY_BYTES_MAX, KeyRange, ROWS, expiry_key, expiry_range, index_key, index_space,
    query_range, read_key, row_key, scan_range, second_of, table_range,
};
use crate::expr::SortCondition;
use crate::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::samples;
use crate::spec::{KeyAttribute, KeySpec, KeyType};
use crate::value::{Item, Value};

const TABLE: u32 = 7;

fn key_spec(partition: KeyType, sort: KeyType) -> KeySpec {
    KeySpec::composite(
        KeyAttribute { name: "p".to_owned(), kind: partition },
        KeyAttribute { name: "s".to_owned(), kind: sort },
    )
}

fn item(partition: &Value, sort: &Value) -> Item {
    Item::new().with("p", partition.clone()).with("s", sort.clone())
}

fn kind(value: &Value) -> KeyType {
    match value {
        Value::S(_) => KeyType::S,
        Value::N(_) => KeyType::N,
        Value::B(_) => KeyType::B,
        _ => panic!("{value:?} is in no key"),
    }
}

/// The row key of an item with these key values.
fn row(partition: &Value, sort: &Value) -> Vec<u8> {
    let spec = key_spec(kind(partition), kind(sort));
    row_key(TABLE, &spec, &item(partition, sort)).unwrap()
}

fn holds(range: &KeyRange, key: &[u8]) -> bool {
    let borrow = |bound: &Bound<Vec<u8>>| bound.as_ref().map(|key| key.clone());
    (borrow(&range.start), borrow(&range.end)).contains(&key.to_vec())
}

/// How sort keys compare, said of the values themselves.
fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::S(left), Value::S(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::N(left), Value::N(right)) => left.cmp(right),
        (Value::B(left), Value::B(right)) => left.cmp(right),
        _ => panic!("{left:?} and {right:?} do not compare"),
    }
}

fn meets(value: &Value, condition: &SortCondition) -> bool {
    match condition {
        SortCondition::Eq(edge) => compare(value, edge).is_eq(),
        SortCondition::Lt(edge) => compare(value, edge).is_lt(),
        SortCondition::Le(edge) => compare(value, edge).is_le(),
        SortCondition::Gt(edge) => compare(value, edge).is_gt(),
        SortCondition::Ge(edge) => compare(value, edge).is_ge(),
        SortCondition::Between(low, high) => {
            compare(value, low).is_ge() && compare(value, high).is_le()
        }
        SortCondition::BeginsWith(prefix) => match (value, prefix) {
            (Value::S(text), Value::S(prefix)) => text.starts_with(&**prefix),
            (Value::B(bytes), Value::B(prefix)) => bytes.starts_with(prefix),
            _ => panic!("{value:?} and {prefix:?} do not compare"),
        },
    }
}

fn conditions(low: &Value, high: &Value) -> Vec<SortCondition> {
    let mut all = vec![
        SortCondition::Eq(low.clone()),
        SortCondition::Lt(low.clone()),
        SortCondition::Le(low.clone()),
        SortCondition::Gt(low.clone()),
        SortCondition::Ge(low.clone()),
        SortCondition::Between(low.clone(), high.clone()),
        SortCondition::Between(high.clone(), low.clone()),
    ];
    if !matches!(low, Value::N(_)) {
        all.push(SortCondition::BeginsWith(low.clone()));
    }
    all
}

/// Some sort values of one type, many of them near each other.
fn sorts() -> BoxedStrategy<Vec<Value>> {
    // Beginnings of one another: prefixes, padding and group borders all meet.
    let byte = || prop_oneof![Just(0_u8), Just(0xFF), Just(7)];
    let cuts = vec((1..=24_usize, proptest::option::of(byte())), 2..20);
    let beginnings = (vec(byte(), 24), cuts).prop_map(|(whole, cuts)| {
        let value = |(len, last): (usize, Option<u8>)| {
            let mut bytes = whole[..len].to_vec();
            bytes[len - 1] = last.unwrap_or(bytes[len - 1]);
            Value::B(Bytes::from(bytes))
        };
        cuts.into_iter().map(value).collect()
    });
    prop_oneof![
        vec(samples::text(1..20).prop_map(Value::from), 2..20),
        vec(samples::number().prop_map(Value::N), 2..20),
        vec(samples::bytes(1..20).prop_map(Value::B), 2..20),
        beginnings,
    ]
    .boxed()
}

fn partition() -> BoxedStrategy<Value> {
    prop_oneof![
        samples::text(1..30).prop_map(Value::from),
        samples::number().prop_map(Value::N),
        samples::bytes(1..30).prop_map(Value::B),
        samples::bytes(250..260).prop_map(Value::B),
        samples::bytes(2000..PARTITION_KEY_BYTES_MAX + 1).prop_map(Value::B),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(testkit::depth::cases(100))]

    #[test]
    fn rows_of_a_partition_stand_in_the_order_of_their_sort_values(
        partition in partition(),
        sorts in sorts(),
    ) {
        for left in &sorts {
            for right in &sorts {
                let keys = (row(&partition, left), row(&partition, right));
                prop_assert_eq!(keys.0.cmp(&keys.1), compare(left, right));
            }
        }
    }

    #[test]
    fn a_query_of_rows_is_a_filter(
        partition in partition(),
        other in partition(),
        sorts in sorts(),
    ) {
        let whole = query_range(TABLE, ROWS, &partition, None);
        for condition in conditions(&sorts[0], &sorts[1]) {
            let range = query_range(TABLE, ROWS, &partition, Some(&condition));
            for sort in &sorts {
                let key = row(&partition, sort);
                prop_assert!(holds(&whole, &key));
                prop_assert_eq!(holds(&range, &key), meets(sort, &condition), "{:?}", condition);
                let elsewhere = row(&other, sort);
                prop_assert_eq!(holds(&whole, &elsewhere), other == partition);
                prop_assert!(other == partition || !holds(&range, &elsewhere));
            }
        }
    }

    #[test]
    fn a_query_of_an_index_is_a_filter_and_keeps_the_order(
        partition in partition(),
        other in partition(),
        sorts in sorts(),
        rows in vec((partition(), sorts()), 1..4),
        number in 0..25_usize,
    ) {
        let space = index_space(number);
        let spec = key_spec(kind(&partition), kind(&sorts[0]));
        let key = |partition: &Value, sort: &Value, row: &[u8]| {
            let spec = key_spec(kind(partition), kind(sort));
            index_key(TABLE, number, &spec, &item(partition, sort), row).unwrap()
        };
        let rows: Vec<_> =
            rows.iter().flat_map(|(partition, sorts)| sorts.iter().map(|sort| row(partition, sort))).collect();
        let whole = query_range(TABLE, space, &partition, None);
        for condition in conditions(&sorts[0], &sorts[1]) {
            let range = query_range(TABLE, space, &partition, Some(&condition));
            for (sort, row) in sorts.iter().zip(rows.iter().cycle()) {
                let index = key(&partition, sort, row);
                prop_assert!(holds(&whole, &index));
                prop_assert_eq!(holds(&range, &index), meets(sort, &condition), "{:?}", condition);
                let elsewhere = key(&other, sort, row);
                prop_assert!(other == partition || !holds(&whole, &elsewhere));
            }
        }
        for (left, row) in sorts.iter().zip(rows.iter().cycle()) {
            for (right, other_row) in sorts.iter().zip(rows.iter().rev().cycle()) {
                let order = key(&partition, left, row).cmp(&key(&partition, right, other_row));
                match compare(left, right) {
                    Ordering::Equal => prop_assert_eq!(order.is_eq(), row == other_row),
                    unequal => prop_assert_eq!(order, unequal),
                }
            }
        }
        prop_assert_eq!(index_key(TABLE, number, &spec, &Item::new(), &rows[0]), None);
    }

    #[test]
    fn a_condition_with_a_value_that_is_too_long_is_a_filter_too(
        same in SORT_KEY_BYTES_MAX - 20..=SORT_KEY_BYTES_MAX,
        len in 1..=SORT_KEY_BYTES_MAX,
        edges in vec((SORT_KEY_BYTES_MAX - 2..3000_usize, any::<u8>()), 2),
    ) {
        let value = |len: usize, last: u8| {
            let mut bytes = vec![7; len];
            bytes[len - 1] = last;
            Value::B(Bytes::from(bytes))
        };
        let partition = Value::from("p");
        let edges: Vec<_> = edges.iter().map(|(len, last)| value(*len, *last)).collect();
        for sort in [value(same, 7), value(len, 7), value(len, 8), value(len, 6)] {
            let row = row(&partition, &sort);
            let spec = key_spec(KeyType::S, KeyType::B);
            let index = index_key(TABLE, 0, &spec, &item(&partition, &sort), &row).unwrap();
            for condition in conditions(&edges[0], &edges[1]) {
                for (space, key) in [(ROWS, &row), (1, &index)] {
                    let range = query_range(TABLE, space, &partition, Some(&condition));
                    prop_assert_eq!(holds(&range, key), meets(&sort, &condition));
                    for bound in [range.start, range.end] {
                        let len = bound.map(|key| key.len());
                        prop_assert!(!matches!(
                            len,
                            Bound::Included(1983..) | Bound::Excluded(1983..)
                        ));
                    }
                }
            }
        }
    }

    #[test]
    fn segments_part_the_space(
        partitions in vec(partition(), 1..8),
        total in 1..40_u32,
        number in 0..25_usize,
    ) {
        for partition in partitions {
            let row = row(&partition, &Value::from(1));
            let spec = KeySpec::simple(KeyAttribute { name: "p".to_owned(), kind: kind(&partition) });
            let index = index_key(TABLE, number, &spec, &item(&partition, &Value::from(1)), &row).unwrap();
            for (space, key) in [(ROWS, row), (index_space(number), index)] {
                prop_assert!(holds(&scan_range(TABLE, space, None), &key));
                let holding = (0..total)
                    .filter(|segment| holds(&scan_range(TABLE, space, Some((*segment, total))), &key));
                prop_assert_eq!(holding.count(), 1);
                prop_assert!(!holds(&scan_range(TABLE, space + 1, None), &key));
                prop_assert!(holds(&table_range(TABLE), &key));
                prop_assert!(!holds(&table_range(TABLE + 1), &key));
            }
        }
    }

    #[test]
    fn keys_tell_what_they_were_made_of(partition in partition(), sorts in sorts()) {
        for sort in sorts {
            let (spec, item) = (key_spec(kind(&partition), kind(&sort)), item(&partition, &sort));
            let row = row(&partition, &sort);
            let index = index_key(TABLE, 3, &spec, &item, &row);
            for key in index.into_iter().chain([row]) {
                let (mut told, mut sort_alone) = (Item::new(), Item::new());
                let is_sort = |name: &str| spec.sort.as_ref().is_some_and(|sort| sort.name == name);
                let weight = read_key(&key, &spec, &mut told, |_| true, |_| true);
                let sort_weight = read_key(&key, &spec, &mut sort_alone, is_sort, is_sort);
                if weight.is_none() {
                    prop_assert!(partition.size() > 255, "{:?}", partition);
                    continue;
                }
                prop_assert_eq!((&told, weight), (&item, Some(item.size())));
                let wanted: Item = item.clone().into_iter().filter(|(name, _)| is_sort(name)).collect();
                prop_assert_eq!(sort_weight, Some(wanted.size()));
                prop_assert_eq!(sort_alone, wanted);
            }
        }
    }

    #[test]
    fn expiry_keys_are_found_by_second(
        second in any::<u64>(),
        change in any::<u64>(),
        number in any::<u32>(),
        until in any::<u64>(),
    ) {
        let key = expiry_key(TABLE, second, change, number);
        prop_assert_eq!(second_of(&key), Some(second));
        for until in [until, second, second.saturating_add(1), second.saturating_sub(1), u64::MAX] {
            let from = until.saturating_sub(10);
            let found = holds(&expiry_range(TABLE, from, until), &key);
            prop_assert_eq!(found, (from..=until).contains(&second));
        }
        prop_assert!(holds(&table_range(TABLE), &key));
        prop_assert!(!holds(&scan_range(TABLE, index_space(24), None), &key));
    }

    #[test]
    fn no_key_is_longer_than_the_store_takes(
        partition in 1..=PARTITION_KEY_BYTES_MAX,
        sort in 1..=SORT_KEY_BYTES_MAX,
        index_partition in 1..=PARTITION_KEY_BYTES_MAX,
        index_sort in 1..=SORT_KEY_BYTES_MAX,
    ) {
        prop_assert!(longest(partition, sort, index_partition, index_sort) <= KEY_BYTES_MAX);
    }
}

/// The longest key of an item with byte keys of these lengths.
fn longest(partition: usize, sort: usize, index_partition: usize, index_sort: usize) -> usize {
    let bytes = |len: usize| Value::B(Bytes::from(vec![0xFF; len]));
    let row = row(&bytes(partition), &bytes(sort));
    let spec = key_spec(KeyType::B, KeyType::B);
    let item = item(&bytes(index_partition), &bytes(index_sort));
    let index = index_key(TABLE, 24, &spec, &item, &row).unwrap();
    row.len().max(index.len())
}

#[test]
fn the_longest_keys_fit_the_store() {
    // The row suffix is longest just before it is hashed: 480 = spread 2 + partition 257 + sort 221.
    assert_eq!(longest(255, 220, 255, 1024), 5 + 2 + 257 + 1153 + 1 + 480);
    assert!(longest(255, 221, 255, 1024) < 1600);
    assert!(longest(2048, 1024, 2048, 1024) <= KEY_BYTES_MAX);
}

#[test]
fn partitions_of_different_types_or_lengths_never_meet() {
    let values = [
        Value::from("a"),
        Value::B(Bytes::from_static(b"a")),
        Value::from("a\0"),
        Value::from("aaaaaaaa"),
        Value::from("aaaaaaaaa"),
        Value::from("a".repeat(255)),
        Value::from("a".repeat(256)),
        Value::B(Bytes::from("a".repeat(256))),
        Value::from(1),
        Value::from("1"),
    ];
    let sort = Value::from("x");
    for (at, left) in values.iter().enumerate() {
        let range = query_range(TABLE, ROWS, left, None);
        for (other, right) in values.iter().enumerate() {
            assert_eq!(holds(&range, &row(right, &sort)), at == other, "{left:?} and {right:?}");
        }
    }
}

#[test]
fn rows_with_long_keys_stay_apart_in_an_index() {
    let partition = Value::from("p");
    let spec = key_spec(KeyType::S, KeyType::N);
    let indexed = item(&partition, &Value::from(1));
    let key = |end: &str| {
        let row = row(&partition, &Value::from("s".repeat(900) + end));
        index_key(TABLE, 0, &spec, &indexed, &row).unwrap()
    };
    assert_ne!(key("a"), key("b"));
    assert_eq!(key("a"), key("a"));
}

#[test]
fn what_cannot_be_an_index_key_is_not_in_the_index() {
    let spec = key_spec(KeyType::S, KeyType::S);
    let is_in = |partition: usize, sort: usize| {
        let item = item(&Value::from("p".repeat(partition)), &Value::from("s".repeat(sort)));
        index_key(TABLE, 0, &spec, &item, &[0; 30]).is_some()
    };
    assert!(is_in(1, 1) && is_in(PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX));
    assert!(!is_in(0, 1) && !is_in(1, 0));
    assert!(!is_in(PARTITION_KEY_BYTES_MAX + 1, 1) && !is_in(1, SORT_KEY_BYTES_MAX + 1));
    assert!(!is_in(1, 400_000));
}

#[test]
fn values_that_are_no_keys_are_in_no_range() {
    let empty = |range: &KeyRange| match (&range.start, &range.end) {
        (Bound::Included(start), Bound::Excluded(end)) => start == end,
        _ => false,
    };
    let text = Value::from("a");
    assert!(empty(&query_range(TABLE, ROWS, &Value::Null, None)));
    let null = SortCondition::Eq(Value::Null);
    assert!(empty(&query_range(TABLE, ROWS, &text, Some(&null))));
    let turned = SortCondition::Between(Value::from(2), Value::from(1));
    assert!(empty(&query_range(TABLE, ROWS, &text, Some(&turned))));
    assert!(empty(&query_range(TABLE, 1, &text, Some(&turned))));
    assert!(empty(&scan_range(TABLE, ROWS, Some((3, 3)))));
    assert!(empty(&scan_range(TABLE, ROWS, Some((1, 1_000_000)))));
}

#[test]
fn partitions_spread_evenly() {
    let mut counts = [0_u32; 16];
    for user in 0..16_000 {
        let key = row(&Value::from(format!("U#{user}")), &Value::from("x"));
        let segment = (0..16).find(|at| holds(&scan_range(TABLE, ROWS, Some((*at, 16))), &key));
        counts[usize::try_from(segment.unwrap()).unwrap()] += 1;
    }
    assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
}

#[test]
fn a_missing_key_attribute_is_named() {
    let spec = key_spec(KeyType::S, KeyType::N);
    let error = row_key(TABLE, &spec, &Item::new().with("p", "x")).unwrap_err();
    assert!(error.to_string().contains("Missing the key s"), "{error}");
    let wrong = Item::new().with("p", "x").with("s", "not a number");
    assert!(row_key(TABLE, &spec, &wrong).is_err());
    assert_eq!(index_key(TABLE, 0, &spec, &wrong, &[0; 5]), None);
}

#[test]
fn many_segments_follow_each_other_without_a_gap() {
    for total in [1, 3, 65_535, 65_536, 65_537, 1_000_000] {
        let whole = scan_range(TABLE, ROWS, None);
        let Bound::Included(first) = whole.start else { panic!("{whole:?}") };
        let mut reached = [first.as_slice(), &[0, 0]].concat();
        for segment in 0..total {
            let range = scan_range(TABLE, ROWS, Some((segment, total)));
            let (Bound::Included(start), Bound::Excluded(end)) = (range.start, range.end) else {
                panic!("segment {segment} of {total} is not half open");
            };
            assert_eq!(start, reached, "segment {segment} of {total}");
            assert!(end >= start);
            reached = end;
        }
        assert_eq!(Bound::Excluded(reached), whole.end);
    }
}

#[test]
fn the_last_table_ends_with_the_space() {
    assert_eq!(table_range(u32::MAX).end, Bound::Unbounded);
    let last = expiry_key(u32::MAX, u64::MAX, u64::MAX, u32::MAX);
    assert!(expiry_range(u32::MAX, 0, u64::MAX).contains(&last));
    assert!(index_space(252) < EXPIRY);
}
