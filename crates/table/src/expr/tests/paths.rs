//! Paths and projections rule by rule.

use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_oneof, proptest};
use proptest::prop_assert_eq;
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

fn short_path() -> impl Strategy<Value = Path> {
    let step = prop_oneof!["[xy]".prop_map(Step::Field), (0..2_u32).prop_map(Step::Index)];
    ("[ab]", vec(step, 0..4)).prop_map(|(root, steps)| Path { root, steps })
}

/// How two paths clash: the rule, told of each pair.
fn clash(one: &Path, two: &Path) -> Option<&'static str> {
    let mut steps = one.steps.iter().zip(&two.steps);
    match steps.find(|(left, right)| left != right) {
        _ if one.root != two.root => None,
        Some((Step::Field(_), Step::Index(_)) | (Step::Index(_), Step::Field(_))) => {
            Some("conflict")
        }
        Some(_) => None,
        None => Some("overlap"),
    }
}

proptest! {
    #[test]
    fn paths_clash_as_each_two_of_them_do(paths in vec(short_path(), 0..6)) {
        let pairs = |wanted: &'static str| {
            let ends = paths.iter().enumerate();
            let mut clashing = ends.filter_map(|(at, two)| {
                let one = paths.iter().take(at).find(|one| clash(one, two) == Some(wanted))?;
                Some(format!("{wanted} with each other; must remove or rewrite one of these \
                    paths; path one: {one}, path two: {two}"))
            });
            clashing.next()
        };
        let expected = pairs("overlap").or_else(|| pairs("conflict"));
        let told = check_paths(&paths).map_err(|error| error.to_string());
        let expected = expected.map_or(Ok(()), |words| Err(format!("Two document paths {words}")));
        prop_assert_eq!(told, expected);
    }
}
