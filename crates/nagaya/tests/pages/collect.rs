//! The collect room's pages, played by Chromium on the real program with an upstream of the script's.

use testkit::{Left, Served};

use crate::stage::browse;

#[test]
fn an_operator_adds_a_source_sees_what_fails_and_mends_it() {
    let program = testkit::program!();
    let mut command = program.serve();
    // What fails in the story is logged as a warning.
    command.env("NAGAYA_LOG_LEVEL", "error,access=off");
    let mut house = Served::open(command.env("NAGAYA_COLLECT_PRIVATE_NETWORKS", "127.0.0.0/8"));
    // The upstream says 404 to some calls: the operator tries one of them again, and leaves the rest.
    house.expect_error("a message was given up");
    house.allow(Left::DeadLetters);
    browse("collect.mjs", &house, &[("NAGAYA_LINK", house.set_up_link())]);
}
