//! The front of the house and its console, in Chromium on the real program.

use base::Clock;
use tempfile::TempDir;

use crate::house::{House, answer, nagaya};
use crate::stage::{browse, quiet};

#[test]
fn the_front_leads_everywhere_and_the_overview_moves() {
    let data = TempDir::new().unwrap();
    let house = House::open(quiet(&mut nagaya(data.path())));
    // A table with an index and an end, and more items than a page holds.
    let make = "table create shelf --partition id:S --index by-kind:kind:S,n:N --ttl ends";
    answer(data.path(), make, &[]);
    let ends = Clock::real().now().seconds() + 3_600;
    let item = |n| format!("{{\"id\":\"{n:02}\",\"kind\":\"book\",\"n\":{n},\"ends\":{ends}}}\n");
    std::fs::write(data.path().join("shelf.ndjson"), (0..30).map(item).collect::<String>())
        .unwrap();
    answer(data.path(), "table import shelf --format json --in shelf.ndjson", &[]);
    let line = |name| house.welcome.lines().find_map(|line| line.trim().strip_prefix(name));
    let link = line("set up").unwrap_or_else(|| panic!("no link: {}", house.welcome)).trim();
    let key = line("mesh key").unwrap_or_else(|| panic!("no key: {}", house.welcome)).trim();
    browse("console.mjs", &house, &[("NAGAYA_LINK", link), ("NAGAYA_MESH_KEY", key)]);
}
