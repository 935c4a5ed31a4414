//! Commands on the store. [`run`] answers them all, the same whether the command line has opened
//! the store itself or a running house was asked through its control socket (`control.rs`).
//!
//! What can be asked is in `store/request.rs`; each kind of command has a file beside it. How a
//! request is read from arguments stands in `commands/`.

mod backend;
mod credentials;
mod describe;
mod import;
mod items;
mod keys;
mod past;
mod read;
mod request;
mod tail;

use std::sync::{Arc, LazyLock};

use base::Clock;
use table::{Embedded, Secrets, TableDescription, TableSpec, Tables};
use tokio::sync::mpsc;

pub(crate) use backend::Store;
pub(crate) use describe::listed;
pub(crate) use items::read_typed;
pub(crate) use keys::Key;
pub(crate) use read::{Partition, Query, Read, Scan, SortGiven};
pub(crate) use request::{Followed, Format, Request};

use crate::Error;

/// Lines that may wait between a command and those who feed it and print it: enough that neither
/// waits for the other at every line.
pub(crate) const LINES_WAITING: usize = 64;

/// Items between two words about how far it is: often enough that a bar moves.
const PROGRESS_ITEMS: u64 = 1_000;

/// What the house and its rooms keep secret. Commands, console and the DynamoDB endpoint show it to
/// nobody.
pub(crate) static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
    let declared = [edge::SECRETS, live::SECRETS, collect::SECRETS, score::SECRETS, sns::SECRETS];
    Secrets::new(declared.concat())
});

/// One line of input, or why there is none.
pub(crate) type InputLine = Result<String, Error>;

/// What a command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A line of its answer, for standard output.
    Line(String),
    /// A word about its work, for standard error.
    Note(String),
    /// How many items are done, and of how many if that is known.
    Progress { done: u64, of: Option<u64> },
}

/// Where a command is answered: the store, and the channels to and from who asked.
pub(crate) struct Desk {
    pub(crate) store: Arc<dyn Tables>,
    /// The engine behind it, if it is the house's own: what only that can do.
    pub(crate) engine: Option<Embedded>,
    pub(crate) clock: Clock,
    /// Where browsers find the house, if it is open.
    pub(crate) url: Option<String>,
    /// Where one listens along, if it is open.
    pub(crate) ears: Option<HouseEars>,
    /// Whether the store stays open when the command is done. Ephemeral tables live only so long.
    pub(crate) stays_open: bool,
    pub(crate) input: mpsc::Receiver<InputLine>,
    pub(crate) output: mpsc::Sender<Said>,
}

/// Where one listens along to a house that is open.
#[derive(Clone)]
pub(crate) struct HouseEars {
    pub(crate) pushes: hub::Hub,
    pub(crate) requests: edge::Traces,
}

/// Does what is asked.
///
/// # Errors
/// It could not be done, or not all of it; the message says how far it came.
pub(crate) async fn run(mut desk: Desk, request: Request) -> Result<(), Error> {
    match request {
        Request::List { json } => desk.list(json).await,
        Request::Describe { table, json } => desk.describe(&table, json).await,
        Request::Get { table, key, format, at } => {
            desk.get(&table, &key, format, at.as_deref()).await
        }
        Request::Query(query) => desk.query(*query).await,
        Request::Scan(scan) => desk.scan(*scan).await,
        Request::Put { table, item, format } => desk.put(&table, &item, format).await,
        Request::Delete { table, key } => desk.delete(&table, &key).await,
        Request::Create { spec } => desk.create(spec).await,
        Request::Drop { table } => desk.drop_table(&table).await,
        Request::Export { table, format } => desk.export(&table, format).await,
        Request::Import { table, format } => desk.import(&table, format).await,
        Request::Check { json } => desk.check(json).await,
        Request::CreateBackup => desk.create_backup().await,
        Request::CreateKey { name, scopes, expires_ms } => {
            desk.create_key(&name, &scopes, expires_ms).await
        }
        Request::ListKeys { json } => desk.list_keys(json).await,
        Request::RevokeKey { name, id } => desk.revoke_key(&name, id.as_deref()).await,
        Request::OperatorLink { url, link_hours } => desk.make_link(&url, link_hours).await,
        Request::SignOutOperator => desk.sign_out_operator().await,
        Request::Tail(followed) => desk.tail(&followed).await,
        Request::RotateScoreKeys => desk.rotate_score_keys().await,
    }
}

impl Desk {
    async fn say(&self, line: impl Into<String>) -> Result<(), Error> {
        self.output.send(Said::Line(line.into())).await.map_err(|_| Error::ReaderGone)
    }

    async fn note(&self, note: impl Into<String>) -> Result<(), Error> {
        self.output.send(Said::Note(note.into())).await.map_err(|_| Error::ReaderGone)
    }

    /// Tells how far long work has come, every so many items.
    async fn tell_progress(&self, done: u64, of: Option<u64>) -> Result<(), Error> {
        if !done.is_multiple_of(PROGRESS_ITEMS) {
            return Ok(());
        }
        let said = Said::Progress { done, of };
        self.output.send(said).await.map_err(|_| Error::ReaderGone)
    }

    /// The engine, for `what` only that can do.
    fn engine(&self, what: &'static str) -> Result<&Embedded, Error> {
        self.engine.as_ref().ok_or(Error::EmbeddedOnly(what))
    }

    async fn description(&self, table: &str) -> Result<TableDescription, Error> {
        match self.store.describe_table(table).await {
            Err(table::Error::NoSuchTable(name)) => {
                Err(Error::NoSuchTable { name, existing: self.store.list_tables().await? })
            }
            described => Ok(described?),
        }
    }

    /// The declaration of a table whose items may be seen.
    async fn spec(&self, table: &str) -> Result<TableSpec, Error> {
        if SECRETS.hides_table(table) {
            return Err(Error::Secret(table.to_owned()));
        }
        Ok(self.description(table).await?.spec)
    }

    /// The declaration of a table that keeps what it is given.
    async fn spec_for_writing(&self, table: &str) -> Result<TableSpec, Error> {
        let spec = self.spec(table).await?;
        match (spec.durability, self.stays_open) {
            (table::Durability::Ephemeral, false) => Err(Error::NothingKept(table.to_owned())),
            (table::Durability::Durable | table::Durability::Ephemeral, _) => Ok(spec),
        }
    }
}
