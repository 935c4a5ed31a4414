//! Valid requests that were damaged on the way: the responses still have DynamoDB's form.

use proptest::collection::vec;
use proptest::prelude::{any, prop, proptest};
use proptest::prop_assert;

use super::Trial;
use super::corpus::OPERATIONS;

/// Valid requests and statements, before they are damaged.
const GOOD: [(&str, &str); 8] = [
    (
        "PutItem",
        r##"{"TableName":"things","Item":{"pk":{"S":"a"},"sk":{"N":"-1.5e3"},"l":{"L":[{"NS":["1","2"]},{"M":{"x":{"B":"YQ=="}}},{"NULL":true}]}},"ConditionExpression":"NOT (attribute_exists(#a.b[0]) OR size(v) > :n)","ExpressionAttributeNames":{"#a":"a"},"ExpressionAttributeValues":{":n":{"N":"1"}}}"##,
    ),
    (
        "UpdateItem",
        r##"{"TableName":"things","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"SET a.b[3] = list_append(if_not_exists(l, :l), :l), n = n - :n REMOVE c ADD s :s DELETE t :s","ExpressionAttributeValues":{":l":{"L":[]},":n":{"N":"1"},":s":{"SS":["x"]}}}"##,
    ),
    (
        "Query",
        r##"{"TableName":"things","IndexName":"by-kind","KeyConditionExpression":"kind = :k AND sk BETWEEN :n AND :n","FilterExpression":"v IN (:k, :n) AND begins_with(w, :k)","ExpressionAttributeValues":{":k":{"S":"x"},":n":{"N":"1"}},"Limit":3,"ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"N":"1"},"kind":{"S":"x"}}}"##,
    ),
    (
        "Scan",
        r##"{"TableName":"things","ScanFilter":{"v":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"2"}]}},"Segment":0,"TotalSegments":2,"AttributesToGet":["v"]}"##,
    ),
    (
        "TransactWriteItems",
        r##"{"TransactItems":[{"Put":{"TableName":"things","Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}},{"ConditionCheck":{"TableName":"things","Key":{"pk":{"S":"b"},"sk":{"N":"1"}},"ConditionExpression":"attribute_not_exists(pk)"}}],"ClientRequestToken":"t"}"##,
    ),
    (
        "BatchWriteItem",
        r##"{"RequestItems":{"things":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"N":"2"}}}}]}}"##,
    ),
    (
        "ExecuteStatement",
        r##"{"Statement":"SELECT a.b[0], \"c\" FROM \"things\".\"by-kind\" WHERE kind = ? AND NOT (v IN [1, 'x'] OR w IS MISSING) ORDER BY sk DESC","Parameters":[{"S":"x"}]}"##,
    ),
    (
        "ExecuteStatement",
        r##"{"Statement":"INSERT INTO things VALUE {'pk': 'a''b', 'sk': -1.5e3, 'l': [<<'x'>>, {'m': NULL}, true]}"}"##,
    ),
];

/// One change to a text: its place, its length, its kind, and its value.
type Damage = (prop::sample::Index, prop::sample::Index, u8, u8);

fn damaged(text: &str, damages: &[Damage]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (from, over, kind, byte) in damages {
        if bytes.is_empty() {
            break;
        }
        let from = from.index(bytes.len());
        let to = (from + 1 + over.index(24)).min(bytes.len());
        let part = bytes[from..to].to_vec();
        match kind % 4 {
            0 => bytes[from] = *byte,
            1 => drop(bytes.drain(from..to)),
            2 => drop(bytes.splice(from..from, part.repeat(usize::from(*byte) + 1))),
            _ => bytes[from..to].reverse(),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(testkit::depth::cases(100))]

    #[test]
    fn a_damaged_request_has_an_answer(
        which in 0..GOOD.len(),
        damages in vec(any::<Damage>(), 1..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let trial = Trial::with_things().await;
            let (operation, good) = GOOD[which];
            let bad = damaged(good, &damages);
            let reply = trial.send_bytes(operation, &bad).await;
            let request = String::from_utf8_lossy(&bad);
            prop_assert!(reply.status == 200 || reply.status == 400, "{request}: {reply:?}");
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn the_damaged_requests_were_valid_before() {
    let trial = Trial::with_things().await;
    for (operation, good) in GOOD {
        let reply = trial.send(operation, good).await;
        // Some refer to attributes that the items lack; all of them parse.
        let read = !reply.body.contains("Serialization") && !reply.body.contains("yntax error");
        assert!(read, "{operation}: {reply:?}");
    }
}

#[tokio::test]
async fn a_field_with_very_deep_nesting_gets_a_response_from_every_operation() {
    let trial = Trial::with_things().await;
    // One operation has no parameters.
    for operation in OPERATIONS.into_iter().filter(|name| *name != "DescribeEndpoints") {
        for field in ["Item", "Key", "RequestItems", "TransactItems", "Parameters", "Unknown"] {
            for open in ["[", "{\"M\":", "{\"L\":["] {
                let body =
                    format!("{{\"TableName\":\"things\",\"{field}\":{}", open.repeat(100_000));
                let reply = trial.send(operation, &body).await;
                assert_eq!(reply.status, 400, "{operation} {field} {open}");
            }
        }
    }
}
