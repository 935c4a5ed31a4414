//! A house that is open, asked by a command as any client asks: one GET, one answer.
//!
//! The house is found by its data directory, whatever port it has. A command that is given an
//! address (`--http-listen`) asks there, and so does one that finds no house in the directory.

use std::net::SocketAddr;

use base::Clock;
use edge::Told;

use crate::config::{Config, Origin};
use crate::{Error, control};

/// Where a command asks.
pub(crate) struct Visit {
    http: edge::Options,
    /// Whether a house said that it is there.
    pub(crate) is_found: bool,
}

impl Visit {
    /// To the house that these settings mean.
    pub(crate) fn of(config: &Config) -> Visit {
        let (mut http, store) = (config.settings.http.clone(), &config.settings.store);
        let is_told = matches!(config.origin("http.listen"), Origin::Flag(_));
        let found = if is_told { None } else { control::find_open(&store.path) };
        let is_found = found.is_some();
        if let Some(open) = found {
            (http.listen, http.tls_certificate, http.tls_key) =
                (open.listen, open.certificate, open.key);
        }
        Visit { http, is_found }
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        edge::reachable(self.http.listen)
    }

    /// Asks for a path.
    ///
    /// # Errors
    /// Nobody answers there, or what answers is no house.
    pub(crate) fn get(&self, path: &str) -> Result<Told, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
        Ok(runtime.block_on(edge::ask_house(&self.http, &Clock::real(), path))?)
    }
}
