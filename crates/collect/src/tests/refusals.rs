//! A store that refuses what a trial tells it to, and otherwise is the one behind it.

use std::sync::Arc;

use parking_lot::Mutex;
use table::{
    Answer, BatchGot, BatchWrite, CancelReason, Delete, Error, Get, Item, Page, Put, Query, Scan,
    TableDescription, TableSpec, Tables, TransactItem, TransactWrite, Update, Value,
};

type Refuses = Box<dyn Fn(&Put) -> bool + Send + Sync>;

pub(super) struct Refusing {
    inner: Arc<dyn Tables>,
    refuses: Arc<Mutex<Option<Refuses>>>,
}

impl Refusing {
    pub(super) fn new(inner: Arc<dyn Tables>) -> Refusing {
        Refusing { inner, refuses: Arc::default() }
    }

    /// Another store that refuses the same.
    pub(super) fn beside(&self, inner: Arc<dyn Tables>) -> Refusing {
        Refusing { inner, refuses: Arc::clone(&self.refuses) }
    }

    /// Refuses these puts, alone and in transactions.
    pub(super) fn refuse(&self, refuses: impl Fn(&Put) -> bool + Send + Sync + 'static) {
        *self.refuses.lock() = Some(Box::new(refuses));
    }

    pub(super) fn refuse_nothing(&self) {
        *self.refuses.lock() = None;
    }

    fn refuses(&self, put: &Put) -> bool {
        self.refuses.lock().as_ref().is_some_and(|refuses| refuses(put))
    }
}

/// Whether a put sends a message with this text.
pub(super) fn sends(put: &Put, text: &str) -> bool {
    let Some(Value::B(body)) = put.item.get("body") else { return false };
    let key = put.item.get("pk").and_then(Value::as_s).unwrap_or_default();
    key.starts_with("Q#collect-asks") && String::from_utf8_lossy(body).contains(text)
}

impl Tables for Refusing {
    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        if self.refuses(&put) {
            return Box::pin(async { Err(Error::Throttled("on purpose".to_owned())) });
        }
        self.inner.put(put)
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        let reason = |write: &TransactItem| match write {
            TransactItem::Put(put) if self.refuses(put) => {
                CancelReason::Invalid("on purpose".to_owned())
            }
            _ => CancelReason::None,
        };
        let reasons: Vec<CancelReason> = transaction.writes.iter().map(reason).collect();
        if reasons.iter().any(|reason| *reason != CancelReason::None) {
            return Box::pin(async { Err(Error::TransactionCanceled { reasons }) });
        }
        self.inner.transact_write(transaction)
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.inner.get(get)
    }

    fn batch_get(&self, gets: Vec<Get>) -> Answer<'_, BatchGot> {
        self.inner.batch_get(gets)
    }

    fn update(&self, update: Update) -> Answer<'_, Option<Item>> {
        self.inner.update(update)
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        self.inner.delete(delete)
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        self.inner.query(query)
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        self.inner.scan(scan)
    }

    fn batch_write(&self, writes: Vec<BatchWrite>) -> Answer<'_, Vec<BatchWrite>> {
        self.inner.batch_write(writes)
    }

    fn transact_get(&self, gets: Vec<Get>) -> Answer<'_, Vec<Option<Item>>> {
        self.inner.transact_get(gets)
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
}
