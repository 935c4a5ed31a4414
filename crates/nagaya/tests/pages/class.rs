//! The page of a class, in Chromium on the real program.

use crate::stage::browse;

#[test]
fn a_teacher_tries_a_class_sees_forty_pupils_play_names_them_and_ends_it() {
    let program = testkit::program!();
    let house = program.open();
    let (link, key) = (house.set_up_link(), house.mesh_key());
    browse("class.mjs", &house, &[("NAGAYA_LINK", link), ("NAGAYA_MESH_KEY", key)]);
}
