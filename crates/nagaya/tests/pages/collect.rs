//! The collect room's pages, played by Chromium on the real program with an upstream of the script's.

use tempfile::TempDir;

use crate::house::{House, nagaya};
use crate::stage::browse;

#[test]
fn an_operator_adds_a_source_sees_what_fails_and_mends_it() {
    let data = TempDir::new().unwrap();
    let mut command = nagaya(data.path());
    // What fails in the story is logged as a warning, and nobody reads it.
    command.env("NAGAYA_LOG_LEVEL", "error,access=off");
    command.env("NAGAYA_COLLECT_PRIVATE_NETWORKS", "127.0.0.0/8");
    let house = House::open(&mut command);
    let link = house.welcome.lines().find_map(|line| line.trim().strip_prefix("set up"));
    let link = link.unwrap_or_else(|| panic!("no link: {}", house.welcome)).trim().to_owned();
    browse("collect.mjs", &house, &[("NAGAYA_LINK", &link)]);
}
