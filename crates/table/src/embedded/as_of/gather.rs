//! What of the log touches the part of a table that is looked at: the newest version of each of its
//! rows, and of an index the entries in its stretch with the rows that they lead to.
//!
//! Of a row whose entry is not in the stretch, neither before nor after a change, nothing is held.
//! So what is held, or else stands in the tree, always tells rightly whether an entry is in the
//! stretch; and where it is, the row is the newest one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::{OwnedPart, unreadable};
use crate::embedded::arena::Arena;
use crate::embedded::catalog::{CATALOG, Table, table_key};
use crate::embedded::effects::Stored;
use crate::embedded::keys::{self, KeyRange};
use crate::embedded::log::{Op, Record};
use crate::embedded::row;
use crate::embedded::state::{Row, Rows, Sight};
use crate::error::Error;

/// What a map takes for each row besides its bytes.
const ROW_OVERHEAD_BYTES: usize = 128;

/// Rows by key; none where a row is gone.
pub(super) type Held = BTreeMap<Bytes, Option<Bytes>>;

/// The part of a table, while the log is read.
pub(super) struct Gather<'g> {
    rows: &'g Rows,
    part: &'g OwnedPart,
    name_key: Bytes,
    table: Option<Declared>,
    /// Whether the table got another declaration while the log was read.
    is_redeclared: bool,
    /// Whether the declaration is known from the beginning: rows are brought into its form.
    is_final: bool,
    held: Held,
    bytes: usize,
}

/// A table with the place of the part in it.
struct Declared {
    table: Arc<Table>,
    range: KeyRange,
    /// The number of the index.
    index: Option<usize>,
}

impl<'g> Gather<'g> {
    /// Begins with the table as it is declared in the tree, if it is.
    pub(super) fn new(
        rows: &'g Rows,
        part: &'g OwnedPart,
        table: Option<Arc<Table>>,
    ) -> Result<Gather<'g>, Error> {
        let table = table.map(|table| Declared::new(part, table)).transpose()?;
        let name_key = table_key(part.table());
        let (is_redeclared, is_final, held, bytes) = Default::default();
        Ok(Gather { rows, part, name_key, table, is_redeclared, is_final, held, bytes })
    }

    /// Begins with the table as it is declared in the end, and with the rows of the tree in the form
    /// that this gives them.
    pub(super) fn under(
        rows: &'g Rows,
        part: &'g OwnedPart,
        table: Arc<Table>,
    ) -> Result<Gather<'g>, Error> {
        let mut gather = Gather::new(rows, part, Some(table))?;
        gather.is_final = true;
        let Some(declared) = gather.table.take() else { return Ok(gather) };
        let range = match declared.index {
            None => declared.range.clone(),
            Some(_) => keys::scan_range(declared.table.id, keys::ROWS, None),
        };
        let snapshot = rows.snapshot(Sight::Visible)?;
        for row in snapshot.range(&range, false)? {
            let (key, row) = row?;
            let before = row.into_bytes();
            let formed = declared.formed(&key, &before)?;
            match declared.entry(&key, Some(&formed))? {
                Some(entry) => {
                    gather.hold(&entry, Some(&*key));
                    gather.hold(&key, Some(&formed));
                }
                None if declared.index.is_none() && formed != before => {
                    gather.hold(&key, Some(&formed));
                }
                None => {}
            }
        }
        drop(snapshot);
        gather.table = Some(declared);
        Ok(gather)
    }

    /// The table, if the log gave it another declaration: then `under` begins again with that.
    pub(super) fn redeclared(&self) -> Option<Arc<Table>> {
        let declared = self.table.as_ref().filter(|_| self.is_redeclared)?;
        Some(Arc::clone(&declared.table))
    }

    /// About how much memory is held.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes
    }

    /// The table as it is in the end, and what is held.
    pub(super) fn finish(self) -> (Option<Arc<Table>>, Held) {
        (self.table.map(|declared| declared.table), self.held)
    }

    /// Takes what one transaction did.
    pub(super) fn record(&mut self, record: &Record) -> Result<(), Error> {
        for op in &record.ops {
            if op.table == CATALOG {
                self.declare(op, record.seq)?;
            } else if self.table.as_ref().is_some_and(|declared| declared.table.id == op.table) {
                self.change(op)?;
            }
        }
        Ok(())
    }

    fn declare(&mut self, op: &Op, seq: u64) -> Result<(), Error> {
        if op.key != self.name_key || self.is_final {
            return Ok(());
        }
        if !op.kind.is_put() {
            self.forget();
            self.table = None;
            return Ok(());
        }
        let table: Table = serde_json::from_slice(&op.row).map_err(|_| unreadable(seq))?;
        let table = Declared::new(self.part, Arc::new(table))?;
        if self.table.as_ref().is_some_and(|before| before.table.id == table.table.id) {
            self.is_redeclared = true;
        } else {
            self.forget();
        }
        self.table = Some(table);
        Ok(())
    }

    /// A table that comes or goes has nothing of what was there before.
    fn forget(&mut self) {
        (self.held, self.bytes, self.is_redeclared) = Default::default();
    }

    fn change(&mut self, op: &Op) -> Result<(), Error> {
        let Some(declared) = self.table.take() else { return Ok(()) };
        let changed = self.change_in(&declared, op);
        self.table = Some(declared);
        changed
    }

    fn change_in(&mut self, declared: &Declared, op: &Op) -> Result<(), Error> {
        let is_put = op.kind.is_put();
        if declared.index.is_none() && !declared.range.contains(&op.key) {
            return Ok(());
        }
        let new = match is_put {
            true if self.is_final => Some(declared.formed(&op.key, &op.row)?),
            true => Some(op.row.clone()),
            false => None,
        };
        if declared.index.is_some() {
            let old = self.find(&op.key)?;
            let left = declared.entry(&op.key, old.as_ref())?;
            let right = declared.entry(&op.key, new.as_ref())?;
            match (left, right) {
                (None, None) => return Ok(()),
                (left, right) => {
                    if let Some(left) = left.filter(|left| Some(left) != right.as_ref()) {
                        self.hold(&left, None::<&[u8]>);
                    }
                    if let Some(right) = right {
                        self.hold(&right, Some(&op.key));
                    }
                }
            }
        }
        self.hold(&op.key, new.as_ref());
        Ok(())
    }

    /// The row under a key as far as it is known.
    fn find(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if let Some(held) = self.held.get(key) {
            return Ok(held.clone());
        }
        let snapshot = self.rows.snapshot(Sight::Visible)?;
        Ok(snapshot.get(key)?.map(Row::into_bytes))
    }

    fn hold(&mut self, key: &[u8], value: Option<impl AsRef<[u8]>>) {
        // Memory of its own: that of the log goes with the frame.
        let value = value.map(|value| Bytes::copy_from_slice(value.as_ref()));
        let weight = |value: &Option<Bytes>| value.as_ref().map_or(0, Bytes::len);
        self.bytes += weight(&value);
        match self.held.insert(Bytes::copy_from_slice(key), value) {
            Some(before) => self.bytes -= weight(&before),
            None => self.bytes += key.len() + ROW_OVERHEAD_BYTES,
        }
    }
}

impl Declared {
    fn new(part: &OwnedPart, table: Arc<Table>) -> Result<Declared, Error> {
        let (range, space) = part.range(&table)?;
        Ok(Declared { range, index: space.map(|space| usize::from(space) - 1), table })
    }

    /// A row as this declaration has it.
    fn formed(&self, key: &[u8], row: &[u8]) -> Result<Bytes, Error> {
        let item = row::decode_row(key, row)?;
        Ok(Stored::new(&self.table, key, Cow::Owned(item), &mut Arena::default()).row)
    }

    /// Where a row stands in the stretch of the index, if it does.
    fn entry(&self, key: &[u8], row: Option<&Bytes>) -> Result<Option<Vec<u8>>, Error> {
        let (Some(number), Some(row)) = (self.index, row) else { return Ok(None) };
        let Some((_, index)) = self.table.indexes().find(|(known, _)| *known == number) else {
            return Ok(None);
        };
        let item = row::decode_row(key, row)?;
        let entry = keys::index_key(self.table.id, number, &index.key, &item, key);
        Ok(entry.filter(|entry| self.range.contains(entry)))
    }
}
