//! Tokens that are good, and all the ways in which they are not.

mod fuzz;

use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::{JwtAlgorithm, JwtError, JwtIssuer, JwtKeys, JwtRules, JwtVerifier, crypto};
use crate::probe::store;
use crate::{KeyRing, Rotation};

const NOW: u64 = 1_800_000_000;

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn ed25519(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

fn ed_jwk(kid: &str, key: &Ed25519KeyPair) -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": text(key.public_key())})
}

fn sign(key: &Ed25519KeyPair, head: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", text(head.to_string()), text(claims.to_string()));
    let mark = text(key.sign(message.as_bytes()));
    format!("{message}.{mark}")
}

fn claims() -> Value {
    json!({"iss": "https://id.example", "aud": "nagaya", "exp": NOW + 60, "sub": "ada"})
}

fn head() -> Value {
    json!({"alg": "EdDSA", "kid": "one", "typ": "JWT"})
}

fn rules() -> JwtRules {
    JwtRules {
        issuer: "https://id.example".to_owned(),
        audience: "nagaya".to_owned(),
        algorithms: JwtAlgorithm::ALL.to_vec(),
        leeway: Duration::from_secs(5),
    }
}

fn verifier(keys: &Value) -> JwtVerifier {
    let (clock, _time) = Clock::virtual_at(Timestamp::from_seconds(NOW).unwrap());
    let keys = JwtKeys::from_jwks(&json!({"keys": keys}).to_string()).unwrap();
    JwtVerifier::new(rules(), keys, clock)
}

fn subject(verified: Result<Value, JwtError>) -> Result<String, JwtError> {
    verified.map(|claims| claims["sub"].as_str().unwrap_or_default().to_owned())
}

fn with(mut value: Value, name: &str, to: Value) -> Value {
    value[name] = to;
    value
}

#[test]
fn a_good_token_is_believed() {
    let verifier = verifier(&json!([ed_jwk("one", &ed25519(1)), ed_jwk("two", &ed25519(2))]));
    let token = sign(&ed25519(1), &head(), &claims());
    assert_eq!(subject(verifier.verify(&token)), Ok("ada".to_owned()));
    let list = with(claims(), "aud", json!(["other", "nagaya"]));
    assert!(verifier.verify::<Value>(&sign(&ed25519(1), &head(), &list)).is_ok());
    let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    let pair = pair.unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(
        &ECDSA_P256_SHA256_FIXED_SIGNING,
        pair.as_ref(),
        &SystemRandom::new(),
    );
    let pair = pair.unwrap();
    let point = pair.public_key().as_ref();
    let jwk = json!({"kty": "EC", "crv": "P-256", "kid": "three",
        "x": text(&point[1..33]), "y": text(&point[33..])});
    verifier.set_keys(JwtKeys::from_jwks(&json!({"keys": [jwk]}).to_string()).unwrap());
    let message =
        format!("{}.{}", text(r#"{"alg":"ES256","kid":"three"}"#), text(claims().to_string()));
    let mark = pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
    let es256 = format!("{message}.{}", text(mark));
    assert_eq!(subject(verifier.verify(&es256)), Ok("ada".to_owned()));
    assert_eq!(subject(verifier.verify(&token)), Err(JwtError::UnknownKey), "keys were replaced");
}

/// A key of 2 048 bits that signed once, by OpenSSL, and was thrown away.
const RSA_N: &str = "9LJcHPDUDIP73zwKjl4ZNTLzjPLIQiDMCqwVUQQJ-FO3SfJrUEA4IqZVvzYchRIrAxiqkbb5IuvVieD8\
    pSL1dvpvRBGhPsfYX8r0Q_CMfqfG7suiftS7fs5oTgt62i9vvG_5ey8a6lK_vOMn_Ml6PNp896Jweays\
    _XdR8y8irc-2qsTGgT0IgLKbLYb8HP86_mQ5EODgej5cxTh3_EkBO4xtgy3d7HYFy9nZSi7UcABtsWSu\
    tUwb084dWF9GPpYcNF8ENQgC-aQy6WhRY7ymKGHjNAooFwNZ90oOb-580g47D6Mpmy0zXfOkns_r60iD\
    syTZTx5vHgjtH3RiuMlWrQ";

const RSA_MESSAGE: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UifQ";

const RS256: &str = "Ry92r-9FJB9LJAjWjxuQBcubrR4_2B2A7vkmoxaHyWykxDeqm7fKbhZ2lfkT8tnM9l9s9r7KBLMjaRzh\
    S8ZwPfdDFIiiN7N7rp8R2quXfQCbjmbxXAHK9hDh2j4PsjSTjE17uUBnBWShaPOW4GgpoChmqpeX8A5R\
    3a9yqQIbLUUUB6AobfKLzUE5kLBgE3ZRR8Y77Z0A42KFJyJ-C3qUCfiB3yRWI4ItTKoxU05zpElZNEVz\
    jk3sQcZr4dSClQicrAuM965ZjOiLqACHBzzelG6OKHZOgf_zllV1OFKdyIOa0HDo1q9WkljahxWYWHAh\
    Jm25r4pBuAqvKHR9DcmZiQ";

const PS256: &str = "dmEpwbSQYfav51rJr0YzJ2PBIG_0MZ4u4ceTli_HTg4EXjXKIC0zJO5BSb3AUvXiJLALQYgB4_lXUJ8m\
    4Usk76-I8yMjWAZwNoge-rGjpJYfr1k5oiiPs0PWlPPLOuf5Qdu1lBBhO6b-XhXFEAGZXd-ymkd1S5MA\
    Hgk_3HqMrQZUTNc3ynFD5oKqWiGq_5BepmTgTqQQUq1IGT6dbq3T63nDxM6ndP2D58mxjo2BOnTVod1p\
    vNnd1Nb2-Sg1Le2N7cEv6liT9oTc9zMqIlvNdp1tYIrNeejfKnoMUVxCoW7HYwRFF4910mu5SHLodT3P\
    -tZocljDD_ZlXYF9eOj1iA";

#[test]
fn rsa_signatures_of_another_library_are_verified() {
    crypto::install();
    let key = DecodingKey::from_rsa_components(RSA_N, "AQAB").unwrap();
    let verify = |mark: &str, message: &str, algorithm| {
        jsonwebtoken::crypto::verify(mark, message.as_bytes(), &key, algorithm)
    };
    assert_eq!(verify(RS256, RSA_MESSAGE, Algorithm::RS256), Ok(true));
    assert_eq!(verify(PS256, RSA_MESSAGE, Algorithm::PS256), Ok(true));
    assert_eq!(verify(RS256, RSA_MESSAGE, Algorithm::PS256), Ok(false));
    assert_eq!(verify(PS256, RSA_MESSAGE, Algorithm::RS256), Ok(false));
    assert_eq!(verify(RS256, &format!("{RSA_MESSAGE}A"), Algorithm::RS256), Ok(false));
    assert!(verify(RS256, RSA_MESSAGE, Algorithm::HS256).is_err());
}

#[test]
fn a_token_cannot_choose_how_it_is_verified() {
    let (key, keys) = (ed25519(1), json!([ed_jwk("one", &ed25519(1))]));
    let it = verifier(&keys);
    for alg in ["none", "None", "nOnE", "HS256", "ES256", "RS256", "", "eddsa"] {
        let token = sign(&key, &with(head(), "alg", json!(alg)), &claims());
        assert_eq!(subject(it.verify(&token)), Err(JwtError::Algorithm), "{alg}");
    }
    // The classic: the public key as the secret of a symmetric signature.
    let message =
        format!("{}.{}", text(r#"{"alg":"HS256","kid":"one"}"#), text(claims().to_string()));
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.public_key().as_ref());
    let confused = format!("{message}.{}", text(ring::hmac::sign(&secret, message.as_bytes())));
    assert_eq!(subject(it.verify(&confused)), Err(JwtError::Algorithm));
    let unsigned = format!("{}.{}.", text(r#"{"alg":"none"}"#), text(claims().to_string()));
    assert_eq!(subject(it.verify(&unsigned)), Err(JwtError::Algorithm));
    let critical = sign(&key, &with(head(), "crit", json!(["b64"])), &claims());
    assert_eq!(subject(it.verify(&critical)), Err(JwtError::Malformed));
    let strict = JwtRules { algorithms: vec![JwtAlgorithm::Es256], ..rules() };
    let keys = JwtKeys::from_jwks(&json!({"keys": keys}).to_string()).unwrap();
    let strict = JwtVerifier::new(strict, keys, it.clock.clone());
    let token = sign(&key, &head(), &claims());
    assert_eq!(subject(strict.verify(&token)), Err(JwtError::Algorithm));
}

#[test]
fn claims_are_demanded_and_compared() {
    let it = verifier(&json!([ed_jwk("one", &ed25519(1))]));
    let verify = |claims: Value| subject(it.verify(&sign(&ed25519(1), &head(), &claims)));
    for (name, value, verdict) in [
        ("iss", json!("https://evil.example"), JwtError::Audience),
        ("aud", json!("other"), JwtError::Audience),
        ("aud", json!(["other"]), JwtError::Audience),
        ("aud", json!(7), JwtError::Malformed),
        ("aud", json!(["nagaya", 7]), JwtError::Malformed),
        ("aud", json!([["nagaya"]]), JwtError::Malformed),
        ("aud", json!({"nagaya": true}), JwtError::Malformed),
        ("iss", json!(["https://id.example"]), JwtError::Malformed),
        ("iss", json!(["https://evil.example", "https://id.example"]), JwtError::Malformed),
        ("iss", json!({"https://id.example": true}), JwtError::Malformed),
        ("sub", json!(["ada"]), JwtError::Malformed),
        ("sub", json!(7), JwtError::Malformed),
        ("jti", json!(["one"]), JwtError::Malformed),
        ("iat", json!("now"), JwtError::Malformed),
        ("iss", Value::Null, JwtError::Malformed),
        ("aud", Value::Null, JwtError::Malformed),
        ("exp", Value::Null, JwtError::Malformed),
        ("exp", json!("soon"), JwtError::Malformed),
        ("exp", json!(-1), JwtError::Malformed),
        ("exp", json!(NOW - 5), JwtError::Expired),
        ("nbf", json!(NOW + 6), JwtError::Early),
        ("nbf", json!("soon"), JwtError::Malformed),
    ] {
        let verified = verify(with(claims(), name, value.clone()));
        assert!(verified == Err(verdict), "{name} {value}: {verified:?}");
    }
    for (name, value) in [
        ("exp", json!(NOW - 4)),
        ("exp", json!(NOW as f64 + 0.5)),
        ("nbf", json!(NOW + 5)),
        ("nbf", Value::Null),
        ("iat", json!(NOW as f64 + 0.5)),
        ("jti", json!("one")),
    ] {
        assert!(verify(with(claims(), name, value.clone())).is_ok(), "{name} {value}");
    }
}

#[tokio::test]
async fn expiry_comes_with_the_houses_clock() {
    let (clock, time) = Clock::virtual_at(Timestamp::from_seconds(NOW).unwrap());
    let keys = json!({"keys": [ed_jwk("one", &ed25519(1))]}).to_string();
    let it = JwtVerifier::new(rules(), JwtKeys::from_jwks(&keys).unwrap(), clock);
    let token = sign(&ed25519(1), &head(), &claims());
    time.advance(Duration::from_millis(64_999)).await;
    assert!(it.verify::<Value>(&token).is_ok());
    time.advance(Duration::from_millis(1)).await;
    assert_eq!(subject(it.verify(&token)), Err(JwtError::Expired));
}

#[test]
fn a_token_without_a_key_id_needs_a_set_without_a_choice() {
    let token = sign(&ed25519(1), &json!({"alg": "EdDSA"}), &claims());
    assert!(verifier(&json!([ed_jwk("one", &ed25519(1))])).verify::<Value>(&token).is_ok());
    let two = json!([ed_jwk("one", &ed25519(1)), ed_jwk("two", &ed25519(2))]);
    assert_eq!(subject(verifier(&two).verify(&token)), Err(JwtError::UnknownKey));
    let other = sign(&ed25519(2), &head(), &claims());
    assert_eq!(subject(verifier(&two).verify(&other)), Err(JwtError::Signature));
}

#[test]
fn key_sets_give_what_can_be_used() {
    for bad in [
        "",
        "[]",
        r#"{"keys":[]}"#,
        r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#,
        r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"!"}]}"#,
        r#"{"keys":[{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}]}"#,
        r#"{"keys":[{"kty":"RSA","use":"enc","n":"AA","e":"AQAB"}]}"#,
    ] {
        assert!(matches!(JwtKeys::from_jwks(bad), Err(JwtError::KeySet)), "{bad}");
    }
}

proptest! {
    #![proptest_config(testkit::depth::cases(256))]

    #[test]
    fn a_token_that_was_touched_is_not_believed(
        at in any::<proptest::sample::Index>(),
        letter in "[A-Za-z0-9_.-]",
        junk in any::<String>(),
    ) {
        let it = verifier(&json!([ed_jwk("one", &ed25519(1))]));
        let token = sign(&ed25519(1), &head(), &claims());
        let at = at.index(token.len());
        let touched = format!("{}{letter}{}", &token[..at], &token[at + 1..]);
        prop_assert_eq!(it.verify::<Value>(&touched).is_ok(), touched == token);
        prop_assert!(it.verify::<Value>(&token[..at]).is_err());
        prop_assert!(it.verify::<Value>(&junk).is_err());
        let long = format!("{token}{}", "A".repeat(9_000));
        prop_assert_eq!(it.verify::<Value>(&long).unwrap_err(), JwtError::Malformed);
    }
}

#[tokio::test]
async fn the_houses_own_tokens_are_believed_by_every_instance_while_their_key_is() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let daily = Rotation { every: 24 * HOUR, at: Duration::ZERO, keep: 2 * HOUR };
    let (clock, time) = Clock::virtual_at("2026-04-01T23:30:00Z".parse().unwrap());
    let tasks = Tasks::new();
    let tables = store(&clock, &tasks).await;
    let open = async |seed: u64| {
        let random = Random::seeded(seed);
        let ring = KeyRing::open("own", daily, tables.clone(), clock.clone(), random, &tasks);
        JwtIssuer::new("me", "mine", ring.await.unwrap(), clock.clone()).unwrap()
    };
    let (one, other) = (open(1).await, open(2).await);
    let claims = |hours: u64| {
        let exp = clock.now().seconds() + 3_600 * hours;
        json!({"iss": "me", "aud": "mine", "sub": "ada", "exp": exp})
    };
    let early = one.sign(&claims(1));
    assert_eq!(subject(other.verify(&early).await), Ok("ada".to_owned()));
    for wrong in [
        with(claims(1), "iss", json!("you")),
        with(claims(1), "aud", json!("yours")),
        with(claims(1), "exp", json!(clock.now().seconds())),
    ] {
        assert!(one.verify::<Value>(&one.sign(&wrong)).await.is_err());
    }
    let forged = sign(
        &ed25519(1),
        &with(head(), "kid", one.key_set()["keys"][0]["kid"].clone()),
        &claims(1),
    );
    assert_eq!(one.verify::<Value>(&forged).await.unwrap_err(), JwtError::Signature);
    time.advance(HOUR / 2).await;
    assert_eq!(subject(other.verify(&early).await), Ok("ada".to_owned()), "by the former key");
    // Two turns on, nobody had the key that signs now when it began. Only the minutes around the
    // turns pass second by second.
    for _ in 0..2 {
        let almost = clock.now().checked_add(24 * HOUR - Duration::from_secs(120)).unwrap();
        time.set_wall(almost).await;
        time.advance(Duration::from_secs(120)).await;
    }
    let late = one.sign(&claims(9));
    assert_eq!(subject(other.verify(&late).await), Ok("ada".to_owned()));
    let keys = JwtKeys::from_jwks(&one.key_set().to_string()).unwrap();
    let rules = JwtRules { issuer: "me".to_owned(), audience: "mine".to_owned(), ..rules() };
    let outside = JwtVerifier::new(rules, keys, clock.clone());
    assert_eq!(subject(outside.verify(&late)), Ok("ada".to_owned()), "anybody can verify it");
    tasks.finish(&clock, HOUR).await.unwrap();
}
