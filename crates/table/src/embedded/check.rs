//! The cross-check: everything that can be derived is derived again and compared.
//!
//! - Every row decodes, and stands under the key that its item has.
//! - Every row has exactly its index entries, and no entry is without a row.
//! - Every row that expires has a reminder in time.
//! - The counts of each table are right.
//! - The last word of the log on each row is the row.
//! - Every segment of the log is there.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::Engine;
use super::catalog::{CATALOG, Catalog, Table};
use super::effects::Stored;
use super::keys;
use super::log::Next;
use super::log::{SegmentReader, missing_segment, segment_ordinals};
use super::memtable::Counts;
use super::reminder::rows_of;
use super::row;
use super::state::{Sight, Snapshot};
use crate::error::Error;

/// Problems told at most; a damaged house has one cause, not a million.
const PROBLEMS_MAX: usize = 100;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Tables looked at.
    pub tables: u64,
    /// Items looked at.
    pub items: u64,
    /// Index entries and reminders looked at.
    pub entries: u64,
    /// Changes in the log looked at.
    pub changes: u64,
    /// What is wrong; empty if all is well.
    pub problems: Vec<String>,
}

impl Report {
    fn problem(&mut self, what: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(what);
        }
    }
}

/// The last word of the log on each durable row: a checksum of its item, or that it is gone.
struct LastWords {
    hasher: RandomState,
    rows: HashMap<(u32, u64), Option<u32>>,
}

/// The first second in which each row of a table is looked at.
struct Reminded {
    hasher: RandomState,
    seconds: HashMap<u64, u64>,
}

/// A snapshot with the declarations and counts that belong to it.
struct Quiet<'a> {
    snapshot: Snapshot<'a>,
    catalog: Arc<Catalog>,
    counts: HashMap<u32, Counts>,
}

impl Engine {
    /// Compares everything with everything. Reads go on meanwhile, and so do writes but for a
    /// moment at the beginning.
    pub(super) fn check(&self) -> Result<Report, Error> {
        let mut report = Report::default();
        let Quiet { snapshot, catalog, counts } = self.quiet_moment()?;
        let mut words = self.last_words(snapshot.durable_at(), &mut report)?;
        for table in catalog.tables() {
            report.tables += 1;
            let reminded = check_reminders(&snapshot, table, &mut report)?;
            let (items, bytes) = check_rows(&snapshot, table, &reminded, &mut words, &mut report)?;
            let counted = counts.get(&table.id).copied().unwrap_or_default();
            if (counted.items, counted.bytes) != (items, bytes) {
                let (name, Counts { items: counted, bytes: weighed }) = (&table.spec.name, counted);
                report.problem(format!(
                    "table `{name}` counts {counted} items of {weighed} bytes, and holds {items} of {bytes}"
                ));
            }
            self.check_entries(&snapshot, table, &mut report)?;
        }
        for ((table, _), word) in words.rows {
            if let (Some(_), Some(table)) = (word, catalog.by_id(table)) {
                report
                    .problem(format!("table `{}` lacks a row that the log holds", table.spec.name));
            }
        }
        Ok(report)
    }

    /// Counts have no versions: they fit a snapshot only if nobody writes while both are taken.
    fn quiet_moment(&self) -> Result<Quiet<'_>, Error> {
        let _stripes = self.lock_all_stripes();
        self.commits.wait_until_durable();
        let snapshot = self.rows.snapshot(Sight::Visible)?;
        let catalog = self.catalog.load_full();
        let counts = catalog.tables().map(|table| (table.id, snapshot.counts(table.id))).collect();
        Ok(Quiet { snapshot, catalog, counts })
    }

    fn check_entries(
        &self,
        snapshot: &Snapshot<'_>,
        table: &Table,
        report: &mut Report,
    ) -> Result<(), Error> {
        for number in &table.numbers {
            let range = keys::scan_range(table.id, keys::index_space(*number), None);
            for entry in snapshot.range(&range, false)? {
                let (entry, row_key) = entry?;
                report.entries += 1;
                let row = snapshot
                    .get(&row_key)?
                    .map(|row| Stored::read(&row_key, row.into_bytes()))
                    .transpose()?;
                let right =
                    row.is_some_and(|row| derived(table, &row, &row_key).any(|key| key == *entry));
                if !right {
                    let name = &table.spec.name;
                    report.problem(format!("table `{name}` holds an entry without its row"));
                }
            }
        }
        Ok(())
    }

    fn last_words(&self, until: u64, report: &mut Report) -> Result<LastWords, Error> {
        let mut words = LastWords { hasher: RandomState::new(), rows: HashMap::new() };
        let current = self.commits.log_ordinal();
        let ordinals = segment_ordinals(&*self.disk)?;
        // Read after the directory: a segment that is dropped goes from the list first.
        for listed in self.manifest.listed_until(current) {
            if !ordinals.contains(&listed) {
                report.problem(missing_segment(listed).to_string());
            }
        }
        for ordinal in ordinals.into_iter().filter(|ordinal| *ordinal <= current) {
            let mut reader = SegmentReader::open(&*self.disk, ordinal)?;
            let mut reached = 0;
            while reached < until
                && let Next::Frame(frame) = reader.next()?
            {
                reached = frame.head.last;
                let Some(records) = frame.records() else {
                    report.problem(format!("the frame of change {reached} cannot be read"));
                    continue;
                };
                for record in records {
                    if record.seq > until {
                        break;
                    }
                    report.changes += 1;
                    for op in record.ops.iter().filter(|op| op.table != CATALOG) {
                        let word = op.kind.is_put().then(|| crc32c::crc32c(row::body(&op.row)));
                        words.put(op.table, &op.key, word);
                    }
                }
            }
        }
        Ok(words)
    }
}

/// Reads the reminders of a table.
fn check_reminders(
    snapshot: &Snapshot<'_>,
    table: &Table,
    report: &mut Report,
) -> Result<Reminded, Error> {
    let mut reminded = Reminded { hasher: RandomState::new(), seconds: HashMap::new() };
    let range = keys::expiry_range(table.id, 0, u64::MAX);
    for reminder in snapshot.range(&range, false)? {
        let (key, value) = reminder?;
        report.entries += 1;
        let (Some(second), Some(rows)) = (keys::second_of(&key), rows_of(&value)) else {
            let name = &table.spec.name;
            report.problem(format!("table `{name}` holds a reminder that cannot be read"));
            continue;
        };
        // The first one comes first.
        for row in rows {
            reminded.seconds.entry(reminded.hasher.hash_one(&row[..])).or_insert(second);
        }
    }
    Ok(reminded)
}

/// Compares each row with its key, its entries and the log; answers how many items and bytes.
fn check_rows(
    snapshot: &Snapshot<'_>,
    table: &Table,
    reminded: &Reminded,
    words: &mut LastWords,
    report: &mut Report,
) -> Result<(i64, i64), Error> {
    let name = &table.spec.name;
    let (mut items, mut bytes) = (0, 0);
    let range = keys::scan_range(table.id, 0, None);
    for row in snapshot.range(&range, false)? {
        let (key, row) = row?;
        let stored = Stored::read(&key, row.into_bytes())?;
        items += 1;
        bytes += i64::from(stored.head.size);
        let told = || crate::json::item_to_json(&stored.item).to_string();
        if keys::row_key(table.id, &table.spec.key, &stored.item).ok().as_deref() != Some(&*key) {
            report.problem(format!("table `{name}` holds an item under another's key: {}", told()));
        }
        for entry in derived(table, &stored, &key) {
            let found = snapshot.get(&entry)?;
            if found.is_none_or(|value| *value != *key) {
                report.problem(format!("table `{name}` lacks an entry for {}", told()));
            }
        }
        let expiry = stored.head.expiry;
        if expiry > 0 && !reminded.in_time(&key, expiry) {
            report.problem(format!("table `{name}` lacks a reminder of {}", told()));
        }
        if let Some(word) = words.take(table.id, &key)
            && word != Some(crc32c::crc32c(row::body(&stored.row)))
        {
            report.problem(format!("table `{name}` and the log differ on {}", told()));
        }
    }
    report.items += u64::try_from(items).unwrap_or(0);
    Ok((items, bytes))
}

impl LastWords {
    fn put(&mut self, table: u32, key: &[u8], word: Option<u32>) {
        self.rows.insert((table, self.hasher.hash_one(key)), word);
    }

    fn take(&mut self, table: u32, key: &[u8]) -> Option<Option<u32>> {
        self.rows.remove(&(table, self.hasher.hash_one(key)))
    }
}

impl Reminded {
    fn in_time(&self, row_key: &[u8], expiry: u64) -> bool {
        let second = self.seconds.get(&self.hasher.hash_one(row_key));
        second.is_some_and(|second| *second <= expiry)
    }
}

/// The keys of all entries that follow from a row.
fn derived(table: &Table, stored: &Stored<'_>, row_key: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    table.indexes().filter_map(|(number, index)| {
        keys::index_key(table.id, number, &index.key, &stored.item, row_key)
    })
}
