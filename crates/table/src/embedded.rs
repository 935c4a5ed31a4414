//! The embedded engine: byte layouts of keys and rows.

pub(crate) mod keys;
pub(crate) mod row;
