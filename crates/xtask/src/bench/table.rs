//! The embedded engine, in process, on the real disk.
//!
//! Items are of 600 bytes, with one index and the change log. Each part prints what it measured
//! side by side with its peer in the same run:
//!
//! - `settled.rs`: the two candidates for the settled store, at exactly its work
//! - `writes.rs`: durable puts beside the raw disk with the same batching, and beside SQLite
//! - `reads.rs`: gets and queries beside the tree read alone, mixed work, and growth with size
//! - `sustained.rs`: a minute of random writes, and the latency of a put while it settles

mod group;
mod house;
pub(super) mod reads;
pub(super) mod settled;
mod sqlite;
pub(super) mod sustained;
pub(super) mod writes;
