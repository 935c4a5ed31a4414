//! Tables come, change and go.
//!
//! A declaration changes under all stripes, so that no write is decided half by the old and half
//! by the new one. New indexes are filled in the same change; the log carries only the new
//! declaration, and replay fills them again.

use std::sync::Arc;

use bytes::Bytes;

use super::catalog::{CATALOG, Catalog, OWN_PREFIX, Table, table_key};
use super::commit::{Change, Submitted};
use super::effects::{self, Stored};
use super::log::{Op, OpKind};
use super::state::{Sight, Snapshot};
use super::{Engine, keys};
use crate::error::Error;
use crate::port::TableDescription;
use crate::spec::TableSpec;
use crate::validate;

impl Engine {
    /// Makes the table exist as declared.
    pub(super) async fn ensure(&self, spec: TableSpec) -> Result<(), Error> {
        validate::check_spec(&spec)?;
        let _one_at_a_time = self.declaring.lock().await;
        let found = self.catalog.load().find(&spec.name).map(Arc::clone);
        let submitted = match found {
            None => self.submit_create(spec)?,
            // Its declaration may still be on its way: the one who waited for it went away.
            Some(table) if table.spec == spec => {
                let epoch = self.commits.epoch();
                let declared = self.rows.snapshot(Sight::Latest)?.touched(&table_key(&spec.name));
                self.commits.batch_of(declared, epoch)
            }
            Some(table) => self.submit_redeclare(&table, spec)?,
        };
        finish(submitted).await
    }

    /// Removes a table with all its items.
    pub(super) async fn drop_table(&self, name: &str) -> Result<(), Error> {
        let _one_at_a_time = self.declaring.lock().await;
        let submitted = {
            let _stripes = self.lock_all_stripes();
            let catalog = self.catalog.load_full();
            let table = catalog.get(name).cloned()?;
            let (epoch, mut change) = (self.commits.epoch(), Change::default());
            let (key, row) = (table_key(name), table.row());
            change.versions.push((key.clone(), None, false));
            change.ops.push(Op { kind: OpKind::Remove, table: CATALOG, key, row, old: None });
            let counts = self.rows.snapshot(Sight::Latest)?.counts(table.id);
            change.counts.push((table.id, counts.negative()));
            let mut next = Catalog::clone(&catalog);
            next.remove(&table);
            change.drops.push(keys::table_range(table.id));
            change.catalog = Some(Arc::new(next));
            self.commits.submit(change, epoch)?
        };
        finish(submitted).await
    }

    /// A table's declaration and size.
    pub(super) fn describe(&self, name: &str) -> Result<TableDescription, Error> {
        let table = Arc::clone(self.catalog.load().get(name)?);
        let counts = self.rows.snapshot(Sight::Visible)?.counts(table.id);
        Ok(TableDescription {
            spec: table.spec.clone(),
            created_ms: table.created_ms,
            items: u64::try_from(counts.items).unwrap_or(0),
            bytes: u64::try_from(counts.bytes).unwrap_or(0),
        })
    }

    /// All tables but the engine's own.
    pub(super) fn list(&self) -> Vec<String> {
        let catalog = self.catalog.load();
        let names = catalog.tables().map(|table| &table.spec.name);
        names.filter(|name| !name.starts_with(OWN_PREFIX)).cloned().collect()
    }

    fn submit_create(&self, spec: TableSpec) -> Result<Submitted, Error> {
        let _stripes = self.lock_all_stripes();
        let (epoch, catalog) = (self.commits.epoch(), self.catalog.load_full());
        let mut next = Catalog::clone(&catalog);
        let table = next.create(spec, self.clock.now().millis());
        let mut change = Change::default();
        let (key, row) = (table_key(&table.spec.name), table.row());
        push_catalog_row(&mut change, OpKind::Insert, key, row, true);
        let (key, row) = next.next_id_row();
        push_catalog_row(&mut change, OpKind::Modify, key, row, false);
        change.catalog = Some(Arc::new(next));
        self.commits.submit(change, epoch)
    }

    fn submit_redeclare(&self, before: &Arc<Table>, spec: TableSpec) -> Result<Submitted, Error> {
        let after = Arc::new(before.become_like(spec)?);
        let _stripes = self.lock_all_stripes();
        let (epoch, catalog) = (self.commits.epoch(), self.catalog.load_full());
        let mut change = Change::default();
        let snapshot = self.rows.snapshot(Sight::Latest)?;
        refill(&snapshot, before, &after, &mut change)?;
        drop(snapshot);
        let (key, row) = (table_key(&after.spec.name), after.row());
        push_catalog_row(&mut change, OpKind::Modify, key, row, false);
        let mut next = Catalog::clone(&catalog);
        next.insert(Arc::clone(&after));
        change.drops = before.dropped_indexes(&after);
        change.catalog = Some(Arc::new(next));
        self.commits.submit(change, epoch)
    }
}

/// Waits for a declaration to be durable.
async fn finish(submitted: Submitted) -> Result<(), Error> {
    match submitted {
        Submitted::Taken(Some(batch)) => batch.wait().await,
        Submitted::Taken(None) => Ok(()),
        Submitted::Outdated => {
            Err(Error::Throttled("the disk is full; the declaration was not changed".to_owned()))
        }
    }
}

fn push_catalog_row(change: &mut Change, kind: OpKind, key: Bytes, row: Bytes, fresh: bool) {
    change.versions.push((key.clone(), Some(row.clone()), fresh));
    change.ops.push(Op { kind, table: CATALOG, key, row, old: None });
}

/// Adds to `change` what a new declaration does to the items that are there.
pub(super) fn refill(
    snapshot: &Snapshot<'_>,
    before: &Table,
    after: &Table,
    change: &mut Change,
) -> Result<(), Error> {
    let range = keys::scan_range(before.id, 0, None);
    for row in snapshot.range(&range, false)? {
        let (key, row) = row?;
        let stored = Stored::read(&key, row.into_bytes())?;
        effects::redeclare(before, after, &key.into_bytes(), &stored, change);
    }
    Ok(())
}
