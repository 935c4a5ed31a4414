//! The collect room: sub-minute polling of HTTP APIs that never mistakes a hole for a zero.
//!
//! What stands here is its model; the verbs come next.

#![expect(dead_code, reason = "the verbs that use the model come next")]

mod error;
mod limits;
mod model;
pub use self::error::Error;
