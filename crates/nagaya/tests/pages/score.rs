//! The score room's pages and the sample game, played by Chromium on the real program.

use std::path::Path;

use tempfile::TempDir;

use crate::house::{House, answer, nagaya};
use crate::stage::{browse, quiet};

/// Plays a script against a house that has the sample game.
#[track_caller]
fn play(script: &str) {
    let data = TempDir::new().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut command = nagaya(data.path());
    command.env("NAGAYA_SCORE_GAMES_FILE", root.join("examples/score-game/games.json"));
    let house = House::open(quiet(&mut command));
    let made = answer(data.path(), "key create desk --scope score:operate", &[]);
    let key = made.split_whitespace().find(|word| word.starts_with("nk_"));
    let key = key.unwrap_or_else(|| panic!("no key: {made}"));
    let link = house.welcome.lines().find_map(|line| line.trim().strip_prefix("set up"));
    let link = link.unwrap_or_else(|| panic!("no link: {}", house.welcome)).trim();
    let root = root.to_str().unwrap();
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
