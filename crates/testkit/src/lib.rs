//! The whole house on trial. Never shipped.
//!
//! Today: [`tidy`], the rules of the house's style that a machine can check. `tests/tidy.rs` holds
//! the tree to them.

pub mod tidy;
