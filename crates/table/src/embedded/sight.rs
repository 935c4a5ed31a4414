//! What the DynamoDB door asks beyond the port: declarations without a copy, reads with what they
//! weigh, writes with what they changed, and tables that are not shown.

use super::read::Wanted;
use super::write::Written;
use super::{Embedded, catalog};
use crate::error::Error;
use crate::port::{Delete, Get, Page, Put, Query, Scan, TransactWrite, Update};
use crate::spec::TableSpec;
use crate::validate;
use crate::value::Item;

impl Embedded {
    /// Looks at the declaration of a table.
    ///
    /// # Errors
    /// There is no such table.
    pub fn with_spec<T>(
        &self,
        table: &str,
        look: impl FnOnce(&TableSpec) -> T,
    ) -> Result<T, Error> {
        Ok(look(&self.engine.catalog.load().get(table)?.spec))
    }

    /// The item under a key, and what the whole of it weighs.
    ///
    /// # Errors
    /// The key does not fit the table, or the store cannot be read.
    pub fn get_weighed(&self, get: &Get) -> Result<Option<(Item, u32)>, Error> {
        self.engine.read_weighed(get)
    }

    /// Items from one snapshot in the order asked, and what the whole of each weighs.
    ///
    /// # Errors
    /// As `transact_get`.
    pub fn transact_get_weighed(&self, gets: &[Get]) -> Result<Vec<Option<(Item, u32)>>, Error> {
        self.engine.read_transact_get(gets)
    }

    /// As `query`, at once.
    ///
    /// # Errors
    /// As `query`.
    pub fn query_page(&self, query: &Query) -> Result<Page, Error> {
        Ok(self.engine.read_query(query, Wanted::Weighed)?.0)
    }

    /// As `query`, and what each item weighs that was fetched from the table because a local index
    /// does not hold what is wanted of it. `whole` wants all of it, before any filter.
    ///
    /// # Errors
    /// As `query`.
    pub fn query_fetched(&self, query: &Query, whole: bool) -> Result<(Page, Vec<u32>), Error> {
        self.engine.read_query(query, if whole { Wanted::Whole } else { Wanted::Weighed })
    }

    /// As `scan`, at once.
    ///
    /// # Errors
    /// As `scan`.
    pub fn scan_page(&self, scan: &Scan) -> Result<Page, Error> {
        Ok(self.engine.read_scan(scan, Wanted::Weighed)?.0)
    }

    /// As `scan`, and what was fetched, as [`Embedded::query_fetched`] has it.
    ///
    /// # Errors
    /// As `scan`.
    pub fn scan_fetched(&self, scan: &Scan, whole: bool) -> Result<(Page, Vec<u32>), Error> {
        self.engine.read_scan(scan, if whole { Wanted::Whole } else { Wanted::Weighed })
    }

    /// As `put`, and shows `see` what was changed. It may be shown a write that does not happen
    /// after all; only what it made of the last one is answered.
    ///
    /// # Errors
    /// As `put`.
    pub async fn put_seen<T>(&self, put: Put, see: impl Fn(Written<'_>) -> T) -> Result<T, Error> {
        self.engine.write_put(put, see).await
    }

    /// As `update`, and shows `see` what was changed.
    ///
    /// # Errors
    /// As `update`.
    pub async fn update_seen<T>(
        &self,
        update: Update,
        see: impl Fn(Written<'_>) -> T,
    ) -> Result<T, Error> {
        self.engine.write_update(update, see).await
    }

    /// As `delete`, and shows `see` what was changed.
    ///
    /// # Errors
    /// As `delete`.
    pub async fn delete_seen<T>(
        &self,
        delete: Delete,
        see: impl Fn(Written<'_>) -> T,
    ) -> Result<T, Error> {
        self.engine.write_delete(delete, see).await
    }

    /// As `transact_write`, and shows `see` what each write changed. Answers nothing when the
    /// token says that the transaction happened before.
    ///
    /// # Errors
    /// As `transact_write`.
    pub async fn transact_write_seen<T>(
        &self,
        transaction: TransactWrite,
        see: impl Fn(Written<'_>) -> T,
    ) -> Result<Vec<T>, Error> {
        self.engine.write_transaction(transaction, see).await
    }

    /// Whether an item may be put into a table.
    ///
    /// # Errors
    /// Why not.
    pub fn check_put(&self, table: &str, item: &Item) -> Result<(), Error> {
        self.with_spec(table, |spec| validate::check_item(spec, item))?
    }

    /// Whether a key fits a table.
    ///
    /// # Errors
    /// Why not.
    pub fn check_key(&self, table: &str, key: &Item) -> Result<(), Error> {
        self.with_spec(table, |spec| validate::check_key(&spec.key, key))?
    }

    /// Makes a table exist that is not shown among the others: its name is given the prefix of the
    /// store's own.
    ///
    /// # Errors
    /// As `ensure_table`.
    pub async fn ensure_hidden(&self, mut spec: TableSpec) -> Result<String, Error> {
        spec.name.insert_str(0, catalog::OWN_PREFIX);
        let name = spec.name.clone();
        self.engine.ensure(spec).await?;
        Ok(name)
    }

    /// Whether a table of that name would be the store's own.
    pub fn is_hidden(name: &str) -> bool {
        name.starts_with(catalog::OWN_PREFIX)
    }
}
