//! Nouns and decisions, free of store and wire: `slot.rs` says which windows there are and when
//! they are asked for, `source.rs` what a source is and `kind.rs` what it is like, `policy.rs` what
//! becomes of what was missed or overlaps, `retry.rs` what becomes of what failed, `answer.rs` which
//! answers count, `guard.rs` which addresses are asked, `decimal.rs` what a value is, `tally.rs` how
//! slots add up, `layout.rs` where the rows of a source are, `redact.rs` what of a URL is shown,
//! `practice.rs` what the house itself answers to a source for practice.

pub(crate) mod answer;
pub(crate) mod backfill;
pub(crate) mod decimal;
pub(crate) mod guard;
pub(crate) mod kind;
pub(crate) mod layout;
pub(crate) mod policy;
pub(crate) mod practice;
pub(crate) mod redact;
pub(crate) mod retry;
pub(crate) mod slot;
pub(crate) mod source;
pub(crate) mod tally;
