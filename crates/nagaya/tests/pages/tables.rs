//! Tables and their past in the console, in Chromium on the real program.

use std::time::Duration;

use crate::stage::browse;

/// Items of the large table.
const MANY: u32 = 100_000;

#[test]
fn a_table_is_read_edited_and_taken_back_in_time() {
    let program = testkit::program!();
    let house = program.open();
    // A table with an index and an end, and more items than a page holds.
    program
        .answer("table create shelf --partition id:S --index by-kind:kind:S,n:N --ttl ends", &[]);
    let ends = house.now().seconds() + 360_000;
    let wide = "とても長い値".repeat(40);
    let item = |n: u32| {
        format!(
            "{{\"id\":\"{n:02}\",\"kind\":\"book\",\"n\":{n},\"ends\":{ends},\"wide\":\"{wide}\"}}\n"
        )
    };
    let shelf: String = (0..30).map(item).collect();
    std::fs::write(program.directory().join("shelf.ndjson"), shelf).unwrap();
    program.answer("table import shelf --format json --in shelf.ndjson", &[]);
    // One item with a history.
    house.advance(Duration::from_secs(60));
    for (n, note) in [(1, "first"), (2, "second"), (3, "third")] {
        let item = format!("{{\"id\":\"story\",\"kind\":\"tale\",\"n\":{n},\"{note}\":true}}");
        program.answer("table put shelf", &[&item]);
        house.advance(Duration::from_secs(60));
    }
    let then = house.now().to_string();
    house.advance(Duration::from_secs(60));
    program.answer("table delete shelf id=story", &[]);
    let link = house.set_up_link();
    browse("tables.mjs", &house, &[("NAGAYA_LINK", link), ("NAGAYA_THEN", &then)]);
}

#[test]
fn a_page_of_100_000_items_opens_at_once() {
    let program = testkit::program!();
    let house = program.open();
    program.answer("table create many --partition id:S", &[]);
    let item = |n: u32| format!("{{\"id\":\"{n:06}\",\"n\":{n},\"text\":\"item {n}\"}}\n");
    let many: String = (0..MANY).map(item).collect();
    std::fs::write(program.directory().join("many.ndjson"), many).unwrap();
    program.answer("table import many --format json --in many.ndjson", &[]);
    browse("many.mjs", &house, &[("NAGAYA_LINK", house.set_up_link())]);
}
