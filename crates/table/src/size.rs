//! What values weigh, as DynamoDB counts: the item limit, the page limit and the cost of a read
//! are counted in these bytes, not in those on disk.

use crate::number::Number;
use crate::value::{Item, Value};

/// A map or list weighs this much without its contents.
const DOCUMENT_BYTES: usize = 3;
/// Each element of a map or list weighs this much more than itself.
const ELEMENT_BYTES: usize = 1;

impl Item {
    /// The weight of the attributes with their names.
    pub fn size(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.size()).sum()
    }
}

impl Value {
    /// The weight of this value.
    pub fn size(&self) -> usize {
        match self {
            Value::S(text) => text.len(),
            Value::N(number) => number_size(number),
            Value::B(bytes) => bytes.len(),
            Value::Bool(_) | Value::Null => 1,
            Value::M(map) => DOCUMENT_BYTES + map.size() + map.len() * ELEMENT_BYTES,
            Value::L(list) => {
                let contents: usize = list.iter().map(Value::size).sum();
                DOCUMENT_BYTES + contents + list.len() * ELEMENT_BYTES
            }
            Value::Ss(texts) => texts.iter().map(String::len).sum(),
            Value::Ns(numbers) => numbers.iter().map(number_size).sum(),
            Value::Bs(set) => set.iter().map(bytes::Bytes::len).sum(),
        }
    }
}

/// Two digits a byte on each side of the point, one byte more, and one more below zero.
fn number_size(number: &Number) -> usize {
    let (whole, fraction) = number.digits_around_point();
    whole.div_ceil(2) + fraction.div_ceil(2) + 1 + usize::from(number.is_negative())
}
