//! The lanes and the sample of the wall, modules that browsers run: their properties run on Node.

use std::path::Path;
use std::process::Command;

#[test]
fn the_lanes_and_the_sample_of_the_wall_keep_their_properties() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/lanes.mjs");
    let ran = Command::new("node").arg("--test").arg(script).output();
    let ran = ran.expect("node runs: `cargo xtask test tools` installs it");
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("# pass 12"), "{told}");
}
