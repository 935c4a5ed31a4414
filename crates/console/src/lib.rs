//! The pages of the house itself: its front for everybody (`/`), and what its operator sees
//! (`/console`).
//!
//! Start with [`Console`]. `numbers.rs` reads what the house counts anyway, `overview.rs` makes
//! rates and sentences of it, `watch.rs` does so every second and pushes it, `pages.rs` shows it.
//!
//! - **Invariant:** what the overview shows comes from counters; nothing is scanned for it, however
//!   much the house holds.
//! - **Invariant:** no room is known here but by its name.

mod limits;
mod numbers;
mod overview;
mod pages;
mod watch;

use std::sync::Arc;

use base::Clock;
use edge::{Cors, Ground, Metrics, Operator, Room, Streams};
use hub::{Channel, ChannelSpec};
use parking_lot::Mutex;
use table::Embedded;

use self::limits::PUSHES_KEPT;
use self::overview::Overview;

/// The console.
pub struct Console {
    clock: Clock,
    metrics: Metrics,
    /// The store, if it is on this machine: it has backups then.
    store: Option<Embedded>,
    streams: Streams,
    channel: Channel,
    overview: Mutex<Overview>,
}

impl Console {
    /// Begins to watch what the house counts, until its tasks end.
    pub fn open(ground: &Ground, metrics: &Metrics, store: Option<Embedded>) -> Arc<Console> {
        let console = Arc::new(Console {
            clock: ground.clock.clone(),
            metrics: metrics.clone(),
            store,
            streams: ground.streams.clone(),
            channel: ground.hub.channel(ChannelSpec::new("console.overview", PUSHES_KEPT)),
            overview: Mutex::default(),
        });
        watch::start(&console, &ground.tasks);
        console
    }

    /// The pages: the front for everybody, the rest for the operator.
    pub fn room(self: &Arc<Self>, operator: &Operator) -> Room {
        Room::new("console", pages::routes(self, operator)).with_cors(Cors::Nobody)
    }
}
