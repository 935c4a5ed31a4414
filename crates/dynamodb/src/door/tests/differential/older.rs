//! Random requests in the parameters from before expressions.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};

use super::requests::{item, key, value};
use super::{Order, TestStep};

/// Without `NOT_CONTAINS`: in the other implementation it matches an absent attribute.
fn operator() -> impl Strategy<Value = &'static str> {
    select(vec![
        "EQ",
        "NE",
        "LE",
        "LT",
        "GE",
        "GT",
        "CONTAINS",
        "BEGINS_WITH",
        "BETWEEN",
        "IN",
        "NULL",
        "NOT_NULL",
    ])
}

/// A comparison, mostly with the right number of values.
fn comparison() -> impl Strategy<Value = Json> {
    (operator(), vec(value(), 0..3), value(), any::<u8>()).prop_map(
        |(operator, some, one, dice)| {
            let values = match operator {
                _ if dice < 25 => some,
                "NULL" | "NOT_NULL" => Vec::new(),
                "BETWEEN" => match some.as_slice() {
                    [other, ..] if dice < 100 => vec![one, other.clone()],
                    _ => vec![one.clone(), one],
                },
                _ => vec![one],
            };
            let mut comparison = json!({"ComparisonOperator": operator});
            if !values.is_empty() {
                comparison["AttributeValueList"] = json!(values);
            }
            comparison
        },
    )
}

/// The other implementation does not check the types in `Expected`; AWS does, as in filters.
fn fitted(mut comparison: Json) -> Json {
    let fits = |operator: &str, value: &Json| {
        let is_one = |kinds: &[&str]| kinds.iter().any(|kind| value.get(kind).is_some());
        match operator {
            "EQ" | "NE" => true,
            "BEGINS_WITH" => is_one(&["S", "B"]),
            "CONTAINS" | "NOT_CONTAINS" => is_one(&["S", "N", "B", "BOOL", "NULL"]),
            _ => is_one(&["S", "N", "B"]),
        }
    };
    let operator = comparison["ComparisonOperator"].as_str().unwrap_or_default().to_owned();
    let listed = comparison.get_mut("AttributeValueList").and_then(Json::as_array_mut);
    for value in listed.into_iter().flatten() {
        if !fits(&operator, value) {
            *value = json!({"S": "b"});
        }
    }
    if let Some(value) = comparison.get_mut("Value").filter(|value| !fits(&operator, value)) {
        *value = json!({"S": "b"});
    }
    comparison
}

fn expectation() -> impl Strategy<Value = Json> {
    prop_oneof![
        4 => comparison().prop_map(fitted),
        1 => value().prop_map(|value| json!({"Value": value})),
        1 => (any::<bool>(), option::of(value())).prop_map(|(exists, value)| {
            let mut expected = json!({"Exists": exists});
            if let Some(value) = value {
                expected["Value"] = value;
            }
            expected
        }),
        1 => (operator(), value()).prop_map(|(operator, value)| {
            // The other implementation requires a list there.
            let operator = if operator == "IN" { "EQ" } else { operator };
            fitted(json!({"ComparisonOperator": operator, "Value": value}))
        }),
    ]
}

/// Conditions on some attributes, and the operator that joins them.
fn conditions(one: impl Strategy<Value = Json>) -> impl Strategy<Value = (Json, Json)> {
    let joint = select(vec![Json::Null, Json::Null, json!("AND"), json!("OR")]);
    (btree_map("v|w|name", one, 0..3), joint).prop_map(|(conditions, joint)| {
        let conditions: Map<String, Json> = conditions.into_iter().collect();
        (Json::Object(conditions), joint)
    })
}

fn drop_nulls(request: &mut Json) {
    request.as_object_mut().unwrap().retain(|_, value| !value.is_null());
}

fn updates() -> impl Strategy<Value = Json> {
    let action = select(vec![json!("PUT"), json!("ADD"), json!("DELETE"), Json::Null]);
    let update = (action, option::weighted(0.8, value())).prop_map(|(action, value)| {
        let mut update = json!({"Action": action, "Value": value});
        drop_nulls(&mut update);
        update
    });
    btree_map("v|w|at|kind", update, 0..3)
        .prop_map(|updates| Json::Object(updates.into_iter().collect()))
}

fn write() -> impl Strategy<Value = TestStep> {
    let expected = option::of(conditions(expectation()));
    let returns = select(vec!["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]);
    let kinds = select(vec!["PutItem", "UpdateItem", "UpdateItem", "DeleteItem"]);
    (kinds, item(), key(), updates(), expected, returns).prop_map(
        |(operation, item, key, updates, expected, returns)| {
            let mut request = json!({"TableName": "things"});
            match operation {
                "PutItem" => request["Item"] = item,
                "UpdateItem" => {
                    (request["Key"], request["AttributeUpdates"]) = (key, updates);
                    request["ReturnValues"] = json!(returns);
                }
                _ => request["Key"] = key,
            }
            if let Some((expected, joint)) = expected {
                (request["Expected"], request["ConditionalOperator"]) = (expected, joint);
            }
            drop_nulls(&mut request);
            TestStep::Ask(operation, request)
        },
    )
}

fn attributes() -> impl Strategy<Value = Option<Vec<&'static str>>> {
    option::of(select(vec![
        vec!["v"],
        vec!["sk", "name", "w"],
        vec![],
        vec!["v", "v"],
        vec!["kind"],
    ]))
}

fn query() -> impl Strategy<Value = TestStep> {
    let index = select(vec![
        (None, "pk", "sk", Order::Whole),
        (Some("by-at"), "pk", "at", Order::Whole),
        (Some("by-kind"), "kind", "sk", Order::By("sk")),
    ]);
    let partition = prop_oneof![
        6 => select(vec!["a", "x"])
            .prop_map(|text| json!({"ComparisonOperator": "EQ", "AttributeValueList": [{"S": text}]})),
        1 => comparison(),
    ];
    let sort = option::of(prop_oneof![
        (operator(), 0..3_i32).prop_map(|(operator, number)| {
            let number = json!({"N": number.to_string()});
            let values =
                if operator == "BETWEEN" { vec![number.clone(), number] } else { vec![number] };
            json!({"ComparisonOperator": operator, "AttributeValueList": values})
        }),
        comparison(),
    ]);
    let parts = (index, partition, sort, attributes(), any::<bool>());
    (parts, option::of(conditions(comparison())), option::of(1..3_u32)).prop_map(
        |((index, partition, sort, attributes, forward), filter, limit)| {
            let (index, by, then, order) = index;
            let mut request = json!({"TableName": "things", "IndexName": index, "Limit": limit,
                "AttributesToGet": attributes, "ScanIndexForward": forward});
            request["KeyConditions"] = json!({by: partition});
            if let Some(sort) = sort {
                request["KeyConditions"][then] = sort;
            }
            // The door also filters the items that a local index fetches.
            let fetches = index == Some("by-at") && !request["AttributesToGet"].is_null();
            if let Some((filter, joint)) = filter.filter(|_| !fetches) {
                (request["QueryFilter"], request["ConditionalOperator"]) = (filter, joint);
            }
            drop_nulls(&mut request);
            TestStep::Walk("Query", request, order)
        },
    )
}

fn scan() -> impl Strategy<Value = TestStep> {
    (attributes(), option::of(conditions(comparison()))).prop_map(|(attributes, filter)| {
        let mut request = json!({"TableName": "things", "AttributesToGet": attributes});
        if let Some((filter, joint)) = filter {
            (request["ScanFilter"], request["ConditionalOperator"]) = (filter, joint);
        }
        drop_nulls(&mut request);
        TestStep::Walk("Scan", request, Order::None)
    })
}

fn get() -> impl Strategy<Value = TestStep> {
    (vec(key(), 1..3), attributes(), any::<bool>()).prop_map(|(keys, attributes, many)| {
        if many {
            let mut gets = json!({"Keys": keys, "AttributesToGet": attributes});
            drop_nulls(&mut gets);
            return TestStep::Ask("BatchGetItem", json!({"RequestItems": {"things": gets}}));
        }
        let mut request =
            json!({"TableName": "things", "Key": keys.first(), "AttributesToGet": attributes});
        drop_nulls(&mut request);
        TestStep::Ask("GetItem", request)
    })
}

pub(super) fn step() -> impl Strategy<Value = TestStep> {
    prop_oneof![4 => write(), 2 => query(), 1 => scan(), 1 => get()]
}
