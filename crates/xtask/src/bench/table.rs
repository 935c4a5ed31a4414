//! The embedded engine, in process, on the real disk.
//!
//! Items have 600 bytes, one index and the change log. Each part measures its peer in the same run:
//!
//! - `settled.rs`: the two candidates for the tree, at exactly its work
//! - `writes.rs`: durable puts, the raw disk with the same batching, and SQLite
//! - `reads.rs`: gets and queries, reads of the tree alone, mixed work, and growth with size
//! - `sustained.rs`: a minute of random writes, and the latency of a put while the settler runs

mod group;
mod house;
pub(super) mod reads;
pub(super) mod settled;
mod sqlite;
pub(super) mod sustained;
pub(super) mod writes;
