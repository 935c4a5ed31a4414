//! The test kit. Never shipped.
//!
//! Every test that starts a server starts it here: `World` (feature `world`) is a server in this
//! process, on a clock that the test moves; [`Program`] is the real program. [`test`](macro@test)
//! runs async tests and checks every world after its test. [`wait`] is the one way to wait for a
//! condition, [`seed`] the one source of randomness, [`depth`] decides how much a run repeats.
//!
//! [`store`]: a store without a server. [`conformance`]: the promises of every backend of the
//! `Tables` port.
//!
//! [`described`]: the gaps of an OpenAPI document.
//!
//! [`fuzz`]: targets that take arbitrary bytes, and the replay of their corpora.
//!
//! [`tidy`]: the rules of the house style that a machine can check; `tests/tidy.rs` applies them to
//! the tree. [`hammer`]: a store under load that is killed again and again; `tests/recovery.rs`
//! checks the result. [`courier`]: the same for the dispatcher, with `tests/delivery.rs`.

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
