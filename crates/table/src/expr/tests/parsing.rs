//! The language itself: syntax, placeholders, key conditions, bounds.

use serde_json::json;

use crate::expr::build::attr;
use crate::expr::parse::{
    Placeholders, parse_actions, parse_condition, parse_filter, parse_key_condition,
    parse_projection,
};
use crate::expr::tests::{message, placeholders};
use crate::expr::{KeyCondition, SortCondition};
use crate::limits::EXPRESSION_BYTES_MAX;
use crate::spec::{KeyAttribute, KeySpec};
use crate::value::{Value, ValueType};

fn meaning() -> Placeholders {
    placeholders(&json!({
        "#p": "pk", ":p": {"S": "p"}, ":q": {"S": "q"}, ":1": {"N": "1"}, ":2": {"N": "2"},
        ":true": {"BOOL": true}, ":SS": {"S": "SS"},
    }))
}

#[test]
fn the_builder_says_the_same_as_the_text() {
    let built = attr("a")
        .field("b")
        .at(2)
        .ge(1)
        .and(attr("c").between(1, attr("d")).or(!attr("e").is_in([1, 2])))
        .and(attr("f").exists().and(attr("g").not_exists()))
        .or(attr("h").is_type(ValueType::Ss).and(attr("i").begins_with("p")))
        .or(attr("j").contains(true).and(attr("k").size().lt(2)))
        .or(attr("l").eq(attr("m")).and(attr("n").ne(attr("o").size())));
    let text = "a . b [ 2 ]>=:1 AND (c between :1 and d OR NOT e IN (:1,:2)) \
                AND (attribute_exists(f) AND attribute_not_exists(g)) \
                OR attribute_type(h, :SS) And begins_with ( i, :p ) \
                OR contains(j, :true) AND size(k) < :2 OR l = m AND n <> size(o)";
    assert_eq!(parse_condition(text, &meaning()).unwrap(), built);
    assert_eq!(parse_filter(&format!("({text})"), &meaning()).unwrap(), built);
}

#[test]
fn a_syntax_error_names_the_token_and_its_neighbours() {
    let cases = [
        ("a =", "<EOF>", "="),
        ("a", "<EOF>", "a"),
        (":1", "<EOF>", ":1"),
        ("a = :1 b = :1", "b", ":1 b ="),
        ("= :1", "=", "= :1"),
        ("a == :1", "=", "== :1"),
        ("a = 1", "1", "= 1"),
        ("a = \"x\"", "\"", "= \"x"),
        ("_a = :1", "_", "_a"),
        ("a-b = :1", "-", "a-b"),
        ("a = :", ":", "= :"),
        ("# = :1", "#", "# ="),
        ("a.0 = :1", "0", ".0 ="),
        ("a[b] = :1", "b", "[b]"),
        ("(a = :1", "<EOF>", ":1"),
        ("a = :1)", ")", ":1)"),
        ("a AND b = :1", "AND", "a AND b"),
        ("a = :1 AND", "<EOF>", "AND"),
        ("(a = :1) = :1", "=", ") = :1"),
        ("a BETWEEN :1 OR :2", "OR", ":1 OR :2"),
        ("a IN :1", ":1", "IN :1"),
        ("a IN ()", ")", "()"),
        ("attribute_exists()", ")", "()"),
        ("a = (b = :1)", "=", "b = :1"),
        ("é = :1", "é", "é ="),
        // A syntax error anywhere is told before any other fault.
        ("name = :nope AND", "<EOF>", "AND"),
    ];
    for (text, token, near) in cases {
        let told = message(parse_condition(text, &meaning()));
        assert_eq!(
            told,
            format!(
                "Invalid ConditionExpression: Syntax error; token: \"{token}\", near: \"{near}\""
            ),
            "{text}"
        );
    }
}

#[test]
fn each_expression_is_called_by_its_name() {
    let none = Placeholders::default();
    let key = KeySpec::simple(KeyAttribute::s("pk"));
    assert!(message(parse_condition("", &none)).starts_with("Invalid ConditionExpression: "));
    assert!(message(parse_filter("", &none)).starts_with("Invalid FilterExpression: "));
    assert!(message(parse_actions("", &none)).starts_with("Invalid UpdateExpression: "));
    assert!(message(parse_projection("", &none)).starts_with("Invalid ProjectionExpression: "));
    let told = message(parse_key_condition("", &none, &key));
    assert!(told.starts_with("Invalid KeyConditionExpression: "));
}

#[test]
fn leftover_placeholders_are_told() {
    let placeholders = placeholders(&json!({
        "#a": "a", "#b": "b", "#c": "c", ":a": {"N": "1"}, ":b": {"N": "1"},
    }));
    parse_condition("#a = :a", &placeholders).unwrap();
    assert_eq!(placeholders.unused(), ["#b", "#c", ":b"]);
    assert_eq!(
        message(placeholders.check_used()),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b, #c}"
    );
    parse_projection("#b, #c", &placeholders).unwrap();
    assert_eq!(
        message(placeholders.check_used()),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"
    );
    parse_actions("SET x = :b", &placeholders).unwrap();
    assert!(placeholders.check_used().is_ok());
}

#[test]
fn long_and_deep_texts_are_refused_not_suffered() {
    let long = |length: usize| format!("a = :1{}", " ".repeat(length - 6));
    assert!(parse_condition(&long(EXPRESSION_BYTES_MAX), &meaning()).is_ok());
    assert_eq!(
        message(parse_condition(&long(EXPRESSION_BYTES_MAX + 1), &meaning())),
        "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; \
         expression size: 4097"
    );
    for (opening, refusal) in [
        ("(", "Syntax error; token: \"<EOF>\", near: \"(\""),
        ("NOT ", "Syntax error; token: \"<EOF>\", near: \"NOT\""),
        ("a = (", "Syntax error; token: \"=\", near: \"a = (\""),
        ("NOT (", "Syntax error; token: \"<EOF>\", near: \"(\""),
        ("size(", "The expression is nested too deeply; levels allowed: 300"),
    ] {
        let text = opening.repeat(EXPRESSION_BYTES_MAX / opening.len());
        let told = message(parse_condition(&text, &meaning()));
        assert_eq!(told, format!("Invalid ConditionExpression: {refusal}"), "{opening}");
    }
    for opening in ["(", "list_append("] {
        let text = format!("SET a = {}", opening.repeat(EXPRESSION_BYTES_MAX / opening.len() - 8));
        assert!(
            message(parse_actions(&text, &meaning())).contains("nested too deeply"),
            "{opening}"
        );
    }
}

#[test]
fn the_count_of_operators_bounds_an_expression_not_its_depth() {
    let nested = |operators: usize, open: &str, close: &str| {
        let (open, close) = (open.repeat(operators - 1), close.repeat(operators - 1));
        parse_condition(&format!("{open}a = :1{close}"), &meaning())
    };
    for (open, close) in [("NOT ", ""), ("NOT (", ")")] {
        assert!(nested(300, open, close).is_ok(), "{open}");
        assert_eq!(
            message(nested(301, open, close)),
            "Invalid ConditionExpression: The expression contains too many operators; operator \
             count: 301",
            "{open}"
        );
    }
    // Every other operator is a comparison.
    let inside = "a = b AND (".repeat(149) + "a = b" + &")".repeat(149);
    assert!(parse_condition(&inside, &meaning()).is_ok());
    let defaults = 200;
    let text = format!("SET a = {}:1{}", "if_not_exists(b,".repeat(defaults), ")".repeat(defaults));
    assert!(parse_actions(&text, &meaning()).is_ok());
}

fn composite() -> KeySpec {
    KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"))
}

#[test]
fn key_conditions_are_read_in_any_order() {
    let one = || Value::from(1);
    let cases = [
        ("pk = :p", None),
        ("#p = :p AND sk = :1", Some(SortCondition::Eq(one()))),
        ("sk < :1 AND pk = :p", Some(SortCondition::Lt(one()))),
        ("(pk = :p) and (sk <= :1)", Some(SortCondition::Le(one()))),
        ("(pk = :p AND sk > :1)", Some(SortCondition::Gt(one()))),
        ("pk = :p AND sk >= :1", Some(SortCondition::Ge(one()))),
        ("pk = :p AND sk BETWEEN :1 AND :2", Some(SortCondition::between(1, 2))),
        ("sk BETWEEN :1 AND :2 AND pk = :p", Some(SortCondition::between(1, 2))),
        // With its value first, a comparison turns round.
        (":p = pk AND :1 < sk", Some(SortCondition::Gt(one()))),
        ("pk = :p AND :1 >= sk", Some(SortCondition::Le(one()))),
    ];
    for (text, sort) in cases {
        let expected = KeyCondition {
            partition: ("pk".to_owned(), "p".into()),
            sort: sort.map(|condition| ("sk".to_owned(), condition)),
        };
        let read = parse_key_condition(text, &meaning(), &composite());
        assert_eq!(read.unwrap_or_else(|error| panic!("{text}: {error}")), expected, "{text}");
    }
    let texts = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("sk"));
    let read = parse_key_condition("pk = :p AND begins_with(sk, :q)", &meaning(), &texts).unwrap();
    assert_eq!(read.sort, Some(("sk".to_owned(), SortCondition::begins_with("q"))));
}

const REFUSED_KEYS: &[(&str, &str)] = &[
    ("sk = :1", "Query condition missed key schema element: pk"),
    ("pk = :p AND x = :1", "Query condition missed key schema element: sk"),
    ("pk < :p", "Query key condition not supported"),
    ("pk BETWEEN :p AND :q AND sk = :1", "Query key condition not supported"),
    ("pk = :p AND sk = :1 AND x = :1", "Query key condition not supported"),
    ("pk = :p OR sk = :1", "Invalid operator used in KeyConditionExpression: OR"),
    ("NOT pk = :p", "Invalid operator used in KeyConditionExpression: NOT"),
    ("pk IN (:p)", "Invalid operator used in KeyConditionExpression: IN"),
    ("pk <> :p", "Invalid operator used in KeyConditionExpression: <>"),
    (
        "pk = :p AND attribute_exists(sk)",
        "Invalid operator used in KeyConditionExpression: attribute_exists",
    ),
    ("pk = :p AND contains(sk, :1)", "Invalid operator used in KeyConditionExpression: contains"),
    ("pk = :p AND size(sk) = :1", "KeyConditionExpressions cannot contain nested operations"),
    (
        "pk = :p AND sk = :1 AND sk < :2",
        "KeyConditionExpressions must only contain one condition per key",
    ),
    (
        "pk = :p AND sk = x",
        "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
    ),
    (
        "pk = :p AND :1 = :1",
        "Invalid condition in KeyConditionExpression: No key attribute specified",
    ),
    (
        "pk = :p AND :1 BETWEEN :1 AND sk",
        "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first operand",
    ),
    (
        "pk = :p AND begins_with(:q, sk)",
        "Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its first operand",
    ),
    ("pk.x = :p", "KeyConditionExpressions cannot have conditions on nested attributes"),
    (
        "pk = :1",
        "One or more parameter values were invalid: Condition parameter type does not match schema type",
    ),
    (
        "pk = :p AND sk = :q",
        "One or more parameter values were invalid: Condition parameter type does not match schema type",
    ),
    (
        "pk = :p AND sk BETWEEN :p AND :q",
        "One or more parameter values were invalid: Condition parameter type does not match schema type",
    ),
    (
        "pk = :p AND begins_with(sk, :q)",
        "One or more parameter values were invalid: Condition parameter type does not match schema type",
    ),
    (
        "pk = :p AND begins_with(sk, :1)",
        "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
    ),
    (
        "pk = :p AND sk BETWEEN :2 AND :1",
        "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
    ),
    (
        "pk = :p AND",
        "Invalid KeyConditionExpression: Syntax error; token: \"<EOF>\", near: \"AND\"",
    ),
];

#[test]
fn bad_key_conditions_are_refused_in_the_words_of_dynamodb() {
    for (text, refusal) in REFUSED_KEYS {
        let told = message(parse_key_condition(text, &meaning(), &composite()));
        assert_eq!(told, *refusal, "{text}");
    }
    let simple = KeySpec::simple(KeyAttribute::s("pk"));
    assert_eq!(
        message(parse_key_condition("pk = :p AND sk = :1", &meaning(), &simple)),
        "Query key condition not supported"
    );
}
