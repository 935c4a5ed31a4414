//! Reads of the past: `--at`.

use std::time::Duration;

use base::{Timestamp, When};
use table::{AsOf, Embedded, Get, Item, Part, Progress, TableSpec};

use super::read::Asked;
use super::{Desk, Key, SECRETS, Said};
use crate::Error;

/// What only the house's own engine can do.
const WHAT: &str = "looking at the past";

/// How often a long look tells how far it is.
const TELLING: Duration = Duration::from_millis(200);

impl Desk {
    /// An item as it was at an instant.
    pub(super) async fn get_past(
        &self,
        table: &str,
        key: &Key,
        at: &str,
    ) -> Result<Option<Item>, Error> {
        let at = self.instant(at)?;
        let spec = self.spec_at(table, None, at).await?;
        let get = Get::new(table, key.read(&spec.key)?);
        let past = self.look_back(Part::Get(&get), at).await?;
        Ok(past.get(&get)?)
    }

    /// What is asked for, as it was at an instant.
    pub(super) async fn past_of(&self, asked: &Asked, at: Timestamp) -> Result<AsOf, Error> {
        let part = match asked {
            Asked::Query(query) => Part::Query(query),
            Asked::Scan(scan) => Part::Scan(scan),
        };
        self.look_back(part, at).await
    }

    /// The declaration of a table whose items may be seen: as it is now, which tells the key of its
    /// past too, or as it was where there is no such table or index any more.
    pub(super) async fn spec_at(
        &self,
        table: &str,
        index: Option<&str>,
        at: Timestamp,
    ) -> Result<TableSpec, Error> {
        if SECRETS.hides_table(table) || Embedded::is_hidden(table) {
            return Err(Error::Secret(table.to_owned()));
        }
        let engine = self.engine(WHAT)?;
        let has_index = |spec: &TableSpec| index.is_none_or(|name| spec.find_index(name).is_some());
        match self.store.describe_table(table).await {
            Ok(now) if now.created_ms <= at.millis() && has_index(&now.spec) => Ok(now.spec),
            Ok(_) | Err(table::Error::NoSuchTable(_)) => Ok(engine.spec_as_of(table, at).await?),
            Err(error) => Err(error.into()),
        }
    }

    /// The instant that was given, as seen from the house's now.
    pub(super) fn instant(&self, at: &str) -> Result<Timestamp, Error> {
        let when: When =
            at.parse().map_err(|error: base::NotAnInstant| Error::Usage(error.to_string()))?;
        Ok(when.as_of(self.clock.now()))
    }

    async fn look_back(&self, part: Part<'_>, at: Timestamp) -> Result<AsOf, Error> {
        let (engine, progress) = (self.engine(WHAT)?, Progress::new());
        let mut looking = std::pin::pin!(engine.as_of(part, at, &progress));
        loop {
            tokio::select! {
                past = &mut looking => return Ok(past?),
                () = self.clock.sleep(TELLING) => {
                    let said = Said::Progress { done: progress.done(), of: Some(progress.total()) };
                    self.output.send(said).await.map_err(|_| Error::ReaderGone)?;
                }
            }
        }
    }
}
