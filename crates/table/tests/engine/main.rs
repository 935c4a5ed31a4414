//! The engine from outside, in one program, so that one link serves all.
//!
//! `conformance.rs`: it keeps every promise of the `Tables` port. `model.rs`: it answers what plain
//! maps answer. `oracle.rs`: it answers what another DynamoDB answers. `embedded.rs`: its files, its
//! past, and what concurrent callers see.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod embedded;
#[cfg(test)]
mod model;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod support;
