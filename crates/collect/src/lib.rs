//! The collect room: HTTP APIs are asked every few seconds, every slot is stored once, and what did
//! not come is a fact, never a zero.
//!
//! `model` decides, `items` knows the tables, `ops` are the verbs, `jobs` runs them by the clock,
//! `api` speaks, to callers and to upstreams, `live` pushes, `pages` shows.
//!
//! What holds, whatever fails:
//! - A slot has at most one value, the first that came; a later one that differs is told.
//! - A past slot gets a value only from an upstream that was asked for its window.
//! - A slot is asked for at its time by the wall clock, however late the trigger was. A clock that
//!   steps back repeats nothing; a step forward, like a stop, leaves a gap that is noted and caught
//!   up with.
//! - Every expected slot has a state. Sums say which share of their slots came.
//! - An upstream is asked by one instance for each slot, unless a process dies in between.

mod api;
mod error;
mod items;
mod jobs;
mod limits;
mod live;
mod model;
mod ops;
mod options;
mod pages;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::{Clock, Ids, Monotonic, Random, Tasks, Timestamp};
use dispatch::{Dispatch, Queue};
use edge::{Ground, Operator, Room};
use parking_lot::Mutex;
use table::Tables;
use tokio::sync::Semaphore;

pub use self::api::mock::room as mock_room;
use self::api::upstream::Upstreams;
pub use self::error::Error;
pub use self::items::SECRETS;
use self::items::Values;
use self::items::files::read_fixed;
use self::limits::{BACKFILL_CALLS_MAX, CALLS_MAX};
use self::live::Pushes;
use self::ops::sources::Sources;
pub use self::options::Options;

/// The room.
pub struct Collect {
    tables: Arc<dyn Tables>,
    clock: Clock,
    random: Random,
    ids: Ids,
    tasks: Tasks,
    options: Options,
    values: Values,
    sources: Sources,
    upstreams: Upstreams,
    pushes: Pushes,
    /// A permit for each call that may be under way.
    calls: Semaphore,
    /// A permit for each of them that may be a backfill's.
    backfill_calls: Semaphore,
    /// Slots that are to be asked for.
    asks: Queue,
    /// Backfills that are to be done.
    backfills: Queue,
    /// When the trigger last ran here, by both clocks.
    last_run: Mutex<Option<(Timestamp, Monotonic)>>,
}

impl Collect {
    /// Looks at what the options name, without opening anything.
    ///
    /// # Errors
    /// A source, its file or a secret cannot be used.
    pub fn check(options: &Options) -> Result<(), Error> {
        read_fixed(options).map(drop)
    }

    /// Opens the room: its tables are made if they are missing, its sources are read, and what was
    /// missed is caught up with.
    ///
    /// # Errors
    /// The settings name what cannot be used, or the store does not answer.
    pub async fn open(
        options: Options,
        ground: &Ground,
        dispatch: &Dispatch,
    ) -> Result<Arc<Collect>, Error> {
        let fixed = read_fixed(&options)?;
        let Ground { tables, clock, ids, random, tasks, .. } = ground.clone();
        let values = Values::new(&options.table);
        tables.ensure_table(values.table()).await?;
        tables.ensure_table(items::table()).await?;
        if fixed.is_empty() {
            tracing::debug!("no source is set: `collect.base_url` (AI_API_BASE_URL) names one");
        }
        let collect = Arc::new(Collect {
            upstreams: Upstreams::new(&clock, &options.private_networks),
            pushes: Pushes::new(&ground.hub),
            sources: Sources::new(fixed),
            calls: Semaphore::new(CALLS_MAX),
            backfill_calls: Semaphore::new(BACKFILL_CALLS_MAX),
            asks: dispatch.queue(jobs::ASKS, jobs::queue_options())?,
            backfills: dispatch.queue(jobs::BACKFILLS, jobs::queue_options())?,
            last_run: Mutex::default(),
            random: random.fork("collect pauses"),
            tables,
            clock,
            ids,
            tasks,
            options,
            values,
        });
        collect.adopt_sources().await?;
        collect.start_jobs(dispatch).await?;
        Ok(collect)
    }

    /// The room's routes, some of them for the operator.
    pub fn room(self: &Arc<Self>, ground: &Ground, operator: &Operator) -> Room {
        api::room(self, ground, operator)
    }
}
