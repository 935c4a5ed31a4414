//! The same requests to the door and to another implementation of DynamoDB get the same answers:
//! what is answered, and of failures the type.

use dynoxide::Database;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::prop_assert_eq;
use serde_json::{Map, Value as Json, json};

use super::{Trial, things};

fn key() -> impl Strategy<Value = Json> {
    ("[ab]", 0..3_i32).prop_map(|(pk, sk)| json!({"pk": {"S": pk}, "sk": {"N": sk.to_string()}}))
}

fn value() -> impl Strategy<Value = Json> {
    prop_oneof![
        "[a-c]{0,2}".prop_map(|text| json!({"S": text})),
        (-3..4_i32).prop_map(|number| json!({"N": number.to_string()})),
        any::<bool>().prop_map(|truth| json!({"BOOL": truth})),
        Just(json!({"NULL": true})),
        proptest::sample::subsequence(vec!["a", "b", "c"], 1..3).prop_map(|set| json!({"SS": set})),
        (-2..3_i32).prop_map(|number| json!({"L": [{"N": number.to_string()}]})),
        "[a-c]".prop_map(|text| json!({"M": {"x": {"S": text}}})),
    ]
}

fn item() -> impl Strategy<Value = Json> {
    (key(), vec(("[vw]|name|kind|at", value()), 0..4)).prop_map(|(mut item, more)| {
        for (name, value) in more {
            item[name] = value;
        }
        item
    })
}

fn condition() -> impl Strategy<Value = Option<&'static str>> {
    proptest::option::of(proptest::sample::select(vec![
        "attribute_exists(pk)",
        "attribute_not_exists(v)",
        "v = :v",
        "v <> :v AND attribute_type(w, :s)",
        "contains(v, :v) OR size(w) > :n",
        "NOT begins_with(v, :v)",
        "v IN (:v, :n)",
        "v BETWEEN :n AND :n",
    ]))
}

fn update() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "SET v = :v",
        "SET v = if_not_exists(v, :n) + :n, w = :v",
        "SET v = list_append(if_not_exists(v, :l), :l)",
        "REMOVE v, w",
        "ADD v :n",
        "DELETE v :set",
        "SET v.x = :v",
        "SET v[0] = :v REMOVE w",
        "ADD v :set DELETE w :set",
    ])
}

/// Only the placeholders that the expressions name: others would be refused.
fn with_values(request: &mut Json, texts: &[&str], value: &Json) {
    let all = [
        (":v", value.clone()),
        (":n", json!({"N": "1"})),
        (":s", json!({"S": "S"})),
        (":l", json!({"L": [{"S": "e"}]})),
        (":set", json!({"SS": ["a"]})),
        (":p", json!({"S": "a"})),
    ];
    let word = |text: &str, name: &str| {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != ':');
        words.any(|word| word == name)
    };
    let used = all.into_iter().filter(|(name, _)| texts.iter().any(|text| word(text, name)));
    let used: Map<String, Json> = used.map(|(name, value)| (name.to_owned(), value)).collect();
    if !used.is_empty() {
        request["ExpressionAttributeValues"] = Json::Object(used);
    }
}

fn step() -> impl Strategy<Value = (&'static str, Json)> {
    let write = (item(), condition(), value(), any::<bool>());
    let put = write.prop_map(|(item, condition, value, old)| {
        let mut request = json!({"TableName": "things", "Item": item,
            "ReturnValues": if old { "ALL_OLD" } else { "NONE" }});
        if let Some(condition) = condition {
            request["ConditionExpression"] = json!(condition);
            with_values(&mut request, &[condition], &value);
        }
        ("PutItem", request)
    });
    let returns = vec!["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"];
    let returns = proptest::sample::select(returns);
    let update = (key(), update(), condition(), value(), returns).prop_map(
        |(key, update, condition, value, returns)| {
            // Of an edited list element AWS answers the element alone, and of an item that is only
            // made now nothing old; the other one differs there.
            let differs = update.contains("[0]") || returns == "ALL_OLD";
            let returns = if differs { "ALL_NEW" } else { returns };
            let mut request = json!({"TableName": "things", "Key": key, "ReturnValues": returns,
                "UpdateExpression": update});
            if let Some(condition) = condition {
                request["ConditionExpression"] = json!(condition);
            }
            with_values(&mut request, &[update, condition.unwrap_or("")], &value);
            ("UpdateItem", request)
        },
    );
    let delete = key().prop_map(|key| {
        ("DeleteItem", json!({"TableName": "things", "Key": key, "ReturnValues": "ALL_OLD"}))
    });
    let get = key().prop_map(|key| {
        (
            "GetItem",
            json!({"TableName": "things", "Key": key, "ProjectionExpression": "v, w.x, sk"}),
        )
    });
    let keys = vec!["pk = :p", "pk = :p AND sk >= :n", "pk = :p AND sk BETWEEN :n AND :n"];
    let query = (proptest::sample::select(keys), any::<bool>(), proptest::option::of(1..4_u32))
        .prop_map(|(key, forward, limit)| {
            let mut request = json!({"TableName": "things", "KeyConditionExpression": key,
                "ScanIndexForward": forward});
            if let Some(limit) = limit {
                request["Limit"] = json!(limit);
            }
            with_values(&mut request, &[key], &json!({"NULL": true}));
            ("Query", request)
        });
    let scan = (condition(), value()).prop_map(|(filter, value)| {
        let mut request = json!({"TableName": "things"});
        if let Some(filter) = filter {
            request["FilterExpression"] = json!(filter);
            with_values(&mut request, &[filter], &value);
        }
        ("Scan", request)
    });
    prop_oneof![4 => put, 4 => update, 1 => delete, 2 => get, 2 => query, 1 => scan]
}

/// The other one's answer, or the name of the failure's type and its message.
pub(super) fn ask_other(
    database: &Database,
    operation: &str,
    request: &Json,
) -> Result<Json, (String, String)> {
    macro_rules! ask {
        ($method:ident) => {{
            let request = serde_json::from_value(request.clone())
                .map_err(|error| ("ValidationException".to_owned(), error.to_string()))?;
            database.$method(request).map(|answer| serde_json::to_value(answer).unwrap())
        }};
    }
    let answer = match operation {
        "PutItem" => ask!(put_item),
        "UpdateItem" => ask!(update_item),
        "DeleteItem" => ask!(delete_item),
        "GetItem" => ask!(get_item),
        "Query" => ask!(query),
        "Scan" => ask!(scan),
        other => panic!("`{other}` is not asked"),
    };
    answer.map_err(|error| {
        (error.error_type().rsplit('#').next().unwrap().to_owned(), error.to_string())
    })
}

/// Sets and scans have no promised order.
fn normal(operation: &str, mut json: Json) -> Json {
    fn sort_sets(json: &mut Json) {
        match json {
            Json::Object(fields) => {
                for (name, value) in fields {
                    match value.as_array_mut() {
                        Some(list) if matches!(name.as_str(), "SS" | "NS" | "BS") => {
                            list.sort_by_key(Json::to_string);
                        }
                        Some(_) | None => sort_sets(value),
                    }
                }
            }
            Json::Array(list) => list.iter_mut().for_each(sort_sets),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    sort_sets(&mut json);
    if operation == "Scan"
        && let Some(items) = json.get_mut("Items").and_then(Json::as_array_mut)
    {
        items.sort_by_key(Json::to_string);
    }
    json
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn two_implementations_answer_alike(steps in vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let trial = Trial::with_things().await;
            let other = Database::memory().unwrap();
            other.create_table(serde_json::from_value(things()).unwrap()).unwrap();
            for (operation, request) in steps {
                let ours = trial.ask(operation, request.clone()).await;
                let theirs = ask_other(&other, operation, &request);
                let ours = ours.map(|json| normal(operation, json)).map_err(|(kind, _)| kind);
                let theirs = theirs.map(|json| normal(operation, json)).map_err(|(kind, _)| kind);
                prop_assert_eq!(ours, theirs, "{} {}", operation, request);
            }
            Ok(())
        })?;
    }
}
