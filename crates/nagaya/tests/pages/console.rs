//! The front of the house and its console, in Chromium on the real program.

use crate::stage::browse;

#[test]
fn the_front_leads_everywhere_and_the_overview_moves() {
    let program = testkit::program!();
    let house = program.open();
    let (link, key) = (house.set_up_link(), house.mesh_key());
    browse("console.mjs", &house, &[("NAGAYA_LINK", link), ("NAGAYA_MESH_KEY", key)]);
}
