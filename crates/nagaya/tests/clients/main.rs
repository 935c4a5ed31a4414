//! Clients that others wrote, and the example's, on the real program.
//!
//! `lessons` runs one lesson, `lesson.mjs`, with every client; `example` runs `examples/mesh-client`
//! and the client of `examples/score-game`.
//! `described` lets tools read and try what the rooms say about themselves; `dynamodb` runs
//! DynamoDB's own tools; `packaging` reads what installs a house.
//! The packages come by `cargo xtask test tools`.

#[cfg(test)]
mod described;
#[cfg(test)]
mod dynamodb;
#[cfg(test)]
mod example;
#[cfg(test)]
#[path = "../binary/house.rs"]
#[expect(dead_code, reason = "the tests of the program itself use the rest of their harness")]
mod house;
#[cfg(test)]
mod lessons;
#[cfg(test)]
mod node;
#[cfg(test)]
mod packaging;

/// The key that a house prints for its classes.
#[cfg(test)]
fn mesh_key(house: &house::House) -> &str {
    let key = house.welcome.lines().find_map(|line| line.trim().strip_prefix("mesh key "));
    key.expect("the welcome names the key")
}
