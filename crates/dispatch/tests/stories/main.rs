//! The promises of dispatch as stories, in a world whose clock the story moves.

#![cfg(test)]

mod bus;
mod leases;
mod queue;
mod queue_rules;
mod scheduler;
mod support;
