//! Lists and maps of a request that may have only so many elements.
//!
//! A request of 16 MB can hold five million empty elements, of which each would take up to two
//! kilobytes when it is read. So elements past the first one too many are passed over: the elements
//! that are kept are still too many, and the checks of the request refuse them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A list; at most `MAX` elements and one too many.
#[derive(Debug)]
pub(super) struct Few<T, const MAX: usize>(Vec<T>);

/// A map by names; at most `MAX` elements and one too many.
#[derive(Debug)]
pub(super) struct FewNamed<T, const MAX: usize>(BTreeMap<String, T>);

impl<T, const MAX: usize> Default for Few<T, MAX> {
    fn default() -> Self {
        Few(Vec::new())
    }
}

impl<T, const MAX: usize> Default for FewNamed<T, MAX> {
    fn default() -> Self {
        FewNamed(BTreeMap::new())
    }
}

impl<T, const MAX: usize> Deref for Few<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MAX: usize> Deref for FewNamed<T, MAX> {
    type Target = BTreeMap<String, T>;

    fn deref(&self) -> &BTreeMap<String, T> {
        &self.0
    }
}

impl<T, const MAX: usize> IntoIterator for Few<T, MAX> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T, const MAX: usize> IntoIterator for &'a Few<T, MAX> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T, const MAX: usize> IntoIterator for FewNamed<T, MAX> {
    type Item = (String, T);
    type IntoIter = std::collections::btree_map::IntoIter<String, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T, const MAX: usize> IntoIterator for &'a FewNamed<T, MAX> {
    type Item = (&'a String, &'a T);
    type IntoIter = std::collections::btree_map::Iter<'a, String, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Elements::<T, MAX>(PhantomData)).map(Few)
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for FewNamed<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields::<T, MAX>(PhantomData)).map(FewNamed)
    }
}

struct Elements<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Elements<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut kept = Vec::new();
        while kept.len() <= MAX {
            match list.next_element()? {
                Some(element) => kept.push(element),
                None => return Ok(kept),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(kept)
    }
}

struct Fields<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Fields<T, MAX> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut kept = BTreeMap::new();
        while kept.len() <= MAX {
            match map.next_entry()? {
                Some((name, element)) => drop(kept.insert(name, element)),
                None => return Ok(kept),
            }
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(kept)
    }
}
