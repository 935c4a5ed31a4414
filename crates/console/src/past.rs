//! The past of one item: its versions, what each of them changed, and the way back to one.

use std::collections::BTreeSet;

use base::Timestamp;
use table::{
    ChangeKind, Error, Get, Item, ItemHistory, Part, Put, TableSpec, Value, Version, attr,
};

use crate::Console;
use crate::browse::{Asked, key_in, key_text, read_item};
use crate::limits::VERSIONS_PER_PAGE;

/// An item that is open beside the list.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) key: Item,
    /// The item as it is now; none if there is none.
    pub(crate) now: Option<Item>,
    /// The item as it was at the instant, if one is looked at.
    pub(crate) then: Option<Option<Item>>,
    pub(crate) versions: Option<Versions>,
}

impl Opened {
    /// The item that is shown: of the version that is chosen, of the instant, or of now.
    pub(crate) fn shown(&self) -> Option<&Item> {
        match (self.versions.as_ref().and_then(Versions::chosen), &self.then) {
            (Some(version), _) => version.item.as_ref(),
            (None, Some(then)) => then.as_ref(),
            (None, None) => self.now.as_ref(),
        }
    }

    /// Whether the past is shown.
    pub(crate) fn is_past(&self) -> bool {
        self.then.is_some() || self.versions.as_ref().is_some_and(|some| some.chosen().is_some())
    }
}

/// A page of versions, newest first, of which one may be chosen.
#[derive(Debug)]
pub(crate) struct Versions {
    pub(crate) list: Vec<Version>,
    /// The version before the last of the list, if it is known.
    before: Option<Version>,
    pub(crate) chosen: Option<usize>,
    /// Where older versions go on, if there may be some.
    pub(crate) older: Option<u64>,
    pub(crate) looked_to: Option<Timestamp>,
    /// Whether the list goes back to the beginning of the house.
    is_whole: bool,
}

impl Versions {
    fn new(page: ItemHistory, asked: &Asked, at: Option<Timestamp>) -> Versions {
        let ItemHistory { mut versions, before, looked_to, is_whole } = page;
        let more = versions.split_off(VERSIONS_PER_PAGE.min(versions.len()));
        let older = match more.is_empty() {
            true => before,
            false => versions.last().map(|version| version.change),
        };
        let change: Option<u64> = asked.version.parse().ok();
        let chosen = match (change, at) {
            (Some(change), _) => versions.iter().position(|version| version.change == change),
            (None, Some(at)) => versions.iter().position(|version| version.at <= at),
            (None, None) => None,
        };
        Versions {
            list: versions,
            before: more.into_iter().next(),
            chosen,
            older,
            looked_to,
            is_whole,
        }
    }

    pub(crate) fn chosen(&self) -> Option<&Version> {
        self.list.get(self.chosen?)
    }

    /// What the item was before the version of this place; none if that is not kept.
    pub(crate) fn before(&self, place: usize) -> Option<Option<&Item>> {
        let version = self.list.get(place)?;
        let before = self.list.get(place + 1).or(self.before.as_ref());
        match (before, version.kind) {
            (_, ChangeKind::Insert) => Some(None),
            (Some(before), _) => Some(before.item.as_ref()),
            (None, _) if self.is_whole && self.older.is_none() => Some(None),
            (None, _) => None,
        }
    }
}

/// What became of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Difference {
    Added(Value),
    Removed(Value),
    Changed(Value, Value),
}

/// What is another in `after` than in `before`, attribute by attribute.
pub(crate) fn differences(
    before: Option<&Item>,
    after: Option<&Item>,
) -> Vec<(String, Difference)> {
    let both = before.into_iter().chain(after).flat_map(Item::iter);
    let names: BTreeSet<String> = both.map(|(name, _)| name.to_owned()).collect();
    let value = |item: Option<&Item>, name: &str| item.and_then(|item| item.get(name)).cloned();
    let difference = |name: String| {
        let difference = match (value(before, &name), value(after, &name)) {
            (None, Some(new)) => Difference::Added(new),
            (Some(old), None) => Difference::Removed(old),
            (Some(old), Some(new)) if old != new => Difference::Changed(old, new),
            (Some(_), Some(_)) | (None, None) => return None,
        };
        Some((name, difference))
    };
    names.into_iter().filter_map(difference).collect()
}

impl Console {
    /// The item that is open, if one is.
    pub(crate) async fn open_item(
        &self,
        spec: &TableSpec,
        asked: &Asked,
        at: Option<Timestamp>,
    ) -> Result<Option<Opened>, Error> {
        if asked.open.is_empty() {
            return Ok(None);
        }
        let key = read_item(&asked.open)?;
        let hidden = |item: Item| self.secrets.shown(&spec.name, &item).into_owned();
        let now = self.tables.get(Get::new(&spec.name, key.clone())).await?;
        let then = match at {
            Some(at) => Some(self.item_then(spec, &key, at).await?.map(hidden)),
            None => None,
        };
        let mut opened = Opened { key, now: now.map(hidden), then, versions: None };
        if let (false, Some(store)) = (asked.version.is_empty(), &self.store) {
            let (before, limit) = (asked.older.parse().ok(), VERSIONS_PER_PAGE + 1);
            let mut page = store.item_history(&spec.name, &opened.key, before, limit).await?;
            for version in &mut page.versions {
                version.item = version.item.take().map(hidden);
            }
            opened.versions = Some(Versions::new(page, asked, at));
        }
        Ok(Some(opened))
    }

    /// An item as it was, with its secrets.
    async fn item_then(
        &self,
        spec: &TableSpec,
        key: &Item,
        at: Timestamp,
    ) -> Result<Option<Item>, Error> {
        let get = Get::new(&spec.name, key.clone());
        self.look_back(Part::Get(&get), at).await?.get(&get)
    }

    /// Puts a past version in the place of the item as it was last seen: `was`, without its secrets;
    /// nothing if there was none. Secrets that are there stay as they are; where the item is gone,
    /// they come back with it.
    ///
    /// # Errors
    /// The item is another by now, or the version is no longer kept.
    pub(crate) async fn restore(
        &self,
        spec: &TableSpec,
        key: &Item,
        asked: &Asked,
        was: &str,
    ) -> Result<(), Error> {
        let past = self.version_asked_for(spec, key, asked).await?;
        let past = past.ok_or_else(|| {
            Error::Invalid("there was no such item then: nothing can be restored".to_owned())
        })?;
        let changed = || {
            let key = key_text(spec, key);
            Error::Invalid(format!("the item {key} has changed since it was loaded; load it again"))
        };
        let there = self.tables.get(Get::new(&spec.name, key.clone())).await?;
        let put = match (there, was.is_empty()) {
            (None, true) => {
                Put::new(&spec.name, past).when(attr(&spec.key.partition.name).not_exists())
            }
            (Some(there), false) if *self.secrets.shown(&spec.name, &there) == read_item(was)? => {
                let shown = self.secrets.shown(&spec.name, &past).into_owned();
                over(spec, self.secrets.kept(&spec.name, shown, Some(&there)), &there)
            }
            (Some(_), _) | (None, false) => return Err(changed()),
        };
        match self.tables.put(put).await {
            Ok(_) => Ok(()),
            Err(Error::ConditionFailed { .. }) => Err(changed()),
            Err(error) => Err(error),
        }
    }

    async fn version_asked_for(
        &self,
        spec: &TableSpec,
        key: &Item,
        asked: &Asked,
    ) -> Result<Option<Item>, Error> {
        let Ok(change) = asked.version.parse() else {
            let at = asked.instant(self.clock.now())?;
            let at = at.ok_or_else(|| Error::Invalid("no instant was chosen".to_owned()))?;
            return self.item_then(spec, key, at).await;
        };
        let store = self.store.as_ref();
        let store = store.ok_or_else(|| Error::Invalid("there is no past here".to_owned()))?;
        let version = store.item_version(&spec.name, key, change).await?;
        Ok(version.and_then(|version| version.item))
    }
}

/// Writes `item` where every attribute is as it was, and those that it adds are not there.
pub(crate) fn over(spec: &TableSpec, item: Item, was: &Item) -> Put {
    let same = was.iter().map(|(name, value)| attr(name).eq(value.clone()));
    let added = item.iter().filter(|(name, _)| !was.contains(name));
    let added = added.map(|(name, _)| attr(name).not_exists());
    let condition = same.chain(added).reduce(table::Condition::and);
    let put = Put::new(&spec.name, item);
    match condition {
        Some(condition) => put.when(condition),
        None => put,
    }
}

/// Whether the key of an open item is that of the item.
pub(crate) fn is_open(spec: &TableSpec, opened: Option<&Opened>, item: &Item) -> bool {
    opened.is_some_and(|opened| opened.key == key_in(spec, item))
}

#[cfg(test)]
mod tests {
    use table::{Item, Value};

    use super::{Difference, differences};

    #[test]
    fn a_difference_names_what_came_went_and_changed() {
        let before = Item::new().with("id", "a").with("n", 1).with("old", true);
        let after = Item::new().with("id", "a").with("n", 2).with("new", "x");
        let told = differences(Some(&before), Some(&after));
        let told: Vec<(&str, &Difference)> =
            told.iter().map(|(name, difference)| (name.as_str(), difference)).collect();
        assert_eq!(
            told,
            [
                ("n", &Difference::Changed(Value::from(1), Value::from(2))),
                ("new", &Difference::Added(Value::from("x"))),
                ("old", &Difference::Removed(Value::from(true))),
            ]
        );
        assert_eq!(differences(Some(&after), Some(&after)), []);
        assert_eq!(differences(None, Some(&after)).len(), 3, "all of a new item is added");
        assert_eq!(differences(Some(&after), None).len(), 3);
    }
}
