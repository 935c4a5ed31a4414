//! Tables are created, changed and deleted.

use serde_json::{Value as Json, json};
use table::{KeyAttribute, KeySpec, TableSpec, Tables};

use super::{Trial, things};

#[tokio::test]
async fn a_table_is_described_as_declared() {
    let trial = Trial::new().await;
    let created = trial.ask("CreateTable", things()).await.unwrap();
    let described = trial.ask("DescribeTable", json!({"TableName": "things"})).await.unwrap();
    assert_eq!(created["TableDescription"], described["Table"]);
    let table = &described["Table"];
    assert_eq!(table["KeySchema"], things()["KeySchema"]);
    assert_eq!(table["TableStatus"], "ACTIVE");
    assert_eq!(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(table["LocalSecondaryIndexes"][0]["IndexName"], "by-at");
    assert_eq!(
        table["GlobalSecondaryIndexes"][0]["Projection"],
        things()["GlobalSecondaryIndexes"][0]["Projection"]
    );
    assert_eq!(table["AttributeDefinitions"].as_array().unwrap().len(), 4);
    let by_arn = json!({"TableName": table["TableArn"]});
    assert_eq!(trial.ask("DescribeTable", by_arn).await.unwrap()["Table"], *table);
    let (kind, message) = trial.ask("CreateTable", things()).await.unwrap_err();
    assert_eq!((&*kind, &*message), ("ResourceInUseException", "Table already exists: things"));
}

#[tokio::test]
async fn tables_are_listed_page_by_page_without_the_stores_own() {
    let trial = Trial::new().await;
    for name in ["ccc", "aaa", "bbb"] {
        let mut table = things();
        table["TableName"] = json!(name);
        trial.ask("CreateTable", table).await.unwrap();
    }
    let first = trial.ask("ListTables", json!({"Limit": 2})).await.unwrap();
    assert_eq!(first, json!({"TableNames": ["aaa", "bbb"], "LastEvaluatedTableName": "bbb"}));
    let rest = trial.ask("ListTables", json!({"ExclusiveStartTableName": "bbb"})).await.unwrap();
    assert_eq!(rest, json!({"TableNames": ["ccc"]}));
}

#[tokio::test]
async fn an_index_can_come_later_and_go_again() {
    let trial = Trial::with_things().await;
    trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "color": {"S": "red"}})).await;
    let create = json!({
        "TableName": "things",
        "AttributeDefinitions": [{"AttributeName": "color", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "by-color",
            "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    });
    trial.ask("UpdateTable", create).await.unwrap();
    let query = json!({
        "TableName": "things", "IndexName": "by-color", "KeyConditionExpression": "color = :c",
        "ExpressionAttributeValues": {":c": {"S": "red"}},
    });
    assert_eq!(trial.ask("Query", query.clone()).await.unwrap()["Count"], 1);
    let delete = json!({
        "TableName": "things",
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-color"}}],
    });
    trial.ask("UpdateTable", delete).await.unwrap();
    let (_, message) = trial.ask("Query", query).await.unwrap_err();
    assert_eq!(message, "The table does not have the specified index: by-color");
}

#[tokio::test]
async fn a_protected_table_stays_until_the_protection_goes() {
    let trial = Trial::with_things().await;
    let protect = |on: bool| json!({"TableName": "things", "DeletionProtectionEnabled": on});
    trial.ask("UpdateTable", protect(true)).await.unwrap();
    let delete = json!({"TableName": "things"});
    let (kind, _) = trial.ask("DeleteTable", delete.clone()).await.unwrap_err();
    assert_eq!(kind, "ValidationException");
    trial.ask("UpdateTable", protect(false)).await.unwrap();
    let deleted = trial.ask("DeleteTable", delete.clone()).await.unwrap();
    assert_eq!(deleted["TableDescription"]["TableStatus"], "DELETING");
    let (kind, message) = trial.ask("DescribeTable", delete).await.unwrap_err();
    assert_eq!(kind, "ResourceNotFoundException");
    assert_eq!(message, "Requested resource not found: Table: things not found");
}

#[tokio::test]
async fn expiry_and_tags_are_set_shown_and_removed() {
    let trial = Trial::with_things().await;
    let set = |on: bool| {
        json!({"TableName": "things",
            "TimeToLiveSpecification": {"AttributeName": "ends", "Enabled": on}})
    };
    trial.ask("UpdateTimeToLive", set(true)).await.unwrap();
    let (_, message) = trial.ask("UpdateTimeToLive", set(true)).await.unwrap_err();
    assert_eq!(message, "TimeToLive is already enabled");
    let described = trial.ask("DescribeTimeToLive", json!({"TableName": "things"})).await.unwrap();
    assert_eq!(
        described["TimeToLiveDescription"],
        json!({"TimeToLiveStatus": "ENABLED", "AttributeName": "ends"})
    );
    trial.ask("UpdateTimeToLive", set(false)).await.unwrap();
    let described = trial.ask("DescribeTable", json!({"TableName": "things"})).await.unwrap();
    let arn = &described["Table"]["TableArn"];
    let tag = |key: &str| json!({"Key": key, "Value": "v"});
    let tags = json!({"ResourceArn": arn, "Tags": [tag("a"), tag("b")]});
    trial.ask("TagResource", tags).await.unwrap();
    let untag = json!({"ResourceArn": arn, "TagKeys": ["a"]});
    trial.ask("UntagResource", untag).await.unwrap();
    let listed = trial.ask("ListTagsOfResource", json!({"ResourceArn": arn})).await.unwrap();
    assert_eq!(listed, json!({"Tags": [tag("b")]}));
}

#[tokio::test]
async fn an_invalid_declaration_is_refused() {
    let trial = Trial::new().await;
    let index = |name: &str, included: Json| {
        json!({
            "IndexName": name, "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": included},
        })
    };
    for (change, part) in [
        (
            json!({"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]}),
            "The first KeySchemaElement is not a HASH key type",
        ),
        (
            json!({"KeySchema": [{"AttributeName": "nix", "KeyType": "HASH"}]}),
            "Some index key attributes are not defined in AttributeDefinitions",
        ),
        (json!({"BillingMode": "PROVISIONED"}), "must both be specified"),
        (json!({"BillingMode": "FREE"}), "Member must satisfy enum value set"),
        (json!({"GlobalSecondaryIndexes": []}), "Some AttributeDefinitions are not used"),
        (json!({"TableName": "a b"}), "regular expression pattern"),
        (
            json!({"TableName": "ab"}),
            "TableName must be at least 3 characters long and at most 255 characters long",
        ),
        (
            json!({"GlobalSecondaryIndexes": [index("by-kind", json!([])), index("by-kind", json!([]))]}),
            "Value '[]' at 'globalSecondaryIndexes.2.member.projection.nonKeyAttributes' failed",
        ),
        (
            json!({"GlobalSecondaryIndexes":
                [index("by-kind", json!(["x"])), index("by-kind", json!(["x"]))]}),
            "One or more parameter values were invalid: Duplicate index name: by-kind",
        ),
    ] {
        let mut table = things();
        for (name, value) in change.as_object().unwrap() {
            table[name] = value.clone();
        }
        let (kind, message) = trial.ask("CreateTable", table).await.unwrap_err();
        assert_eq!(kind, "ValidationException", "{change}");
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_table_with_secrets_is_hidden() {
    let trial = Trial::new().await;
    let key = KeySpec::simple(KeyAttribute::s("pk"));
    trial.door.store.ensure_table(TableSpec::new("secrets", key)).await.unwrap();
    assert_eq!(trial.ask("ListTables", json!({})).await, Ok(json!({"TableNames": []})));
    let scan = json!({"TableName": "secrets"});
    for operation in ["Scan", "DescribeTable", "DeleteTable"] {
        let (kind, _) = trial.ask(operation, scan.clone()).await.unwrap_err();
        assert_eq!(kind, "ResourceNotFoundException", "{operation}");
    }
}

#[tokio::test]
async fn an_index_reports_its_own_size_only() {
    let trial = Trial::with_things().await;
    let counts = async || {
        let table = trial.ask("DescribeTable", json!({"TableName": "things"})).await.unwrap();
        let index = |kind: &str| {
            let index = &table["Table"][kind][0];
            (index["ItemCount"].as_u64().unwrap(), index["IndexSizeBytes"].as_u64().unwrap())
        };
        (index("LocalSecondaryIndexes"), index("GlobalSecondaryIndexes"))
    };
    assert_eq!(counts().await, ((0, 0), (0, 0)));
    let text = "x".repeat(100);
    trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "text": {"S": text}})).await;
    assert_eq!(counts().await, ((0, 0), (0, 0)));
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": "2"}, "at": {"N": "7"}, "kind": {"S": "k"},
        "name": {"S": "nn"}, "text": {"S": text},
    });
    trial.put(item).await;
    // `pk` with "a", `sk` and `at` with two bytes for each number; `kind` with "k" and `name` with
    // "nn" in the other index.
    let keys = (2 + 1) + (2 + 2);
    assert_eq!(counts().await, ((1, keys + 2 + 2), (1, keys + (4 + 1) + (4 + 2))));
}

#[tokio::test]
async fn a_refused_declaration_stores_nothing() {
    let trial = Trial::with_things().await;
    let mut table = things();
    let twice = table["GlobalSecondaryIndexes"][0].clone();
    table["TableName"] = json!("twice");
    table["Tags"] = json!([{"Key": "a", "Value": "v"}]);
    table["GlobalSecondaryIndexes"].as_array_mut().unwrap().push(twice);
    let (kind, _) = trial.ask("CreateTable", table).await.unwrap_err();
    assert_eq!(kind, "ValidationException");
    let remembered = trial.door.load_meta("twice").await.unwrap();
    assert!(remembered.tags.is_empty(), "{remembered:?}");

    let update = json!({
        "TableName": "things", "DeletionProtectionEnabled": true,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "no", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    });
    let (kind, _) = trial.ask("UpdateTable", update).await.unwrap_err();
    assert_eq!(kind, "ValidationException", "the name of an index has three letters or more");
    assert!(!trial.door.load_meta("things").await.unwrap().is_protected);
}

fn new_index(number: usize) -> serde_json::Value {
    json!({"Create": {
        "IndexName": format!("extra-{number}"),
        "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }})
}

#[tokio::test]
async fn indexes_come_one_at_a_time_up_to_twenty() {
    let trial = Trial::with_things().await;
    let update = |updates: Vec<serde_json::Value>| {
        json!({
            "TableName": "things", "GlobalSecondaryIndexUpdates": updates,
            "AttributeDefinitions": [{"AttributeName": "kind", "AttributeType": "S"}],
        })
    };
    let two = update(vec![new_index(1), new_index(2)]);
    let (kind, message) = trial.ask("UpdateTable", two).await.unwrap_err();
    assert_eq!(kind, "LimitExceededException");
    assert!(message.ends_with("created or deleted simultaneously per table"), "{message}");
    for number in 1..20 {
        trial.ask("UpdateTable", update(vec![new_index(number)])).await.unwrap();
    }
    let (kind, message) = trial.ask("UpdateTable", update(vec![new_index(20)])).await.unwrap_err();
    assert_eq!(kind, "ValidationException");
    assert!(message.ends_with("exceeds the per-table limit of 20"), "{message}");
}

#[tokio::test]
async fn limits_and_endpoints_are_described() {
    let trial = Trial::new().await;
    let limits = trial.ask("DescribeLimits", json!({})).await.unwrap();
    for limit in [
        "AccountMaxReadCapacityUnits",
        "AccountMaxWriteCapacityUnits",
        "TableMaxReadCapacityUnits",
        "TableMaxWriteCapacityUnits",
    ] {
        assert!(limits[limit].as_u64().is_some_and(|units| units > 0), "{limits}");
    }
    let endpoints = trial.ask("DescribeEndpoints", json!({})).await.unwrap();
    let endpoint = &endpoints["Endpoints"][0];
    assert!(endpoint["Address"].is_string() && endpoint["CachePeriodInMinutes"].is_u64());
}
