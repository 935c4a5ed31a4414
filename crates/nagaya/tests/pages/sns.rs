//! The sns room's pages, used by Chromium on the real program.

use testkit::Served;

use crate::stage::browse;

/// Plays a script against a house of its own, in which nobody speaks too fast.
#[track_caller]
fn play(script: &str) {
    let program = testkit::program!();
    let mut command = program.serve();
    for rate in [
        "REQUESTS_PER_SECOND",
        "ADDRESS_REQUESTS_PER_SECOND",
        "POSTS_PER_MINUTE",
        "FOLLOWS_PER_MINUTE",
    ] {
        command.env(format!("NAGAYA_SNS_{rate}"), "100000");
    }
    let house = Served::open(&mut command);
    browse(script, &house, &[]);
}

#[test]
fn two_neighbours_meet_speak_and_part() {
    play("neighbours.mjs");
}

#[test]
fn every_page_of_the_sns_room_is_for_everybody_in_both_languages_and_themes() {
    play("neighbours_looks.mjs");
}
