//! People who read a series that is open to everyone. Readers say nothing of themselves, so the
//! abuser and the others differ by their connections alone.

use std::time::Duration;

use base::Timestamp;
use serde_json::json;
use testkit::{Program, Served, wait};

use super::{PEOPLE, Person, Request, beside_an_abuser, each, serve, text};

/// Slots of a minute.
const SLOTS: usize = 12;

/// A house that has collected a minute of its own mock; the path of that minute.
fn furnished(program: &Program) -> (Served, String) {
    let house = serve(program, &[("NAGAYA_COLLECT_PRIVATE_NETWORKS", "127.0.0.0/8")]);
    let key = program.answer("key create me --scope collect:operate", &[]);
    let key = format!("x-api-key: {}\r\n", key.trim());
    let mut operator = Person::connect(&house.address);
    let upstream = format!("http://{}/collect", house.address);
    let source = json!({
        "name": "tokyo", "metric": "orders", "baseUrl": upstream, "readers": "everyone",
    });
    operator.post("/collect/sources", &key, &source);
    let minute = house.now().seconds() / 60 * 60;
    let spell = |seconds| Timestamp::from_seconds(seconds).unwrap().to_string().replace(".000", "");
    let (from, to) = (spell(minute - 600), spell(minute - 540));
    let order = json!({ "from": from, "to": to });
    let begun = operator.post("/collect/sources/tokyo/backfill", &key, &order);
    let path = format!("/collect/backfills/{}", text(&begun, "/id"));
    wait::until("the end of the backfill", || {
        let seen = operator.get(&path, &key);
        let is_done = seen["state"] == "done";
        if !is_done {
            house.advance(Duration::from_millis(500));
        }
        wait::holds(is_done, seen)
    });
    (house, format!("/collect/slots/orders%23tokyo?from={from}&to={to}"))
}

/// Reads all the time, what is there and what is not, with a key that nobody has, and by halves.
fn abuse(slots: &str, number: usize) -> Request {
    match number % 4 {
        0 => Request::get(slots, ""),
        1 => Request::get(&format!("/collect/series/stranger-{number}"), ""),
        2 => Request::get(slots, "x-api-key: nk_nobody_0000\r\n"),
        _ => Request::get("/collect/slots/orders%23tokyo?from=now", ""),
    }
}

#[test]
fn a_thousand_readers_and_one_flooder_share_an_address_and_no_reader_is_refused() {
    let program = testkit::program!();
    let (house, slots) = furnished(&program);
    let address = house.address.as_str();
    beside_an_abuser(
        address,
        |number| abuse(&slots, number),
        || {
            each(PEOPLE, |_| {
                let mut reader = Person::connect(address);
                reader.get("/collect/explain", "");
                let seen = reader.get(&slots, "");
                let slots = seen["slots"].as_array().unwrap();
                let values = slots.iter().filter(|slot| slot["count"].is_number()).count();
                assert_eq!(values, SLOTS, "{seen}");
            });
        },
    );
}
