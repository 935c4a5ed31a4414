//! A script that drives Chromium, beside a house.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::house::House;
use crate::node::{Node, node, packages};

/// Nobody reads the log of a house before its end: until then it must fit into the pipe.
pub(crate) fn quiet(house: &mut Command) -> &mut Command {
    house.env("NAGAYA_LOG_LEVEL", "warn,access=off")
}

/// Runs a script to its good end. Where `NAGAYA_PICTURES` is set, its pictures stay there.
#[track_caller]
pub(crate) fn browse(script: &str, house: &House, more: &[(&str, &str)]) {
    let pictures = TempDir::new().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages").join(script);
    let mut browser = node(&script);
    browser.env("NAGAYA_URL", format!("http://{}", house.address));
    browser.env("NAGAYA_PACKAGES", packages("npm", &["axe-core", "playwright-core"]));
    if std::env::var_os("NAGAYA_PICTURES").is_none() {
        browser.env("NAGAYA_PICTURES", pictures.path());
    }
    browser.envs(more.iter().copied());
    let mut browser = Node::start(&mut browser);
    while let Some(line) = browser.line() {
        println!("{line}");
    }
    assert!(browser.wait().success(), "the script has told why");
}
