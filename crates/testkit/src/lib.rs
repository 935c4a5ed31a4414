//! The house under test. Never shipped.
//!
//! Every test that starts a house starts it here: `World` (feature `world`) is a house in this
//! process, on a clock that the test moves; [`Program`] is the real program. Async tests run by [`test`](macro@test),
//! which checks every world after its test. [`wait`] is the one way to wait for a condition,
//! [`seed`] the one source of chance, [`depth`] says how much a run repeats.
//!
//! [`store`]: a store below the wire. [`conformance`]: what every backend of the `Tables` port
//! promises.
//!
//! [`described`]: what an OpenAPI document leaves unsaid.
//!
//! [`fuzz`]: targets that take any bytes, and the replay of their corpora.
//!
//! [`tidy`]: the rules of the house's style that a machine can check; `tests/tidy.rs` holds the
//! tree to them. [`hammer`]: a store under load that is killed again and again; `tests/recovery.rs`
//! looks at what is left. [`courier`]: the same for the dispatcher, with `tests/delivery.rs`.

#[cfg(feature = "world")]
mod codes;
pub mod conformance;
pub mod courier;
pub mod depth;
pub mod described;
pub mod fuzz;
pub mod hammer;
mod left;
pub mod node;
pub mod program;
mod run;
pub mod seed;
pub mod store;
pub mod tidy;
pub mod wait;
#[cfg(feature = "world")]
mod world;

#[cfg(feature = "world")]
pub use codes::assert_store_codes;
pub use left::Left;
pub use program::{Program, Served};
pub use run::run;
pub use testmacros::test;
#[cfg(feature = "world")]
pub use world::{Answer, Broker, Instance, START, Stream, Turns, World, ask, is_dynamodb, send};
