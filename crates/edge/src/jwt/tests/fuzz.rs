//! Any text as a token and as a key; and any head and claims, signed.

use ring::signature::{ED25519, UnparsedPublicKey};

use super::{
    Engine, KeyPair, NOW, URL_SAFE_NO_PAD, Value, ed_jwk, ed25519, json, rules, text, verifier,
};
use crate::jwt::{JwtKeys, JwtVerifier};
use crate::{keys, secret};

/// Whoever is believed has a signature of the one key, and claims what the rules want.
fn check_token(verifier: &JwtVerifier, public: &[u8], token: &str) {
    let Ok(claims) = verifier.verify::<Value>(token) else { return };
    let (message, mark) = token.rsplit_once('.').unwrap();
    let mark = URL_SAFE_NO_PAD.decode(mark).unwrap();
    let key = UnparsedPublicKey::new(&ED25519, public);
    assert!(key.verify(message.as_bytes(), &mark).is_ok(), "not signed: {token}");
    let (head, payload) = message.split_once('.').unwrap();
    let read = |part: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    let head = read(head);
    assert_eq!(head["alg"], "EdDSA");
    assert!(head["kid"].is_null() || head["kid"] == "one", "{head}");
    assert!(head["crit"].is_null(), "{head}");
    assert_eq!(read(payload), claims);
    assert_eq!(claims["iss"], rules().issuer, "{claims}");
    assert!(claims["sub"].is_null() || claims["sub"].is_string(), "{claims}");
    // It may be a list, of which one must be ours.
    let (audience, ours) = (&claims["aud"], json!(rules().audience));
    let is_listed = audience.as_array().is_some_and(|all| all.contains(&ours));
    assert!(*audience == ours || is_listed, "{claims}");
    let (now, leeway) = (NOW as f64, rules().leeway.as_secs_f64());
    assert!(claims["exp"].as_f64().unwrap() + leeway > now, "{claims}");
    assert!(claims["nbf"].as_f64().is_none_or(|nbf| nbf <= now + leeway), "{claims}");
}

/// A key that is read is the text that was presented, in the form that keys have.
fn check_key(presented: &str) {
    let Some((name, part)) = keys::parse(presented) else { return };
    assert_eq!(format!("nk_{name}_{part}"), presented);
    assert!(secret::has_form(part) && !name.contains('_'));
}

#[test]
fn every_token_that_is_believed_is_signed_and_within_the_rules() {
    let pair = ed25519(1);
    let verifier = verifier(&json!([ed_jwk("one", &pair)]));
    testkit::fuzz::check("tokens", |input| {
        let Ok(presented) = std::str::from_utf8(input) else { return };
        check_token(&verifier, pair.public_key().as_ref(), presented);
        check_key(presented);
        let _ = JwtKeys::from_jwks(presented);
        if let Some((head, claims)) = presented.split_once('\n') {
            let message = format!("{}.{}", text(head), text(claims));
            let token = format!("{message}.{}", text(pair.sign(message.as_bytes())));
            check_token(&verifier, pair.public_key().as_ref(), &token);
            let tampered = token.replacen(&text(claims), &text(format!("{claims} ")), 1);
            assert!(verifier.verify::<Value>(&tampered).is_err(), "{tampered}");
        }
    });
}
