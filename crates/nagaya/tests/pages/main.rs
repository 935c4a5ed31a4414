//! The pages in a real browser, and the part of them that is arithmetic by properties.
//!
//! Chromium and its driver come by `cargo xtask test tools`.

#[cfg(test)]
mod class;
#[cfg(test)]
mod collect;
#[cfg(test)]
mod console;
#[cfg(test)]
mod full;
#[cfg(test)]
#[path = "../binary/house.rs"]
#[expect(dead_code, reason = "the tests of the program itself use the rest of their harness")]
mod house;
#[cfg(test)]
mod lanes;
#[cfg(test)]
#[path = "../clients/node.rs"]
#[expect(dead_code, reason = "clients use the rest of their harness")]
mod node;
#[cfg(test)]
mod score;
#[cfg(test)]
mod sns;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod types;
