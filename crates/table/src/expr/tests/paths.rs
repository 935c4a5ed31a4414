//! Paths and projections rule by rule.

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};
use serde_json::json;

use crate::expr::parse::{Placeholders, parse_projection};
use crate::expr::path::{check_paths, project};
use crate::expr::tests::{item, message, placeholders};
use crate::expr::{Path, Step};
use crate::value::Item;

fn subject() -> Item {
    item(json!({
        "a": {"M": {"x": {"N": "1"}, "y": {"N": "2"}, "l": {"L": [{"S": "0"}, {"S": "1"}, {"S": "2"}]}}},
        "b": {"L": [{"M": {"x": {"N": "1"}, "y": {"N": "2"}}}, {"N": "5"}, {"L": [{"N": "6"}]}]},
        "c": {"S": "text"},
        "d.e": {"S": "dotted"},
    }))
}

#[test]
fn a_projection_keeps_what_leads_to_its_parts() {
    let names = placeholders(&json!({"#d": "d.e", "#x": "x"}));
    let cases = [
        ("c", json!({"c": {"S": "text"}})),
        ("c, #d", json!({"c": {"S": "text"}, "d.e": {"S": "dotted"}})),
        ("a.#x", json!({"a": {"M": {"x": {"N": "1"}}}})),
        ("a.y, a.x", json!({"a": {"M": {"x": {"N": "1"}, "y": {"N": "2"}}}})),
        // Elements close up, in the order they had.
        ("a.l[2], a.l[0]", json!({"a": {"M": {"l": {"L": [{"S": "0"}, {"S": "2"}]}}}})),
        ("b[1], b[0].y", json!({"b": {"L": [{"M": {"y": {"N": "2"}}}, {"N": "5"}]}})),
        ("b[2][0]", json!({"b": {"L": [{"L": [{"N": "6"}]}]}})),
        // What is not there leaves no trace.
        ("gone, a.gone, a.l[7], b[0].gone, c.x", json!({})),
        ("a.gone, b[1]", json!({"b": {"L": [{"N": "5"}]}})),
        ("a[0], b.x", json!({})),
    ];
    for (text, expected) in cases {
        let paths = parse_projection(text, &names).unwrap();
        assert_eq!(project(&paths, &subject()), item(expected), "{text}");
    }
    assert_eq!(project(&[], &subject()), subject());
}

#[test]
fn clashing_paths_are_refused() {
    let cases = [
        ("a, a", "overlap", "[a]", "[a]"),
        ("a, b, a.x", "overlap", "[a]", "[a, x]"),
        ("a.x[1].y, a.x[1]", "overlap", "[a, x, [1], y]", "[a, x, [1]]"),
        ("a.x, a[0]", "conflict", "[a, x]", "[a, [0]]"),
        ("a.x, a[0], b, b", "overlap", "[b]", "[b]"),
    ];
    for (text, how, one, two) in cases {
        assert_eq!(
            message(parse_projection(text, &Placeholders::default())),
            format!(
                "Invalid ProjectionExpression: Two document paths {how} with each other; must \
                 remove or rewrite one of these paths; path one: {one}, path two: {two}"
            ),
            "{text}"
        );
    }
    for text in ["a, aa", "a.x, a.y", "a[0], a[1]", "a.x.y, a.y.x"] {
        assert!(parse_projection(text, &Placeholders::default()).is_ok(), "{text}");
    }
}

/// How two paths clash, each compared with the other.
fn clash(one: &Path, two: &Path) -> Option<&'static str> {
    if one.root != two.root {
        return None;
    }
    for (left, right) in one.steps.iter().zip(&two.steps) {
        match (left, right) {
            (Step::Field(_), Step::Index(_)) | (Step::Index(_), Step::Field(_)) => {
                return Some("conflict");
            }
            (left, right) if left != right => return None,
            (_, _) => {}
        }
    }
    Some("overlap")
}

fn paths() -> impl Strategy<Value = Vec<Path>> {
    let step = (any::<bool>(), 0..2_u32).prop_map(|(is_field, number)| match is_field {
        true => Step::Field(number.to_string()),
        false => Step::Index(number),
    });
    let path = ("[ab]", vec(step, 0..4)).prop_map(|(root, steps)| Path { root, steps });
    vec(path, 0..12)
}

proptest! {
    #![proptest_config(testkit::depth::cases(1024))]

    #[test]
    fn the_first_clash_is_told_that_a_look_at_every_pair_finds(paths in paths()) {
        let paths = &paths[..];
        let pairs = || {
            let earlier = |two: usize| (0..two).map(move |one| (&paths[one], &paths[two]));
            (0..paths.len()).flat_map(earlier)
        };
        let found = ["overlap", "conflict"].iter().find_map(|how| {
            let (one, two) = pairs().find(|(one, two)| clash(one, two) == Some(*how))?;
            Some(format!("{how} with each other; must remove or rewrite one of these paths; path \
                one: {one}, path two: {two}"))
        });
        let told = check_paths(paths).err().map(|error| error.to_string());
        prop_assert_eq!(told, found.map(|found| format!("Two document paths {found}")));
    }
}
