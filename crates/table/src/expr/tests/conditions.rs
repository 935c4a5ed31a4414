//! Conditions rule by rule.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use crate::expr::build::attr;
use crate::expr::parse::{Placeholders, parse_condition};
use crate::expr::tests::{item, message, placeholders};
use crate::value::{Item, Value, ValueType};

fn subject() -> Item {
    item(json!({
        "word": {"S": "banana"},
        "accent": {"S": "né"},
        "num": {"N": "5"},
        "bytes": {"B": "AQID"},
        "truth": {"BOOL": true},
        "nothing": {"NULL": true},
        "texts": {"SS": ["x", "y"]},
        "numbers": {"NS": ["1", "2"]},
        "blobs": {"BS": ["AQ=="]},
        "lst": {"L": [{"S": "x"}, {"N": "1"}, {"L": [{"S": "deep"}]}, {"M": {"k": {"N": "7"}}}]},
        "doc": {"M": {"k": {"S": "v"}, "l": {"L": [{"N": "1"}]}}},
        "twin": {"N": "5"},
    }))
}

fn meanings() -> Json {
    json!({
        "#t": "word", "#k": "k", "#m": "gone",
        ":banana": {"S": "banana"}, ":b": {"S": "b"}, ":nan": {"S": "nan"}, ":empty": {"S": ""},
        ":v": {"S": "v"}, ":x": {"S": "x"}, ":deep": {"L": [{"S": "deep"}]},
        ":1": {"N": "1"}, ":2": {"N": "2"}, ":3": {"N": "3"}, ":4": {"N": "4"}, ":5": {"N": "5.0"},
        ":6": {"N": "6"}, ":7": {"N": "7"}, ":9": {"N": "9"}, ":five": {"S": "5"},
        ":bytes": {"B": "AQID"}, ":byte1": {"B": "AQ=="}, ":byte23": {"B": "AgM="},
        ":true": {"BOOL": true}, ":null": {"NULL": true}, ":map": {"M": {"k": {"N": "7"}}},
        ":texts": {"SS": ["y", "x"]}, ":numbers": {"NS": ["2.0", "1"]},
        ":S": {"S": "S"}, ":N": {"S": "N"}, ":NULL": {"S": "NULL"}, ":BOOL": {"S": "BOOL"},
        ":SS": {"S": "SS"}, ":L": {"S": "L"}, ":M": {"S": "M"},
    })
}

fn meaning() -> Placeholders {
    placeholders(&meanings())
}

fn holds(text: &str, item: Option<&Item>) -> bool {
    parse_condition(text, &meaning()).unwrap_or_else(|error| panic!("{text}: {error}")).holds(item)
}

/// Each holds of the subject; its negation is checked along.
#[test]
fn these_hold() {
    let cases = [
        "#t = :banana",
        "word <> :b",
        "num = :5",
        "num <> :five",
        "num = twin",
        "num < :6 AND num <= :5 AND num > :4 AND num >= :5",
        "word > :b",
        "bytes = :bytes AND bytes > :byte1",
        "truth = :true AND nothing = :null",
        "texts = :texts AND numbers = :numbers",
        "lst[3] = :map",
        "lst[2] = :deep",
        "doc.#k = :v AND doc.l[0] = :1",
        "num BETWEEN :4 AND :6",
        "num BETWEEN :5 AND :5",
        ":5 BETWEEN :4 AND num",
        "num IN (:1, :5)",
        "num IN (twin)",
        "lst[3] IN (:map, :1)",
        "attribute_exists(doc.l[0])",
        "attribute_exists(nothing)",
        "attribute_not_exists(gone)",
        "attribute_not_exists(doc.l[1])",
        "attribute_not_exists(word.#k)",
        "attribute_not_exists(lst.#k)",
        "attribute_type(word, :S) AND attribute_type(num, :N)",
        "attribute_type(:5, :N) AND NOT attribute_type(:5, :S)",
        "attribute_type(nothing, :NULL) AND attribute_type(truth, :BOOL)",
        "attribute_type(texts, :SS) AND attribute_type(lst, :L) AND attribute_type(doc, :M)",
        "begins_with(word, :b)",
        "begins_with(word, :empty)",
        "begins_with(bytes, :byte1)",
        "begins_with(:banana, word)",
        "contains(word, :nan)",
        "contains(bytes, :byte23)",
        "contains(texts, :x)",
        "contains(numbers, :2)",
        "contains(blobs, :byte1)",
        "contains(lst, :x)",
        "contains(lst, :1)",
        "contains(lst, :deep)",
        "contains(lst, :map)",
        "contains(:texts, lst[0])",
        "size(word) = :6",
        "size(accent) = :2",
        "size(bytes) = :3",
        "size(texts) = :2 AND size(numbers) = :2 AND size(blobs) = :1",
        "size(lst) = :4 AND size(doc) = :2",
        "size(:banana) = size(word)",
        "size(lst) BETWEEN :3 AND num",
        ":1 < num",
        // Nothing equals what is not there.
        "gone <> :1",
        "gone <> #m.#k",
        "size(gone) <> :1",
        "size(num) <> :1",
        "NOT gone = :1",
    ];
    let item = subject();
    for text in cases {
        assert!(holds(text, Some(&item)), "{text}");
        assert!(!holds(&format!("NOT ({text})"), Some(&item)), "NOT ({text})");
    }
}

#[test]
fn these_do_not_hold() {
    let cases = [
        "num = :five",
        "gone = :1",
        "gone < :1",
        "gone >= :1",
        ":1 < gone",
        "gone = #m.#k",
        "gone BETWEEN :1 AND :9",
        "num BETWEEN gone AND :9",
        "gone IN (:1)",
        "num IN (gone)",
        // An order only among texts, numbers and bytes, each among themselves.
        "num < :banana",
        "num >= :banana",
        "truth < :banana",
        "texts > num",
        "word BETWEEN :4 AND :6",
        "attribute_type(gone, :NULL)",
        "attribute_type(word, :N)",
        "begins_with(num, :b)",
        "begins_with(gone, :b)",
        "begins_with(texts, :x)",
        "contains(num, :5)",
        "contains(texts, :1)",
        "contains(texts, :texts)",
        "contains(doc, :v)",
        "contains(gone, :x)",
        "contains(word, gone)",
        "contains(bytes, :banana)",
        "size(num) = :1",
        "size(gone) = :1",
        "size(truth) > :1",
        "size(nothing) >= :1",
        "attribute_exists(lst[4])",
        "attribute_exists(doc[0])",
    ];
    let item = subject();
    for text in cases {
        assert!(!holds(text, Some(&item)), "{text}");
    }
}

#[test]
fn without_an_item_only_absence_holds() {
    for text in ["attribute_not_exists(a)", "a <> :1", "NOT a = :1", "NOT attribute_exists(a)"] {
        assert!(holds(text, None), "{text}");
    }
    for text in ["attribute_exists(a)", "a = :1", "size(a) = :1", "a IN (:1)", "contains(a, :1)"] {
        assert!(!holds(text, None), "{text}");
    }
}

#[test]
fn not_binds_tighter_than_and_and_and_than_or() {
    let item = subject();
    let yes = "num = :5";
    let no = "num = :1";
    let cases = [
        (format!("{yes} OR {yes} AND {no}"), true),
        (format!("({yes} OR {yes}) AND {no}"), false),
        (format!("{no} AND {no} OR {yes}"), true),
        (format!("{no} AND ({no} OR {yes})"), false),
        (format!("NOT {no} AND {yes}"), true),
        (format!("NOT ({yes} AND {no})"), true),
        (format!("NOT {yes} OR {yes}"), true),
        (format!("NOT ({yes} OR {yes})"), false),
        (format!("NOT NOT {yes}"), true),
        (format!("{no} OR num BETWEEN :4 AND :6 AND {yes}"), true),
    ];
    for (text, expected) in cases {
        assert_eq!(holds(&text, Some(&item)), expected, "{text}");
    }
}

/// What is refused before any item is looked at, and how; the prefix
/// `Invalid ConditionExpression: ` is left away.
const REFUSED: &[(&str, &str)] = &[
    (
        "a = a",
        "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]",
    ),
    (
        "a.b[1] < a.b[1]",
        "The first operand must be distinct from the remaining operands for this operator or function; operator: <, first operand: [a, b, [1]]",
    ),
    (
        "begins_with(a, a)",
        "The first operand must be distinct from the remaining operands for this operator or function; operator: begins_with, first operand: [a]",
    ),
    (
        "contains(a, a)",
        "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [a]",
    ),
    (
        "begins_with(a, :1)",
        "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
    ),
    (
        "begins_with(a, size(b))",
        "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
    ),
    (
        "a < :true",
        "Incorrect operand type for operator or function; operator: <, operand type: BOOL",
    ),
    (
        "a BETWEEN :null AND :null",
        "Incorrect operand type for operator or function; operator: BETWEEN, operand type: NULL",
    ),
    (
        "a BETWEEN :2 AND :1",
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
    ),
    (
        "a BETWEEN :2 AND :b",
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {S:b}",
    ),
    (
        "attribute_type(a, :1)",
        "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N",
    ),
    (
        "attribute_type(a, b)",
        "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
    ),
    (
        "attribute_type(a, :banana)",
        "Invalid attribute type name found; type: banana, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
    ),
    (
        "attribute_exists(:1)",
        "Operator or function requires a document path; operator or function: attribute_exists",
    ),
    (
        "size(:1) = :1",
        "Incorrect operand type for operator or function; operator or function: size, operand type: N",
    ),
    (
        "size(size(a)) = :1",
        "Incorrect operand type for operator or function; operator or function: size, operand type: N",
    ),
    ("size(a)", "The function is not allowed to be used this way in an expression; function: size"),
    (
        "NOT size(a)",
        "The function is not allowed to be used this way in an expression; function: size",
    ),
    (
        "attribute_exists(a) = :true",
        "The function is not allowed to be used this way in an expression; function: attribute_exists",
    ),
    (
        "a = contains(a, :1)",
        "The function is not allowed to be used this way in an expression; function: contains",
    ),
    (
        "attribute_exists(contains(a, :1))",
        "The function is not allowed to be used this way in an expression; function: contains",
    ),
    ("Size(a) = :1", "Invalid function name; function: Size"),
    ("ATTRIBUTE_EXISTS(a)", "Invalid function name; function: ATTRIBUTE_EXISTS"),
    ("if_not_exists(a, :1) = :1", "Invalid function name; function: if_not_exists"),
    (
        "attribute_exists(a, b)",
        "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2",
    ),
    (
        "contains(a)",
        "Incorrect number of operands for operator or function; operator or function: contains, number of operands: 1",
    ),
    ("((a = :1))", "The expression has redundant parentheses;"),
    ("((a)) = :1", "The expression has redundant parentheses;"),
    ("a = ((:1))", "The expression has redundant parentheses;"),
    ("name = :1", "Attribute name is a reserved keyword; reserved keyword: name"),
    ("a.Status = :1", "Attribute name is a reserved keyword; reserved keyword: Status"),
    (
        "#nope = :1",
        "An expression attribute name used in the document path is not defined; attribute name: #nope",
    ),
    (
        "a = :nope",
        "An expression attribute value used in expression is not defined; attribute value: :nope",
    ),
    ("", "The expression can not be empty;"),
    ("a[4294967296] = :1", "List index is not within the allowable range; index: [4294967296]"),
];

#[test]
fn bad_conditions_are_refused_in_the_words_of_dynamodb() {
    for (text, refusal) in REFUSED {
        let told = message(parse_condition(text, &meaning()));
        assert_eq!(told, format!("Invalid ConditionExpression: {refusal}"), "{text}");
    }
}

#[test]
fn a_choice_is_among_at_most_100() {
    let choices = |count: usize| format!("a IN ({})", vec![":1"; count].join(", "));
    assert!(parse_condition(&choices(100), &meaning()).is_ok());
    assert_eq!(
        message(parse_condition(&choices(101), &meaning())),
        "Invalid ConditionExpression: The IN operator is provided with too many operands; \
         number of operands: 101"
    );
    let none: [&str; 0] = [];
    assert_eq!(message(attr("a").is_in(none).check()), "an IN needs at least 1 operand");
}

#[test]
fn a_path_is_at_most_32_names_and_positions_long() {
    let path = |steps: usize| format!("attribute_exists(a{})", "[0]".repeat(steps));
    assert!(parse_condition(&path(31), &meaning()).is_ok());
    assert_eq!(
        message(parse_condition(&path(32), &meaning())),
        "Invalid ConditionExpression: The document path has too many nesting levels; nesting \
         levels: 33"
    );
}

#[test]
fn every_attribute_looked_at_is_told() {
    let condition = attr("a")
        .eq(attr("b").field("x"))
        .and(attr("c").between(1, attr("d").size()).or(!attr("e").is_in([attr("f")])))
        .and(attr("g").exists().and(attr("h").not_exists()).and(attr("i").is_type(ValueType::S)))
        .and(attr("j").begins_with("p").or(attr("k").contains(attr("l").at(1))));
    let roots: Vec<&str> = condition.paths().map(|path| path.root.as_str()).collect();
    assert_eq!(roots, ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]);
}

#[test]
fn bytes_are_found_in_one_pass_over_them() {
    // Compared at every position, these are some 10^12 bytes: the test would not end.
    let mut part = vec![0; 200_000];
    part.push(1);
    let item = Item::new().with("b", Bytes::from(vec![0; 400_000]));
    let text = ["contains(b, :part)"; 70].join(" OR ");
    let part = [(":part".to_owned(), Value::B(part.into()))];
    let meaning = Placeholders::new(BTreeMap::new(), part.into());
    assert!(!parse_condition(&text, &meaning).unwrap().holds(Some(&item)));
}
