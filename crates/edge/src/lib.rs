//! The wire: the listener and its limits, failures as problem+json, draining, health and metrics.
//!
//! The only crate that names the HTTP library. Start with [`Server`]: what a request passes on its
//! way in stands there. Rooms answer with [`Failure`] when they cannot do what was asked.

mod draining;
mod failure;
mod house;
mod limits;
mod metrics;
mod options;
mod readiness;
mod server;

/// Routes of one room or of the whole house.
pub use axum::Router as Routes;
pub use axum::http::StatusCode;
pub use draining::Draining;
pub use failure::Failure;
pub use house::{About, house_routes};
pub use metrics::Metrics;
pub use options::Options;
pub use readiness::Readiness;
pub use server::{Error, Server};
