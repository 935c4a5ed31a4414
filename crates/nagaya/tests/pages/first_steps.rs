//! The first success in a house that nobody has configured, from the pages alone, in Chromium on the
//! real program.

use testkit::Served;

use crate::stage::browse;

#[test]
fn a_newcomer_collects_plays_and_posts_without_a_setting() {
    let program = testkit::program!();
    let house = Served::open(&mut program.serve());
    browse("first_steps.mjs", &house, &[("NAGAYA_LINK", house.set_up_link())]);
}
