//! Attribute values and items, as DynamoDB knows them.
//!
//! Numbers live in `number.rs`; what a value weighs and may not exceed is decided in `limits.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use crate::number::Number;

/// A text in an item. Items that say the same share it: what goes to a hundred readers is held
/// once.
pub type Text = Arc<str>;

/// One attribute value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text.
    S(Text),
    /// A decimal number of up to 38 digits.
    N(Number),
    /// Bytes.
    B(Bytes),
    /// True or false.
    Bool(bool),
    /// The null value (an attribute that is there and says nothing).
    Null,
    /// A map of named values.
    M(Item),
    /// A list of values of any type.
    L(Vec<Value>),
    /// A set of texts; never empty in a stored item.
    Ss(BTreeSet<String>),
    /// A set of numbers; never empty in a stored item.
    Ns(BTreeSet<Number>),
    /// A set of byte strings; never empty in a stored item.
    Bs(BTreeSet<Bytes>),
}

/// The type of a value, by DynamoDB's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueType {
    /// Text.
    S,
    /// Number.
    N,
    /// Bytes.
    B,
    /// Boolean.
    Bool,
    /// Null.
    Null,
    /// Map.
    M,
    /// List.
    L,
    /// Set of texts.
    Ss,
    /// Set of numbers.
    Ns,
    /// Set of byte strings.
    Bs,
}

impl ValueType {
    /// DynamoDB's name of the type: `S`, `N`, `B`, `BOOL`, `NULL`, `M`, `L`, `SS`, `NS`, `BS`.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::S => "S",
            ValueType::N => "N",
            ValueType::B => "B",
            ValueType::Bool => "BOOL",
            ValueType::Null => "NULL",
            ValueType::M => "M",
            ValueType::L => "L",
            ValueType::Ss => "SS",
            ValueType::Ns => "NS",
            ValueType::Bs => "BS",
        }
    }

    /// The type of that name, if there is one.
    pub fn from_name(name: &str) -> Option<ValueType> {
        Some(match name {
            "S" => ValueType::S,
            "N" => ValueType::N,
            "B" => ValueType::B,
            "BOOL" => ValueType::Bool,
            "NULL" => ValueType::Null,
            "M" => ValueType::M,
            "L" => ValueType::L,
            "SS" => ValueType::Ss,
            "NS" => ValueType::Ns,
            "BS" => ValueType::Bs,
            _ => return None,
        })
    }
}

impl Value {
    /// The type of this value.
    pub fn kind(&self) -> ValueType {
        match self {
            Value::S(_) => ValueType::S,
            Value::N(_) => ValueType::N,
            Value::B(_) => ValueType::B,
            Value::Bool(_) => ValueType::Bool,
            Value::Null => ValueType::Null,
            Value::M(_) => ValueType::M,
            Value::L(_) => ValueType::L,
            Value::Ss(_) => ValueType::Ss,
            Value::Ns(_) => ValueType::Ns,
            Value::Bs(_) => ValueType::Bs,
        }
    }

    /// The text, if this is one.
    pub fn as_s(&self) -> Option<&str> {
        if let Value::S(text) = self { Some(text) } else { None }
    }

    /// The number, if this is one.
    pub fn as_n(&self) -> Option<&Number> {
        if let Value::N(number) = self { Some(number) } else { None }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::S(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::S(text.into())
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Value {
        Value::S(text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::N(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Value {
        Value::B(bytes)
    }
}

impl From<Item> for Value {
    fn from(map: Item) -> Value {
        Value::M(map)
    }
}

impl From<Vec<Value>> for Value {
    fn from(list: Vec<Value>) -> Value {
        Value::L(list)
    }
}

macro_rules! value_from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Value {
            fn from(integer: $integer) -> Value {
                Value::N(Number::from(integer))
            }
        }
    )*};
}

value_from_integer!(i32, i64, u32, u64);

/// The name of an attribute. A short one, as nearly all are, needs no memory of its own.
pub type Name = compact_str::CompactString;

/// Named values: an item, or a map inside one. Names are ordered and unique.
///
/// A sorted vector: most items have a handful of attributes, where it is read, cloned and decoded
/// about twice as fast as a tree and takes a fraction of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    attributes: Vec<(Name, Value)>,
}

impl Item {
    /// An item without attributes.
    pub fn new() -> Item {
        Item::default()
    }

    /// An item without attributes and with room for `count`.
    pub fn with_capacity(count: usize) -> Item {
        Item { attributes: Vec::with_capacity(count) }
    }

    /// The same item with one attribute more (or replaced); for building items in one expression.
    #[must_use]
    pub fn with(mut self, name: impl Into<Name>, value: impl Into<Value>) -> Item {
        self.insert(name, value);
        self
    }

    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.find(name).ok()?;
        self.attributes.get(at).map(|(_, value)| value)
    }

    /// The value under `name`, to be changed in place.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let at = self.find(name).ok()?;
        self.attributes.get_mut(at).map(|(_, value)| value)
    }

    /// Sets `name` and answers what stood there before.
    pub fn insert(&mut self, name: impl Into<Name>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        match self.find(&name) {
            Ok(at) => self.attributes.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
            Err(at) => {
                self.attributes.insert(at, (name, value));
                None
            }
        }
    }

    /// Removes `name` and answers what stood there.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.find(name).ok()?;
        Some(self.attributes.remove(at).1)
    }

    /// Whether there is an attribute of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// The attributes in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.attributes.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many attributes there are.
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// Whether there is no attribute.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// Where `name` stands, or where it would.
    fn find(&self, name: &str) -> Result<usize, usize> {
        // Names mostly come in their order, as from a row.
        if self.attributes.last().is_none_or(|(last, _)| last.as_str() < name) {
            return Err(self.attributes.len());
        }
        self.attributes.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }
}

impl<N: Into<Name>> FromIterator<(N, Value)> for Item {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(attributes: I) -> Item {
        let named = attributes.into_iter().map(|(name, value)| (name.into(), value));
        let mut attributes: Vec<(Name, Value)> = named.collect();
        // Of a name given twice the last value counts: reversed, it is the first, which stays.
        attributes.reverse();
        attributes.sort_by(|(left, _), (right, _)| left.cmp(right));
        attributes.dedup_by(|(later, _), (kept, _)| later == kept);
        Item { attributes }
    }
}

impl IntoIterator for Item {
    type Item = (Name, Value);
    type IntoIter = std::vec::IntoIter<(Name, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.attributes.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};
    use proptest::prop_assert_eq;

    use super::{Item, Name, Value};

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn an_item_is_a_map(steps in vec((0..3_u8, "[a-e]{0,2}", any::<i32>()), 0..40)) {
            let mut model = BTreeMap::new();
            let mut item = Item::new();
            for (step, name, number) in &steps {
                let value = Value::from(*number);
                match step {
                    0 => prop_assert_eq!(item.remove(name), model.remove(name)),
                    1 => {
                        let expected = model.insert(name.clone(), value.clone());
                        prop_assert_eq!(item.insert(name.as_str(), value), expected);
                    }
                    _ => prop_assert_eq!(item.get_mut(name), model.get_mut(name)),
                }
                prop_assert_eq!(item.get(name), model.get(name));
                prop_assert_eq!(item.contains(name), model.contains_key(name));
                prop_assert_eq!(item.len(), model.len());
            }
            let pairs_of = |model: BTreeMap<String, Value>| {
                model.into_iter().map(|(name, value)| (Name::from(name), value)).collect::<Vec<_>>()
            };
            prop_assert_eq!(item.clone().into_iter().collect::<Vec<_>>(), pairs_of(model));
            let pairs = || steps.iter().map(|(_, name, number)| (name.clone(), Value::from(*number)));
            let expected: BTreeMap<_, _> = pairs().collect();
            prop_assert_eq!(Vec::from_iter(Item::from_iter(pairs())), pairs_of(expected));
        }
    }
}
