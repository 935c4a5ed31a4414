//! How streams learn that the house is closing, and how it waits for them.
//!
//! A request that is answered and done needs none of this. A socket or an event stream would go on
//! for ever: it takes [`Draining`] as an extractor, tells its reader where to resume when the
//! drain begins, and ends. What outlives its request is started with [`Draining::spawn`], so that
//! the drain waits for it too.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use base::Tasks;

use crate::Failure;

/// The drain of the server that took a request.
#[derive(Clone, Debug)]
pub struct Draining {
    connections: Tasks,
}

impl Draining {
    pub(crate) fn new(connections: &Tasks) -> Draining {
        Draining { connections: connections.clone() }
    }

    /// Waits until the drain begins; returns at once if it has.
    pub fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        self.connections.shutdown().begun()
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.connections.shutdown().has_begun()
    }

    /// Starts what goes on after its request was answered, such as an upgraded connection. The
    /// drain waits for it until its deadline.
    pub fn spawn(&self, name: &'static str, future: impl Future<Output = ()> + Send + 'static) {
        self.connections.spawn(name, future);
    }
}

impl<S: Sync> FromRequestParts<S> for Draining {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Draining, Failure> {
        let without = || Failure::ours("the request came through no server");
        parts.extensions.get().cloned().ok_or_else(without)
    }
}
