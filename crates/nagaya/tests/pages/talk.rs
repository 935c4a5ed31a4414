//! The live room's pages, played by Chromium on the real program.

use crate::stage::browse;

/// Plays a script against a house of its own.
#[track_caller]
fn play(script: &str) {
    let program = testkit::program!();
    browse(script, &program.open(), &[]);
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
