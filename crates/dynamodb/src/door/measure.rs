//! Sizes that need a walk through the data: those of indexes and of partitions.

use std::collections::BTreeMap;

use table::{Item, Query, Scan, TableDescription, TableSpec, Tables};

use super::Door;
use super::capacity::part;
use super::fault::Fault;

/// Counting takes at most one of a hundred milliseconds: tables are described more often than they
/// change, and DynamoDB itself counts every six hours.
const REST: u64 = 100;
/// The unit of partition sizes.
const GIGABYTE: u64 = 1 << 30;

/// Items and bytes of each index of a table.
pub(super) type Counts = BTreeMap<String, (u64, u64)>;

/// The counts of a table, and their time.
#[derive(Clone)]
pub(super) struct IndexCounts {
    spec: TableSpec,
    /// The number of the last change before.
    seq: u64,
    /// The time from which they may be counted again.
    until_ms: u64,
    counts: Counts,
}

impl Door {
    /// The sizes of a table's indexes; earlier counts are used for a while.
    pub(super) async fn count_indexes(&self, table: &TableDescription) -> Result<Counts, Fault> {
        let spec = &table.spec;
        if spec.indexes.is_empty() {
            return Ok(Counts::new());
        }
        let (begin, seq) = (self.clock.now().millis(), self.store.last_change());
        if let Some(index_counts) = self.index_counts.lock().get(&spec.name)
            && index_counts.spec == *spec
            && (index_counts.seq == seq || begin < index_counts.until_ms)
        {
            return Ok(index_counts.counts.clone());
        }
        let mut counts: Counts =
            spec.indexes.iter().map(|index| (index.name.clone(), (0, 0))).collect();
        let mut start_after = None;
        loop {
            let scan = Scan { start_after, ..Scan::new(spec.name.as_str()) };
            let page = self.store.scan_page(&scan)?;
            for (item, index) in page
                .items
                .iter()
                .flat_map(|item| spec.indexes.iter().map(move |index| (item, index)))
            {
                if let Some(part) = part(spec, index, Some(item))
                    && let Some((items, bytes)) = counts.get_mut(&index.name)
                {
                    (*items, *bytes) = (*items + 1, *bytes + part.size() as u64);
                }
            }
            start_after = page.last_key;
            if start_after.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let end = self.clock.now().millis();
        let until_ms = end + end.saturating_sub(begin) * REST;
        let index_counts =
            IndexCounts { spec: spec.clone(), seq, until_ms, counts: counts.clone() };
        self.index_counts.lock().insert(spec.name.clone(), index_counts);
        Ok(counts)
    }

    /// The size of a partition with its entries in local indexes, in whole gigabytes.
    pub(super) async fn gigabytes(&self, table: &str, partition: &Item) -> Result<u64, Fault> {
        let TableDescription { spec, bytes, .. } = self.store.describe_table(table).await?;
        let locals = || spec.indexes.iter().filter(|index| index.local);
        // No partition is larger than its table, and no entry larger than its item.
        if bytes * (1 + locals().count() as u64) < GIGABYTE {
            return Ok(0);
        }
        let Some((name, value)) = partition.iter().next() else { return Ok(0) };
        let mut query = Query::new(table, name, value.clone());
        let mut bytes = 0;
        loop {
            let page = self.store.query_page(&query)?;
            let entries = page
                .items
                .iter()
                .flat_map(|item| locals().filter_map(|index| part(&spec, index, Some(item))));
            bytes += page.bytes + entries.map(|entry| entry.size() as u64).sum::<u64>();
            query.start_after = page.last_key;
            if query.start_after.is_none() {
                return Ok(bytes / GIGABYTE);
            }
            tokio::task::yield_now().await;
        }
    }
}
