//! Purging: the rows of a deleted source are removed, and then it is forgotten. It goes on after a
//! stop, and ends when the source comes back.

use base::Timestamp;
use table::{BatchWrite, Item, Query, write_all};

use crate::Collect;
use crate::error::Error;
use crate::items::kept::{Kept, get_source, read_source};
use crate::items::{Placed, Step, query_first_tally, query_remains, read_tally, room_table};
use crate::jobs;
use crate::limits::PURGE_ROWS;
use crate::model::layout::Layout;
use crate::ops::sources::Change;

impl Collect {
    /// Begins to remove the rows of a deleted source.
    pub(crate) async fn purge_source(&self, name: &str) -> Result<(), Error> {
        self.mark_purged(name).await?;
        self.backfills.enqueue(jobs::purge(name)?).await?;
        Ok(())
    }

    /// Removes the rows of a source that is marked, and forgets it.
    pub(crate) async fn run_purge(&self, name: &str) -> Result<(), Error> {
        let Some(kept) = self.load_purged(name).await? else { return Ok(()) };
        let Some(Ok(source)) = kept.last_source() else {
            return self.forget_purged(name).await;
        };
        let layouts = match kept.layouts.is_empty() {
            true => vec![Layout::of(&source, Timestamp::EPOCH)],
            false => kept.layouts.clone(),
        };
        let placed = Placed { source: &source, layouts: &layouts };
        let first = self.first_slot(placed, kept.spans.first().map(|span| span.from)).await?;
        for query in self.values.query_keys(placed, first, self.clock.now()) {
            self.remove(name, self.values.table_name(), query).await?;
        }
        for query in query_remains(placed) {
            self.remove(name, room_table(), query).await?;
        }
        self.purge_letters(Some(name), None).await?;
        match self.forget_purged(name).await {
            // It came back, with what is left of it.
            Ok(()) | Err(Error::NoSuchSource(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The beginning of the first slot that may have a row: what was written was added up too.
    async fn first_slot(
        &self,
        placed: Placed<'_>,
        span: Option<Timestamp>,
    ) -> Result<Timestamp, Error> {
        let mut first = span.unwrap_or_else(|| self.clock.now());
        for step in [Step::Minute, Step::Hour] {
            for query in query_first_tally(placed, step) {
                let page = self.tables.query(query).await?;
                let times = page.items.iter().filter_map(read_tally).map(|(time, _)| time);
                first = times.fold(first, Timestamp::min);
            }
        }
        Ok(first)
    }

    /// Removes the rows that a query of keys finds, page after page.
    async fn remove(&self, name: &str, table: &str, query: Query) -> Result<(), Error> {
        loop {
            if self.tasks.shutdown().has_begun() {
                // Its message stays, and with it what is left to do.
                return Err(dispatch::Error::Closing.into());
            }
            let page = self.tables.query(query.clone().limit(PURGE_ROWS)).await?;
            if page.items.is_empty() || self.load_purged(name).await?.is_none() {
                return Ok(());
            }
            let delete = |key: Item| BatchWrite::Delete { table: table.to_owned(), key };
            let deletes = page.items.into_iter().map(delete).collect();
            write_all(&*self.tables, &self.clock, deletes).await?;
        }
    }

    /// Marks a deleted source whose rows are to be removed.
    async fn mark_purged(&self, name: &str) -> Result<(), Error> {
        if self.sources.find(name).is_some() {
            return Err(Error::SourceExists(name.to_owned()));
        }
        self.change_own(name, |kept, _| match kept.deleted {
            Some(_) => {
                kept.is_purged = true;
                Ok(Change::Put)
            }
            None => Err(Error::NoSuchSource(name.to_owned())),
        })
        .await
    }

    /// Forgets a source whose rows are removed, unless it has come back.
    async fn forget_purged(&self, name: &str) -> Result<(), Error> {
        self.change_own(name, |kept, _| match kept.is_purged {
            true => Ok(Change::Delete),
            false => Err(Error::NoSuchSource(name.to_owned())),
        })
        .await
    }

    /// What the table knows of a source that is being purged.
    async fn load_purged(&self, name: &str) -> Result<Option<Kept>, Error> {
        let item = self.tables.get(get_source(name)).await?;
        Ok(item.as_ref().and_then(read_source).filter(|kept| kept.is_purged))
    }
}
