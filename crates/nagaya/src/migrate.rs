//! Copies a house from one backend to the other.
//!
//! Tables are copied one by one, page by page, in the order of a scan. How far it came stands in a
//! table at the target ([`JOURNAL`]), written behind every page; who begins again goes on there. At
//! the end the journal is gone.
//!
//! - **Invariant:** what the journal says is copied is at the target, whatever was killed when.
//! - **Invariant:** nothing at the target is overwritten that this migration did not write: one
//!   that finds items there and no journal refuses.
//!
//! The house must be closed meanwhile. What is not copied: backups, the past of the change log, and
//! ephemeral tables, which a closed house does not have.

mod checksum;
mod journal;

use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use table::limits::BATCH_WRITE_MAX;
use table::{BatchWrite, Durability, Item, Page, Scan, TableSpec, Tables};

pub(crate) use checksum::Checksum;
use journal::Journal;
pub(crate) use journal::TABLE as JOURNAL;

use crate::Error;

/// What a busy target did not take is offered again this often, a second apart: the client has
/// tried for seconds each time, so this is a quarter of an hour or more.
const OFFERS_MAX: u32 = 120;
const OFFER_PAUSE: Duration = Duration::from_secs(1);

/// Items that expire sooner are not compared: they may go between the looks at both sides.
const COMPARED_AFTER: Duration = Duration::from_secs(3600);

/// A copy from one store to another.
pub(crate) struct Migration {
    pub(crate) source: Arc<dyn Tables>,
    pub(crate) target: Arc<dyn Tables>,
    /// The house's own tables. A backend does not remember everything of a declaration.
    pub(crate) declared: Vec<TableSpec>,
    pub(crate) clock: Clock,
}

/// One table before it is copied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) table: String,
    /// About how many items, and how many bytes.
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    pub(crate) at_target: AtTarget,
}

/// What is at the target already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AtTarget {
    /// No such table, or none with items.
    Nothing,
    /// So many items of a migration that was interrupted.
    Begun(u64),
    /// All of it, by a migration that was interrupted later.
    Copied(u64),
    /// Items of somebody else.
    Items,
}

/// How far a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) table: String,
    pub(crate) items: u64,
    pub(crate) is_done: bool,
    /// Whether an earlier run had copied some of it.
    pub(crate) is_resumed: bool,
}

/// One table on both sides.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Compared {
    pub(crate) table: String,
    pub(crate) source: Checksum,
    pub(crate) target: Checksum,
}

impl Migration {
    /// What would be done.
    ///
    /// # Errors
    /// A store cannot be read.
    pub(crate) async fn plan(&self) -> Result<Vec<Planned>, Error> {
        let (journal, there) = (self.journal(), self.target.list_tables().await?);
        let journal = match there.iter().any(|name| name == JOURNAL) {
            true => Some(journal),
            false => None,
        };
        let mut planned = Vec::new();
        for table in self.tables().await? {
            let described = self.source.describe_table(&table).await?;
            let noted = match &journal {
                Some(journal) => journal.find(&table).await?,
                None => None,
            };
            let at_target = match noted {
                Some(noted) if noted.is_done => AtTarget::Copied(noted.items),
                Some(noted) => AtTarget::Begun(noted.items),
                None if there.contains(&table) && self.holds_items(&table).await? => {
                    AtTarget::Items
                }
                None => AtTarget::Nothing,
            };
            planned.push(Planned {
                table,
                items: described.items,
                bytes: described.bytes,
                at_target,
            });
        }
        Ok(planned)
    }

    /// Copies what is not copied yet, and tells `heard` after every page. An error of `heard` ends
    /// it there.
    ///
    /// # Errors
    /// A store failed, or the target is not empty.
    pub(crate) async fn apply(
        &self,
        heard: &mut dyn FnMut(Progress) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let planned = self.plan().await?;
        if let Some(foreign) = planned.iter().find(|planned| planned.at_target == AtTarget::Items) {
            return Err(Error::Occupied(foreign.table.clone()));
        }
        let journal = self.journal();
        journal.open().await?;
        for planned in planned {
            self.copy(&planned.table, &journal, heard).await?;
        }
        journal.remove().await
    }

    /// Counts and sums both sides, and tells `heard` of each table before.
    ///
    /// # Errors
    /// A store cannot be read.
    pub(crate) async fn verify(&self, heard: &mut dyn FnMut(&str)) -> Result<Vec<Compared>, Error> {
        let from_s = self.clock.now().seconds() + COMPARED_AFTER.as_secs();
        let there = self.target.list_tables().await?;
        let mut compared = Vec::new();
        for table in self.tables().await? {
            heard(&table);
            let ttl = self.spec(&table).await?.ttl;
            let sum = |store| checksum::of(store, &table, ttl.as_deref(), from_s);
            let source = sum(&*self.source).await?;
            let target = match there.contains(&table) {
                true => sum(&*self.target).await?,
                false => Checksum::default(),
            };
            compared.push(Compared { table, source, target });
        }
        Ok(compared)
    }

    /// The tables to copy, by name.
    async fn tables(&self) -> Result<Vec<String>, Error> {
        let names = self.source.list_tables().await?.into_iter();
        let names = names.filter(|name| name != JOURNAL && !self.is_ephemeral(name));
        Ok(names.collect())
    }

    fn is_ephemeral(&self, table: &str) -> bool {
        let declared = self.declared.iter().find(|spec| spec.name == table);
        declared.is_some_and(|spec| spec.durability == Durability::Ephemeral)
    }

    fn journal(&self) -> Journal {
        Journal { store: Arc::clone(&self.target) }
    }

    async fn holds_items(&self, table: &str) -> Result<bool, Error> {
        let mut last_key = None;
        loop {
            let page = page_behind(&*self.target, table, last_key).await?;
            last_key = page.last_key;
            match (page.items.is_empty(), &last_key) {
                (false, _) => return Ok(true),
                (true, None) => return Ok(false),
                (true, Some(_)) => {}
            }
        }
    }

    async fn spec(&self, table: &str) -> Result<TableSpec, Error> {
        match self.declared.iter().find(|spec| spec.name == table) {
            Some(spec) => Ok(spec.clone()),
            None => Ok(self.source.describe_table(table).await?.spec),
        }
    }

    async fn copy(
        &self,
        table: &str,
        journal: &Journal,
        heard: &mut dyn FnMut(Progress) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let noted = journal.find(table).await?;
        let is_resumed = noted.is_some();
        let mut noted = noted.unwrap_or_default();
        if !noted.is_done {
            // First, so that what a kill leaves of the first page is known as this migration's.
            journal.note(table, &noted).await?;
            self.target.ensure_table(self.spec(table).await?).await?;
        }
        while !noted.is_done {
            let page = page_behind(&*self.source, table, noted.last_key.take()).await?;
            noted.items += page.items.len() as u64;
            self.write(table, page.items).await?;
            noted.is_done = page.last_key.is_none();
            noted.last_key = page.last_key;
            journal.note(table, &noted).await?;
            if !noted.is_done {
                let (table, items) = (table.to_owned(), noted.items);
                heard(Progress { table, items, is_done: false, is_resumed })?;
            }
        }
        let (table, items) = (table.to_owned(), noted.items);
        heard(Progress { table, items, is_done: true, is_resumed })
    }

    /// Writes items until the target has taken them all.
    async fn write(&self, table: &str, items: Vec<Item>) -> Result<(), Error> {
        for batch in items.chunks(BATCH_WRITE_MAX) {
            let put = |item: &Item| BatchWrite::Put { table: table.to_owned(), item: item.clone() };
            let mut writes: Vec<BatchWrite> = batch.iter().map(put).collect();
            for offer in 1..=OFFERS_MAX {
                writes = match self.target.batch_write(writes.clone()).await {
                    Ok(left) => left,
                    Err(table::Error::Throttled(_)) if offer < OFFERS_MAX => writes,
                    Err(error) => return Err(error.into()),
                };
                if writes.is_empty() {
                    break;
                }
                self.clock.sleep(OFFER_PAUSE).await;
            }
            if !writes.is_empty() {
                let told = format!("table `{table}` took too little for too long");
                return Err(table::Error::Throttled(told).into());
            }
        }
        Ok(())
    }
}

/// A page of a table behind a key, with every write that was acknowledged.
async fn page_behind(
    store: &dyn Tables,
    table: &str,
    last_key: Option<Item>,
) -> Result<Page, Error> {
    let scan = Scan { start_after: last_key, consistent: true, ..Scan::new(table) };
    Ok(store.scan(scan).await?)
}

#[cfg(test)]
mod tests;
