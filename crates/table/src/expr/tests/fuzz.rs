//! Any text as an expression of each kind.

use std::fmt::Debug;

use serde_json::json;

use super::{item, placeholders};
use crate::error::Error;
use crate::expr::parse::{
    Placeholders, parse_actions, parse_condition, parse_filter, parse_key_condition,
    parse_projection,
};
use crate::expr::path::project;
use crate::expr::render::Renderer;
use crate::limits::EXPRESSION_BYTES_MAX;
use crate::spec::{KeyAttribute, KeySpec};
use crate::value::Item;

/// What texts may use.
fn given() -> Placeholders {
    placeholders(&json!({
        "#a": "a", "#b": "b.c", ":n": {"N": "-1.5e3"}, ":z": {"N": "0"}, ":s": {"S": "a"},
        ":b": {"B": "AAE="}, ":t": {"S": "SS"}, ":y": {"BOOL": true}, ":u": {"NULL": true},
        ":ss": {"SS": ["a", "b"]}, ":ns": {"NS": ["1", "2"]}, ":bs": {"BS": ["AA=="]},
        ":l": {"L": [{"S": "a"}, {"N": "1"}]}, ":m": {"M": {"a": {"L": []}}},
    }))
}

/// What expressions meet.
fn sample() -> Item {
    item(json!({
        "pk": {"S": "p"}, "sk": {"S": "s"}, "a": {"N": "7"}, "b.c": {"S": "ab"},
        "l": {"L": [{"N": "1"}, {"L": [{"S": "x"}]}, {"M": {"a": {"N": "2"}}}]},
        "m": {"M": {"a": {"S": "b"}, "l": {"L": [{"NULL": true}]}}},
        "ss": {"SS": ["a", "c"]}, "ns": {"NS": ["1", "3"]}, "y": {"BOOL": false},
    }))
}

/// That a text written by `renderer` reads as `tree` again. Placeholders may be longer than names, so
/// a text may become too long.
fn check_read<T: PartialEq + Debug>(
    tree: &T,
    written: &str,
    renderer: Renderer,
    read: impl Fn(&str, &Placeholders) -> Result<T, Error>,
) {
    let again = read(written, &Placeholders::new(renderer.names, renderer.values));
    if written.len() <= EXPRESSION_BYTES_MAX {
        assert_eq!(&again.unwrap(), tree, "{written}");
    }
}

fn check_condition(text: &str, sample: &Item) {
    let (given, filter) = (given(), parse_filter(text, &given()));
    let Ok(condition) = parse_condition(text, &given) else {
        assert!(filter.is_err(), "a filter, but no condition");
        return;
    };
    assert_eq!(filter.unwrap(), condition);
    let mut renderer = Renderer::new();
    let written = renderer.condition(&condition);
    check_read(&condition, &written, renderer, parse_condition);
    assert_eq!(condition.holds(None), condition.holds(Some(&Item::new())));
    let holds = condition.holds(Some(sample));
    assert_eq!((!condition.clone()).holds(Some(sample)), !holds);
    let both = condition.clone().and(condition.clone());
    assert_eq!(both.holds(Some(sample)), holds);
}

fn check_actions(text: &str, sample: &Item) {
    let Ok(actions) = parse_actions(text, &given()) else { return };
    let mut renderer = Renderer::new();
    let written = renderer.actions(&actions);
    check_read(&actions, &written, renderer, parse_actions);
    assert!(!actions.touched().is_empty());
    let Ok(after) = actions.apply(sample) else { return };
    assert_eq!(actions.apply(sample).unwrap(), after);
    // What an update tells is part of the item.
    let told = actions.project_updated(&after);
    assert!(told.iter().all(|(name, _)| after.get(name).is_some()), "{told:?} of {after:?}");
}

fn check_key_condition(text: &str) {
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("sk"));
    let Ok(condition) = parse_key_condition(text, &given(), &key) else { return };
    let mut renderer = Renderer::new();
    let written = renderer.key_condition(&condition);
    check_read(&condition, &written, renderer, |text, given| {
        parse_key_condition(text, given, &key)
    });
}

fn check_projection(text: &str, sample: &Item) {
    let Ok(paths) = parse_projection(text, &given()) else { return };
    let mut renderer = Renderer::new();
    let written = renderer.projection(&paths);
    check_read(&paths, &written, renderer, parse_projection);
    let part = project(&paths, sample);
    assert!(part.size() <= sample.size(), "{part:?} of {sample:?}");
}

#[test]
fn every_expression_is_refused_or_reads_back_as_written() {
    let sample = sample();
    testkit::fuzz::check("expressions", |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        check_condition(text, &sample);
        check_actions(text, &sample);
        check_key_condition(text);
        check_projection(text, &sample);
    });
}
