//! What the rooms' pages share: the shell around every page (`shell.rs`), the
//! side bar and search of the operator's pages (`desk.rs`), what the console asks a room
//! (`ask.rs`), files embedded in the
//! binary (`assets.rs`), QR codes (`qr.rs`), and under `assets/` the stylesheet and small modules.
//!
//! A page is whole without script as far as lists and forms go; modules make it live. They never
//! turn text into markup: what they add are copies of templates that the server rendered, filled
//! with text.

mod ask;
mod assets;
mod desk;
mod qr;
mod shell;

pub use ask::{Answer, Ask, Found, FoundKind, Problem, matches};
pub use assets::{Asset, Assets, CHART};
pub use desk::{Desk, QUESTION_LETTERS_MAX, desks};
pub use qr::qr;
pub use shell::Shell;
