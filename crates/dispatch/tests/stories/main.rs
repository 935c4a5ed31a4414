//! The dispatcher's promises as stories, on a store in memory and a clock that the story moves.

#![cfg(test)]

mod bus;
mod house;
mod leases;
mod queue;
mod queue_rules;
mod scheduler;
