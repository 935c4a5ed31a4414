//! What a table is: declared once, by the room that owns it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::json::value_from_json;
use crate::limits::EXPIRY_AGE_SECONDS_MAX;
use crate::number::Number;
use crate::validate;
use crate::value::{Item, Value};

/// The declaration of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSpec {
    /// Its name: 3 to 255 of `a-z A-Z 0-9 _ - .`
    pub name: String,
    /// Its primary key.
    pub key: KeySpec,
    /// Its secondary indexes.
    pub indexes: Vec<IndexSpec>,
    /// The number attribute that holds the second (Unix time) from which an item is gone.
    pub ttl: Option<String>,
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Whether the change log keeps what an item was before each change.
    pub old_images: bool,
}

/// A primary or index key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySpec {
    /// The partition attribute.
    pub partition: KeyAttribute,
    /// The sort attribute, if items of one partition are many.
    pub sort: Option<KeyAttribute>,
}

/// One attribute of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAttribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: KeyType,
}

/// Types that can stand in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyType {
    /// Text, ordered by its UTF-8 bytes.
    S,
    /// Number, ordered by value.
    N,
    /// Bytes, ordered as unsigned bytes.
    B,
}

/// A secondary index. Items without its key attributes are not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSpec {
    /// Its name, unique in the table.
    pub name: String,
    /// Its key.
    pub key: KeySpec,
    /// What a read through it answers.
    pub projection: Projected,
    /// Whether it orders the table's own partitions otherwise and is as fresh as the table, which
    /// DynamoDB calls local. Such an index comes and goes with its table.
    #[serde(default)]
    pub local: bool,
}

/// The attributes that an index answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Projected {
    /// The whole item.
    All,
    /// The keys of table and index.
    KeysOnly,
    /// The keys and these attributes.
    Include(Vec<String>),
}

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Durability {
    /// Power loss.
    Durable,
    /// Nothing: the table holds only the present moment and is empty after a start.
    Ephemeral,
}

impl KeyAttribute {
    /// A text attribute.
    pub fn s(name: &str) -> KeyAttribute {
        KeyAttribute { name: name.to_owned(), kind: KeyType::S }
    }

    /// A number attribute.
    pub fn n(name: &str) -> KeyAttribute {
        KeyAttribute { name: name.to_owned(), kind: KeyType::N }
    }

    /// A binary attribute.
    pub fn b(name: &str) -> KeyAttribute {
        KeyAttribute { name: name.to_owned(), kind: KeyType::B }
    }

    /// A value of it from the text that people write; bytes are written in Base64.
    ///
    /// # Errors
    /// The text is no number, or no Base64, and would have to be.
    pub fn read(&self, text: &str) -> Result<Value, Error> {
        let name = &self.name;
        let wrong = |what: &str| Error::Invalid(format!("`{name}` is {what}, not `{text}`"));
        match self.kind {
            KeyType::S => Ok(Value::from(text)),
            KeyType::N => Number::parse(text).map(Value::N).map_err(|_| wrong("a number")),
            KeyType::B => value_from_json(&serde_json::json!({ "B": text }))
                .map_err(|_| wrong("binary, which is written in Base64")),
        }
    }
}

/// `pk (S), sk (N)`
impl fmt::Display for KeySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, attribute) in self.attributes().enumerate() {
            let kind = match attribute.kind {
                KeyType::S => "S",
                KeyType::N => "N",
                KeyType::B => "B",
            };
            let before = if place == 0 { "" } else { ", " };
            write!(f, "{before}{} ({kind})", attribute.name)?;
        }
        Ok(())
    }
}

impl KeySpec {
    /// A key of one attribute.
    pub fn simple(partition: KeyAttribute) -> KeySpec {
        KeySpec { partition, sort: None }
    }

    /// A key of two attributes.
    pub fn composite(partition: KeyAttribute, sort: KeyAttribute) -> KeySpec {
        KeySpec { partition, sort: Some(sort) }
    }

    /// The key attributes, partition first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        std::iter::once(&self.partition).chain(self.sort.as_ref())
    }
}

impl TableSpec {
    /// A durable table without indexes and expiry.
    pub fn new(name: impl Into<String>, key: KeySpec) -> TableSpec {
        TableSpec {
            name: name.into(),
            key,
            indexes: Vec::new(),
            ttl: None,
            durability: Durability::Durable,
            old_images: false,
        }
    }

    /// With one more index that answers whole items.
    #[must_use]
    pub fn index(self, name: &str, key: KeySpec) -> TableSpec {
        self.index_projecting(name, key, Projected::All)
    }

    /// With one more index that answers only part of each item.
    #[must_use]
    pub fn index_projecting(
        mut self,
        name: &str,
        key: KeySpec,
        projection: Projected,
    ) -> TableSpec {
        self.indexes.push(IndexSpec { name: name.to_owned(), key, projection, local: false });
        self
    }

    /// With one more index that orders the table's own partitions by `sort`, as fresh as the table.
    #[must_use]
    pub fn local_index(
        mut self,
        name: &str,
        sort: KeyAttribute,
        projection: Projected,
    ) -> TableSpec {
        let key = KeySpec::composite(self.key.partition.clone(), sort);
        self.indexes.push(IndexSpec { name: name.to_owned(), key, projection, local: true });
        self
    }

    /// With items that expire at the second in `attribute`.
    #[must_use]
    pub fn expiring_by(mut self, attribute: &str) -> TableSpec {
        self.ttl = Some(attribute.to_owned());
        self
    }

    /// Holding only the present moment.
    #[must_use]
    pub fn ephemeral(mut self) -> TableSpec {
        self.durability = Durability::Ephemeral;
        self
    }

    /// With old images in the change log.
    #[must_use]
    pub fn with_old_images(mut self) -> TableSpec {
        self.old_images = true;
        self
    }

    /// The index of that name and its position.
    pub fn find_index(&self, name: &str) -> Option<(usize, &IndexSpec)> {
        self.indexes.iter().enumerate().find(|(_, index)| index.name == name)
    }

    /// Whether such a table can be.
    ///
    /// # Errors
    /// It breaks a rule of the data model.
    pub fn check(&self) -> Result<(), Error> {
        validate::check_spec(self)
    }

    /// Whether an item of this table is gone at that second.
    pub fn has_expired(&self, item: &Item, now_s: u64) -> bool {
        is_expired(expiry(self.ttl.as_deref(), item), now_s)
    }
}

/// The second from which an item is gone, by its TTL attribute; 0 means it stays.
pub(crate) fn expiry(ttl: Option<&str>, item: &Item) -> u64 {
    ttl.and_then(|ttl| item.get(ttl)?.as_n()?.floor_u64()).unwrap_or(0)
}

/// Whether an item with that expiry is gone at `now`; 0 means it stays.
pub(crate) fn is_expired(expiry: u64, now: u64) -> bool {
    expiry > 0 && expiry <= now && now - expiry < EXPIRY_AGE_SECONDS_MAX
}
