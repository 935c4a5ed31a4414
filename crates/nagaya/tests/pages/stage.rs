//! A script that drives Chromium, beside a house.

use std::path::Path;
use std::process::Command;

use crate::house::House;
use crate::node::{Node, node, packages};

/// Nobody reads the log of a house before its end: until then it must fit into the pipe.
pub(crate) fn quiet(house: &mut Command) -> &mut Command {
    house.env("NAGAYA_LOG_LEVEL", "warn,access=off")
}

/// Runs a script to its good end. Its pictures stay, to be looked at: in `pictures/<script>` of the
/// target directory, or where `NAGAYA_PICTURES` says.
#[track_caller]
pub(crate) fn browse(script: &str, house: &House, more: &[(&str, &str)]) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let pictures = target.join("pictures").join(script.trim_end_matches(".mjs"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages").join(script);
    let mut browser = node(&script);
    browser.env("NAGAYA_URL", format!("http://{}", house.address));
    browser.env("NAGAYA_PACKAGES", packages("npm", &["axe-core", "playwright-core"]));
    if std::env::var_os("NAGAYA_PICTURES").is_none() {
        // What an earlier run left may show a page that is gone.
        let _gone = std::fs::remove_dir_all(&pictures);
        std::fs::create_dir_all(&pictures).unwrap();
        browser.env("NAGAYA_PICTURES", &pictures);
    }
    browser.envs(more.iter().copied());
    let mut browser = Node::start(&mut browser);
    while let Some(line) = browser.line() {
        println!("{line}");
    }
    println!("its pictures are in {}", pictures.display());
    assert!(browser.wait().success(), "the script has told why");
}
