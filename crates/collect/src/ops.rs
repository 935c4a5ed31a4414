//! Verbs. `sources.rs` keeps what is asked, `plan.rs` sends a minute's messages, `collect.rs` asks
//! for slots and writes what came, `backfill.rs` asks again, `pace.rs` holds it to its rate,
//! `letters.rs` is what was given up, `rollup.rs` adds up, `read.rs` tells, `purge.rs` removes,
//! `practice.rs` adds and removes the practice source.

pub(crate) mod backfill;
pub(crate) mod collect;
pub(crate) mod letters;
pub(crate) mod pace;
pub(crate) mod plan;
pub(crate) mod practice;
pub(crate) mod purge;
pub(crate) mod read;
pub(crate) mod rollup;
pub(crate) mod sources;
