//! The page of a class, in Chromium on the real program.

use tempfile::TempDir;

use crate::house::{House, nagaya};
use crate::stage::{browse, quiet};

#[test]
fn a_teacher_sees_a_class_play_removes_somebody_and_ends_it() {
    let data = TempDir::new().unwrap();
    let house = House::open(quiet(&mut nagaya(data.path())));
    let line = |name| house.welcome.lines().find_map(|line| line.trim().strip_prefix(name));
    let link = line("set up").unwrap_or_else(|| panic!("no link: {}", house.welcome)).trim();
    let key = line("mesh key").unwrap_or_else(|| panic!("no key: {}", house.welcome)).trim();
    browse("class.mjs", &house, &[("NAGAYA_LINK", link), ("NAGAYA_MESH_KEY", key)]);
}
