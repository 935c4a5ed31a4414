//! What the rooms' pages share: the shell around every page (`shell.rs`), files embedded in the
//! binary (`assets.rs`), QR codes (`qr.rs`), and under `assets/` the stylesheet and small modules.
//!
//! A page is whole without script as far as lists and forms go; modules make it live. They never
//! turn text into markup: what they add are copies of templates that the server rendered, filled
//! with text.

mod assets;
mod qr;
mod shell;

pub use assets::{Asset, Assets, CHART};
pub use qr::qr;
pub use shell::Shell;
