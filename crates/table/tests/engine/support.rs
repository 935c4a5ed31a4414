//! What the tests share that compare the engine with something else.

pub(crate) mod failure;
pub(crate) mod generate;
