//! A script that drives Chromium, beside a house.

use std::path::Path;
use std::time::Duration;

use testkit::Served;
use testkit::node::{Node, node, packages, target};

/// As long as a story may take: it tells more about itself before.
const PATIENCE: Duration = Duration::from_secs(165);

/// Runs a script to its good end. Its pictures stay, to be looked at: in `pictures/<script>` of the
/// target directory, or where `NAGAYA_PICTURES` says.
#[track_caller]
pub(crate) fn browse(script: &str, house: &Served, more: &[(&str, &str)]) {
    let control = house.control().to_str().expect("the test's directory has a plain name");
    browse_at(script, house.url(), &[&[("NAGAYA_CONTROL", control)], more].concat());
}

/// The same beside a house that a test has started in another way.
#[track_caller]
pub(crate) fn browse_at(script: &str, url: &str, more: &[(&str, &str)]) {
    let pictures = target().join("pictures").join(script.trim_end_matches(".mjs"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages").join(script);
    let mut browser = node(&script);
    browser.env("NAGAYA_URL", url);
    browser.env("NAGAYA_PACKAGES", packages("npm", &["axe-core", "playwright-core"]));
    if std::env::var_os("NAGAYA_PICTURES").is_none() {
        // What an earlier run left may show a page that is gone.
        let _gone = std::fs::remove_dir_all(&pictures);
        std::fs::create_dir_all(&pictures).unwrap();
        browser.env("NAGAYA_PICTURES", &pictures);
    }
    browser.envs(more.iter().copied());
    let mut browser = Node::start(&mut browser).with_patience(PATIENCE);
    while let Some(line) = browser.line() {
        println!("{line}");
    }
    println!("its pictures are in {}", pictures.display());
    assert!(browser.wait().success(), "the script has told why");
}
