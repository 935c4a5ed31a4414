//! Tokens of the house's own, signed with Ed25519.
//!
//! The seed of a signing key is a MAC by a key of a [`KeyRing`], so that the ring keeps, turns and
//! forgets them as it does its own keys, and no second kind of secret lies in the table.
//!
//! Invariant: every public key is in the key set for as long as its ring's key verifies, and before
//! anybody signs with it.

use std::fmt;
use std::time::Duration;

use base::Clock;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Head, JwtAlgorithm, JwtError, JwtKeys, JwtRules, JwtVerifier};
use crate::{KeyRing, MacKey};

/// What the seeds of signing keys are MACs of.
const SEED: &[u8] = b"ed25519 signing key";

/// Signs tokens, and believes those that it signed. Clones share their keys.
#[derive(Clone)]
pub struct JwtIssuer {
    ring: KeyRing,
    verifier: JwtVerifier,
}

impl JwtIssuer {
    /// Tokens of this issuer for this audience, by the keys of a ring of their own.
    ///
    /// # Errors
    /// The ring has no keys.
    pub fn new(
        issuer: &str,
        audience: &str,
        ring: KeyRing,
        clock: Clock,
    ) -> Result<JwtIssuer, JwtError> {
        let rules = JwtRules {
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            algorithms: vec![JwtAlgorithm::EdDsa],
            leeway: Duration::ZERO,
        };
        let keys = JwtKeys::from_jwks(&key_set(&ring).to_string())?;
        Ok(JwtIssuer { verifier: JwtVerifier::new(rules, keys, clock), ring })
    }

    /// A token that claims this. Issuer, audience and times are the caller's to claim.
    pub fn sign<T: Serialize>(&self, claims: &T) -> String {
        let key = self.ring.current();
        let head = json!({ "alg": "EdDSA", "typ": "JWT", "kid": key.kid() });
        let claims = serde_json::to_vec(claims).expect("claims have a form in JSON");
        let message = format!("{}.{}", text(head.to_string()), text(claims));
        let mark = pair(&key).sign(message.as_bytes());
        format!("{message}.{}", text(mark))
    }

    /// What a token claims, if this issuer signed it and its time is not over.
    ///
    /// # Errors
    /// It is not to be believed, and why.
    pub async fn verify<T: DeserializeOwned>(&self, token: &str) -> Result<T, JwtError> {
        match self.verifier.verify(token) {
            Err(JwtError::UnknownKey) => {}
            known => return known,
        }
        // The ring may have turned since its keys were looked at.
        let kid = Head::of(token)?.kid.unwrap_or_default();
        let found = self.ring.find(&kid).await.ok().flatten();
        found.ok_or(JwtError::UnknownKey)?;
        self.verifier.set_keys(JwtKeys::from_jwks(&self.key_set().to_string())?);
        self.verifier.verify(token)
    }

    /// The public keys, as a key set (RFC 7517).
    pub fn key_set(&self) -> Value {
        key_set(&self.ring)
    }
}

fn key_set(ring: &KeyRing) -> Value {
    let key = |key: &MacKey| {
        json!({
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": key.kid(),
            "x": text(pair(key).public_key()),
        })
    };
    json!({ "keys": ring.keys().iter().map(key).collect::<Vec<_>>() })
}

fn pair(key: &MacKey) -> Ed25519KeyPair {
    let pair = Ed25519KeyPair::from_seed_unchecked(&key.sign(SEED));
    pair.expect("a MAC is as long as a seed")
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl fmt::Debug for JwtIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtIssuer").field("ring", &self.ring).finish_non_exhaustive()
    }
}
