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
mod reads;
mod settled;
mod sqlite;
mod sustained;
mod writes;

use super::report::Report;
use super::{Options, Outcome};

/// Runs all parts.
pub(crate) fn run(options: Options, report: &mut Report) -> Outcome {
    settled::run(options, report)?;
    writes::run(options, report)?;
    reads::run(options, report)?;
    sustained::run(options, report)
}
