//! The signals that ask the program to end.

use std::io;

/// Asks to end, from the moment this is made: none is lost between two waits.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn listen() -> io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> io::Result<Signals> {
        Ok(Signals {})
    }

    /// Waits for the next one and names it.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Waits for the next one and names it.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> &'static str {
        if let Err(cause) = tokio::signal::ctrl_c().await {
            tracing::warn!(%cause, "cannot listen for ctrl-c");
            std::future::pending::<()>().await;
        }
        "ctrl-c"
    }
}
