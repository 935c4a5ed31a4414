//! Imports: a line is an item. Lines are written in batches, in their order.

use table::limits::BATCH_WRITE_MAX;
use table::{BatchWrite, Item, TableSpec, put_shown};

use super::request::Format;
use super::{Desk, PROGRESS_ITEMS, SECRETS, items};
use crate::Error;

/// Items that are read and not yet written, with their line numbers.
struct Import {
    spec: TableSpec,
    waiting: Vec<(u64, Item)>,
    written: u64,
}

impl Desk {
    pub(super) async fn import(&mut self, table: &str, format: Format) -> Result<(), Error> {
        let spec = self.spec_for_writing(table).await?;
        let mut import = Import { spec, waiting: Vec::new(), written: 0 };
        let mut line = 0;
        while let Some(text) = self.input.recv().await {
            line += 1;
            let read = text.and_then(|text| match text.trim() {
                "" => Ok(None),
                text => items::read_item(text, format, &import.spec).map(Some),
            });
            match read {
                Ok(None) => {}
                Ok(Some(item)) => self.take(&mut import, line, item).await?,
                Err(error) => {
                    self.flush(&mut import).await?;
                    return Err(import.failed(line, &error));
                }
            }
        }
        self.flush(&mut import).await?;
        let items = crate::commands::counted(import.written, "item");
        self.note(format!("imported {items} into `{table}`")).await
    }

    async fn take(&self, import: &mut Import, line: u64, item: Item) -> Result<(), Error> {
        // A batch may name each item once; of two lines with one key, the later must win.
        if import.waiting.len() == BATCH_WRITE_MAX || import.holds_key_of(&item) {
            self.flush(import).await?;
        }
        import.waiting.push((line, item));
        Ok(())
    }

    async fn flush(&self, import: &mut Import) -> Result<(), Error> {
        let waiting = std::mem::take(&mut import.waiting);
        let Some((first_line, _)) = waiting.first() else { return Ok(()) };
        let before = import.written;
        match self.write(import, &waiting).await {
            Ok(()) => import.written += waiting.len() as u64,
            // A broken rule stops a batch before it begins: one by one, it shows which line it is.
            Err(table::Error::Invalid(_)) => {
                for (line, item) in waiting {
                    let put = put_shown(&*self.store, &SECRETS, &import.spec, item).await;
                    put.map_err(|error| import.failed(line, &error.into()))?;
                    import.written += 1;
                }
            }
            Err(error) => return Err(import.failed(*first_line, &error.into())),
        }
        let thousands = import.written - import.written % PROGRESS_ITEMS;
        if before < thousands { self.tell_progress(thousands, None).await } else { Ok(()) }
    }

    async fn write(&self, import: &Import, items: &[(u64, Item)]) -> Result<(), table::Error> {
        if SECRETS.touches_table(&import.spec.name) {
            // Each is looked at first, so that it keeps its secrets.
            for (_, item) in items {
                put_shown(&*self.store, &SECRETS, &import.spec, item.clone()).await?;
            }
            return Ok(());
        }
        let write = |(_, item): &(u64, Item)| BatchWrite::Put {
            table: import.spec.name.clone(),
            item: item.clone(),
        };
        let writes = items.iter().map(write).collect();
        table::write_all(&*self.store, &self.clock, writes).await
    }
}

impl Import {
    fn holds_key_of(&self, item: &Item) -> bool {
        let same = |other: &Item| {
            let mut names = self.spec.key.attributes().map(|attribute| attribute.name.as_str());
            names.all(|name| item.get(name) == other.get(name))
        };
        self.waiting.iter().any(|(_, waiting)| same(waiting))
    }

    fn failed(&self, line: u64, error: &Error) -> Error {
        Error::Import { line, what: error.to_string(), written: self.written }
    }
}
