//! Nouns and decisions, free of store and wire: `slot.rs` says which windows there are and when
//! they are asked for, `source.rs` what a source is, `policy.rs` what becomes of what was missed
//! or overlaps, `retry.rs` what becomes of what failed, `answer.rs` which answers count,
//! `guard.rs` which addresses are asked, `tally.rs` how slots add up.

pub(crate) mod answer;
pub(crate) mod backfill;
pub(crate) mod guard;
pub(crate) mod policy;
pub(crate) mod retry;
pub(crate) mod slot;
pub(crate) mod source;
pub(crate) mod tally;
