//! How the program ends.

use std::io;
use std::process::ExitCode;

use crate::config::Invalid;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] Invalid),
    /// The wire failed.
    #[error(transparent)]
    Edge(#[from] edge::Error),
    /// The system refused something.
    #[error("{context}: {cause}")]
    System {
        /// What was tried.
        context: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// Tasks did not stop when the house closed.
    #[error("tasks still running after the close: {}", .0.join(", "))]
    Tasks(Vec<String>),
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
            Error::Settings(_) => Exit::Usage,
            Error::Edge(_) | Error::System { .. } | Error::Tasks(_) | Error::Interrupted => {
                Exit::Failed
            }
        }
    }

    /// For `map_err`, with what was tried.
    pub(crate) fn system(context: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |cause| Error::System { context, cause }
    }
}
