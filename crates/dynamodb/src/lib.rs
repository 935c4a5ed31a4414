//! DynamoDB spoken both ways: [`client`] is DynamoDB behind the `Tables` port, [`door`] is the
//! embedded engine in front of DynamoDB's tools.
//!
//! Neither knows a socket or an HTTP library: the client leaves the wire to its SDK, and the door
//! turns the parts of a request into the parts of an answer.

pub mod client;
pub mod door;
