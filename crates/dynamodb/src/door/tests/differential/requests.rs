//! Random requests with expressions.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value as Json, json};

use super::{Order, TestStep, older};

/// Two partitions of three items: so few that requests touch the same items.
pub(super) fn key() -> impl Strategy<Value = Json> {
    ("[ab]", 0..3_i32).prop_map(|(pk, sk)| json!({"pk": {"S": pk}, "sk": {"N": sk.to_string()}}))
}

pub(super) fn value() -> impl Strategy<Value = Json> {
    prop_oneof![
        3 => "[a-c]{0,2}".prop_map(|text| json!({"S": text})),
        3 => (-3..4_i32).prop_map(|number| json!({"N": number.to_string()})),
        1 => select(vec!["", "YQ==", "YWI="]).prop_map(|bytes| json!({"B": bytes})),
        1 => any::<bool>().prop_map(|truth| json!({"BOOL": truth})),
        1 => Just(json!({"NULL": true})),
        1 => subsequence(vec!["a", "b", "c"], 1..3).prop_map(|set| json!({"SS": set})),
        1 => subsequence(vec!["1", "2", "-3.5"], 1..3).prop_map(|set| json!({"NS": set})),
        1 => subsequence(vec!["YQ==", "Yg=="], 1..3).prop_map(|set| json!({"BS": set})),
        1 => (-2..3_i32).prop_map(|number| json!({"L": [{"N": number.to_string()}]})),
        1 => "[a-c]".prop_map(|text| json!({"M": {"x": {"S": text}}})),
    ]
}

/// An attribute and its value; attributes of indexes mostly have the right type.
fn attribute() -> impl Strategy<Value = (String, Json)> {
    prop_oneof![
        4 => ("[vw]", value()),
        1 => ("name|kind|at", value()),
        3 => ("name|kind", "[xy]".prop_map(|text| json!({"S": text}))),
        3 => (Just("at".to_owned()), (0..3_i32).prop_map(|at| json!({"N": at.to_string()}))),
    ]
}

pub(super) fn item() -> impl Strategy<Value = Json> {
    (key(), vec(attribute(), 0..5)).prop_map(|(mut item, more)| {
        for (name, value) in more {
            item[name] = value;
        }
        item
    })
}

fn condition() -> impl Strategy<Value = Option<&'static str>> {
    option::of(select(vec![
        "attribute_exists(pk)",
        "attribute_not_exists(v)",
        "v = :v",
        "v <> :v AND attribute_type(w, :s)",
        "contains(v, :v) OR size(w) > :n",
        "NOT begins_with(v, :v)",
        "v IN (:v, :n)",
        "v BETWEEN :n AND :n",
        "v < :v",
        "w >= :v OR v = w",
        "v.x = :v",
        "v[0] <> :v",
    ]))
}

fn update() -> impl Strategy<Value = &'static str> {
    select(vec![
        "SET v = :v",
        "SET v = if_not_exists(v, :n) + :n, w = :v",
        "SET v = list_append(if_not_exists(v, :l), :l)",
        "SET #at = :v, kind = :s",
        "SET v = w, w = v",
        "REMOVE v, w",
        "REMOVE kind, #at, v.x",
        "ADD v :n",
        "ADD v :v",
        "DELETE v :set",
        "DELETE v :v",
        "SET v.x = :v",
        "SET v[0] = :v REMOVE w",
        "ADD v :set DELETE w :set",
        "SET pk = :v",
        "SET v = :v, v.x = :n",
    ])
}

fn projection() -> impl Strategy<Value = &'static str> {
    select(vec!["v, w.x, sk", "pk", "v[0], #name", "kind, #at", "nothing", "v, v.x", "name"])
}

const EXPRESSIONS: [&str; 5] = [
    "UpdateExpression",
    "ConditionExpression",
    "FilterExpression",
    "ProjectionExpression",
    "KeyConditionExpression",
];

/// Adds the placeholders that the expressions use, and no others, which would be refused. Drops
/// fields that are null.
fn finish(request: &mut Json, value: &Json) {
    let values = [
        (":v", value.clone()),
        (":n", json!({"N": "1"})),
        (":s", json!({"S": "S"})),
        (":l", json!({"L": [{"S": "e"}]})),
        (":set", json!({"SS": ["a"]})),
        (":p", json!({"S": "a"})),
        (":x", json!({"S": "x"})),
    ];
    let names = [("#name", json!("name")), ("#at", json!("at"))];
    let texts: Vec<&str> = EXPRESSIONS.iter().filter_map(|name| request[*name].as_str()).collect();
    let texts = texts.join(" ");
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == ':' || c == '#';
    let words: Vec<&str> = texts.split(|c: char| !is_word(c)).collect();
    let used = |all: Vec<(&str, Json)>| -> Json {
        let used = all.into_iter().filter(|(name, _)| words.contains(name));
        let used: Map<String, Json> = used.map(|(name, value)| (name.to_owned(), value)).collect();
        if used.is_empty() { Json::Null } else { Json::Object(used) }
    };
    let (values, names) = (used(values.into()), used(names.into()));
    (request["ExpressionAttributeValues"], request["ExpressionAttributeNames"]) = (values, names);
    request.as_object_mut().unwrap().retain(|_, value| !value.is_null());
}

/// A value that fits where the other implementation does not check: values compared by order, and
/// in a transaction also prefixes and values that are added or removed. It would write what AWS
/// refuses, and the two would differ from then on.
fn fitted(update: &str, condition: &str, value: Json, transacted: bool) -> Json {
    let is_one = |kinds: &[&str]| kinds.iter().any(|kind| value.get(kind).is_some());
    let orders = condition.contains("< :v") || condition.contains(">= :v");
    let begins = transacted && condition.contains("begins_with");
    let adds = transacted && (update.contains("ADD v :v") || update.contains("DELETE v :v"));
    if adds && !is_one(&["SS", "NS", "BS"]) {
        json!({"SS": ["a"]})
    } else if (orders && !is_one(&["S", "N", "B"])) || (begins && !is_one(&["S", "B"])) {
        json!({"S": "b"})
    } else {
        value
    }
}

/// A write with a condition, for use alone and in a transaction.
fn write(transacted: bool) -> impl Strategy<Value = (&'static str, Json)> {
    let parts = (item(), key(), update(), condition(), value());
    let kinds = select(vec!["Put", "Put", "Update", "Update", "Update", "Delete"]);
    (kinds, parts, any::<bool>()).prop_map(move |(kind, parts, returns_item)| {
        let (item, key, update, condition, value) = parts;
        let mut request = match kind {
            "Put" => json!({"TableName": "things", "Item": item}),
            "Update" => json!({"TableName": "things", "Key": key, "UpdateExpression": update}),
            _ => json!({"TableName": "things", "Key": key}),
        };
        if let Some(condition) = condition {
            request["ConditionExpression"] = json!(condition);
        }
        if returns_item {
            request["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
        }
        let update = if kind == "Update" { update } else { "" };
        let value = fitted(update, condition.unwrap_or(""), value, transacted);
        finish(&mut request, &value);
        (kind, request)
    })
}

fn capacity() -> impl Strategy<Value = Json> {
    select(vec![Json::Null, json!("NONE"), json!("TOTAL"), json!("INDEXES")])
}

fn alone() -> impl Strategy<Value = TestStep> {
    let returns = select(vec!["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]);
    (write(false), returns, capacity()).prop_map(|((kind, mut request), returns, capacity)| {
        let operation = match kind {
            "Put" => "PutItem",
            "Update" => "UpdateItem",
            _ => "DeleteItem",
        };
        request["ReturnValues"] = json!(returns);
        if !capacity.is_null() {
            request["ReturnConsumedCapacity"] = capacity;
        }
        TestStep::Ask(operation, request)
    })
}

fn get() -> impl Strategy<Value = TestStep> {
    (key(), option::of(projection()), capacity()).prop_map(|(key, projection, capacity)| {
        let mut request = json!({"TableName": "things", "Key": key,
            "ProjectionExpression": projection, "ReturnConsumedCapacity": capacity});
        finish(&mut request, &Json::Null);
        TestStep::Ask("GetItem", request)
    })
}

/// The common parameters of queries and scans.
fn page() -> impl Strategy<Value = (Json, Json)> {
    let selected = prop_oneof![
        6 => Just(Json::Null),
        1 => select(vec!["COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES",
            "SPECIFIC_ATTRIBUTES"]).prop_map(Json::from),
    ];
    let parts = (option::of(projection()), condition(), value(), selected);
    (parts, option::of(1..4_u32), any::<bool>()).prop_map(|(parts, limit, consistent)| {
        let (projection, filter, value, selected) = parts;
        let request = json!({"TableName": "things", "ProjectionExpression": projection,
            "FilterExpression": filter, "Select": selected, "Limit": limit,
            "ConsistentRead": consistent});
        (request, value)
    })
}

/// The door also filters the items that a local index fetches (`docs/dynamodb.md`).
fn unfilter(request: &mut Json) {
    let fetches =
        !request["ProjectionExpression"].is_null() || request["Select"] == "ALL_ATTRIBUTES";
    if request["IndexName"] == "by-at" && fetches {
        request["FilterExpression"] = Json::Null;
    }
}

fn query() -> impl Strategy<Value = TestStep> {
    let by = select(vec![
        (None, "pk = :p", Order::Whole),
        (None, "pk = :p AND sk >= :n", Order::Whole),
        (None, "pk = :p AND sk < :n", Order::Whole),
        (None, "sk BETWEEN :n AND :n AND pk = :p", Order::Whole),
        (None, "pk = :p AND v = :n", Order::Whole),
        (Some("by-at"), "pk = :p", Order::Whole),
        (Some("by-at"), "pk = :p AND #at <= :n", Order::Whole),
        (Some("by-kind"), "kind = :x", Order::By("sk")),
        (Some("by-kind"), "kind = :x AND sk > :n", Order::By("sk")),
        (Some("by-kind"), "pk = :p", Order::By("sk")),
        (Some("by-name"), "#name = :x", Order::None),
        (Some("by-nothing"), "pk = :p", Order::None),
    ]);
    (by, page(), any::<bool>(), option::weighted(0.2, item())).prop_map(
        |((index, key, order), (mut request, value), forward, start)| {
            request["IndexName"] = json!(index);
            unfilter(&mut request);
            request["KeyConditionExpression"] = json!(key);
            request["ScanIndexForward"] = json!(forward);
            // Without a promised order, the items after a key are not determined.
            if let (Some(start), Order::Whole) = (start, order) {
                let names: &[&str] =
                    if index.is_some() { &["pk", "sk", "at"] } else { &["pk", "sk"] };
                let start: Map<String, Json> = names
                    .iter()
                    .filter_map(|name| Some(((*name).to_owned(), start.get(name)?.clone())))
                    .collect();
                request["ExclusiveStartKey"] = Json::Object(start);
            }
            finish(&mut request, &value);
            TestStep::Walk("Query", request, order)
        },
    )
}

fn scan() -> impl Strategy<Value = TestStep> {
    let index = select(vec![None, None, Some("by-at"), Some("by-kind"), Some("by-name")]);
    (index, page(), option::of(1..4_u32)).prop_map(|(index, (mut request, value), parts)| {
        request["IndexName"] = json!(index);
        unfilter(&mut request);
        finish(&mut request, &value);
        match parts {
            Some(parts) => TestStep::Segments(request, parts),
            None => TestStep::Walk("Scan", request, Order::None),
        }
    })
}

fn batch() -> impl Strategy<Value = TestStep> {
    let put = item().prop_map(|item| json!({"PutRequest": {"Item": item}}));
    let delete = key().prop_map(|key| json!({"DeleteRequest": {"Key": key}}));
    let writes = vec(prop_oneof![put, delete], 0..5).prop_map(|writes| {
        TestStep::Ask("BatchWriteItem", json!({"RequestItems": {"things": writes}}))
    });
    let gets = (vec(key(), 0..4), option::of(projection()), capacity()).prop_map(
        |(keys, projection, capacity)| {
            let mut gets = json!({"Keys": keys, "ProjectionExpression": projection});
            finish(&mut gets, &Json::Null);
            let mut request = json!({"RequestItems": {"things": gets}});
            if !capacity.is_null() {
                request["ReturnConsumedCapacity"] = capacity;
            }
            TestStep::Ask("BatchGetItem", request)
        },
    );
    prop_oneof![writes, gets]
}

fn transaction() -> impl Strategy<Value = TestStep> {
    let check = (key(), condition(), value(), any::<bool>()).prop_map(
        |(key, text, value, returns_item)| {
            let mut request =
                json!({"TableName": "things", "Key": key, "ConditionExpression": text});
            if returns_item {
                request["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
            }
            let value = fitted("", text.unwrap_or(""), value, true);
            finish(&mut request, &value);
            ("ConditionCheck", request)
        },
    );
    // The other implementation does not check edited keys; no value is both a set and a prefix.
    let is_fit = |(_, part): &(&str, Json)| {
        let text = |name: &str| part[name].as_str().unwrap_or_default().to_owned();
        let (update, condition) = (text("UpdateExpression"), text("ConditionExpression"));
        let adds = update == "ADD v :v" || update == "DELETE v :v";
        let scalar = ["begins_with", "< :v", ">= :v"].iter().any(|word| condition.contains(word));
        update != "SET pk = :v" && !(adds && scalar)
    };
    let write = write(true).prop_filter("it differs", is_fit);
    let part = prop_oneof![4 => write, 1 => check];
    let writes = (vec(part, 0..4), capacity()).prop_map(|(parts, capacity)| {
        let parts: Vec<Json> = parts.into_iter().map(|(kind, part)| json!({kind: part})).collect();
        let mut request = json!({"TransactItems": parts});
        if !capacity.is_null() {
            request["ReturnConsumedCapacity"] = capacity;
        }
        TestStep::Ask("TransactWriteItems", request)
    });
    let gets = vec((key(), option::of(projection())), 0..4).prop_map(|gets| {
        let gets: Vec<Json> = gets
            .into_iter()
            .map(|(key, text)| {
                let mut get =
                    json!({"TableName": "things", "Key": key, "ProjectionExpression": text});
                finish(&mut get, &Json::Null);
                json!({"Get": get})
            })
            .collect();
        TestStep::Ask("TransactGetItems", json!({"TransactItems": gets}))
    });
    prop_oneof![3 => writes, 1 => gets]
}

pub(super) fn step() -> impl Strategy<Value = TestStep> {
    prop_oneof![
        8 => alone(),
        2 => get(),
        4 => query(),
        2 => scan(),
        2 => batch(),
        2 => transaction(),
        5 => older::step(),
    ]
}
