//! The wire: the listener and its limits, failures as problem+json, draining, health and metrics.
//!
//! The only crate that names the HTTP library. Start with [`Server`]: what a request passes on its
//! way in stands there. Rooms answer with [`Failure`] when they cannot do what was asked.

mod cache;
mod client;
mod draining;
mod error;
mod failure;
mod house;
mod idempotency;
mod jwt;
mod keyring;
mod keys;
mod limits;
mod metrics;
mod operator;
mod options;
mod page;
mod passwords;
mod poll;
#[cfg(test)]
mod probe;
mod rates;
mod readiness;
mod secret;
mod server;
mod socket;
mod sse;
mod streams;
mod subject;
mod tables;

/// Routes of one room or of the whole house.
pub use axum::Router as Routes;
pub use axum::http::StatusCode;
pub use cache::{Cache, Keeping};
pub use client::{Client, Networks, ProxyHeader};
pub use draining::Draining;
pub use error::Error;
pub use failure::Failure;
pub use house::{About, house_routes};
pub use idempotency::{Idempotency, IdempotencyToken};
pub use jwt::{JwtAlgorithm, JwtError, JwtKeys, JwtRules, JwtVerifier};
pub use keyring::{KeyRing, MacKey, Rotation};
pub use keys::{ApiKey, ApiSecret, Caller, Denied, Keys, NewSecret};
pub use metrics::Metrics;
pub use operator::{Accounts, Operator, OperatorOptions, OperatorSession};
pub use options::Options;
pub use page::Page;
pub use passwords::{Busy, Passwords};
pub use rates::{Allowance, Bucket, By, Exceeded, Policy, RateLimit};
pub use readiness::Readiness;
pub use secret::is_same_secret;
pub use server::Server;
pub use socket::{Close, Message, Opening, Origins, Terms, Upgrade, Visit};
pub use streams::{StreamOptions, Streams, Want};
pub use subject::Subject;
pub use tables::{CREDENTIALS, ensure_tables};
