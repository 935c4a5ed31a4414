//! The house put together: settings, composition, commands. The only crate that knows all others,
//! and the only one that is handed arguments and environment.
//!
//! Start with [`House`]: every part of the house is made there and handed to the parts that need
//! it. [`Settings`] lists the options of all crates; `config.rs` tells how they get their values.
//! Each command of the program has a file in `commands/`.

mod commands;
mod config;
mod error;
mod house;
mod log;
mod signals;

pub use commands::run;
pub use config::{Invalid, Settings};
pub use error::Error;
pub use house::House;
pub use log::{Format, Level, Options as LogOptions};
