//! Tags of tables, within DynamoDB's limits.

use serde_json::{Value as Json, json};

use super::{Trial, things};

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/things";

async fn tag(trial: &Trial, tags: &[(String, &str)]) -> Result<Json, (String, String)> {
    let tags: Vec<Json> =
        tags.iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect();
    trial.ask("TagResource", json!({"ResourceArn": ARN, "Tags": tags})).await
}

#[tokio::test]
async fn tags_have_limits_in_length_and_number() {
    let trial = Trial::with_things().await;
    let value = "v".repeat(256);
    let fits = ["k".repeat(128), "長".repeat(128), "Team A+-=._:/@1".to_owned()];
    for key in fits {
        tag(&trial, &[(key.clone(), &value)]).await.unwrap();
        tag(&trial, &[(key, "")]).await.unwrap();
    }
    let long = "v".repeat(257);
    for (key, value, part) in [
        (String::new(), "v", "at 'tags.1.member.key' failed to satisfy constraint"),
        ("k".repeat(129), "v", "Member must have length less than or equal to 128"),
        ("k".to_owned(), long.as_str(), "Member must have length less than or equal to 256"),
        ("a*b".to_owned(), "v", "white space and + - = . _ : / @ only: a*b"),
        ("k".to_owned(), "<b>", "white space and + - = . _ : / @ only: <b>"),
        ("aws:mine".to_owned(), "v", "cannot begin with aws:"),
    ] {
        let (kind, message) = tag(&trial, &[(key, value)]).await.unwrap_err();
        assert_eq!(kind, "ValidationException");
        assert!(message.contains(part), "{message}");
    }
    let many: Vec<(String, &str)> = (0..47).map(|n| (format!("n{n}"), "v")).collect();
    tag(&trial, &many).await.unwrap();
    let (_, message) = tag(&trial, &[("one more".to_owned(), "v")]).await.unwrap_err();
    assert!(message.ends_with("Too many tags: a table has at most 50"), "{message}");
    tag(&trial, &[("n1".to_owned(), "another value")]).await.unwrap();

    let mut table = things();
    table["TableName"] = json!("other");
    let tags: Vec<Json> = (0..51).map(|n| json!({"Key": n.to_string(), "Value": ""})).collect();
    table["Tags"] = json!(tags);
    let (kind, message) = trial.ask("CreateTable", table).await.unwrap_err();
    assert_eq!(kind, "ValidationException");
    assert!(message.ends_with("Too many tags: a table has at most 50"), "{message}");
}

#[tokio::test]
async fn only_a_table_has_tags() {
    let trial = Trial::with_things().await;
    for arn in [
        format!("{ARN}/index/by-kind"),
        format!("{ARN}/stream/2026-11-16T10:15:00.000"),
        "things".to_owned(),
        "arn:aws:s3:us-east-1:000000000000:table/things".to_owned(),
        "arn:aws:dynamodb:us-east-1:me:table/things".to_owned(),
    ] {
        for (operation, more) in [
            ("TagResource", json!({"Tags": [{"Key": "k", "Value": "v"}]})),
            ("UntagResource", json!({"TagKeys": ["k"]})),
            ("ListTagsOfResource", json!({})),
        ] {
            let mut request = more;
            request["ResourceArn"] = json!(arn);
            let (kind, message) = trial.ask(operation, request).await.unwrap_err();
            assert_eq!(kind, "ValidationException", "{operation} {arn}");
            let end = format!("Invalid ResourceArn provided as input {arn}");
            assert!(message.ends_with(&end), "{message}");
        }
    }
    for (operation, field, words) in [
        ("TagResource", "Tags", "Atleast one Tag needs to be provided as Input."),
        ("UntagResource", "TagKeys", "Atleast one Tag Key needs to be provided as Input."),
    ] {
        let request = json!({"ResourceArn": ARN, field: []});
        let (_, message) = trial.ask(operation, request).await.unwrap_err();
        assert_eq!(message, words);
    }
}
