//! Parameters that are missing, too long or not allowed: each is reported with its place, and all
//! of one request together.

use serde_json::{Value as Json, json};

use super::{Trial, things};

fn null(at: &str) -> String {
    format!("Value null at '{at}' failed to satisfy constraint: Member must not be null")
}

async fn refused(trial: &Trial, operation: &str, request: Json) -> String {
    let (kind, message) = trial.ask(operation, request).await.unwrap_err();
    assert_eq!(kind, "ValidationException", "{operation}: {message}");
    message
}

/// An operation, a request without one member, and the place of that member.
type Missing = (&'static str, Json, &'static str);

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/things";

/// `things` under another name, with another value in one field.
fn other(field: &str, value: Json) -> Json {
    let mut table = things();
    (table["TableName"], table[field]) = (json!("other"), value);
    table
}

fn of_things(field: &str, value: Json) -> Json {
    json!({"TableName": "things", field: value})
}

fn missing_in_declarations() -> Vec<Missing> {
    let index = json!({
        "IndexName": "by-kind", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "kind"}],
    });
    vec![
        (
            "CreateTable",
            other("ProvisionedThroughput", json!({"WriteCapacityUnits": 1})),
            "provisionedThroughput.readCapacityUnits",
        ),
        (
            "CreateTable",
            other("GlobalSecondaryIndexes", json!([index])),
            "globalSecondaryIndexes.1.member.keySchema.1.member.keyType",
        ),
        (
            "UpdateTable",
            of_things("ProvisionedThroughput", json!({"ReadCapacityUnits": 1})),
            "provisionedThroughput.writeCapacityUnits",
        ),
        (
            "UpdateTable",
            of_things("GlobalSecondaryIndexUpdates", json!([{"Delete": {}}])),
            "globalSecondaryIndexUpdates.1.member.delete.indexName",
        ),
        (
            "UpdateTable",
            of_things("StreamSpecification", json!({})),
            "streamSpecification.streamEnabled",
        ),
        (
            "UpdateTimeToLive",
            of_things("TimeToLiveSpecification", json!({"AttributeName": "ends"})),
            "timeToLiveSpecification.enabled",
        ),
        ("UpdateTimeToLive", json!({"TableName": "things"}), "timeToLiveSpecification"),
        (
            "UpdateContinuousBackups",
            of_things("PointInTimeRecoverySpecification", json!({})),
            "pointInTimeRecoverySpecification.pointInTimeRecoveryEnabled",
        ),
    ]
}

fn missing_elsewhere() -> Vec<Missing> {
    vec![
        ("TagResource", json!({"ResourceArn": ARN, "Tags": [{"Key": "a"}]}), "tags.1.member.value"),
        ("TagResource", json!({"Tags": [{"Key": "a", "Value": "b"}]}), "resourceArn"),
        ("TagResource", json!({"ResourceArn": ARN}), "tags"),
        ("UntagResource", json!({"ResourceArn": ARN}), "tagKeys"),
        ("ListTagsOfResource", json!({}), "resourceArn"),
        ("DescribeStream", json!({}), "streamArn"),
        ("GetRecords", json!({}), "shardIterator"),
        ("DescribeBackup", json!({}), "backupArn"),
        ("ExecuteStatement", json!({}), "statement"),
        ("BatchExecuteStatement", json!({"Statements": [{}]}), "statements.1.member.statement"),
        ("ExecuteTransaction", json!({}), "transactStatements"),
        (
            "Query",
            of_things("KeyConditions", json!({"pk": {}})),
            "keyConditions.pk.member.comparisonOperator",
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"things": {}}}),
            "requestItems.things.member.keys",
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"things": [{"PutRequest": {}}]}}),
            "requestItems.things.member.1.member.putRequest.item",
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": {"TableName": "things"}}]}),
            "transactItems.1.member.put.item",
        ),
    ]
}

#[tokio::test]
async fn a_member_that_is_missing_is_named_with_its_place() {
    let trial = Trial::with_things().await;
    for (operation, request, at) in [missing_in_declarations(), missing_elsewhere()].concat() {
        let message = refused(&trial, operation, request).await;
        assert_eq!(message, format!("1 validation error detected: {}", null(at)), "{operation}");
    }
}

#[tokio::test]
async fn all_faults_of_a_request_are_reported_together() {
    let trial = Trial::with_things().await;
    let message = refused(&trial, "PutItem", json!({})).await;
    let (table, item) = (null("tableName"), null("item"));
    assert_eq!(message, format!("2 validation errors detected: {table}; {item}"));

    let words = json!({
        "TableName": "no table", "Key": {"pk": {"S": "a"}, "sk": {"N": "1"}},
        "ReturnValues": "SOME", "ReturnConsumedCapacity": "ALL", "ConditionalOperator": "XOR",
    });
    let message = refused(&trial, "UpdateItem", words).await;
    assert!(message.starts_with("4 validation errors detected: Value 'no table' at"), "{message}");
    for at in ["tableName", "returnValues", "returnConsumedCapacity", "conditionalOperator"] {
        assert!(message.contains(&format!("at '{at}' failed to satisfy constraint")), "{message}");
    }

    let mut table = things();
    table["TableName"] = json!("other");
    table["BillingMode"] = json!("PROVISIONED");
    table["ProvisionedThroughput"] = json!({"ReadCapacityUnits": 0});
    table["KeySchema"] = json!([]);
    table["GlobalSecondaryIndexes"] = json!([{}]);
    let message = refused(&trial, "CreateTable", table).await;
    assert!(message.starts_with("6 validation errors detected: "), "{message}");
    assert_eq!(message.matches("; ").count(), 5, "{message}");

    let parts = vec![json!({"Put": {}}); 100];
    let message = refused(&trial, "TransactWriteItems", json!({"TransactItems": parts})).await;
    assert!(message.starts_with("10 validation errors detected: "), "{message}");
    assert_eq!(message.matches("Member must not be null").count(), 10, "{message}");
}

#[tokio::test]
async fn names_in_a_declaration_have_at_most_255_bytes_and_are_unique() {
    let trial = Trial::with_things().await;
    let long = "n".repeat(256);
    let projecting = |names: Json| {
        let mut table = other("Tags", json!([]));
        table["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"] = names;
        table
    };
    let twice = |name: &str| {
        let definition = json!({"AttributeName": name, "AttributeType": "S"});
        let mut definitions = things()["AttributeDefinitions"].as_array().unwrap().clone();
        definitions.extend([definition.clone(), definition]);
        json!(definitions)
    };
    let mut later = of_things("AttributeDefinitions", twice("x"));
    later["DeletionProtectionEnabled"] = json!(false);
    let expiring = json!({"AttributeName": long, "Enabled": true});
    for (operation, request, part) in [
        (
            "CreateTable",
            projecting(json!(["name", long])),
            "at 'globalSecondaryIndexes.1.member.projection.nonKeyAttributes' failed to satisfy \
             constraint: Member must satisfy constraint: [Member must have length less than or \
             equal to 255, Member must have length greater than or equal to 1]",
        ),
        (
            "CreateTable",
            projecting(json!(["name", "other", "name"])),
            "Duplicate value in NonKeyAttributes: name for index: by-kind",
        ),
        (
            "CreateTable",
            other("AttributeDefinitions", twice("kind")),
            "Duplicate AttributeName in AttributeDefinitions: kind",
        ),
        ("UpdateTable", later, "Duplicate AttributeName in AttributeDefinitions: x"),
        (
            "UpdateTimeToLive",
            of_things("TimeToLiveSpecification", expiring),
            "at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must \
             have length less than or equal to 255",
        ),
    ] {
        let message = refused(&trial, operation, request).await;
        assert!(message.contains(part), "{operation}: {message}");
    }
    trial.ask("CreateTable", projecting(json!(["n".repeat(255)]))).await.unwrap();
}
