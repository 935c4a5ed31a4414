//! Arguments of `nagaya table`, read and checked without the store.

use std::collections::BTreeMap;

use clap::ArgMatches;
use clap::builder::PossibleValue;
use serde::de::DeserializeOwned;
use table::plain::Plain;
use table::{Durability, IndexSpec, KeyAttribute, KeySpec, KeyType, Projected, TableSpec};

use super::{format_of, table_of};
use crate::Error;
use crate::control::Input;
use crate::store::{Format, Key, Partition, Query, Read, Scan, SortGiven, read_typed};

pub(super) const AFTER: &str = "after";
pub(super) const ALL: &str = "all";
pub(super) const AT: &str = "at";
pub(super) const BETWEEN: &str = "sort-between";
pub(super) const DESCENDING: &str = "descending";
pub(super) const EPHEMERAL: &str = "ephemeral";
pub(super) const FILTER: &str = "filter";
pub(super) const FORMAT: &str = "format";
pub(super) const IN: &str = "in";
pub(super) const INDEX: &str = "index";
pub(super) const ITEM: &str = "item";
pub(super) const JSON: &str = "json";
pub(super) const KEY: &str = "key";
pub(super) const KEY_CONDITION: &str = "key-condition";
pub(super) const LIMIT: &str = "limit";
pub(super) const NAMES: &str = "names";
pub(super) const OUT: &str = "out";
pub(super) const PARTITION: &str = "partition";
pub(super) const PROJECTION: &str = "projection";
pub(super) const SEGMENT: &str = "segment";
pub(super) const SORT: &str = "sort";
pub(super) const TABLE: &str = "table";
pub(super) const TTL: &str = "ttl";
pub(super) const VALUES: &str = "values";
pub(super) const YES: &str = "yes";

/// A flag, its meaning, and what its value becomes.
type Sort = (&'static str, &'static str, fn(String) -> SortGiven);

/// What can be asked of a sort key with one value.
pub(super) const SORTS: [Sort; 6] = [
    ("sort-eq", "Where the sort key is this", SortGiven::Eq),
    ("sort-lt", "Where the sort key is less", SortGiven::Lt),
    ("sort-le", "Where the sort key is less or equal", SortGiven::Le),
    ("sort-gt", "Where the sort key is greater", SortGiven::Gt),
    ("sort-ge", "Where the sort key is greater or equal", SortGiven::Ge),
    ("sort-begins", "Where the sort key begins so", SortGiven::Begins),
];

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Dynamodb => "dynamodb",
        }
    }
}

impl clap::ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Format] {
        &[Format::Json, Format::Dynamodb]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// `pk=value`
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or("expected `name=value`")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// `0/4`
pub(super) fn segment(text: &str) -> Result<(u32, u32), String> {
    let parts = text
        .split_once('/')
        .and_then(|(part, total)| Some((part.parse::<u32>().ok()?, total.parse::<u32>().ok()?)));
    parts
        .filter(|(part, total)| part < total)
        .ok_or_else(|| "expected a part, from 0, of how many: `0/4` to `3/4`".to_owned())
}

/// `pk:S`
pub(super) fn attribute(text: &str) -> Result<KeyAttribute, String> {
    let (name, kind) = text.rsplit_once(':').unwrap_or((text, ""));
    let kind = match kind {
        "S" => KeyType::S,
        "N" => KeyType::N,
        "B" => KeyType::B,
        _ => return Err("expected a name with its type, `:S`, `:N` or `:B`".to_owned()),
    };
    Ok(KeyAttribute { name: name.to_owned(), kind })
}

/// `by-time:pk:S,at:N`
pub(super) fn index(text: &str) -> Result<IndexSpec, String> {
    let (name, key) = text.split_once(':').unwrap_or((text, ""));
    let (partition, sort) = match key.split_once(',') {
        Some((partition, sort)) => (partition, Some(sort)),
        None => (key, None),
    };
    Ok(IndexSpec {
        name: name.to_owned(),
        key: KeySpec { partition: attribute(partition)?, sort: sort.map(attribute).transpose()? },
        projection: Projected::All,
        local: false,
    })
}

pub(super) fn spec(matches: &ArgMatches) -> TableSpec {
    let attribute = |id| matches.get_one::<KeyAttribute>(id).cloned();
    let partition = attribute(PARTITION).expect("the parser requires it");
    let indexes = matches.get_many::<IndexSpec>(INDEX);
    let durability = match matches.get_flag(EPHEMERAL) {
        true => Durability::Ephemeral,
        false => Durability::Durable,
    };
    TableSpec {
        indexes: indexes.into_iter().flatten().cloned().collect(),
        ttl: text(matches, TTL),
        durability,
        ..TableSpec::new(table_of(matches), KeySpec { partition, sort: attribute(SORT) })
    }
}

pub(super) fn key(matches: &ArgMatches) -> Result<Key, Error> {
    match json::<serde_json::Value>(matches, JSON)? {
        Some(typed) => {
            table::item_from_json(&typed).map_err(|error| refused("--json", &error))?;
            Ok(Key::Typed(typed))
        }
        None => {
            let pairs = matches.get_many::<(String, String)>(KEY);
            Ok(Key::Pairs(pairs.into_iter().flatten().cloned().collect()))
        }
    }
}

pub(super) fn item(matches: &ArgMatches) -> Result<String, Error> {
    let given = text(matches, ITEM).expect("the parser requires it");
    let item = if given == "-" { Input::open(None)?.read_all()? } else { given };
    let checked = match format_of(matches) {
        Format::Json => Plain::parse(&item).map(|_| ()).map_err(Error::Store),
        Format::Dynamodb => read_typed(&item).map(|_| ()),
    };
    checked.map_err(|error| refused("the item", &error))?;
    Ok(item)
}

pub(super) fn query(matches: &ArgMatches) -> Result<Query, Error> {
    let mut read = read(matches)?;
    let partition = match (text(matches, PARTITION), text(matches, KEY_CONDITION)) {
        (Some(value), _) => {
            read.prepare(None).map_err(|error| Error::Usage(error.to_string()))?;
            Partition::Plain { value, sort: sort(matches) }
        }
        (None, condition) => {
            let mut condition = condition.expect("the parser requires one of the two");
            let prepared = read.prepare(Some(&mut condition));
            prepared.map_err(|error| Error::Usage(error.to_string()))?;
            Partition::Condition(condition)
        }
    };
    Ok(Query { read, partition, descending: matches.get_flag(DESCENDING) })
}

pub(super) fn scan(matches: &ArgMatches) -> Result<Scan, Error> {
    let mut read = read(matches)?;
    read.prepare(None).map_err(|error| Error::Usage(error.to_string()))?;
    Ok(Scan { read, segment: matches.get_one(SEGMENT).copied() })
}

fn sort(matches: &ArgMatches) -> Option<SortGiven> {
    if let Some(mut bounds) = matches.get_many::<String>(BETWEEN) {
        return Some(SortGiven::Between(bounds.next()?.clone(), bounds.next()?.clone()));
    }
    SORTS.iter().find_map(|(id, _, given)| Some(given(text(matches, id)?)))
}

fn read(matches: &ArgMatches) -> Result<Read, Error> {
    Ok(Read {
        table: table_of(matches),
        index: text(matches, INDEX),
        filter: text(matches, FILTER),
        projection: text(matches, PROJECTION),
        names: json::<BTreeMap<String, String>>(matches, NAMES)?.unwrap_or_default(),
        values: json(matches, VALUES)?.unwrap_or_default(),
        limit: matches.get_one(LIMIT).copied(),
        all: matches.get_flag(ALL),
        after: json(matches, AFTER)?,
        format: format_of(matches),
        at: at(matches),
    })
}

/// The instant that is looked at, as it was given: `-5m` counts from the house's now.
pub(super) fn at(matches: &ArgMatches) -> Option<String> {
    text(matches, AT)
}

/// `2026-04-01T09:30:00Z` or `-5m`
pub(super) fn instant(text: &str) -> Result<String, String> {
    let read: Result<base::When, base::NotAnInstant> = text.parse();
    read.map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn text(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.get_one::<String>(id).cloned()
}

fn json<T: DeserializeOwned>(matches: &ArgMatches, id: &str) -> Result<Option<T>, Error> {
    let read = text(matches, id).map(|text| serde_json::from_str(&text));
    read.transpose().map_err(|cause| refused(&format!("--{id}"), &cause))
}

fn refused(what: &str, why: &dyn std::fmt::Display) -> Error {
    Error::Usage(format!("{what}: {why}"))
}

#[cfg(test)]
mod tests {
    use table::{IndexSpec, KeyAttribute, KeySpec, Projected};

    use super::{attribute, index, pair, segment};

    #[test]
    fn attributes_and_indexes_are_read_with_their_types() {
        assert_eq!(attribute("a:b:N"), Ok(KeyAttribute::n("a:b")));
        assert!(attribute("pk").is_err() && attribute("pk:X").is_err());
        let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::b("sk"));
        let expected =
            IndexSpec { name: "by".to_owned(), key, projection: Projected::All, local: false };
        assert_eq!(index("by:pk:S,sk:B"), Ok(expected));
        assert!(index("by").is_err() && index("by:pk:S,").is_err());
    }

    #[test]
    fn a_part_lies_within_its_total() {
        assert_eq!(segment("3/4"), Ok((3, 4)));
        for text in ["4/4", "0/0", "-1/2", "1", "a/b", "1/2/3"] {
            assert!(segment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_may_hold_anything_and_a_name_something() {
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(pair("a="), Ok(("a".to_owned(), String::new())));
        assert!(pair("=b").is_err() && pair("ab").is_err());
    }
}
