//! `nagaya table get|query|scan --at`: the past of a house that is open, and of one that is not.

use std::time::Duration;

use testkit::Program;

const MINUTES: Duration = Duration::from_secs(600);

/// Writes an item of the shelf.
fn put(program: &Program, id: &str, kind: &str, n: u32) {
    let item = format!("{{\"id\":\"{id}\",\"kind\":\"{kind}\",\"n\":{n}}}");
    program.answer("table put shelf", &[&item]);
}

#[test]
fn a_command_reads_the_past_of_a_house_that_is_open_and_of_one_that_is_not() {
    let program = testkit::program!();
    let house = program.open();
    program
        .answer("table create shelf --partition id:S --index by-kind:kind:S,n:N --ttl ends", &[]);
    program.answer("table create moment --partition id:S --ephemeral", &[]);
    let before = house.now().to_string();
    house.advance(MINUTES);
    put(&program, "a", "book", 1);
    put(&program, "b", "book", 2);
    let ends = house.now().seconds() + 60;
    let item = format!("{{\"id\":\"c\",\"kind\":\"map\",\"n\":3,\"ends\":{ends}}}");
    program.answer("table put shelf", &[&item]);
    let then = house.advance(Duration::from_secs(1)).to_string();
    house.advance(MINUTES);
    put(&program, "a", "map", 7);
    program.answer("table delete shelf id=b", &[]);

    let lines = |arguments: &str, at: &str| program.answer(arguments, &["--at", at]);
    let (a, b) = (
        "{\"id\":\"a\",\"kind\":\"book\",\"n\":1}\n",
        "{\"id\":\"b\",\"kind\":\"book\",\"n\":2}\n",
    );
    assert_eq!(lines("table get shelf id=a", "-5m"), a);
    assert_eq!(lines("table get shelf id=a", "-0s"), "{\"id\":\"a\",\"kind\":\"map\",\"n\":7}\n");
    // What comes of looks at an instant is the same from the open house and from the closed one.
    let ask = || {
        assert_eq!(lines("table get shelf id=b", &then), b);
        assert_eq!(lines("table query shelf --partition b", &then), b);
        let by_kind = "table query shelf --index by-kind --partition book";
        assert_eq!(lines(by_kind, &then), format!("{a}{b}"));
        assert_eq!(
            lines(
                "table query shelf --index by-kind --partition book --descending --limit 1",
                &then
            ),
            b
        );
        assert_eq!(program.answer(by_kind, &[]), "", "nothing of it is left now");
        let scanned = lines("table scan shelf --filter n>1", &then);
        let mut scanned: Vec<&str> = scanned.lines().collect();
        scanned.sort_unstable();
        assert_eq!(scanned.len(), 2, "what had not expired is there: {scanned:?}");
        let (code, out, told) = program.run("table get shelf id=c --at", &[&then]);
        assert_eq!(code, 0, "{told}");
        assert!(out.contains("\"ends\""), "{out}");
        assert_eq!(program.run("table get shelf id=c", &[]).0, 1, "it has expired since");
        for (arguments, at, wanted) in [
            ("table get shelf id=a", before.as_str(), "has no item with that key"),
            ("table get shelf id=a", "2001-01-01T00:00:00Z", "there was no table `shelf` at 2001"),
            ("table get shelf id=a", "2999-01-01T00:00:00Z", "lies in the future"),
            ("table get moment id=a", &then, "ephemeral"),
            ("table get nothing id=a", &then, "there was no table `nothing`"),
            ("table get edge_credentials id=a", &then, "secret"),
        ] {
            let (code, out, told) = program.run(arguments, &["--at", at]);
            assert_eq!((code, out.as_str()), (1, ""), "{arguments} {at}: {told}");
            assert!(told.contains(wanted), "{arguments} {at}: {told}");
        }
    };
    ask();
    drop(house);
    ask();
    let (code, _, told) = program.run("table get shelf id=a --at yesterday", &[]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("`-5m` for five minutes ago"), "{told}");
}

#[test]
fn the_past_of_a_dropped_table_can_still_be_read() {
    let program = testkit::program!();
    let house = program.open();
    program.answer("table create shelf --partition id:S", &[]);
    put(&program, "a", "book", 1);
    let then = house.advance(Duration::from_secs(1)).to_string();
    house.advance(MINUTES);
    program.answer("table drop shelf --yes", &[]);
    program.answer("table create shelf --partition other:N", &[]);
    let found = program.answer("table scan shelf", &["--at", &then]);
    assert_eq!(found, "{\"id\":\"a\",\"kind\":\"book\",\"n\":1}\n");
    let found = program.answer("table get shelf id=a", &["--at", &then]);
    assert_eq!(found, "{\"id\":\"a\",\"kind\":\"book\",\"n\":1}\n", "by the key that it had");
    assert_eq!(program.answer("table scan shelf", &[]), "");
}
