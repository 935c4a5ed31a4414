//! Access, settings and the page of all interfaces, in Chromium on the real program.

use crate::stage::browse;

#[test]
fn keys_settings_and_calls_are_in_the_operators_hands() {
    let program = testkit::program!();
    let house = program.open();
    let (link, key) = (house.set_up_link(), house.mesh_key());
    browse("access.mjs", &house, &[("NAGAYA_LINK", link), ("NAGAYA_MESH_KEY", key)]);
    // The command reads the store, where the use of the key came within a minute.
    let keys = program.answer("key list", &[]);
    let robot = keys.lines().find(|line| line.starts_with("robot/")).unwrap();
    assert!(!robot.trim_end().ends_with("never"), "{keys}");
}
