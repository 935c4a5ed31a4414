//! Clients that others wrote, and the example's, on the real program.
//!
//! `lessons` runs one lesson, `lesson.mjs`, with every client; `example` runs `examples/mesh-client`
//! and the client of `examples/score-game`.
//! `described` lets tools read and try what the rooms say about themselves; `dynamodb` runs
//! DynamoDB's own tools; `packaging` reads what installs a house.
//! The packages come by `cargo xtask test tools`; the harness is `testkit::program` and
//! `testkit::node`.

#[cfg(test)]
mod described;
#[cfg(test)]
mod dynamodb;
#[cfg(test)]
mod example;
#[cfg(test)]
mod lessons;
#[cfg(test)]
mod packaging;
