//! The score room's pages and the sample game, played by Chromium on the real program.

use std::path::Path;

use testkit::Served;

use crate::stage::browse;

/// Plays a script against a house that has the sample game.
#[track_caller]
fn play(script: &str) {
    let program = testkit::program!();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut command = program.serve();
    command.env("NAGAYA_SCORE_GAMES_FILE", root.join("examples/score-game/games.json"));
    let house = Served::open(&mut command);
    let made = program.answer("key create desk --scope score:operate", &[]);
    let key = made.split_whitespace().find(|word| word.starts_with("nk_"));
    let key = key.unwrap_or_else(|| panic!("no key: {made}"));
    let (root, link) = (root.to_str().unwrap(), house.set_up_link());
    browse(script, &house, &[("NAGAYA_KEY", key), ("NAGAYA_ROOT", root), ("NAGAYA_LINK", link)]);
}

#[test]
fn the_sample_is_played_by_keys_mouse_and_touch_and_its_board_moves_for_who_watches() {
    play("arcade.mjs");
}

#[test]
fn every_page_of_the_score_room_is_for_everybody_in_both_languages_and_themes() {
    play("arcade_looks.mjs");
}
