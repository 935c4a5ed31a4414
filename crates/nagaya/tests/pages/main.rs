//! The pages in a real browser, and the part of them that is arithmetic by properties.
//!
//! Chromium and its driver come by `cargo xtask test tools`.
//!
//! Each test opens a house with `testkit::program!().open()`, on a clock that the story moves, and
//! hands its script NAGAYA_CONTROL, the path of the control socket. `testkit::program` tells how a
//! script moves the clock, and what is checked when the house is dropped.

#[cfg(test)]
mod access;
#[cfg(test)]
mod class;
#[cfg(test)]
mod collect;
#[cfg(test)]
mod console;
#[cfg(test)]
mod first_minute;
#[cfg(test)]
mod first_steps;
#[cfg(test)]
mod full;
#[cfg(test)]
mod lanes;
#[cfg(test)]
mod score;
#[cfg(test)]
mod sns;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod types;
