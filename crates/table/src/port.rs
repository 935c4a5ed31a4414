//! The `Tables` port: what every backend promises to the rooms.
//!
//! The promises are DynamoDB's. Two backends stand behind it: the embedded engine (`embedded`)
//! and DynamoDB itself (the `dynamodb` crate). A backend may do better (indexes that are never
//! stale, expiry to the second), but no room may rely on better.

use std::future::Future;
use std::pin::Pin;

use crate::error::Error;
use crate::expr::{Actions, Condition, KeyCondition, Path, SetValue, SortCondition};
use crate::spec::TableSpec;
use crate::value::{Item, Value};
use crate::watch::{Partition, Watch};

/// What a call of the port answers, later.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Tables of items. Calls are atomic each; a future that is dropped may or may not take effect.
pub trait Tables: Send + Sync {
    /// The item under a key.
    fn get(&self, get: Get) -> Answer<'_, Option<Item>>;

    /// Up to 100 items of any tables, in no promised order and from no single snapshot.
    fn batch_get(&self, gets: Vec<Get>) -> Answer<'_, BatchGot>;

    /// Writes a whole item; answers what `put.returning` asks for.
    fn put(&self, put: Put) -> Answer<'_, Option<Item>>;

    /// Edits an item, or makes it; answers what `update.returning` asks for.
    fn update(&self, update: Update) -> Answer<'_, Option<Item>>;

    /// Removes an item; answers what `delete.returning` asks for.
    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>>;

    /// A page of one partition of a table or index, in key order.
    fn query(&self, query: Query) -> Answer<'_, Page>;

    /// A page of a whole table or index, or of one segment of it.
    fn scan(&self, scan: Scan) -> Answer<'_, Page>;

    /// Up to 25 puts and deletes without conditions, each atomic, not together. Answers those
    /// that were not done and may be tried again.
    fn batch_write(&self, writes: Vec<BatchWrite>) -> Answer<'_, Vec<BatchWrite>>;

    /// Up to 100 writes, all or none.
    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()>;

    /// Up to 100 items from one snapshot, in the order asked.
    fn transact_get(&self, gets: Vec<Get>) -> Answer<'_, Vec<Option<Item>>>;

    /// Makes the table exist as declared: creates it, or adds and drops indexes and sets the TTL
    /// attribute. A different primary key is an error.
    fn ensure_table(&self, spec: TableSpec) -> Answer<'_, ()>;

    /// The declaration of a table and its present size.
    fn describe_table(&self, name: &str) -> Answer<'_, TableDescription>;

    /// All tables by name.
    fn list_tables(&self) -> Answer<'_, Vec<String>>;

    /// Removes a table with all its items.
    fn delete_table(&self, name: &str) -> Answer<'_, ()>;

    /// Lets `watch` watch a partition from now on. To be called before it is read; a store that
    /// others write to as well cannot tell, and then the watch never holds.
    fn watch(&self, _partition: &Partition<'_>, watch: &mut Watch) {
        watch.give_up();
    }
}

/// A table as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescription {
    /// Its declaration.
    pub spec: TableSpec,
    /// When it was created, milliseconds of Unix time.
    pub created_ms: u64,
    /// About how many items it holds (a backend may count only now and then).
    pub items: u64,
    /// About how many bytes they weigh as DynamoDB counts.
    pub bytes: u64,
}

/// Reads one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Get {
    /// The table.
    pub table: String,
    /// Exactly the primary key attributes.
    pub key: Item,
    /// The paths wanted; empty for the whole item.
    pub projection: Vec<Path>,
    /// Whether every write acknowledged before must be seen.
    pub consistent: bool,
}

impl Get {
    /// Reads the item under `key`, consistently.
    pub fn new(table: impl Into<String>, key: Item) -> Get {
        Get { table: table.into(), key, projection: Vec::new(), consistent: true }
    }

    /// Only these paths.
    #[must_use]
    pub fn project<P: Into<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Get {
        self.projection = paths.into_iter().map(Into::into).collect();
        self
    }

    /// A cheaper read that may miss the latest writes.
    #[must_use]
    pub fn eventually(mut self) -> Get {
        self.consistent = false;
        self
    }
}

/// What `batch_get` answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchGot {
    /// The items found, each with its table.
    pub items: Vec<(String, Item)>,
    /// Gets that were not done and may be tried again.
    pub unprocessed: Vec<Get>,
}

/// What a write answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Return {
    /// Nothing.
    #[default]
    None,
    /// The item as it was.
    AllOld,
    /// Of an update: the edited attributes as they were.
    UpdatedOld,
    /// Of an update: the item as it is.
    AllNew,
    /// Of an update: the edited attributes as they are.
    UpdatedNew,
}

/// Writes a whole item.
#[derive(Clone, Debug, PartialEq)]
pub struct Put {
    /// The table.
    pub table: String,
    /// The item with its key.
    pub item: Item,
    /// What must hold of the item that is there (or not there).
    pub condition: Option<Condition>,
    /// What to answer: `None` or `AllOld`.
    pub returning: Return,
    /// Whether a failed condition tells the item.
    pub item_on_failure: bool,
}

impl Put {
    /// Writes `item`, whatever was there.
    pub fn new(table: impl Into<String>, item: Item) -> Put {
        Put {
            table: table.into(),
            item,
            condition: None,
            returning: Return::None,
            item_on_failure: false,
        }
    }
}

/// Removes an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The table.
    pub table: String,
    /// Exactly the primary key attributes.
    pub key: Item,
    /// What must hold of the item that is there (or not there).
    pub condition: Option<Condition>,
    /// What to answer: `None` or `AllOld`.
    pub returning: Return,
    /// Whether a failed condition tells the item.
    pub item_on_failure: bool,
}

impl Delete {
    /// Removes the item under `key`, if there is one.
    pub fn new(table: impl Into<String>, key: Item) -> Delete {
        Delete {
            table: table.into(),
            key,
            condition: None,
            returning: Return::None,
            item_on_failure: false,
        }
    }
}

/// Edits an item, or makes it. Actions that only take away make none.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The table.
    pub table: String,
    /// Exactly the primary key attributes.
    pub key: Item,
    /// What to do.
    pub actions: Actions,
    /// What must hold of the item that is there (or not there).
    pub condition: Option<Condition>,
    /// What to answer.
    pub returning: Return,
    /// Whether a failed condition tells the item.
    pub item_on_failure: bool,
}

impl Update {
    /// Edits the item under `key`.
    pub fn new(table: impl Into<String>, key: Item) -> Update {
        Update {
            table: table.into(),
            key,
            actions: Actions::default(),
            condition: None,
            returning: Return::None,
            item_on_failure: false,
        }
    }

    /// `SET path = value`
    #[must_use]
    pub fn set(mut self, path: impl Into<Path>, value: impl Into<SetValue>) -> Update {
        self.actions.set.push((path.into(), value.into()));
        self
    }

    /// `REMOVE path`
    #[must_use]
    pub fn remove(mut self, path: impl Into<Path>) -> Update {
        self.actions.remove.push(path.into());
        self
    }

    /// `ADD path value`: to a number, or into a set.
    #[must_use]
    pub fn add(mut self, path: impl Into<Path>, value: impl Into<Value>) -> Update {
        self.actions.add.push((path.into(), value.into()));
        self
    }

    /// `DELETE path set`: out of a set.
    #[must_use]
    pub fn take_out(mut self, path: impl Into<Path>, set: impl Into<Value>) -> Update {
        self.actions.delete.push((path.into(), set.into()));
        self
    }
}

macro_rules! conditional {
    ($($write:ty),*) => {$(
        impl $write {
            /// Only when `condition` holds; said twice, both must.
            #[must_use]
            pub fn when(mut self, condition: Condition) -> Self {
                self.condition = Some(match self.condition.take() {
                    Some(before) => before.and(condition),
                    None => condition,
                });
                self
            }

            /// Answer this.
            #[must_use]
            pub fn returning(mut self, returning: Return) -> Self {
                self.returning = returning;
                self
            }

            /// When the condition fails, tell the item as it is.
            #[must_use]
            pub fn telling(mut self) -> Self {
                self.item_on_failure = true;
                self
            }
        }
    )*};
}

conditional!(Put, Update, Delete);

/// Reads one partition in key order.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The table.
    pub table: String,
    /// The index; none for the table itself.
    pub index: Option<String>,
    /// The partition, and maybe a stretch of it.
    pub key: KeyCondition,
    /// Whether from the greatest sort key down.
    pub descending: bool,
    /// How many items to look at, at most (before the filter).
    pub limit: Option<u32>,
    /// Start behind this key: a `Page::last_key`.
    pub start_after: Option<Item>,
    /// What must hold of an item to be answered.
    pub filter: Option<Condition>,
    /// The paths wanted; empty for all.
    pub projection: Vec<Path>,
    /// Whether every write acknowledged before must be seen (tables only).
    pub consistent: bool,
}

impl Query {
    /// The whole partition of `table` in which `partition` has `value`.
    pub fn new(table: impl Into<String>, partition: &str, value: impl Into<Value>) -> Query {
        Query {
            table: table.into(),
            index: None,
            key: KeyCondition { partition: (partition.to_owned(), value.into()), sort: None },
            descending: false,
            limit: None,
            start_after: None,
            filter: None,
            projection: Vec::new(),
            consistent: false,
        }
    }

    /// Through an index.
    #[must_use]
    pub fn index(mut self, index: &str) -> Query {
        self.index = Some(index.to_owned());
        self
    }

    /// Only where the sort attribute obeys `condition`.
    #[must_use]
    pub fn sort(mut self, attribute: &str, condition: SortCondition) -> Query {
        self.key.sort = Some((attribute.to_owned(), condition));
        self
    }

    /// From the greatest sort key down.
    #[must_use]
    pub fn descending(mut self) -> Query {
        self.descending = true;
        self
    }
}

/// Reads a whole table or index in no promised order.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The table.
    pub table: String,
    /// The index; none for the table itself.
    pub index: Option<String>,
    /// Which part of how many, for parallel scans: `(0, 4)` to `(3, 4)`.
    pub segment: Option<(u32, u32)>,
    /// How many items to look at, at most (before the filter).
    pub limit: Option<u32>,
    /// Start behind this key: a `Page::last_key`.
    pub start_after: Option<Item>,
    /// What must hold of an item to be answered.
    pub filter: Option<Condition>,
    /// The paths wanted; empty for all.
    pub projection: Vec<Path>,
    /// Whether every write acknowledged before must be seen (tables only).
    pub consistent: bool,
}

impl Scan {
    /// The whole of `table`.
    pub fn new(table: impl Into<String>) -> Scan {
        Scan {
            table: table.into(),
            index: None,
            segment: None,
            limit: None,
            start_after: None,
            filter: None,
            projection: Vec::new(),
            consistent: false,
        }
    }

    /// Through an index.
    #[must_use]
    pub fn index(mut self, index: &str) -> Scan {
        self.index = Some(index.to_owned());
        self
    }

    /// Only part `number` (from 0) of `total`.
    #[must_use]
    pub fn segment(mut self, number: u32, total: u32) -> Scan {
        self.segment = Some((number, total));
        self
    }
}

macro_rules! paged {
    ($($read:ty),*) => {$(
        impl $read {
            /// Looks at no more than this many items.
            #[must_use]
            pub fn limit(mut self, limit: u32) -> Self {
                self.limit = Some(limit);
                self
            }

            /// Goes on behind the last key of a page.
            #[must_use]
            pub fn start_after(mut self, last_key: Item) -> Self {
                self.start_after = Some(last_key);
                self
            }

            /// Answers only items of which `filter` holds; said twice, both must.
            #[must_use]
            pub fn filter(mut self, filter: Condition) -> Self {
                self.filter = Some(match self.filter.take() {
                    Some(before) => before.and(filter),
                    None => filter,
                });
                self
            }

            /// Only these paths.
            #[must_use]
            pub fn project<P: Into<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
                self.projection = paths.into_iter().map(Into::into).collect();
                self
            }

            /// Sees every write acknowledged before.
            #[must_use]
            pub fn consistent(mut self) -> Self {
                self.consistent = true;
                self
            }
        }
    )*};
}

paged!(Query, Scan);

/// What a query or scan answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The items.
    pub items: Vec<Item>,
    /// Where to go on; none when the end was reached.
    pub last_key: Option<Item>,
    /// How many items were looked at, before the filter.
    pub scanned: u32,
    /// How many bytes they weigh as DynamoDB counts: what the read costs. Where nothing is wanted of
    /// an index but keys, the embedded store looks at no more, and counts those.
    pub bytes: u64,
}

/// One write of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchWrite {
    /// Writes a whole item.
    Put {
        /// The table.
        table: String,
        /// The item with its key.
        item: Item,
    },
    /// Removes an item.
    Delete {
        /// The table.
        table: String,
        /// Exactly the primary key attributes.
        key: Item,
    },
}

/// Writes that happen together or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactWrite {
    /// The writes; each item at most once.
    pub writes: Vec<TransactItem>,
    /// The same token within ten minutes makes the same transaction happen once.
    pub token: Option<String>,
}

impl TransactWrite {
    /// These writes, all or none.
    pub fn new(writes: Vec<TransactItem>) -> TransactWrite {
        TransactWrite { writes, token: None }
    }

    /// With an idempotency token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> TransactWrite {
        self.token = Some(token.into());
        self
    }
}

/// One write of a transaction. `returning` is not used there.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactItem {
    /// Writes a whole item.
    Put(Put),
    /// Edits an item, or makes it.
    Update(Update),
    /// Removes an item.
    Delete(Delete),
    /// Only checks a condition.
    Check(Check),
}

/// A condition that a transaction relies on.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The table.
    pub table: String,
    /// Exactly the primary key attributes.
    pub key: Item,
    /// What must hold.
    pub condition: Condition,
    /// Whether a failed condition tells the item.
    pub item_on_failure: bool,
}

impl Check {
    /// `condition` must hold of the item under `key`.
    pub fn new(table: impl Into<String>, key: Item, condition: Condition) -> Check {
        Check { table: table.into(), key, condition, item_on_failure: false }
    }
}

macro_rules! into_transact_item {
    ($($write:ident),*) => {$(
        impl From<$write> for TransactItem {
            fn from(write: $write) -> TransactItem {
                TransactItem::$write(write)
            }
        }
    )*};
}

into_transact_item!(Put, Update, Delete, Check);
