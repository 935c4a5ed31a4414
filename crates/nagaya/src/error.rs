//! How the program ends.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::config::Invalid;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] Invalid),
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] table::Error),
    /// The wire failed.
    #[error(transparent)]
    Edge(#[from] edge::Error),
    /// A listener cannot be opened.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why, and what to do.
        why: String,
    },
    /// Queues and jobs failed.
    #[error(transparent)]
    Dispatch(#[from] dispatch::Error),
    /// Nothing can carry pushes between instances.
    #[error(transparent)]
    Nats(#[from] nats::Error),
    /// The mesh failed.
    #[error(transparent)]
    Mesh(#[from] mesh::Error),
    /// The live room failed.
    #[error(transparent)]
    Live(#[from] live::Error),
    /// The collect room failed.
    #[error(transparent)]
    Collect(#[from] collect::Error),
    /// The score room failed.
    #[error(transparent)]
    Score(#[from] score::Error),
    /// The sns room failed.
    #[error(transparent)]
    Sns(#[from] sns::Error),
    /// The system refused something.
    #[error("{context}: {cause}")]
    System {
        /// What was tried.
        context: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// A file that the command line names cannot be used.
    #[error("`{}`: {cause}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Tasks did not stop when the house closed.
    #[error("tasks still running after the close: {}", .0.join(", "))]
    Tasks(Vec<String>),
    /// There is no house where one was looked for.
    #[error("there is no house in `{}`; `nagaya serve` makes one", .0.display())]
    NoHouse(PathBuf),
    /// There is a house, and it sleeps.
    #[error("no house is open here: nothing changes")]
    NotOpen,
    /// There is no such table.
    #[error("there is no table `{name}`; there {}", list(.existing))]
    NoSuchTable {
        /// The table asked for.
        name: String,
        /// The tables that are there.
        existing: Vec<String>,
    },
    /// There is no such index.
    #[error("table `{table}` has no index `{index}`; there {}", list(.existing))]
    NoSuchIndex {
        /// The table.
        table: String,
        /// The index asked for.
        index: String,
        /// The indexes that are there.
        existing: Vec<String>,
    },
    /// There is no such backup.
    #[error("there is no backup `{id}`; there {}", list(.existing))]
    NoSuchBackup {
        /// The backup asked for.
        id: String,
        /// The backups that are there.
        existing: Vec<String>,
    },
    /// There is no item under the key.
    #[error("table `{table}` has no item with that key")]
    NoSuchItem {
        /// The table.
        table: String,
    },
    /// A table of that name exists.
    #[error("table `{0}` exists")]
    TableExists(String),
    /// Items that no command prints or writes.
    #[error("table `{0}` holds secrets; look after it with `nagaya key` and `nagaya operator`")]
    Secret(String),
    /// An attribute or index that no command looks into.
    #[error("`{name}` of table `{table}` is secret: it is neither printed nor compared")]
    SecretAttribute {
        /// The table.
        table: String,
        /// The attribute, or the index that is ordered by it.
        name: String,
    },
    /// An ephemeral table of a closed house was to be written.
    #[error("table `{0}` is ephemeral and no house is open: the write would be gone at once")]
    NothingKept(String),
    /// An import came to its end before its input did.
    #[error("line {line}: {what}; items imported before it: {written}")]
    Import {
        /// Where.
        line: u64,
        /// Why.
        what: String,
        /// How many items are in the table.
        written: u64,
    },
    /// Something that only the embedded store can do.
    #[error("{0} is the embedded store's; this house keeps its data in DynamoDB")]
    EmbeddedOnly(&'static str),
    /// The target of a migration is in use by somebody else.
    #[error("table `{0}` holds items there already: a house moves only to where none is")]
    Occupied(String),
    /// A migration has not the same on both sides.
    #[error("the two sides are not the same; tables that differ: {0}")]
    Differs(usize),
    /// The check found problems.
    #[error("the store is not sound; problems found: {0}")]
    Unsound(usize),
    /// Another process has the store open, and takes no commands.
    #[error("{in_use}, and that takes no commands: {cause}")]
    Unreachable {
        /// Which store.
        in_use: table::Error,
        /// Why its control socket does not answer.
        cause: io::Error,
    },
    /// The house that did the work went away.
    #[error("the house closed the connection before the command was done")]
    HouseGone,
    /// The house that does the work is closing.
    #[error("the house is closing; the command was not finished")]
    Closing,
    /// A line is longer than any item.
    #[error("a line has more than {max} bytes")]
    LineTooLong {
        /// What it may have.
        max: u64,
    },
    /// Input is not text.
    #[error("the line is not UTF-8")]
    NotText,
    /// A running house could not do what was asked.
    #[error("{message}")]
    House {
        /// What it said.
        message: String,
        /// The exit code it chose.
        code: u8,
    },
    /// The house, or what it stands on, is not as it should be.
    #[error("{0}")]
    NotReady(String),
    /// Whoever read the answer has stopped reading.
    #[error("nobody reads the answer any more")]
    ReaderGone,
    /// A second signal came while the house was closing.
    #[error("told to quit before the house was closed")]
    Interrupted,
}

/// The program's exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    Store,
}

impl Exit {
    pub(crate) const ALL: [Exit; 4] = [Exit::Done, Exit::Failed, Exit::Usage, Exit::Store];

    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Store => 3,
        }
    }

    fn from_code(code: u8) -> Exit {
        Exit::ALL.into_iter().find(|exit| exit.code() == code).unwrap_or(Exit::Failed)
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "failed while running",
            Exit::Usage => "wrong usage or wrong settings; nothing was started",
            Exit::Store => "the store is in use by another process, or damaged",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl Error {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Error::Settings(_) | Error::Usage(_) => Exit::Usage,
            Error::Store(error) => exit_of(error),
            Error::Edge(
                edge::Error::Tls { .. }
                | edge::Error::TlsHalf { .. }
                | edge::Error::PasswordFile { .. },
            ) => Exit::Usage,
            Error::Collect(collect::Error::Settings(_)) => Exit::Usage,
            Error::Score(score::Error::NoSuchZone(_) | score::Error::GamesFile { .. }) => {
                Exit::Usage
            }
            Error::Sns(sns::Error::Settings(_)) | Error::Nats(_) => Exit::Usage,
            Error::Unreachable { .. } => Exit::Store,
            Error::House { code, .. } => Exit::from_code(*code),
            Error::Edge(_)
            | Error::Listen { .. }
            | Error::Dispatch(_)
            | Error::Mesh(_)
            | Error::Live(_)
            | Error::Collect(_)
            | Error::Score(_)
            | Error::Sns(_)
            | Error::System { .. }
            | Error::File { .. }
            | Error::Tasks(_)
            | Error::NoHouse(_)
            | Error::NotOpen
            | Error::NoSuchTable { .. }
            | Error::NoSuchIndex { .. }
            | Error::NoSuchBackup { .. }
            | Error::NoSuchItem { .. }
            | Error::TableExists(_)
            | Error::Secret(_)
            | Error::SecretAttribute { .. }
            | Error::NothingKept(_)
            | Error::Import { .. }
            | Error::EmbeddedOnly(_)
            | Error::Occupied(_)
            | Error::Differs(_)
            | Error::Unsound(_)
            | Error::HouseGone
            | Error::Closing
            | Error::LineTooLong { .. }
            | Error::NotText
            | Error::NotReady(_)
            | Error::ReaderGone
            | Error::Interrupted => Exit::Failed,
        }
    }

    /// For `map_err`, with what was tried.
    pub(crate) fn system(context: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |cause| Error::System { context, cause }
    }
}

fn exit_of(error: &table::Error) -> Exit {
    match error {
        table::Error::Corrupt { .. }
        | table::Error::InUse(_)
        | table::Error::UnknownFormat { .. } => Exit::Store,
        table::Error::Invalid(_)
        | table::Error::ConditionFailed { .. }
        | table::Error::TransactionCanceled { .. }
        | table::Error::TokenMismatch
        | table::Error::NoSuchTable(_)
        | table::Error::NoSuchIndex { .. }
        | table::Error::TableDiffers(_)
        | table::Error::Throttled(_)
        | table::Error::DiskFull
        | table::Error::Stopped(_)
        | table::Error::TooOld { .. }
        | table::Error::Io { .. } => Exit::Failed,
    }
}

/// `are a, b`, or `is none`.
fn list(existing: &[String]) -> String {
    if existing.is_empty() { "is none".to_owned() } else { format!("are {}", existing.join(", ")) }
}
