//! The house put together: settings, composition, commands. The only crate that knows all others,
//! and the only one that is handed arguments and environment.
//!
//! Start with [`House`]: every part of the house is made there and handed to the parts that need
//! it. [`Settings`] lists the options of all crates; `config.rs` tells how they get their values.
//! Each command of the program has a file in `commands/`; those on the store are done by
//! `store.rs`, here or through `control.rs` in the house that is open.

mod carrier;
mod commands;
mod config;
mod control;
mod demo;
mod door;
mod error;
mod house;
mod log;
mod migrate;
mod port;
mod screen;
mod signals;
mod store;
mod visit;

pub use commands::run;
pub use config::{Invalid, Settings};
pub use error::Error;
pub use house::House;
pub use log::{Format, Level, Options as LogOptions};
