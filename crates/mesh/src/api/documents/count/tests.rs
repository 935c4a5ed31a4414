//! Documents at their bounds. None of these is timed: where the work would double with each level,
//! the test ends only if it does not.

use async_graphql::parser::parse_query;
use serde_json::{Value as Json, json};

use super::{Excess, Uses, check};
use crate::limits::{
    DEPTH_MAX, FIELDS_MAX, LEVELS_MAX, PARTS_MAX, REPEATED_FIELDS_MAX, VALUE_BYTES,
    VARIABLE_BYTES_MAX, VARIABLES_MAX,
};

fn checked(text: &str) -> Result<Uses, Excess> {
    check(&parse_query(text).unwrap())
}

fn refused(text: &str) -> Excess {
    checked(text).unwrap_err()
}

/// Fragments that each spread the next so many times, the last with one field.
fn tower(levels: usize, spreads: usize) -> String {
    let each = (0..levels).map(|level| {
        let spread = format!("...a{} ", level + 1).repeat(spreads);
        format!("fragment a{level} on Query {{ {spread} }} ")
    });
    each.collect::<String>() + &format!("fragment a{levels} on Query {{ x }} ")
}

#[test]
fn the_work_is_linear_in_the_document_however_much_it_stands_for() {
    // 20^30 fields: more than could be visited, or counted without saturation.
    let document = tower(30, 20) + "{ ...a0 }";
    assert_eq!(refused(&document), Excess::Fields(usize::MAX));
    // The document that stopped a server.
    assert_eq!(refused(&(tower(25, 2) + "{ ...a0 }")), Excess::Fields(1 << 25));
    // Nobody asks for these fragments; validation visits them all the same.
    assert_eq!(refused(&(tower(30, 20) + "{ x }")), Excess::Parts(usize::MAX));
    assert_eq!(refused(&(tower(9, 2) + "{ ...a0 }")), Excess::Repeated(511));
    assert!(checked(&(tower(5, 2) + "{ ...a0 }")).is_ok(), "31 of 32 fields are repeated");
}

#[test]
fn a_fragment_that_spreads_itself_is_named() {
    assert_eq!(refused("{ ...f } fragment f on Query { ...f }"), Excess::Cycle("f".to_owned()));
    let pair = "fragment f on Query { x { ... { ...g } } } fragment g on Query { y { ...f } }";
    assert!(matches!(refused(&format!("{{ x }} {pair}")), Excess::Cycle(_)), "nobody asks for it");
    assert!(matches!(refused(&format!("{{ ...f }} {pair}")), Excess::Cycle(_)));
    assert!(checked("{ ...f ...f } fragment f on Query { x }").is_ok(), "twice is no circle");
    assert!(checked("{ ...nothing }").is_ok(), "validation refuses this one");
}

#[test]
fn nesting_is_bounded_through_fragments() {
    let fields = |depth: usize| "{ a".repeat(depth) + &" }".repeat(depth);
    assert!(checked(&fields(DEPTH_MAX)).is_ok());
    assert_eq!(refused(&fields(DEPTH_MAX + 1)), Excess::Depth(DEPTH_MAX + 1));
    let chain = |levels: usize| tower(levels - 2, 1) + "{ ...a0 }";
    assert!(checked(&chain(LEVELS_MAX)).is_ok());
    assert_eq!(refused(&chain(LEVELS_MAX + 1)), Excess::Levels);
    assert_eq!(refused(&chain(3_000)), Excess::Levels, "the stack is bounded too");
    // Known fragments count where they are spread.
    let deep = "... { ".repeat(20) + "...a0" + &" }".repeat(20);
    assert_eq!(refused(&format!("{} {{ ...a0 {deep} }}", tower(15, 1))), Excess::Levels);
}

#[test]
fn parts_are_bounded_wherever_they_stand() {
    let fields: String = (0..FIELDS_MAX).map(|number| format!("a{number} ")).collect();
    assert!(checked(&format!("{{ {fields} }}")).is_ok());
    assert_eq!(refused(&format!("{{ b {fields} }}")), Excess::Fields(FIELDS_MAX + 1));
    let values = "1 ".repeat(PARTS_MAX);
    for text in [
        format!("{{ a(b: [{values}]) }}"),
        format!("{{ a @skip(if: [{values}]) }}"),
        format!("query($a: [Int] = [{values}]) {{ a(b: $a) }}"),
        format!("query @skip(if: [{values}]) {{ a }}"),
        format!("{{ a }} fragment f on Query @skip(if: [{values}]) {{ a }}"),
        format!("{{ a {} }}", "@skip ".repeat(PARTS_MAX)),
    ] {
        let excess = refused(&text);
        assert!(matches!(excess, Excess::Parts(parts) if parts > PARTS_MAX), "{excess:?}");
    }
    let declared = |count: usize| {
        let each = (0..count).map(|number| format!("$v{number}: Int "));
        format!("query({}) {{ a }}", each.collect::<String>())
    };
    assert!(checked(&declared(VARIABLES_MAX)).is_ok());
    assert_eq!(refused(&declared(VARIABLES_MAX + 1)), Excess::Variables(VARIABLES_MAX + 1));
}

#[test]
fn a_field_that_is_asked_for_again_counts_whatever_its_alias() {
    let repeated = |count: usize, of: &str| of.repeat(count);
    let aliases =
        |count: usize| (0..=count).map(|number| format!("a{number}: value ")).collect::<String>();
    let most = REPEATED_FIELDS_MAX;
    for inside in [
        |text: String| format!("{{ {text} }}"),
        |text: String| format!("{{ data {{ {text} }} }}"),
        |text: String| format!("{{ ...f }} fragment f on Query {{ ... {{ {text} }} }}"),
    ] {
        assert!(checked(&inside(aliases(most))).is_ok());
        assert_eq!(refused(&inside(aliases(most + 1))), Excess::Repeated(most + 1));
        assert!(checked(&inside(repeated(most + 1, "value "))).is_ok());
        let again = repeated(most + 2, "value ");
        assert_eq!(refused(&inside(again)), Excess::Repeated(most + 1));
    }
    assert!(checked(&format!("{{ {} }}", repeated(30, "a { id } "))).is_ok(), "other objects");
}

#[test]
fn a_variable_weighs_as_often_as_it_is_used() {
    let text = "x".repeat(1_000_000);
    let variables = json!({ "a": text, "unused": text });
    let uses = |count: usize| {
        let list = "$a ".repeat(count);
        checked(&format!("query($a: String) {{ f(v: [{list}]) }}")).unwrap()
    };
    let each = text.len() + VALUE_BYTES;
    let most = VARIABLE_BYTES_MAX / each;
    assert_eq!(uses(most).check(Some(&variables)), Ok(()));
    let excess = Excess::VariableBytes((most + 1) * each);
    assert_eq!(uses(most + 1).check(Some(&variables)), Err(excess));
    assert_eq!(uses(10_000).check(Some(&json!({ "a": 1 }))), Ok(()));
    assert_eq!(uses(10_000).check(None), Ok(()));
    let many = json!({ "a": vec![0; VARIABLE_BYTES_MAX / VALUE_BYTES] });
    assert!(uses(1).check(Some(&many)).is_err(), "small values have their weight");
    let list = "$a ".repeat(10);
    let fragments = "{ ...f ...f } fragment f on Query { g @skip(if: $a) h(v: [{ w: $a }]) }";
    let uses = checked(&format!("query($a: String) {fragments}")).unwrap();
    let much = json!({ "a": "x".repeat(3_000_000) });
    assert!(uses.check(Some(&much)).is_err(), "four uses");
    let default = format!("query($a: String = \"{text}\") {{ f(v: [{list}]) }}");
    let uses = checked(&default).unwrap();
    assert!(uses.check(None).is_err(), "ten uses of a default");
    assert_eq!(uses.check(Some(&json!({ "a": Json::Null }))), Ok(()));
}
