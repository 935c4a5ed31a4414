//! DynamoDB in both directions: [`client`] implements the `Tables` port on DynamoDB, and [`door`]
//! is a DynamoDB endpoint on the embedded engine.
//!
//! Neither uses a socket or an HTTP library: the client leaves the wire to its SDK, and the door
//! turns the parts of a request into the parts of a response.

pub mod client;
pub mod door;
