//! Any request gets a response in DynamoDB's form: no panic, no unbounded recursion.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::prop_assert;
use serde_json::Value as Json;

use super::super::partiql::statement;
use super::super::read::{JsonItem, json as read_json};
use super::super::write::JsonWriter;
use super::Trial;

pub(super) const OPERATIONS: [&str; 36] = [
    "GetItem",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactWriteItems",
    "TransactGetItems",
    "CreateTable",
    "UpdateTable",
    "ExecuteStatement",
    "BatchExecuteStatement",
    "ExecuteTransaction",
    "CreateBackup",
    "ListBackups",
    "UpdateContinuousBackups",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "DescribeTable",
    "DeleteTable",
    "ListTables",
    "UpdateTimeToLive",
    "DescribeTimeToLive",
    "TagResource",
    "UntagResource",
    "ListTagsOfResource",
    "DescribeBackup",
    "DeleteBackup",
    "DescribeContinuousBackups",
    "DescribeEndpoints",
    "ListStreams",
    "DescribeStream",
    "GetShardIterator",
    "GetRecords",
];

/// Placeholders that expand to more than the parser would keep in memory.
#[tokio::test]
async fn a_large_value_is_not_written_out_a_thousand_times() {
    let trial = Trial::with_things().await;
    let request = |bytes: usize, times: usize| {
        let uses = vec![":v"; times].join(",");
        serde_json::json!({
            "TableName": "things", "FilterExpression": format!("a IN ({uses})"),
            "ExpressionAttributeValues": {":v": {"S": "x".repeat(bytes)}},
        })
    };
    for (bytes, times, part) in [
        (10 * 1024 * 1024, 500, "contains a member that is too large; key: :v"),
        (400 * 1024, 1_000, "too often"),
        (400 * 1024, 41, "too often"),
    ] {
        let (kind, message) = trial.ask("Scan", request(bytes, times)).await.unwrap_err();
        assert_eq!(kind, "ValidationException", "{bytes} {times}");
        assert!(message.contains(part), "{message}");
    }
    trial.ask("Scan", request(400 * 1024, 40)).await.unwrap();
    let name = "n".repeat(65_536);
    let values: serde_json::Map<String, Json> = (0..6)
        .map(|n| (format!(":v{n}"), serde_json::json!({"S": "x".repeat(390 * 1024)})))
        .collect();
    for (more, part) in [
        (serde_json::json!({"ExpressionAttributeNames": {"#n": name}}), "key: #n"),
        (serde_json::json!({"ExpressionAttributeValues": values}), "exceed 2097152 bytes"),
    ] {
        let mut scan = serde_json::json!({"TableName": "things", "FilterExpression": "a = b"});
        for (field, value) in more.as_object().unwrap() {
            scan[field] = value.clone();
        }
        let (_, message) = trial.ask("Scan", scan).await.unwrap_err();
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn an_expression_has_up_to_three_hundred_operators() {
    let trial = Trial::with_things().await;
    for (count, is_taken) in [(150, true), (151, false)] {
        // `count` comparisons, and one `OR` less.
        let text = vec!["a=b"; count].join(" OR ");
        let scan = serde_json::json!({"TableName": "things", "FilterExpression": text});
        let answer = trial.ask("Scan", scan).await;
        assert_eq!(answer.is_ok(), is_taken, "{answer:?}");
        if let Err((_, message)) = answer {
            let end = "The expression contains too many operators; operator count: 301";
            assert_eq!(message, format!("Invalid FilterExpression: {end}"));
        }
    }
}

/// Pieces of PartiQL in random order; some of them are statements.
fn statements() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "SELECT",
        "*",
        "FROM",
        "things",
        "\"things\".\"by-kind\"",
        "WHERE",
        "pk = 'a'",
        "AND",
        "OR",
        "NOT",
        "(",
        ")",
        "sk",
        "= 1",
        "> -2.5e3",
        "BETWEEN 1 AND 2",
        "IN [1, 2]",
        "IN (?)",
        "IS MISSING",
        "IS NOT NULL",
        "begins_with(pk, 'a')",
        "size(a)",
        "ORDER BY sk DESC",
        "INSERT INTO things VALUE",
        "{'pk': 'a', 'sk': 1}",
        "{'a': [1, <<'x'>>, {}]}",
        "<<",
        ">>",
        "[",
        "]",
        "{",
        "}",
        "'",
        "\"",
        "?",
        ",",
        ".",
        ":",
        "-",
        "UPDATE things",
        "SET a = 1",
        "SET a = list_append(a, ?)",
        "REMOVE a[0].b",
        "DELETE FROM things",
        "RETURNING ALL OLD *",
        "EXISTS(",
        "NULL",
        "true",
        "1e",
        "é",
        ";",
    ]);
    vec(piece, 0..12).prop_map(|pieces| pieces.join(" "))
}

/// Words that mean something in some place, used anywhere.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("things".to_owned()),
        Just("pk = :p AND begins_with(sk, :p)".to_owned()),
        Just("SET a.b[0] = list_append(:p, :p) REMOVE c".to_owned()),
        Just("((((((((".to_owned()),
        statements(),
        Just("NaN".to_owned()),
        Just("arn:aws:dynamodb:us-east-1:000000000000:table/things".to_owned()),
        Just("arn:aws:dynamodb:us-east-1:000000000000:table/things/stream/now".to_owned()),
        Just("arn:aws:dynamodb:us-east-1:000000000000:table/things/backup/1".to_owned()),
        Just("TRIM_HORIZON".to_owned()),
        "[ -~]{0,12}",
    ]
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("TableName"),
        Just("Key"),
        Just("Item"),
        Just("pk"),
        Just("sk"),
        Just("S"),
        Just("N"),
        Just("B"),
        Just("M"),
        Just("L"),
        Just("SS"),
        Just("NS"),
        Just("BS"),
        Just("NULL"),
        Just("BOOL"),
        Just("RequestItems"),
        Just("TransactItems"),
        Just("Put"),
        Just("Keys"),
        Just("things"),
        Just("UpdateExpression"),
        Just("ConditionExpression"),
        Just("KeyConditionExpression"),
        Just("FilterExpression"),
        Just("Expected"),
        Just("Limit"),
        Just("ExpressionAttributeValues"),
        Just(":p"),
        Just("ExpressionAttributeNames"),
        Just("#p"),
        Just("ExclusiveStartKey"),
        Just("Segment"),
        Just("KeySchema"),
        Just("PutRequest"),
        Just("Statement"),
        Just("Statements"),
        Just("TransactStatements"),
        Just("Parameters"),
        Just("NextToken"),
        Just("BackupName"),
        Just("BackupArn"),
        Just("TargetTableName"),
        Just("SourceTableName"),
        Just("UseLatestRestorableTime"),
        Just("PointInTimeRecoverySpecification"),
        Just("PointInTimeRecoveryEnabled"),
        Just("StreamArn"),
        Just("ShardId"),
        Just("ShardIterator"),
        Just("ShardIteratorType"),
        Just("SequenceNumber"),
        Just("ResourceArn"),
        Just("Tags"),
        Just("TagKeys"),
        Just("TimeToLiveSpecification"),
    ]
    .prop_map(str::to_owned)
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        words().prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            vec((names(), inner), 0..6)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(testkit::depth::cases(30))]

    #[test]
    fn any_request_has_an_answer(requests in vec((0..OPERATIONS.len(), json()), 1..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let trial = Trial::with_things().await;
            for (operation, mut json) in requests {
                if let Some(fields) = json.as_object_mut() {
                    fields.entry("TableName").or_insert(Json::from("things"));
                }
                let reply = trial.send(OPERATIONS[operation], &json.to_string()).await;
                prop_assert!(reply.status == 200 || reply.status == 400, "{json}: {reply:?}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn any_statement_is_read_or_refused(text in prop_oneof![statements(), any::<String>()]) {
        let parameters = vec![table::Value::Null; 2];
        if let Err(fault) = statement(&text, parameters) {
            prop_assert!(fault.status() == 400, "{text}");
        }
    }

    #[test]
    fn any_text_reads_back_as_written(
        text in prop_oneof![any::<String>(), "[ -~]{60,70}[\\x00-\\x7f]{0,70}"],
    ) {
        let mut out = JsonWriter::new();
        out.text(&text);
        let read: String = serde_json::from_str(&out.finish()).unwrap();
        prop_assert!(read == text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let _ = read_json::<JsonItem>(&bytes);
    }

    #[test]
    fn an_item_is_decoded_as_the_tables_decode_it(json in json()) {
        let text = json.to_string();
        let ours = read_json::<JsonItem>(text.as_bytes()).map(|JsonItem(item)| item);
        if let Ok(theirs) = table::item_from_json(&json) {
            prop_assert!(ours.is_ok_and(|ours| ours == theirs), "{}", text);
        }
    }
}

#[test]
fn a_statement_with_very_deep_nesting_is_refused() {
    for open in ["(", "NOT ", "a IN (", "[", "{'a':", "<<", "size("] {
        for start in ["SELECT * FROM things WHERE ", "INSERT INTO things VALUE ", ""] {
            let text = format!("{start}{}", open.repeat(8_000 / open.len() - 10));
            assert!(statement(&text, Vec::new()).is_err(), "{start}{open}");
            assert!(statement(&text.repeat(1_000), Vec::new()).is_err(), "{start}{open}");
        }
    }
}

#[test]
fn a_text_with_very_deep_nesting_is_refused() {
    let deep = |times: usize| {
        let open = "{\"M\":{\"a\":".repeat(times);
        format!("{{\"a\":{open}{{\"N\":\"1\"}}{}}}", "}}".repeat(times))
    };
    assert!(read_json::<JsonItem>(deep(31).as_bytes()).is_ok());
    assert!(read_json::<JsonItem>(deep(100_000).as_bytes()).is_err());
    assert!(read_json::<JsonItem>("[".repeat(1_000_000).as_bytes()).is_err());
}
