//! The seed's numbers about its tables, counted where the room meets the store: units of capacity
//! as DynamoDB counts them, and what went wrong.
//!
//! A read of 4 KiB and a write of 1 KiB are a unit; in a transaction either is two. What an update
//! or a delete weighs is not known here, and is counted as one item of up to 1 KiB.

use std::collections::BTreeMap;
use std::sync::Arc;

use metrics::Counter;
use table::{
    Answer, BatchGot, BatchWrite, Delete, Error, Get, Item, Page, Partition, Put, Query, Scan,
    TableDescription, TableSpec, Tables, TransactItem, TransactWrite, Update, Watch,
};

const READ_UNIT: usize = 4096;
const WRITE_UNIT: usize = 1024;

/// A store whose tables are metered.
pub(crate) struct Metered {
    inner: Arc<dyn Tables>,
    meters: BTreeMap<String, Meter>,
}

struct Meter {
    reads: Counter,
    writes: Counter,
    user_errors: Counter,
    system_errors: Counter,
    throttled: Counter,
}

impl Metered {
    /// The same store, with these tables metered.
    pub(crate) fn new(inner: Arc<dyn Tables>, tables: &[TableSpec]) -> Metered {
        let meter = |spec: &TableSpec| (spec.name.clone(), Meter::new(&spec.name));
        Metered { inner, meters: tables.iter().map(meter).collect() }
    }

    fn with(&self, table: &str, count: impl FnOnce(&Meter)) {
        if let Some(meter) = self.meters.get(table) {
            count(meter);
        }
    }

    fn read<'i>(&self, table: &str, items: impl IntoIterator<Item = &'i Item>, each: u64) {
        self.with(table, |meter| {
            let bytes: usize = items.into_iter().map(Item::size).sum();
            meter.reads.increment(each * units(bytes, READ_UNIT));
        });
    }

    fn wrote(&self, table: &str, item: Option<&Item>, each: u64) {
        self.with(table, |meter| {
            meter.writes.increment(each * units(item.map_or(0, Item::size), WRITE_UNIT));
        });
    }

    /// Counts a failure, for the table that was asked.
    fn told<T>(&self, table: &str, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result {
            self.with(table, |meter| meter.failed(error));
        }
        result
    }
}

impl Meter {
    fn new(table: &str) -> Meter {
        let table = table.to_owned();
        Meter {
            reads: metrics::counter!("ConsumedReadCapacityUnits", "table" => table.clone()),
            writes: metrics::counter!("ConsumedWriteCapacityUnits", "table" => table.clone()),
            user_errors: metrics::counter!("UserErrors", "table" => table.clone()),
            system_errors: metrics::counter!("SystemErrors", "table" => table.clone()),
            throttled: metrics::counter!("ThrottledRequests", "table" => table),
        }
    }

    fn failed(&self, error: &Error) {
        match error {
            // A decision that lost its race is the room's daily work.
            Error::ConditionFailed { .. } => {}
            Error::TransactionCanceled { .. } if error.is_lost_race() => {}
            Error::Throttled(_) => self.throttled.increment(1),
            Error::Invalid(_)
            | Error::TransactionCanceled { .. }
            | Error::TokenMismatch
            | Error::NoSuchTable(_)
            | Error::NoSuchIndex { .. }
            | Error::TableDiffers(_)
            | Error::TooOld { .. } => self.user_errors.increment(1),
            Error::DiskFull
            | Error::Stopped(_)
            | Error::Corrupt { .. }
            | Error::InUse(_)
            | Error::UnknownFormat { .. }
            | Error::Io { .. } => self.system_errors.increment(1),
        }
    }
}

fn units(bytes: usize, unit: usize) -> u64 {
    u64::try_from(bytes.div_ceil(unit).max(1)).unwrap_or(u64::MAX)
}

fn table_of(write: &TransactItem) -> (&str, Option<&Item>) {
    match write {
        TransactItem::Put(put) => (&put.table, Some(&put.item)),
        TransactItem::Update(update) => (&update.table, None),
        TransactItem::Delete(delete) => (&delete.table, None),
        TransactItem::Check(check) => (&check.table, None),
    }
}

impl Tables for Metered {
    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            let table = get.table.clone();
            let found = self.told(&table, self.inner.get(get).await)?;
            self.read(&table, &found, 1);
            Ok(found)
        })
    }

    fn batch_get(&self, gets: Vec<Get>) -> Answer<'_, BatchGot> {
        Box::pin(async move {
            let first = gets.first().map(|get| get.table.clone()).unwrap_or_default();
            let got = self.told(&first, self.inner.batch_get(gets).await)?;
            for (table, item) in &got.items {
                self.read(table, [item], 1);
            }
            Ok(got)
        })
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            self.wrote(&put.table, Some(&put.item), 1);
            let table = put.table.clone();
            self.told(&table, self.inner.put(put).await)
        })
    }

    fn update(&self, update: Update) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            self.wrote(&update.table, None, 1);
            let table = update.table.clone();
            self.told(&table, self.inner.update(update).await)
        })
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            self.wrote(&delete.table, None, 1);
            let table = delete.table.clone();
            self.told(&table, self.inner.delete(delete).await)
        })
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            let table = query.table.clone();
            let page = self.told(&table, self.inner.query(query).await)?;
            self.read(&table, &page.items, 1);
            Ok(page)
        })
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(async move {
            let table = scan.table.clone();
            let page = self.told(&table, self.inner.scan(scan).await)?;
            self.read(&table, &page.items, 1);
            Ok(page)
        })
    }

    fn batch_write(&self, writes: Vec<BatchWrite>) -> Answer<'_, Vec<BatchWrite>> {
        Box::pin(async move {
            let mut first = None;
            for write in &writes {
                let (table, item) = match write {
                    BatchWrite::Put { table, item } => (table, Some(item)),
                    BatchWrite::Delete { table, .. } => (table, None),
                };
                self.wrote(table, item, 1);
                first.get_or_insert_with(|| table.clone());
            }
            let left = self.inner.batch_write(writes).await;
            self.told(&first.unwrap_or_default(), left)
        })
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        Box::pin(async move {
            let mut first = None;
            for write in &transaction.writes {
                let (table, item) = table_of(write);
                self.wrote(table, item, 2);
                first.get_or_insert_with(|| table.to_owned());
            }
            let written = self.inner.transact_write(transaction).await;
            self.told(&first.unwrap_or_default(), written)
        })
    }

    fn transact_get(&self, gets: Vec<Get>) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(async move {
            let tables: Vec<String> = gets.iter().map(|get| get.table.clone()).collect();
            let first = tables.first().cloned().unwrap_or_default();
            let got = self.told(&first, self.inner.transact_get(gets).await)?;
            for (table, item) in tables.iter().zip(&got) {
                self.read(table, item, 2);
            }
            Ok(got)
        })
    }

    fn ensure_table(&self, spec: TableSpec) -> Answer<'_, ()> {
        self.inner.ensure_table(spec)
    }

    fn describe_table(&self, name: &str) -> Answer<'_, TableDescription> {
        self.inner.describe_table(name)
    }

    fn list_tables(&self) -> Answer<'_, Vec<String>> {
        self.inner.list_tables()
    }

    fn delete_table(&self, name: &str) -> Answer<'_, ()> {
        self.inner.delete_table(name)
    }

    fn watch(&self, partition: &Partition<'_>, watch: &mut Watch) {
        self.inner.watch(partition, watch);
    }
}
