//! Random queries and scans. Which attributes an index has is known only when the request is
//! made, so a plan holds a value for each type that a key may have.

use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use table::{
    Condition, KeyAttribute, KeyCondition, KeySpec, KeyType, Path, Query, Scan, SortCondition,
    Value,
};

use super::{condition, key_value, projection, table};

/// A query that waits for the key of what it reads.
#[derive(Clone, Debug)]
pub(crate) struct QueryPlan {
    /// The table.
    pub(crate) table: String,
    /// The index; none for the table itself.
    pub(crate) index: Option<String>,
    partition: ByType,
    sort: Option<(u8, ByType, ByType)>,
    descending: bool,
    limit: Option<u32>,
    filter: Option<Condition>,
    projection: Vec<Path>,
}

/// A scan of a table or index, or of all segments of it one after the other.
#[derive(Clone, Debug)]
pub(crate) struct ScanPlan {
    /// The whole scan.
    pub(crate) scan: Scan,
    /// In how many segments.
    pub(crate) segments: Option<u32>,
}

/// A value of each type that a key may have.
#[derive(Clone, Debug)]
struct ByType {
    text: Value,
    number: Value,
    bytes: Value,
}

impl ByType {
    fn of(&self, attribute: &KeyAttribute) -> Value {
        match attribute.kind {
            KeyType::S => self.text.clone(),
            KeyType::N => self.number.clone(),
            KeyType::B => self.bytes.clone(),
        }
    }
}

impl QueryPlan {
    /// The query for something that has this key.
    pub(crate) fn on(&self, key: &KeySpec) -> Query {
        let sort = match (&self.sort, &key.sort) {
            (Some((how, one, two)), Some(attribute)) => {
                let condition = sort_condition(*how, one.of(attribute), two.of(attribute));
                Some((attribute.name.clone(), condition))
            }
            (None, _) | (_, None) => None,
        };
        let partition = (key.partition.name.clone(), self.partition.of(&key.partition));
        Query {
            table: self.table.clone(),
            index: self.index.clone(),
            key: KeyCondition { partition, sort },
            descending: self.descending,
            limit: self.limit,
            start_after: None,
            filter: self.filter.clone(),
            projection: self.projection.clone(),
            consistent: false,
        }
    }
}

fn sort_condition(how: u8, one: Value, two: Value) -> SortCondition {
    match how {
        0 => SortCondition::Eq(one),
        1 => SortCondition::Lt(one),
        2 => SortCondition::Le(one),
        3 => SortCondition::Gt(one),
        4 => SortCondition::Ge(one),
        // The bounds may be the wrong way round, and a number has no beginning: both are refused.
        5 => SortCondition::Between(one, two),
        _ => SortCondition::BeginsWith(one),
    }
}

fn by_type() -> impl Strategy<Value = ByType> + Clone {
    (key_value(KeyType::S), key_value(KeyType::N), key_value(KeyType::B))
        .prop_map(|(text, number, bytes)| ByType { text, number, bytes })
}

/// A query of any kind.
pub(crate) fn query() -> BoxedStrategy<QueryPlan> {
    let sort = option::of((0..7_u8, by_type(), by_type()));
    let (filter, limit) = (option::weighted(0.3, condition()), option::of(1..6_u32));
    (table(), source(), by_type(), sort, any::<bool>(), limit, filter, projection())
        .prop_map(|((_, table), index, partition, sort, descending, limit, filter, projection)| {
            QueryPlan { table, index, partition, sort, descending, limit, filter, projection }
        })
        .boxed()
}

/// A scan of any kind.
pub(crate) fn scan() -> BoxedStrategy<ScanPlan> {
    let (filter, limit) = (option::weighted(0.3, condition()), option::of(1..6_u32));
    (table(), source(), option::of(1..6_u32), limit, filter, projection())
        .prop_map(|((_, table), index, segments, limit, filter, projection)| {
            let scan = Scan { index, limit, filter, projection, ..Scan::new(table) };
            ScanPlan { scan, segments }
        })
        .boxed()
}

fn source() -> BoxedStrategy<Option<String>> {
    let index = |name: &str| Just(Some(name.to_owned()));
    prop_oneof![Just(None), index("first"), index("second"), index("third")].boxed()
}
