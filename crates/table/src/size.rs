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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use std::collections::BTreeSet;

    use crate::number::Number;
    use crate::value::{Item, Value};

    fn number(text: &str) -> Value {
        Value::N(Number::parse(text).unwrap())
    }

    #[test]
    fn numbers_weigh_two_digits_a_byte_on_each_side_of_the_point() {
        for (text, size) in [
            ("0", 1),
            ("1", 2),
            ("42", 2),
            ("-42", 3),
            ("100", 2),
            ("123", 3),
            ("1.5", 3),
            ("0.005", 2),
            ("12.345", 4),
            ("1e125", 2),
            ("1e-130", 2),
            ("12345678901234567890123456789012345678", 20),
            ("-1234567890123456789.0123456789012345678", 22),
        ] {
            assert_eq!(number(text).size(), size, "{text}");
        }
    }

    #[test]
    fn every_type_weighs_what_dynamodb_says() {
        assert_eq!(Value::from("").size(), 0);
        assert_eq!(Value::from("長屋").size(), 6);
        assert_eq!(Value::B(Bytes::from_static(&[0; 5])).size(), 5);
        assert_eq!(Value::from(true).size() + Value::Null.size(), 2);
        assert_eq!(Value::Ss(BTreeSet::from(["a".to_owned(), "bc".to_owned()])).size(), 3);
        assert_eq!(Value::Ns(BTreeSet::from([1, 234].map(Number::from))).size(), 5);
        assert_eq!(Value::Bs(BTreeSet::from([Bytes::from_static(b"abc")])).size(), 3);
        assert_eq!(Value::L(Vec::new()).size(), 3);
        assert_eq!(Value::M(Item::new()).size(), 3);
        assert_eq!(Value::L(vec![Value::from("ab"), Value::Null]).size(), 3 + 2 + 1 + 2);
        assert_eq!(Value::M(Item::new().with("name", "Ada")).size(), 3 + 4 + 3 + 1);
        assert_eq!(Item::new().with("name", "Ada").with("n", 1).size(), 4 + 3 + 1 + 2);
    }
}
