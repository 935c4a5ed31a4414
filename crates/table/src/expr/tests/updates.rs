//! Updates rule by rule.

use serde_json::json;

use crate::expr::build::attr;
use crate::expr::parse::{Placeholders, parse_actions};
use crate::expr::tests::{item, message, placeholders};
use crate::expr::{Actions, Path, SetValue};
use crate::port::Update;
use crate::spec::{KeyAttribute, KeySpec};
use crate::value::{Item, Value};

fn before() -> Item {
    item(json!({
        "pk": {"S": "p"},
        "n": {"N": "5"},
        "s": {"S": "text"},
        "l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
        "m": {"M": {"k": {"S": "v"}, "l": {"L": [{"S": "x"}, {"M": {"deep": {"N": "1"}}}]}}},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["1", "2"]},
    }))
}

fn meaning() -> Placeholders {
    placeholders(&json!({
        ":1": {"N": "1"}, ":2": {"N": "2"}, ":9": {"N": "9"}, ":s": {"S": "new"},
        ":list": {"L": [{"S": "y"}]}, ":ab": {"SS": ["a", "b"]}, ":bc": {"SS": ["b", "c"]},
        ":ns": {"NS": ["2", "3"]}, ":true": {"BOOL": true}, ":map": {"M": {}}, ":null": {"NULL": true},
        ":huge": {"N": "9.9E+125"},
    }))
}

fn key() -> KeySpec {
    KeySpec::simple(KeyAttribute::s("pk"))
}

fn actions(text: &str) -> Actions {
    let actions = parse_actions(text, &meaning()).unwrap_or_else(|error| panic!("{text}: {error}"));
    actions.check(&key()).unwrap_or_else(|error| panic!("{text}: {error}"));
    actions
}

/// Each case names the attributes that differ afterwards; null for one that is gone.
#[test]
fn these_edit_as_they_should() {
    let cases = [
        ("SET s = :s, x = :1", json!({"s": {"S": "new"}, "x": {"N": "1"}})),
        ("set x = n remove s", json!({"x": {"N": "5"}, "s": null})),
        // Every right side reads the item as it was.
        ("SET n = s, s = n", json!({"n": {"S": "text"}, "s": {"N": "5"}})),
        ("SET x = n + :1, n = n - :2", json!({"x": {"N": "6"}, "n": {"N": "3"}})),
        ("SET x = (n + :1)", json!({"x": {"N": "6"}})),
        ("SET x = :2 - (n)", json!({"x": {"N": "-3"}})),
        ("SET n = if_not_exists(n, :1)", json!({})),
        ("SET x = if_not_exists(x, :1) + :1", json!({"x": {"N": "2"}})),
        ("SET x = if_not_exists(y, if_not_exists(n, :1))", json!({"x": {"N": "5"}})),
        (
            "SET l = list_append(l, :list)",
            json!({"l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}, {"S": "y"}]}}),
        ),
        (
            "SET x = list_append(:list, m.l)",
            json!({"x": {"L": [{"S": "y"}, {"S": "x"}, {"M": {"deep": {"N": "1"}}}]}}),
        ),
        (
            "SET x = list_append(if_not_exists(x, :list), :list)",
            json!({"x": {"L": [{"S": "y"}, {"S": "y"}]}}),
        ),
        ("SET x = l[1]", json!({"x": {"N": "1"}})),
        // Into documents.
        (
            "SET m.fresh = :1",
            json!({"m": {"M": {"k": {"S": "v"}, "fresh": {"N": "1"}, "l": {"L": [{"S": "x"}, {"M": {"deep": {"N": "1"}}}]}}}}),
        ),
        (
            "SET m.l[1].deep = :2 REMOVE m.k",
            json!({"m": {"M": {"l": {"L": [{"S": "x"}, {"M": {"deep": {"N": "2"}}}]}}}}),
        ),
        ("SET l[1] = :9", json!({"l": {"L": [{"N": "0"}, {"N": "9"}, {"N": "2"}]}})),
        // Behind the end of a list is its end, whatever the distance.
        ("SET l[7] = :s", json!({"l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}, {"S": "new"}]}})),
        (
            "SET l[9] = :9, l[3] = :s",
            json!({"l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}, {"S": "new"}, {"N": "9"}]}}),
        ),
        // Positions are those of the list before.
        ("REMOVE l[0], l[1]", json!({"l": {"L": [{"N": "2"}]}})),
        ("REMOVE l[0] SET l[2] = :9", json!({"l": {"L": [{"N": "1"}, {"N": "9"}]}})),
        ("REMOVE l[0] SET l[5] = :9", json!({"l": {"L": [{"N": "1"}, {"N": "2"}, {"N": "9"}]}})),
        ("REMOVE l[0], l[1], l[2]", json!({"l": {"L": []}})),
        ("REMOVE l[3]", json!({})),
        ("REMOVE x, m.x", json!({})),
        ("ADD n :1, x :2", json!({"n": {"N": "6"}, "x": {"N": "2"}})),
        (
            "ADD ss :bc, ns :ns, x :ab",
            json!({"ss": {"SS": ["a", "b", "c"]}, "ns": {"NS": ["1", "2", "3"]}, "x": {"SS": ["a", "b"]}}),
        ),
        (
            "ADD l[0] :9, m.hits :1",
            json!({"l": {"L": [{"N": "9"}, {"N": "1"}, {"N": "2"}]}, "m": {"M": {"k": {"S": "v"}, "hits": {"N": "1"}, "l": {"L": [{"S": "x"}, {"M": {"deep": {"N": "1"}}}]}}}}),
        ),
        ("DELETE ss :bc, ns :ns", json!({"ss": {"SS": ["a"]}, "ns": {"NS": ["1"]}})),
        ("DELETE ss :ab", json!({"ss": null})),
        ("DELETE x :ab", json!({})),
    ];
    for (text, changes) in cases {
        let mut expected = before();
        for (name, value) in changes.as_object().unwrap() {
            if value.is_null() {
                expected.remove(name);
            } else {
                expected.insert(name.clone(), crate::json::value_from_json(value).unwrap());
            }
        }
        let after =
            actions(text).apply(&before()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(after, expected, "{text}");
    }
}

#[test]
fn these_fail_on_this_item() {
    const PATH: &str = "The document path provided in the update expression is invalid for update";
    const TYPE: &str = "An operand in the update expression has an incorrect data type";
    const MISSING: &str =
        "The provided expression refers to an attribute that does not exist in the item";
    let cases = [
        ("SET x.y = :1", PATH),
        ("SET x[0] = :1", PATH),
        ("SET s.y = :1", PATH),
        ("SET m[0] = :1", PATH),
        ("SET l.x = :1", PATH),
        ("SET m.x.y = :1", PATH),
        ("SET l[9].x = :1", PATH),
        ("REMOVE x.y", PATH),
        ("REMOVE s[0]", PATH),
        ("ADD x.y :1", PATH),
        ("DELETE x.y :ab", PATH),
        ("SET x = y", MISSING),
        ("SET x = m.x", MISSING),
        ("SET x = y + :1", MISSING),
        ("SET x = if_not_exists(y, z)", MISSING),
        ("SET x = list_append(y, :list)", MISSING),
        ("SET x = s + :1", TYPE),
        ("SET x = :1 - l", TYPE),
        ("SET x = list_append(s, :list)", TYPE),
        ("SET x = if_not_exists(y, :s) + :1", TYPE),
        ("ADD s :1", TYPE),
        ("ADD n :ab", TYPE),
        ("ADD ss :ns", TYPE),
        ("DELETE ss :ns", TYPE),
        ("DELETE n :ab", TYPE),
    ];
    for (text, failure) in cases {
        assert_eq!(message(actions(text).apply(&before())), failure, "{text}");
    }
    assert!(actions("ADD huge :huge").apply(&before().with("huge", huge())).is_err());
}

fn huge() -> Value {
    crate::json::value_from_json(&json!({"N": "9.9E+125"})).unwrap()
}

/// What is refused before any item is looked at, and how; the prefix
/// `Invalid UpdateExpression: ` is left away.
const REFUSED: &[(&str, &str)] = &[
    (
        "SET a = :1, a = :2",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
    ),
    (
        "SET a.b = :1 REMOVE a",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a]",
    ),
    (
        "SET a[1] = :1 ADD a[1] :1",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a, [1]], path two: [a, [1]]",
    ),
    (
        "SET a.b = :1 REMOVE a[0]",
        "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a, [0]]",
    ),
    ("SET a = :1 SET b = :1", "The \"SET\" section can only be used once in an update expression;"),
    (
        "SET a = :s + :1",
        "Incorrect operand type for operator or function; operator or function: +, operand type: S",
    ),
    (
        "SET a = b - :true",
        "Incorrect operand type for operator or function; operator or function: -, operand type: BOOL",
    ),
    (
        "SET a = list_append(:1, b)",
        "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
    ),
    (
        "ADD a :s",
        "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
    ),
    (
        "ADD a :list",
        "Incorrect operand type for operator or function; operator: ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND",
    ),
    (
        "DELETE a :1",
        "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_ADD_OPERAND",
    ),
    (
        "DELETE a :map",
        "Incorrect operand type for operator or function; operator: DELETE, operand type: MAP, typeSet: ALLOWED_FOR_ADD_OPERAND",
    ),
    (
        "SET a = if_not_exists(:1, :1)",
        "Operator or function requires a document path; operator or function: if_not_exists",
    ),
    (
        "SET a = if_not_exists(b)",
        "Incorrect number of operands for operator or function; operator or function: if_not_exists, number of operands: 1",
    ),
    (
        "SET a = list_append(b, c, d)",
        "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 3",
    ),
    (
        "SET a = list_append(list_append(b, :list), :list)",
        "The function is not allowed to be used this way in an expression; function: list_append",
    ),
    (
        "SET a = list_append(:list, if_not_exists(b, list_append(b, :list)))",
        "The function is not allowed to be used this way in an expression; function: list_append",
    ),
    ("SET a = size(b)", "Invalid function name; function: size"),
    ("SET a = IF_NOT_EXISTS(b, :1)", "Invalid function name; function: IF_NOT_EXISTS"),
    ("SET data = :1", "Attribute name is a reserved keyword; reserved keyword: data"),
    ("", "The expression can not be empty;"),
    ("SET a = b + :1 + :1", "Syntax error; token: \"+\", near: \":1 + :1\""),
    ("SET a = (b + :1) - :1", "Syntax error; token: \"-\", near: \") - :1\""),
    ("SET a", "Syntax error; token: \"<EOF>\", near: \"a\""),
    ("ADD a b", "Syntax error; token: \"b\", near: \"a b\""),
    ("REMOVE a b", "Syntax error; token: \"b\", near: \"a b\""),
    ("a = :1", "Syntax error; token: \"a\", near: \"a =\""),
];

#[test]
fn bad_updates_are_refused_in_the_words_of_dynamodb() {
    for (text, refusal) in REFUSED {
        let told = message(parse_actions(text, &meaning()));
        assert_eq!(told, format!("Invalid UpdateExpression: {refusal}"), "{text}");
    }
}

#[test]
fn the_key_cannot_be_touched() {
    for text in ["SET pk = :s", "REMOVE pk", "ADD pk :1", "DELETE pk :ab", "SET pk.x = :1"] {
        let actions = parse_actions(text, &meaning()).unwrap();
        assert_eq!(
            message(actions.check(&key())),
            "One or more parameter values were invalid: Cannot update attribute pk. This \
             attribute is part of the key",
            "{text}"
        );
    }
    assert!(actions("SET x = pk").check(&key()).is_ok());
}

#[test]
fn an_update_without_actions_changes_nothing() {
    let nothing = Actions::default();
    assert!(nothing.check(&key()).is_ok());
    assert_eq!(nothing.apply(&before()).unwrap(), before());
    assert_eq!(nothing.project_updated(&before()), Item::new());
}

#[test]
fn many_edits_do_what_each_of_them_would() {
    let names: Vec<String> = (0..400).map(|number| format!("n{number:03}")).collect();
    let (old, new): (Vec<_>, Vec<_>) = names.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let before: Item = old.iter().map(|(_, name)| ((*name).clone(), Value::from(1))).collect();
    let mut actions = Actions::default();
    for (_, name) in new.iter().chain(old.iter().take(50)) {
        actions.set.push((Path::from(name.as_str()), SetValue::from(Value::from(-1))));
    }
    actions.remove.extend(old.iter().skip(50).take(100).map(|(_, name)| Path::from(name.as_str())));
    let mut expected = before.clone();
    for (path, _) in &actions.set {
        expected.insert(path.root.as_str(), -1);
    }
    for path in &actions.remove {
        expected.remove(&path.root);
    }
    assert_eq!(actions.apply(&before).unwrap(), expected);
}

#[test]
fn copies_of_a_large_attribute_stop_at_the_size_of_an_item() {
    let large = Item::new().with("l", vec![Value::Null; 110_000]);
    let copies: Vec<String> = (0..300).map(|number| format!("a{number}=l")).collect();
    for text in [format!("SET {}", copies.join(",")), "SET l = list_append(l, l)".to_owned()] {
        let answer = actions(&text).apply(&large);
        let words = "Item size to update has exceeded the maximum allowed size";
        assert_eq!(message(answer.map(drop)), words, "{text}");
    }
    assert!(actions("SET x = l").apply(&large).is_ok());
}

#[test]
fn updated_answers_hold_only_the_edited_parts() {
    let actions = actions("SET m.k = :s, l[2] = :9 REMOVE n, l[0] ADD x :1");
    let after = actions.apply(&before()).unwrap();
    assert_eq!(
        actions.project_updated(&before()),
        item(json!({
            "m": {"M": {"k": {"S": "v"}}}, "l": {"L": [{"N": "0"}, {"N": "2"}]}, "n": {"N": "5"},
        }))
    );
    assert_eq!(
        actions.project_updated(&after).get("m"),
        Some(&Value::M(Item::new().with("k", "new")))
    );
    assert_eq!(actions.project_updated(&after).get("x"), Some(&Value::from(1)));
    assert_eq!(actions.project_updated(&after).get("n"), None);
}

#[test]
fn the_builder_says_the_same_as_the_text() {
    let update = Update::new("t", Item::new())
        .set("a", attr("a").plus(1))
        .set("b", attr("b").or(1).minus(2))
        .set("c", attr("c").append(["y"]))
        .set("d", attr("d").or(Vec::new()).prepend(["y"]))
        .set("e", "new")
        .set(attr("f").field("g").at(1), attr("h"))
        .remove("i")
        .add("j", 1)
        .take_out("k", Value::Ss(["a".to_owned(), "b".to_owned()].into()));
    let placeholders = placeholders(&json!({
        ":1": {"N": "1"}, ":2": {"N": "2"}, ":y": {"L": [{"S": "y"}]}, ":none": {"L": []},
        ":s": {"S": "new"}, ":ab": {"SS": ["a", "b"]},
    }));
    let text = "SET a = a + :1, b = if_not_exists(b, :1) - :2, c = list_append(c, :y), \
                d = list_append(:y, if_not_exists(d, :none)), e = :s, f.g[1] = h \
                REMOVE i ADD j :1 DELETE k :ab";
    assert_eq!(update.actions, parse_actions(text, &placeholders).unwrap());
    assert_eq!(SetValue::from(Path::from("a.b")), SetValue::from(attr("a.b")));
}
