//! The live room's pages, played by Chromium on the real program.

use std::path::Path;

use tempfile::TempDir;

use crate::house::{House, nagaya};
use crate::node::{Node, node, packages};

/// Plays a script against a house of its own.
#[track_caller]
fn play(script: &str) {
    let (data, pictures) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut command = nagaya(data.path());
    // Nobody reads its log before its end: until then it must fit into the pipe.
    let house = House::open(command.env("NAGAYA_LOG_LEVEL", "warn,access=off"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages").join(script);
    let mut browser = node(&script);
    browser.env("NAGAYA_URL", format!("http://{}", house.address));
    browser.env("NAGAYA_PACKAGES", packages("npm", &["axe-core", "playwright-core"]));
    browser.env("NAGAYA_PICTURES", pictures.path());
    let mut browser = Node::start(&mut browser);
    while let Some(line) = browser.line() {
        println!("{line}");
    }
    assert!(browser.wait().success(), "the script has told why");
}

#[test]
fn a_talk_is_given_from_the_first_hello_to_the_closed_door() {
    play("talk.mjs");
}

#[test]
fn a_wall_keeps_its_frames_and_its_order_in_a_crowd() {
    play("crowd.mjs");
}

#[test]
fn every_page_is_for_everybody_in_both_languages_and_themes() {
    play("looks.mjs");
}
