//! The basis of every crate: time, ids, text, randomness, tasks. No I/O.
//!
//! Start with [`Clock`]: every wait runs on it, so that tests move days in milliseconds. [`Random`]
//! does the same for randomness: a seeded run repeats. [`Tasks`] is the only way to start a task,
//! and [`text`] the only way in for text that people typed.

mod allocator;
mod cause;
mod clock;
mod error;
mod hex;
mod id;
pub mod options;
mod random;
mod secret_names;
mod stripes;
mod tasks;
pub mod text;
mod time;
mod userinfo;
mod when;

pub use allocator::{Allocator, keep_freed_memory};
pub use cause::Cause;
pub use clock::{Clock, Flow, Hold, Interval, VirtualTime};
pub use error::Error;
pub use hex::hex;
pub use id::Ids;
pub use random::Random;
pub use secret_names::is_secret_name;
pub use stripes::Stripes;
pub use tasks::{Shutdown, Tasks, Ticks};
pub use time::{Monotonic, Timestamp};
pub use userinfo::hide_passwords;
/// The id type that [`Ids`] makes.
pub use uuid::Uuid;
pub use when::{NotAnInstant, When};
