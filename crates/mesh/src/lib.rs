//! The mesh: groups of Scratch and Smalruby projects that share sensor data and events.
//!
//! `model.rs` decides, `items.rs` knows the tables, `ops` are the verbs of the contract, `live.rs`
//! is what is pushed.

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

use base::{Clock, Ids, Stripes};
use dispatch::{Dispatch, Queue, QueueOptions};
use edge::{Ground, Operator, Room};
use hub::Channel;
use table::Tables;

use self::api::key::Key;
use self::api::pace::Pace;
pub use self::error::Error;
use self::limits::ORDER_STRIPES;
use self::model::Terms;
use self::ops::recent::Recent;
pub use self::options::{DomainForm, Membership, Options, Profile};

/// The room.
pub struct Mesh {
    tables: Arc<dyn Tables>,
    /// Groups that may have lapsed, each looked at when its host's lease ends.
    lapses: Queue,
    groups: Channel,
    /// Reports that the store may not have yet.
    recent: Arc<Recent>,
    selections: live::Selections,
    clock: Clock,
    ids: Ids,
    options: Options,
    terms: Terms,
    /// Keeps the messages of a group in the order in which they were committed: who changes something
    /// that is pushed holds the group's lock from the look to the push. Over several instances the
    /// conditions of the commits keep the state right, and the carrier's order is the order.
    order: Stripes,
    key: Key,
    pace: Pace,
}

impl Mesh {
    /// Opens the room: its tables are made if they are missing.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn open(
        options: Options,
        ground: &Ground,
        dispatch: &Dispatch,
    ) -> Result<Arc<Mesh>, Error> {
        let terms = match options.profile {
            Profile::Production => Terms::PRODUCTION,
            Profile::Development => Terms::DEVELOPMENT,
        };
        let Ground { tables, keys, clock, ids, .. } = ground.clone();
        tables.ensure_table(items::table()).await?;
        let key = Key::open(&options, &*tables, keys, &ids, &clock).await?;
        ops::drop_old_tables(&*tables, &clock).await;
        let selections = live::Selections::default();
        let lapses = dispatch.queue(jobs::LAPSES, QueueOptions::default())?;
        let recent = Arc::default();
        let groups = live::channel(&ground.hub, &selections, &recent, &clock);
        let order = Stripes::new(ORDER_STRIPES);
        let pace = Pace::new(&options, ground);
        let mesh = Arc::new(Mesh {
            tables,
            lapses,
            groups,
            recent,
            selections,
            clock,
            ids,
            options,
            terms,
            order,
            key,
            pace,
        });
        mesh.watch_lapses();
        mesh.save_reports(&ground.tasks);
        Ok(mesh)
    }

    /// The room's routes, some of them for the operator.
    pub fn room(self: &Arc<Self>, ground: &Ground, operator: &Operator) -> Room {
        api::room(self, ground, operator)
    }

    /// The key that clients send as `x-api-key`.
    pub fn api_key(&self) -> &str {
        self.key.shared()
    }
}
