//! Verbs. `sources.rs` keeps what is asked, `plan.rs` sends a minute's messages, `collect.rs` asks
//! for slots and writes what came, `backfill.rs` asks again, `rollup.rs` adds up, `read.rs` tells.

pub(crate) mod backfill;
pub(crate) mod collect;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod rollup;
pub(crate) mod sources;
