//! Reading: single items, pages of a partition, pages of a table.

use std::ops::Bound;
use std::sync::Arc;

use super::catalog::{Catalog, Table};
use super::keys::{self, KeyRange};
use super::row;
use super::stamps::Stamps;
use super::state::{Row, Rows, Sight, Snapshot};
use super::{Engine, is_expired};
use crate::error::{CancelReason, Error};
use crate::expr::path::{check_paths, project};
use crate::expr::{Condition, KeyCondition, Path};
use crate::limits::{
    BATCH_GET_BYTES_MAX, BATCH_GET_MAX, PAGE_BYTES_MAX, SEGMENTS_MAX, TRANSACT_MAX,
};
use crate::port::{BatchGot, Get, Page, Query, Scan};
use crate::spec::{IndexSpec, KeySpec, Projected};
use crate::validate;
use crate::value::Item;
use crate::watch::Partition;

/// Rows with their tables, and the second that decides what has expired: the house as it is, or a
/// part of it as it was (`as_of.rs`).
pub(super) struct Reading<'r> {
    pub(super) rows: &'r Rows,
    pub(super) catalog: &'r Catalog,
    pub(super) now_s: u64,
}

impl Engine {
    /// The item under a key.
    pub(super) fn read_get(&self, get: &Get) -> Result<Option<Item>, Error> {
        Ok(self.read_weighed(get)?.map(|(item, _)| item))
    }

    /// The item under a key, and what the whole of it weighs.
    pub(super) fn read_weighed(&self, get: &Get) -> Result<Option<(Item, u32)>, Error> {
        let snapshot = self.rows.snapshot(Sight::Visible)?;
        self.get_in(&snapshot, get, self.now_s())
    }

    /// The house as it is now.
    fn reading<'r>(&'r self, catalog: &'r Catalog) -> Reading<'r> {
        Reading { rows: &self.rows, catalog, now_s: self.now_s() }
    }

    /// Items from one snapshot, in the order asked.
    pub(super) fn read_transact_get(
        &self,
        gets: &[Get],
    ) -> Result<Vec<Option<(Item, u32)>>, Error> {
        if gets.is_empty() || gets.len() > TRANSACT_MAX {
            let (count, max) = (gets.len(), TRANSACT_MAX);
            return Err(Error::invalid(format!(
                "a transaction reads 1 to {max} items, not {count}"
            )));
        }
        let reasons = gets.iter().map(|get| self.check_transact_get(get));
        let reasons = reasons.collect::<Result<Vec<_>, _>>()?;
        if reasons.iter().any(|reason| *reason != CancelReason::None) {
            return Err(Error::TransactionCanceled { reasons });
        }
        check_distinct(gets, "a transaction")?;
        let snapshot = self.rows.snapshot(Sight::Visible)?;
        let now = self.now_s();
        gets.iter().map(|get| self.get_in(&snapshot, get, now)).collect()
    }

    /// A key that does not fit its table is that item's reason; all else fails the whole call.
    fn check_transact_get(&self, get: &Get) -> Result<CancelReason, Error> {
        check_paths(&get.projection)?;
        let table = Arc::clone(self.catalog.load().get(&get.table)?);
        let fits = validate::check_key(&table.spec.key, &get.key);
        Ok(match fits.and_then(|()| validate::check_key_paths(&table.spec, &get.projection)) {
            Ok(()) => CancelReason::None,
            Err(error) => CancelReason::Invalid(error.to_string()),
        })
    }

    /// Items of any tables, as many as fit an answer.
    pub(super) fn read_batch_get(&self, gets: Vec<Get>) -> Result<BatchGot, Error> {
        if gets.is_empty() || gets.len() > BATCH_GET_MAX {
            let (count, max) = (gets.len(), BATCH_GET_MAX);
            return Err(Error::invalid(format!("a batch reads 1 to {max} items, not {count}")));
        }
        check_distinct(&gets, "a batch")?;
        let snapshot = self.rows.snapshot(Sight::Visible)?;
        let now = self.now_s();
        let mut got = BatchGot::default();
        let mut bytes = 0;
        for get in gets {
            if bytes >= BATCH_GET_BYTES_MAX {
                got.unprocessed.push(get);
            } else if let Some((item, _)) = self.get_in(&snapshot, &get, now)? {
                bytes += item.size();
                got.items.push((get.table, item));
            }
        }
        Ok(got)
    }

    /// Which stamp moves when something of a partition changes; none if there is no such one.
    pub(super) fn stamp_of(&self, partition: &Partition<'_>) -> Option<u32> {
        let catalog = self.catalog.load();
        let table = catalog.get(partition.table).ok()?;
        let space = match partition.index {
            None => keys::ROWS,
            Some(index) => table.index(index).ok()?.0,
        };
        Some(Stamps::of(keys::query_range(table.id, space, &partition.value, None).edge()))
    }

    fn get_in(
        &self,
        snapshot: &Snapshot<'_>,
        get: &Get,
        now: u64,
    ) -> Result<Option<(Item, u32)>, Error> {
        let catalog = self.catalog.load();
        let found = find_item(&catalog, snapshot, get, now)?;
        if let Some((_, _, is_settled)) = &found {
            let hits = &self.meters;
            if *is_settled { &hits.tree_hits } else { &hits.memory_hits }.increment(1);
        }
        Ok(found.map(|(item, size, _)| (item, size)))
    }

    /// A page of one partition, and what each item weighs that was fetched from the table because
    /// a local index does not hold what is wanted of it.
    pub(super) fn read_query(
        &self,
        query: &Query,
        wanted: Wanted,
    ) -> Result<(Page, Vec<u32>), Error> {
        self.reading(&self.catalog.load()).query(query, wanted)
    }

    /// A page of a table or index, and what was fetched, as [`Engine::read_query`] has it.
    pub(super) fn read_scan(&self, scan: &Scan, wanted: Wanted) -> Result<(Page, Vec<u32>), Error> {
        self.reading(&self.catalog.load()).scan(scan, wanted)
    }
}

impl Reading<'_> {
    /// The item under a key.
    pub(super) fn get(&self, get: &Get) -> Result<Option<Item>, Error> {
        let snapshot = self.rows.snapshot(Sight::Visible)?;
        let found = find_item(self.catalog, &snapshot, get, self.now_s)?;
        Ok(found.map(|(item, ..)| item))
    }

    /// A page of one partition, and what was fetched, as [`Engine::read_query`] has it.
    pub(super) fn query(&self, query: &Query, wanted: Wanted) -> Result<(Page, Vec<u32>), Error> {
        let table = self.catalog.get(&query.table)?;
        let wanted = wanted.unless(query.filter.is_some());
        let source = Source::of(table, query.index.as_deref(), &query.projection, wanted)?;
        check_read(query.filter.as_ref(), query.limit, query.consistent, &source)?;
        check_filter_keys(query.filter.as_ref(), source.key)?;
        check_paths(&query.projection)?;
        validate::check_key_paths(&table.spec, &query.projection)?;
        query.key.check(source.key)?;
        let (partition, sort) = (&query.key.partition.1, query.key.sort.as_ref());
        let range =
            keys::query_range(table.id, source.space, partition, sort.map(|(_, sort)| sort));
        let paging = Paging {
            range: source.start_behind(
                range,
                query.start_after.as_ref(),
                query.descending,
                Some(&query.key),
            )?,
            descending: query.descending,
            limit: query.limit,
            filter: query.filter.as_ref(),
            projection: &query.projection,
        };
        self.page(&source, &paging)
    }

    /// A page of a table or index, and what was fetched, as [`Engine::read_query`] has it.
    pub(super) fn scan(&self, scan: &Scan, wanted: Wanted) -> Result<(Page, Vec<u32>), Error> {
        let table = self.catalog.get(&scan.table)?;
        let wanted = wanted.unless(scan.filter.is_some());
        let source = Source::of(table, scan.index.as_deref(), &scan.projection, wanted)?;
        check_read(scan.filter.as_ref(), scan.limit, scan.consistent, &source)?;
        check_paths(&scan.projection)?;
        validate::check_key_paths(&table.spec, &scan.projection)?;
        if let Some((number, total)) = scan.segment
            && (total == 0 || total > SEGMENTS_MAX || number >= total)
        {
            let message =
                format!("segment {number} of {total}: a scan has 1 to {SEGMENTS_MAX} segments");
            return Err(Error::invalid(message));
        }
        let range = keys::scan_range(table.id, source.space, scan.segment);
        let paging = Paging {
            range: source.start_behind(range, scan.start_after.as_ref(), false, None)?,
            descending: false,
            limit: scan.limit,
            filter: scan.filter.as_ref(),
            projection: &scan.projection,
        };
        self.page(&source, &paging)
    }

    fn page(&self, source: &Source<'_>, paging: &Paging<'_>) -> Result<(Page, Vec<u32>), Error> {
        let snapshot = self.rows.snapshot(Sight::Visible)?;
        let now = self.now_s;
        let (mut page, mut fetched) = (Page::default(), Vec::new());
        for entry in snapshot.range(&paging.range, paging.descending)? {
            let (key, value) = entry?;
            let Some(found) = source.item(&snapshot, &key, &value, now)? else { continue };
            let Found { item, bytes, is_cut } = found;
            page.scanned += 1;
            page.bytes += bytes;
            if source.fetches {
                let weight = item.size();
                // What was fetched is held in memory too, so it ends a page as all else does.
                page.bytes += weight as u64;
                fetched.push(u32::try_from(weight).unwrap_or(u32::MAX));
            }
            let last = paging.limit == Some(page.scanned) || page.bytes > PAGE_BYTES_MAX as u64;
            if last {
                page.last_key = Some(source.last_key(&key, &value, &item));
            }
            if paging.filter.is_none_or(|filter| filter.holds(Some(&item))) {
                let whole = paging.projection.is_empty() || is_cut;
                page.items.push(if whole { item } else { project(paging.projection, &item) });
            }
            if last {
                break;
            }
        }
        Ok((page, fetched))
    }
}

/// The item under a key, what the whole of it weighs, and whether it was settled.
fn find_item(
    catalog: &Catalog,
    snapshot: &Snapshot<'_>,
    get: &Get,
    now: u64,
) -> Result<Option<(Item, u32, bool)>, Error> {
    let table = catalog.get(&get.table)?;
    validate::check_key(&table.spec.key, &get.key)?;
    check_paths(&get.projection)?;
    validate::check_key_paths(&table.spec, &get.projection)?;
    let key = keys::row_key(table.id, &table.spec.key, &get.key)?;
    let Some(found) = snapshot.get(&key)? else { return Ok(None) };
    let head = row::head(&found)?;
    if is_expired(head.expiry, now) {
        return Ok(None);
    }
    let item = row::decode_row(&key, &found)?;
    let item = if get.projection.is_empty() { item } else { project(&get.projection, &item) };
    Ok(Some((item, head.size, matches!(found, Row::Mapped(_)))))
}

/// What a reader wants of the items that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// What it names. If those are keys, the index alone tells them, and they weigh what they weigh
    /// alone.
    Named,
    /// What it names, and what DynamoDB would weigh.
    Weighed,
    /// The same, and all of each item where a local index is read.
    Whole,
}

impl Wanted {
    /// Who filters looks at more than it names.
    fn unless(self, filters: bool) -> Wanted {
        if filters && self == Wanted::Named { Wanted::Weighed } else { self }
    }
}

/// An item that a page met, and what it weighs where it was met.
struct Found {
    item: Item,
    bytes: u64,
    /// Whether it is what is wanted of it and nothing else.
    is_cut: bool,
}

/// How a page is to be read.
struct Paging<'a> {
    range: KeyRange,
    descending: bool,
    limit: Option<u32>,
    filter: Option<&'a Condition>,
    projection: &'a [Path],
}

/// What is read: a table, or one of its indexes.
struct Source<'t> {
    table: &'t Table,
    index: Option<&'t IndexSpec>,
    space: u8,
    key: &'t KeySpec,
    /// Whether items are read whole: a local index fetches from the table what it does not hold.
    whole: bool,
    /// Whether something is wanted that the index does not hold.
    fetches: bool,
    /// Whether nothing is wanted but what the keys of the index tell.
    keys_alone: bool,
    /// What is wanted of each item, if not all.
    projection: &'t [Path],
}

impl<'t> Source<'t> {
    fn of(
        table: &'t Table,
        index: Option<&str>,
        projection: &'t [Path],
        wanted: Wanted,
    ) -> Result<Source<'t>, Error> {
        let mut source = Source {
            table,
            index: None,
            space: 0,
            key: &table.spec.key,
            whole: true,
            fetches: false,
            keys_alone: false,
            projection,
        };
        let Some(name) = index else { return Ok(source) };
        let (space, index) = table.index(name)?;
        let whole = index.local && (wanted == Wanted::Whole || !projection.is_empty());
        source = Source { index: Some(index), space, key: &index.key, whole, ..source };
        let is_key =
            |path: &Path| path.steps.is_empty() && source.key_names().any(|name| name == path.root);
        // What may have expired is looked at.
        let told = !projection.is_empty() && projection.iter().all(is_key);
        source.keys_alone = wanted == Wanted::Named && table.spec.ttl.is_none() && told;
        let holds = |path: &Path| match &index.projection {
            Projected::All => true,
            Projected::Include(names) if names.contains(&path.root) => true,
            Projected::Include(_) | Projected::KeysOnly => {
                source.key_names().any(|name| name == path.root)
            }
        };
        let is_missed = match projection {
            [] => index.projection != Projected::All,
            paths => !paths.iter().all(holds),
        };
        source.fetches = whole && is_missed;
        Ok(source)
    }

    /// The item that an entry stands for; `None` if it has expired.
    fn item(
        &self,
        snapshot: &Snapshot<'_>,
        key: &[u8],
        value: &Row<'_>,
        now: u64,
    ) -> Result<Option<Found>, Error> {
        if self.keys_alone {
            let wanted = |name: &str| self.projection.iter().any(|path| path.root == name);
            if let Some(found) = self.told(key, value, wanted) {
                return Ok(Some(found));
            }
        }
        let Some(index) = self.index else {
            let head = row::head(value)?;
            if is_expired(head.expiry, now) {
                return Ok(None);
            }
            let (item, bytes) = (row::decode_row(key, value)?, u64::from(head.size));
            return Ok(Some(Found { item, bytes, is_cut: false }));
        };
        let row = snapshot.get(value)?.ok_or_else(|| Error::Corrupt {
            file: "settled".to_owned(),
            offset: 0,
            what: format!(
                "index `{}` of table `{}` leads to a row that is not there",
                index.name, self.table.spec.name
            ),
        })?;
        if is_expired(row::head(&row)?.expiry, now) {
            return Ok(None);
        }
        let item = row::decode_row(value, &row)?;
        if !self.whole || index.projection == Projected::All {
            let item = self.held(index, item);
            let bytes = item.size() as u64;
            return Ok(Some(Found { item, bytes, is_cut: false }));
        }
        let bytes = self.held(index, item.clone()).size() as u64;
        Ok(Some(Found { item, bytes, is_cut: false }))
    }

    /// What is wanted of what an entry of an index tells of its item without a look at it, and what
    /// all of that weighs.
    fn told(&self, entry: &[u8], row_key: &[u8], wanted: impl Fn(&str) -> bool) -> Option<Found> {
        let mut item = Item::with_capacity(self.projection.len());
        let own = keys::read_key(entry, self.key, &mut item, &wanted, |_| true)?;
        // What both keys have weighs once.
        let is_more = |name: &str| !self.key.attributes().any(|own| own.name == name);
        let more = keys::read_key(row_key, &self.table.spec.key, &mut item, &wanted, is_more)?;
        Some(Found { item, bytes: (own + more) as u64, is_cut: true })
    }

    /// What a reader hands in to go on behind an item, which may be less than all of it.
    fn last_key(&self, entry: &[u8], row_key: &[u8], item: &Item) -> Item {
        let told = self.keys_alone.then(|| self.told(entry, row_key, |_| true)).flatten();
        self.key_of(told.as_ref().map_or(item, |told| &told.item))
    }

    /// What the index holds of an item.
    fn held(&self, index: &IndexSpec, item: Item) -> Item {
        let included: &[String] = match &index.projection {
            Projected::All => return item,
            Projected::KeysOnly => &[],
            Projected::Include(names) => names,
        };
        let keys: Vec<&str> = self.key_names().collect();
        item.into_iter()
            .filter(|(name, _)| {
                keys.contains(&name.as_str()) || included.iter().any(|held| held == name)
            })
            .collect()
    }

    fn key_names(&self) -> impl Iterator<Item = &str> {
        let own = self.index.into_iter().flat_map(|index| index.key.attributes());
        own.chain(self.table.spec.key.attributes()).map(|attribute| attribute.name.as_str())
    }

    /// What a reader hands in to go on behind `item`.
    fn key_of(&self, item: &Item) -> Item {
        let names = self.key_names();
        names.filter_map(|name| Some((name.to_owned(), item.get(name)?.clone()))).collect()
    }

    /// Cuts `range`, which is that of the condition, if it is a query's, so that it begins behind
    /// the item whose key is `last`.
    fn start_behind(
        &self,
        mut range: KeyRange,
        last: Option<&Item>,
        descending: bool,
        condition: Option<&KeyCondition>,
    ) -> Result<KeyRange, Error> {
        let Some(last) = last else { return Ok(range) };
        let spec = &self.table.spec;
        let index = self.index.map(|index| &index.key);
        validate::check_start_key(&spec.key, index, last, condition.is_none())?;
        let row_key = keys::row_key(self.table.id, &spec.key, last)?;
        let key = match self.index {
            None => row_key,
            Some(index) => {
                let number = usize::from(self.space) - 1;
                keys::index_key(self.table.id, number, &index.key, last, &row_key)
                    .expect("the starting key was checked")
            }
        };
        if !range.contains(&key) {
            return Err(Error::invalid(self.outside(last, condition)));
        }
        if descending {
            range.end = Bound::Excluded(key);
        } else {
            range.start = Bound::Excluded(key);
        }
        Ok(range)
    }

    /// Why a query cannot go on behind `last`, in DynamoDB's words.
    fn outside(&self, last: &Item, condition: Option<&KeyCondition>) -> &'static str {
        match condition.map(|condition| &condition.sort) {
            Some(Some((name, sort))) if !last.get(name).is_some_and(|value| sort.holds(value)) => {
                "The provided starting key does not match the range key predicate"
            }
            Some(Some(_)) => "The query can return at most one row and cannot be restarted",
            Some(None) if self.index.is_none() && self.key.sort.is_none() => {
                "The provided exclusive start key is invalid"
            }
            Some(None) | None => {
                "The provided starting key is outside query boundaries based on provided \
                 conditions"
            }
        }
    }
}

fn check_distinct(gets: &[Get], what: &str) -> Result<(), Error> {
    for (number, get) in gets.iter().enumerate() {
        let mut others = gets.iter().skip(number + 1);
        if others.any(|other| other.table == get.table && other.key == get.key) {
            return Err(Error::invalid(format!("{what} cannot include one item twice")));
        }
    }
    Ok(())
}

fn check_read(
    filter: Option<&Condition>,
    limit: Option<u32>,
    consistent: bool,
    source: &Source<'_>,
) -> Result<(), Error> {
    if limit == Some(0) {
        return Err(Error::invalid("a limit of 0 items was asked for; the least is 1"));
    }
    if consistent && source.index.is_some_and(|index| !index.local) {
        return Err(Error::invalid(
            "Consistent reads are not supported on global secondary indexes",
        ));
    }
    let Some(filter) = filter else { return Ok(()) };
    filter.check()?;
    validate::check_key_paths(&source.table.spec, filter.paths())
}

/// A filter comes behind the key condition and may not repeat it.
fn check_filter_keys(filter: Option<&Condition>, key: &KeySpec) -> Result<(), Error> {
    let Some(filter) = filter else { return Ok(()) };
    let mut keys = key.attributes();
    match keys.find(|attribute| filter.paths().any(|path| path.root == attribute.name)) {
        Some(attribute) => {
            let name = &attribute.name;
            Err(Error::invalid(format!(
                "Filter Expression can only contain non-primary key attributes: Primary key \
                 attribute: {name}"
            )))
        }
        None => Ok(()),
    }
}
