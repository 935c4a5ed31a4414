//! What every room stands on.

use std::sync::Arc;

use base::{Clock, Ids, Random, Tasks};
use hub::Hub;
use table::Tables;

use crate::{Dials, Keys, StreamOptions, Streams};

/// What the house gives to its rooms. Clones share it.
#[derive(Clone)]
pub struct Ground {
    /// The store.
    pub tables: Arc<dyn Tables>,
    /// What is pushed.
    pub hub: Hub,
    /// How pushes leave the house.
    pub streams: Streams,
    /// The house's API keys.
    pub keys: Keys,
    /// Time.
    pub clock: Clock,
    /// New ids.
    pub ids: Ids,
    /// Chance.
    pub random: Random,
    /// What runs without being asked.
    pub tasks: Tasks,
    /// Settings that can change while it runs.
    pub dials: Dials,
}

impl Ground {
    /// The ground of a house that stands alone. The tables of this crate must be there.
    pub fn new(
        tables: Arc<dyn Tables>,
        options: &StreamOptions,
        clock: &Clock,
        random: &Random,
        tasks: &Tasks,
    ) -> Ground {
        let hub = Hub::in_process(clock, random, tasks);
        Ground::with_hub(tables, hub, options, clock, random, tasks)
    }

    /// The same ground with pushes that no other instance hears.
    #[must_use]
    pub fn alone(&self, options: &StreamOptions) -> Ground {
        if !self.hub.is_shared() {
            return self.clone();
        }
        let Ground { clock, random, tasks, .. } = self;
        let hub = Hub::in_process(clock, random, tasks);
        Ground { streams: Streams::new(options, &hub, clock, random), hub, ..self.clone() }
    }

    /// The ground of one instance, whose pushes this hub carries.
    pub fn with_hub(
        tables: Arc<dyn Tables>,
        hub: Hub,
        options: &StreamOptions,
        clock: &Clock,
        random: &Random,
        tasks: &Tasks,
    ) -> Ground {
        let ids = Ids::new(clock.clone(), random.clone());
        let keys = Keys::new(Arc::clone(&tables), clock.clone(), ids.clone());
        keys.save_uses(tasks);
        Ground {
            streams: Streams::new(options, &hub, clock, random),
            keys,
            tables,
            hub,
            clock: clock.clone(),
            ids,
            random: random.clone(),
            tasks: tasks.clone(),
            dials: Dials::default(),
        }
    }
}
