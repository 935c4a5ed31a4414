//! The whole house on trial. Never shipped.
//!
//! [`tidy`]: the rules of the house's style that a machine can check; `tests/tidy.rs` holds the
//! tree to them. [`hammer`]: a house under load that is killed again and again; `tests/recovery.rs`
//! looks at what is left. [`courier`]: the same for what is dispatched, with `tests/delivery.rs`.

pub mod courier;
pub mod hammer;
pub mod tidy;
