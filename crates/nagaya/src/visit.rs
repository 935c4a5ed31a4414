//! A house that is open, asked through its own door by a command: one GET, one answer.

use base::Clock;
use edge::Told;

use crate::{Error, Settings};

/// Asks the house that these settings open.
///
/// # Errors
/// Nobody answers there, or what answers is no house.
pub(crate) fn get(settings: &Settings, path: &str) -> Result<Told, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    Ok(runtime.block_on(edge::ask_house(&settings.http, &Clock::real(), path))?)
}
