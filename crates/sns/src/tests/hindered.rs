//! A store that does not always do what it is asked: its process dies after so many writes, it
//! refuses, its indexes are behind, or it keeps somebody waiting. Like a store that others write to
//! as well, it does not tell of changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use edge::Ground;
use parking_lot::Mutex;
use table::{
    Answer, BatchGot, BatchWrite, Delete, Error, Get, Item, Page, Put, Query, Scan,
    TableDescription, TableSpec, Tables, TransactItem, TransactWrite, Update,
};
use testkit::World;
use tokio::sync::{Notify, RwLock};

use super::{Network, roomy};
use crate::Options;

/// Which calls are refused: those of this name whose first table is called so at its end.
#[derive(Clone, Copy)]
pub(crate) struct Refusal {
    pub(crate) call: &'static str,
    pub(crate) table: &'static str,
    pub(crate) error: fn() -> Error,
}

/// A store, and what hinders it.
pub(crate) struct Hindered {
    pub(crate) inner: Arc<dyn Tables>,
    /// Writes until the process dies.
    pub(crate) left: AtomicI64,
    /// Whether the last one still reaches the disk.
    pub(crate) last_arrives: bool,
    pub(crate) refusals: Mutex<Vec<Refusal>>,
    /// So many queries of indexes still find nothing.
    pub(crate) behind: AtomicI64,
    /// Whoever holds it keeps all new posts waiting.
    pub(crate) gate: RwLock<()>,
    /// Told when a new post comes to the gate.
    pub(crate) at_gate: Notify,
}

impl Hindered {
    pub(crate) fn new(inner: Arc<dyn Tables>) -> Hindered {
        Hindered {
            inner,
            left: AtomicI64::new(i64::MAX),
            last_arrives: false,
            refusals: Mutex::default(),
            behind: AtomicI64::new(0),
            gate: RwLock::default(),
            at_gate: Notify::new(),
        }
    }

    fn check(&self, call: &str, table: Option<&str>) -> Result<(), Error> {
        let refusals = self.refusals.lock();
        let is_meant = |refusal: &&Refusal| {
            refusal.call == call && table.is_some_and(|table| table.ends_with(refusal.table))
        };
        refusals.iter().find(is_meant).map_or(Ok(()), |refusal| Err((refusal.error)()))
    }

    async fn write<T>(&self, write: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return write.await;
        }
        if left == 0 && self.last_arrives {
            drop(write.await);
        }
        Err(Error::Stopped("the process has died".to_owned()))
    }
}

/// The room on a store that can be hindered, whose tables are called so.
pub(crate) async fn hindered(environment: &str) -> (Network, Arc<Hindered>) {
    let world = World::new().await;
    let ground = world.ground();
    let store = Arc::new(Hindered::new(Arc::clone(&ground.tables)));
    let tables: Arc<dyn Tables> = Arc::clone(&store) as _;
    let instance = world.instance_on(Ground { tables, ..ground }).await;
    let options = Options { environment: environment.to_owned(), ..roomy() };
    (Network::on(world, vec![instance], options).await, store)
}

fn is_post(write: &TransactItem) -> bool {
    matches!(write, TransactItem::Put(put) if put.table.ends_with("-post-ddb"))
}

impl Tables for Hindered {
    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            self.check("get", Some(&get.table))?;
            self.inner.get(get).await
        })
    }
    fn batch_get(&self, gets: Vec<Get>) -> Answer<'_, BatchGot> {
        self.inner.batch_get(gets)
    }
    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        Box::pin(self.write(self.inner.put(put)))
    }
    fn update(&self, update: Update) -> Answer<'_, Option<Item>> {
        Box::pin(self.write(self.inner.update(update)))
    }
    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        Box::pin(self.write(self.inner.delete(delete)))
    }
    fn query(&self, query: Query) -> Answer<'_, Page> {
        if query.index.is_some() && self.behind.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Box::pin(async { Ok(Page::default()) });
        }
        self.inner.query(query)
    }
    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        self.inner.scan(scan)
    }
    fn batch_write(&self, writes: Vec<BatchWrite>) -> Answer<'_, Vec<BatchWrite>> {
        Box::pin(async move {
            let (BatchWrite::Put { table, .. } | BatchWrite::Delete { table, .. }) = &writes[0];
            self.check("batch_write", Some(table))?;
            self.write(self.inner.batch_write(writes)).await
        })
    }
    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        Box::pin(async move {
            if transaction.writes.iter().any(is_post) {
                self.at_gate.notify_one();
                drop(self.gate.read().await);
            }
            self.write(self.inner.transact_write(transaction)).await
        })
    }
    fn transact_get(&self, gets: Vec<Get>) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(async move {
            self.check("transact_get", gets.first().map(|get| get.table.as_str()))?;
            self.inner.transact_get(gets).await
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
}
