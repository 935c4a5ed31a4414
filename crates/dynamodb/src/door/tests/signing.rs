//! Signatures. The worked example in AWS's documentation is for another service, so these tests
//! build signatures by the same rules, step by step, and then break every part.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256};
use serde_json::json;

use super::{Call, Guard, Trial, judge, things};

const STAMP: &str = "20261116T101500Z";

fn sign(secret: &str, stamp: &str, body: &str) -> String {
    sign_for("eu-west-1/dynamodb", secret, stamp, body)
}

/// Signs for a region and a service.
fn sign_for(place: &str, secret: &str, stamp: &str, body: &str) -> String {
    let hash = |text: &str| base::hex(digest(&SHA256, text.as_bytes()).as_ref());
    let canonical = format!(
        "POST\n/\n\nhost:localhost:8000\nx-amz-date:{stamp}\nx-amz-target:DynamoDB_20120810.\
         CreateTable\n\nhost;x-amz-date;x-amz-target\n{}",
        hash(body)
    );
    let scope = format!("20261116/{place}/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}", hash(&canonical));
    let mac = |key: &[u8], text: &str| {
        hmac::sign(&hmac::Key::new(HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
    };
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in scope.split('/') {
        key = mac(&key, part);
    }
    let signature = base::hex(&mac(&key, &text));
    format!(
        "AWS4-HMAC-SHA256 Credential=ID/{scope}, SignedHeaders=host;x-amz-date;x-amz-target, \
         Signature={signature}"
    )
}

async fn ask(trial: &Trial, authorization: Option<&str>, stamp: &str, body: &str) -> String {
    let headers = |name: &str| match name {
        "authorization" => authorization,
        "host" => Some("localhost:8000"),
        "x-amz-date" => Some(stamp),
        "x-amz-target" => Some("DynamoDB_20120810.CreateTable"),
        _ => None,
    };
    let call = Call { method: "POST", path: "/", headers: &headers, body: body.as_bytes() };
    match judge(&trial.door.answer(call).await) {
        Ok(_) => "done".to_owned(),
        Err((kind, _)) => kind,
    }
}

#[tokio::test]
async fn only_a_whole_and_fresh_signature_opens() {
    let keys = BTreeMap::from([("ID".to_owned(), "secret".to_owned())]);
    let trial = Trial::kept_by(Guard::keys(keys)).await;
    let body = things().to_string();
    let right = sign("secret", STAMP, &body);
    assert_eq!(ask(&trial, None, STAMP, &body).await, "MissingAuthenticationTokenException");
    assert_eq!(ask(&trial, Some("Bearer x"), STAMP, &body).await, "IncompleteSignatureException");
    let stranger = right.replace("Credential=ID", "Credential=NO");
    assert_eq!(ask(&trial, Some(&stranger), STAMP, &body).await, "UnrecognizedClientException");
    let wrong = sign("secrets", STAMP, &body);
    assert_eq!(ask(&trial, Some(&wrong), STAMP, &body).await, "InvalidSignatureException");
    let other = json!({"TableName": "other"}).to_string();
    assert_eq!(ask(&trial, Some(&right), STAMP, &other).await, "InvalidSignatureException");
    for stale in ["20261116T095900Z", "20261116T103100Z"] {
        let signed = sign("secret", stale, &body);
        assert_eq!(ask(&trial, Some(&signed), stale, &body).await, "InvalidSignatureException");
    }
    let unsigned = right.replace("host;x-amz-date;x-amz-target", "host;x-amz-date");
    assert_eq!(ask(&trial, Some(&unsigned), STAMP, &body).await, "InvalidSignatureException");
    for place in ["eu-west-1/s3", "eu-west-1/dynamodbs", "eu-west-1/", "/dynamodb", "a b/dynamodb"]
    {
        let elsewhere = sign_for(place, "secret", STAMP, &body);
        let failure = ask(&trial, Some(&elsewhere), STAMP, &body).await;
        assert_eq!(failure, "InvalidSignatureException", "{place}");
    }
    assert_eq!(ask(&trial, Some(&right), STAMP, &body).await, "done");
    let anywhere = sign_for("local/dynamodb", "secret", STAMP, &body);
    assert_eq!(ask(&trial, Some(&anywhere), STAMP, &body).await, "ResourceInUseException");
}

#[tokio::test]
async fn a_head_is_checked_without_its_body() {
    let keys = BTreeMap::from([("ID".to_owned(), "secret".to_owned())]);
    let trial = Trial::kept_by(Guard::keys(keys)).await;
    let right = sign("secret", STAMP, "the body is not checked");
    let judged = |authorization: Option<String>, stamp: &str| {
        let headers = |name: &str| match name {
            "authorization" => authorization.as_deref(),
            "x-amz-date" => Some(stamp),
            _ => None,
        };
        let call = Call { method: "POST", path: "/", headers: &headers, body: &[] };
        match trial.door.admit(&call) {
            Some(reply) => judge(&reply).unwrap_err().0,
            None => "let in".to_owned(),
        }
    };
    assert_eq!(judged(Some(right.clone()), STAMP), "let in");
    assert_eq!(judged(None, STAMP), "MissingAuthenticationTokenException");
    for (from, to, stamp, kind) in [
        ("Credential=ID", "Credential=NO", STAMP, "UnrecognizedClientException"),
        ("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1", STAMP, "IncompleteSignatureException"),
        ("Signature=", "Signature=0", STAMP, "IncompleteSignatureException"),
        ("Signature=", "Signatures=", STAMP, "IncompleteSignatureException"),
        ("/dynamodb/", "/s3/", STAMP, "InvalidSignatureException"),
        ("", "", "20261116T095900Z", "InvalidSignatureException"),
        ("", "", "20261117T101500Z", "InvalidSignatureException"),
        ("", "", "", "IncompleteSignatureException"),
    ] {
        let changed = if from.is_empty() { right.clone() } else { right.replace(from, to) };
        assert_eq!(judged(Some(changed), stamp), kind, "{from} {to} {stamp}");
    }
}
