//! The capacity of tables and indexes: what can change, when it changed, and what is refused.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Trial, things};

fn units(read: u64, write: u64) -> Json {
    json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write})
}

fn provisioned() -> Json {
    let mut table = things();
    table["BillingMode"] = json!("PROVISIONED");
    table["ProvisionedThroughput"] = units(5, 6);
    table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units(1, 2);
    table
}

async fn update(trial: &Trial, more: Json) -> Result<Json, (String, String)> {
    let mut request = more;
    request["TableName"] = json!("things");
    Ok(trial.ask("UpdateTable", request).await?["TableDescription"].clone())
}

fn scaled(read: u64, write: u64) -> Json {
    json!({"GlobalSecondaryIndexUpdates": [
        {"Update": {"IndexName": "by-kind", "ProvisionedThroughput": units(read, write)}},
    ]})
}

fn another_index(throughput: Json) -> Json {
    json!({"GlobalSecondaryIndexUpdates": [{"Create": {
        "IndexName": "by-at-too", "KeySchema": [{"AttributeName": "at", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": throughput,
    }}], "AttributeDefinitions": [{"AttributeName": "at", "AttributeType": "N"}]})
}

async fn assert_refused(trial: &Trial, cases: Vec<(Json, &str)>) {
    for (request, part) in cases {
        let (kind, message) = update(trial, request.clone()).await.unwrap_err();
        assert_eq!(kind, "ValidationException", "{request}");
        assert!(message.contains(part), "{message}");
    }
}

/// One more than a table or an index may have.
const HUGE: u64 = 1_000_000_000_001;

#[tokio::test]
async fn units_that_stay_as_they_are_or_have_no_bounds_are_refused() {
    let trial = Trial::new().await;
    trial.ask("CreateTable", provisioned()).await.unwrap();
    let cases = vec![
        (json!({"ProvisionedThroughput": units(5, 6)}), "for the table will not change"),
        (
            json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(5, 6)}),
            "Requested WriteCapacityUnits: 6. Refer to the Amazon DynamoDB Developer Guide",
        ),
        (scaled(1, 2), "for the index by-kind will not change"),
        (
            json!({"ProvisionedThroughput": units(HUGE, 6)}),
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            json!({"ProvisionedThroughput": units(5, HUGE)}),
            "Given value 1000000000001 for WriteCapacityUnits is out of bounds",
        ),
        (scaled(HUGE, 2), "Action Blocked: IndexUpdate"),
    ];
    assert_refused(&trial, cases).await;
    let mut table = provisioned();
    (table["TableName"], table["ProvisionedThroughput"]) = (json!("other"), units(1, HUGE));
    let (_, message) = trial.ask("CreateTable", table).await.unwrap_err();
    assert_eq!(message, "Given value 1000000000001 for WriteCapacityUnits is out of bounds");
}

#[tokio::test]
async fn units_belong_only_to_tables_that_are_billed_by_them() {
    let trial = Trial::new().await;
    trial.ask("CreateTable", provisioned()).await.unwrap();
    let by_request =
        json!({"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": units(1, 1)});
    let neither = "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when \
                   BillingMode is PAY_PER_REQUEST";
    let cases = vec![
        (
            json!({"BillingMode": "PROVISIONED"}),
            "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ),
        (by_request, neither),
        (another_index(Json::Null), "must be specified for index: by-at-too"),
    ];
    assert_refused(&trial, cases).await;

    let trial = Trial::with_things().await;
    let cases = vec![
        (json!({"ProvisionedThroughput": units(1, 1)}), neither),
        (
            scaled(1, 1),
            "ProvisionedThroughput should not be specified for index: by-kind when BillingMode is \
             PAY_PER_REQUEST",
        ),
        (another_index(units(1, 1)), "should not be specified for index: by-at-too"),
        (
            json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)}),
            "ProvisionedThroughput must be specified for index: by-kind",
        ),
    ];
    assert_refused(&trial, cases).await;
}

#[tokio::test]
async fn a_table_shows_when_its_capacity_changed() {
    let trial = Trial::new().await;
    let table = trial.ask("CreateTable", provisioned()).await.unwrap()["TableDescription"].clone();
    assert!(table.get("BillingModeSummary").is_none(), "{table}");
    assert!(table["ProvisionedThroughput"].get("LastIncreaseDateTime").is_none(), "{table}");
    let created = table["CreationDateTime"].as_f64().unwrap();
    let later = async |seconds: u64| trial.time.advance(Duration::from_secs(seconds)).await;

    later(10).await;
    let table = update(&trial, json!({"ProvisionedThroughput": units(7, 6)})).await.unwrap();
    let held = &table["ProvisionedThroughput"];
    assert_eq!(held["LastIncreaseDateTime"].as_f64(), Some(created + 10.0));
    assert!(held.get("LastDecreaseDateTime").is_none(), "{held}");
    later(10).await;
    let table = update(&trial, scaled(3, 1)).await.unwrap();
    let held = &table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"];
    assert_eq!(held["LastIncreaseDateTime"].as_f64(), Some(created + 20.0));
    assert_eq!(held["LastDecreaseDateTime"].as_f64(), Some(created + 20.0));

    later(10).await;
    let table = update(&trial, json!({"BillingMode": "PAY_PER_REQUEST"})).await.unwrap();
    let summary = &table["BillingModeSummary"];
    assert_eq!(summary["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(summary["LastUpdateToPayPerRequestDateTime"].as_f64(), Some(created + 30.0));
    let index = &table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"];
    assert_eq!(index["ReadCapacityUnits"], 0);

    let mut back = scaled(1, 1);
    (back["BillingMode"], back["ProvisionedThroughput"]) = (json!("PROVISIONED"), units(1, 1));
    let table = update(&trial, back).await.unwrap();
    let summary = &table["BillingModeSummary"];
    assert_eq!(summary["BillingMode"], "PROVISIONED");
    assert_eq!(summary["LastUpdateToPayPerRequestDateTime"].as_f64(), Some(created + 30.0));
    assert_eq!(table["ProvisionedThroughput"]["ReadCapacityUnits"], 1);
}

#[tokio::test]
async fn a_table_billed_by_request_shows_since_when() {
    let trial = Trial::with_things().await;
    let described = trial.ask("DescribeTable", json!({"TableName": "things"})).await.unwrap();
    let table = &described["Table"];
    let since = &table["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"];
    assert!(since.is_number(), "{table}");
    assert_eq!(since, &table["CreationDateTime"]);
}
