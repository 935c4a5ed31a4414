//! The composition: what the house is made of, in the order in which it is built, and closed in
//! the opposite one.

use std::net::SocketAddr;
use std::time::Duration;

use base::{Clock, Tasks};
use edge::{About, Metrics, Readiness, Server};

use crate::{Error, Settings};

/// Background tasks have this long to stop once the last request is answered. They only finish a
/// step, so a task that needs longer is stuck.
const TASKS_STOP: Duration = Duration::from_secs(10);

const ABOUT: About = About {
    name: "nagaya",
    version: env!("CARGO_PKG_VERSION"),
    // Whoever builds a release sets it; asking git would be a dependency of the build.
    commit: option_env!("GIT_COMMIT"),
};

/// A running house.
#[derive(Debug)]
pub struct House {
    clock: Clock,
    tasks: Tasks,
    server: Server,
}

impl House {
    /// Builds the house and opens its door.
    ///
    /// # Errors
    /// A part cannot be opened.
    pub async fn open(settings: &Settings, clock: Clock) -> Result<House, Error> {
        let tasks = Tasks::new();
        let readiness = Readiness::new();
        let metrics = Metrics::of_process();
        metrics.start_upkeep(&clock, &tasks);
        let routes = edge::house_routes(ABOUT, readiness.clone(), metrics);
        let server = Server::start(&settings.http, routes, clock.clone(), readiness).await?;
        Ok(House { clock, tasks, server })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Closes the door, finishes what is under way, then stops everything behind it.
    ///
    /// # Errors
    /// Something did not finish in its time. Everything else is closed nonetheless.
    pub async fn close(self) -> Result<(), Error> {
        let drained = self.server.drain().await;
        let stopped = self.tasks.finish(&self.clock, TASKS_STOP).await;
        drained?;
        stopped.map_err(Error::Tasks)
    }
}
