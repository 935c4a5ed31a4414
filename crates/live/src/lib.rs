//! The live room: comments of an audience, live on the presenter's screen.
//!
//! `model.rs` decides, `items.rs` knows the tables, `ops` are the verbs of the contract, `live.rs`
//! is what is pushed, `api.rs` the wire, `pages.rs` what people see. Start with `ops/posting.rs`,
//! where a comment gets its number, and `ops/follow.rs`, where somebody who joins finds the place to
//! listen from.

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

use base::{Clock, Ids, Stripes, Tasks};
use dispatch::{Dispatch, Queue, QueueOptions};
use edge::{Ground, KeyRing};
use table::Tables;

use self::api::Api;
pub use self::error::Error;
use self::items::Layout;
pub use self::items::SECRETS;
use self::limits::ORDER_STRIPES;
use self::live::stage::Stages;
use self::model::Rules;
use self::ops::{Comments, Waiting};
pub use self::options::Options;

/// The room of rooms.
pub struct Live {
    tables: Arc<dyn Tables>,
    layout: Layout,
    /// Rooms that are gone and whose comments are to follow.
    removals: Queue,
    stages: Stages,
    /// What connections say of themselves, for the job that notes it.
    signs: jobs::Signs,
    /// Signs participants.
    ring: KeyRing,
    clock: Clock,
    ids: Ids,
    options: Options,
    rules: Rules,
    /// Keeps the pushes of a room in the order of their numbers: who commits something that has one
    /// holds the room's lock from the look to the push. Over several instances the conditions of the
    /// commits keep the state right, and the carrier's order is the order.
    order: Stripes,
    /// Comments for the next commit of their room.
    waiting: Waiting,
    /// Comments of the whole house.
    comments: Comments,
    tasks: Tasks,
}

impl Live {
    /// Opens the room: its tables are made if they are missing.
    ///
    /// # Errors
    /// The environment is no name, or the store does not answer.
    pub async fn open(
        options: Options,
        ground: &Ground,
        dispatch: &Dispatch,
    ) -> Result<Arc<Live>, Error> {
        let layout = Layout::new(&options.environment)?;
        let Ground { tables, clock, ids, hub, tasks, .. } = ground.clone();
        for spec in layout.tables() {
            tables.ensure_table(spec).await?;
        }
        let ring = jobs::open_ring(ground).await?;
        let rules = Rules {
            graphemes_max: options.comment_graphemes_max,
            bytes_max: options.comment_bytes_max,
            comments_max: options.comments_per_room_max,
        };
        let removals = dispatch.queue(jobs::REMOVALS, QueueOptions::default())?;
        let stages = Stages::new(&hub, &clock, &tasks);
        let (signs, heard) = jobs::signs();
        let order = Stripes::new(ORDER_STRIPES);
        let live = Arc::new(Live {
            tables,
            layout,
            removals,
            stages,
            signs,
            ring,
            clock,
            ids,
            options,
            rules,
            order,
            waiting: Waiting::default(),
            comments: Comments::default(),
            tasks,
        });
        live.start_jobs(heard, dispatch).await?;
        Ok(live)
    }

    /// The room's routes.
    pub fn room(self: &Arc<Self>, ground: &Ground) -> edge::Room {
        api::room(&Arc::new(Api::new(self, ground)))
    }
}
