//! Ceilings of an address, without the wire: they are too high to be met by requests.

use std::net::{IpAddr, Ipv4Addr};

use edge::Failure;
use testkit::World;

use super::{Caller, Pace, Standing};
use crate::Options;

const VENUE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

type Try = fn(&Pace, u32, &Caller) -> Result<(), Failure>;

/// What callers do, and how often all of one address may at once.
const VERBS: [(&str, u32, Try); 6] = [
    ("comment", 2_000, |pace, _, who| pace.comment(VENUE, "room", who).map(drop)),
    ("like", 10_000, |pace, _, who| pace.like(VENUE, "room", who).map(drop)),
    ("react", 20_000, |pace, _, who| pace.react(VENUE, "room", who).map(drop)),
    ("join", 20_000, |pace, turn, who| pace.join(VENUE, &turn.to_string(), who).map(drop)),
    ("follow", 20_000, |pace, _, who| pace.follow(VENUE, who)),
    ("open", 200, |pace, turn, who| pace.open_room(VENUE, &format!("host {turn}"), who).map(drop)),
];

fn caller(number: u32, standing: Standing) -> Caller {
    Caller { participant: format!("{standing:?} {number}"), standing }
}

#[testkit::test]
async fn callers_that_invent_names_use_up_nothing_of_signed_ones_and_the_other_way_round() {
    let world = World::new().await;
    let instance = world.instance().await;
    for (verb, at_once, done) in VERBS {
        for (flood, other) in
            [(Standing::Named, Standing::Signed), (Standing::Signed, Standing::Named)]
        {
            let pace = Pace::new(&Options::default(), &instance.ground);
            let flooded =
                (0..at_once + 100).filter(|turn| done(&pace, *turn, &caller(*turn, flood)).is_ok());
            assert_eq!(flooded.count() as u32, at_once, "{verb} by {flood:?}");
            done(&pace, at_once + 100, &caller(0, other)).unwrap();
        }
    }
}

#[testkit::test]
async fn one_caller_that_is_refused_uses_up_nothing_of_the_others() {
    let world = World::new().await;
    let instance = world.instance().await;
    for standing in [Standing::Named, Standing::Signed] {
        let pace = Pace::new(&Options::default(), &instance.ground);
        let spammer = caller(0, standing);
        for _ in 0..500 {
            let _ = pace.comment(VENUE, "room", &spammer);
            let _ = pace.like(VENUE, "room", &spammer);
            let _ = pace.react(VENUE, "room", &spammer);
            let _ = pace.join(VENUE, "connection", &spammer);
            let _ = pace.host(VENUE, "room", "guess", &spammer);
            let _ = pace.open_room(VENUE, "host", &spammer);
        }
        // Each ceiling has all but what one caller may.
        for (verb, at_once, done) in VERBS.into_iter().filter(|(verb, ..)| *verb != "follow") {
            let left = if verb == "open" { at_once - 100 } else { at_once - 20 };
            let passed =
                (1..=left).filter(|turn| done(&pace, *turn, &caller(*turn, standing)).is_ok());
            assert_eq!(passed.count() as u32, left, "{verb} by {standing:?}");
        }
    }
}
