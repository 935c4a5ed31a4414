//! The front of the house and its console, in Chromium on the real program.

use crate::stage::browse;

#[test]
fn the_front_leads_everywhere_and_the_overview_moves() {
    let program = testkit::program!();
    let house = program.open();
    // A table with an index and an end, and more items than a page holds.
    let make = "table create shelf --partition id:S --index by-kind:kind:S,n:N --ttl ends";
    program.answer(make, &[]);
    let ends = house.now().seconds() + 3_600;
    let item = |n| format!("{{\"id\":\"{n:02}\",\"kind\":\"book\",\"n\":{n},\"ends\":{ends}}}\n");
    let shelf: String = (0..30).map(item).collect();
    std::fs::write(program.directory().join("shelf.ndjson"), shelf).unwrap();
    program.answer("table import shelf --format json --in shelf.ndjson", &[]);
    let (link, key) = (house.set_up_link(), house.mesh_key());
    browse("console.mjs", &house, &[("NAGAYA_LINK", link), ("NAGAYA_MESH_KEY", key)]);
}
