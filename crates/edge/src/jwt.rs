//! JSON web tokens: those that others have signed, as of sign-in services, and the house's own,
//! which `jwt/issuer.rs` signs.
//!
//! Invariants: what a token says about its own proof is believed only as far as we expect it. Its
//! algorithm must be the one of the key that it names, and one that the rules list; none of them is
//! symmetric, and `none` is not among them. Issuer, audience and expiry are demanded, times are
//! compared on the house's clock, and an extension that we must understand (`crit`) is refused.
//!
//! Keys come as a key set (RFC 7517), from a file or fetched by a room, which hands on a new one
//! with [`JwtVerifier::set_keys`]. Signatures are verified by ring; `jwt/crypto.rs` tells the
//! library so.

mod crypto;
mod issuer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use parking_lot::RwLock;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use self::issuer::JwtIssuer;
use crate::limits::guard::{TOKEN_KEYS_MAX, TOKEN_LETTERS_MAX};

/// How a token may be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtAlgorithm {
    /// Ed25519.
    EdDsa,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// RSA (PKCS #1 v1.5) with SHA-256, of at least 2 048 bits.
    Rs256,
    /// RSA (PSS) with SHA-256, of at least 2 048 bits.
    Ps256,
}

impl JwtAlgorithm {
    /// All of them.
    pub const ALL: [JwtAlgorithm; 4] =
        [JwtAlgorithm::EdDsa, JwtAlgorithm::Es256, JwtAlgorithm::Rs256, JwtAlgorithm::Ps256];

    fn name(self) -> &'static str {
        match self {
            JwtAlgorithm::EdDsa => "EdDSA",
            JwtAlgorithm::Es256 => "ES256",
            JwtAlgorithm::Rs256 => "RS256",
            JwtAlgorithm::Ps256 => "PS256",
        }
    }

    fn spoken(self) -> Algorithm {
        match self {
            JwtAlgorithm::EdDsa => Algorithm::EdDSA,
            JwtAlgorithm::Es256 => Algorithm::ES256,
            JwtAlgorithm::Rs256 => Algorithm::RS256,
            JwtAlgorithm::Ps256 => Algorithm::PS256,
        }
    }
}

/// What a token must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtRules {
    /// Who must have issued it.
    pub issuer: String,
    /// For whom it must be.
    pub audience: String,
    /// How it may be signed.
    pub algorithms: Vec<JwtAlgorithm>,
    /// How far the issuer's clock may be from ours.
    pub leeway: Duration,
}

/// Why a token is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwtError {
    /// It is no token, or has claims that are not what they should be.
    #[error("the token is malformed")]
    Malformed,
    /// It is signed in a way that is not allowed, or not that of its key.
    #[error("the token's algorithm is not allowed")]
    Algorithm,
    /// It names a key that nobody knows.
    #[error("the token's key is not known")]
    UnknownKey,
    /// Its signature is not that of its key.
    #[error("the token's signature is wrong")]
    Signature,
    /// It is somebody else's, or for somebody else.
    #[error("the token is of another issuer or for another audience")]
    Audience,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet")]
    Early,
    /// A key set without a key that could verify anything.
    #[error("the key set is malformed, or has no key that can be used")]
    KeySet,
}

/// Public keys by which tokens are verified.
#[derive(Clone)]
pub struct JwtKeys(Vec<Key>);

#[derive(Clone)]
struct Key {
    kid: Option<String>,
    algorithm: JwtAlgorithm,
    key: DecodingKey,
}

impl JwtKeys {
    /// The usable keys of a key set; those of other kinds are left out.
    ///
    /// # Errors
    /// It is no key set, or has none.
    pub fn from_jwks(json: &str) -> Result<JwtKeys, JwtError> {
        let set: JwkSet = serde_json::from_str(json).map_err(|_| JwtError::KeySet)?;
        let keys: Vec<Key> = set.keys.iter().take(TOKEN_KEYS_MAX).filter_map(read_key).collect();
        if keys.is_empty() { Err(JwtError::KeySet) } else { Ok(JwtKeys(keys)) }
    }

    /// The key that the token names. Without a name there must be no choice.
    fn find(&self, head: &Head) -> Result<&Key, JwtError> {
        let named = |key: &&Key| head.kid.is_none() || key.kid == head.kid;
        let mut found = self.0.iter().filter(named);
        match (found.next(), found.next()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) | (None, _) => Err(JwtError::UnknownKey),
        }
    }
}

fn read_key(jwk: &Jwk) -> Option<Key> {
    if matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption)) {
        return None;
    }
    let stated = jwk.common.key_algorithm;
    let algorithm = match (&jwk.algorithm, stated) {
        (AlgorithmParameters::RSA(_), Some(KeyAlgorithm::PS256)) => JwtAlgorithm::Ps256,
        (AlgorithmParameters::RSA(_), Some(KeyAlgorithm::RS256) | None) => JwtAlgorithm::Rs256,
        (AlgorithmParameters::EllipticCurve(key), Some(KeyAlgorithm::ES256) | None)
            if key.curve == EllipticCurve::P256 =>
        {
            JwtAlgorithm::Es256
        }
        (AlgorithmParameters::OctetKeyPair(key), Some(KeyAlgorithm::EdDSA) | None)
            if key.curve == EllipticCurve::Ed25519 =>
        {
            JwtAlgorithm::EdDsa
        }
        // The library may learn more kinds; this list is what we have chosen.
        (_, _) => return None,
    };
    let key = DecodingKey::from_jwk(jwk).ok()?;
    Some(Key { kid: jwk.common.key_id.clone(), algorithm, key })
}

/// Believes tokens that keep its rules. Clones share their keys.
#[derive(Clone)]
pub struct JwtVerifier {
    rules: Arc<JwtRules>,
    keys: Arc<RwLock<Arc<JwtKeys>>>,
    clock: Clock,
}

impl JwtVerifier {
    /// A verifier with its first keys.
    pub fn new(rules: JwtRules, keys: JwtKeys, clock: Clock) -> JwtVerifier {
        crypto::install();
        let keys = Arc::new(RwLock::new(Arc::new(keys)));
        JwtVerifier { rules: Arc::new(rules), keys, clock }
    }

    /// From now on these keys.
    pub fn set_keys(&self, keys: JwtKeys) {
        *self.keys.write() = Arc::new(keys);
    }

    /// What a token claims, if it is to be believed.
    ///
    /// # Errors
    /// It is not, and why. After [`JwtError::UnknownKey`] a newer key set may help.
    pub fn verify<T: DeserializeOwned>(&self, token: &str) -> Result<T, JwtError> {
        let head = Head::of(token)?;
        let keys = self.keys.read().clone();
        let key = keys.find(&head)?;
        if head.alg != key.algorithm.name() || !self.rules.algorithms.contains(&key.algorithm) {
            return Err(JwtError::Algorithm);
        }
        let mut validation = Validation::new(key.algorithm.spoken());
        validation.set_issuer(&[&self.rules.issuer]);
        validation.set_audience(&[&self.rules.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        // The library would ask the system for the time.
        validation.validate_exp = false;
        let decoded = jsonwebtoken::decode::<serde_json::Value>(token, &key.key, &validation);
        let claims = decoded.map_err(|error| cause_of(&error))?.claims;
        if !has_right_types(&claims) {
            return Err(JwtError::Malformed);
        }
        let times = Times::deserialize(&claims).map_err(|_| JwtError::Malformed)?;
        self.check_times(&times)?;
        T::deserialize(claims).map_err(|_| JwtError::Malformed)
    }

    fn check_times(&self, times: &Times) -> Result<(), JwtError> {
        let now = self.clock.now().millis() as f64 / 1_000.0;
        let leeway = self.rules.leeway.as_secs_f64();
        if now >= times.exp + leeway {
            return Err(JwtError::Expired);
        }
        if times.nbf.is_some_and(|nbf| now + leeway < nbf) {
            return Err(JwtError::Early);
        }
        Ok(())
    }
}

/// What a token says about its proof.
#[derive(Deserialize)]
struct Head {
    alg: String,
    kid: Option<String>,
    crit: Option<serde_json::Value>,
}

impl Head {
    fn of(token: &str) -> Result<Head, JwtError> {
        if token.len() > TOKEN_LETTERS_MAX {
            return Err(JwtError::Malformed);
        }
        let (head, _) = token.split_once('.').ok_or(JwtError::Malformed)?;
        let json = URL_SAFE_NO_PAD.decode(head).map_err(|_| JwtError::Malformed)?;
        let head: Head = serde_json::from_slice(&json).map_err(|_| JwtError::Malformed)?;
        if head.crit.is_some() { Err(JwtError::Malformed) } else { Ok(head) }
    }
}

/// Seconds of Unix time; issuers may write fractions.
#[derive(Deserialize)]
struct Times {
    exp: f64,
    nbf: Option<f64>,
}

/// Whether the registered claims have the types that RFC 7519, section 4.1, gives them. The library
/// takes a list of issuers too, and does not look at the types of claims that it does not compare.
fn has_right_types(claims: &serde_json::Value) -> bool {
    let is_absent_or = |name: &str, has_type: fn(&serde_json::Value) -> bool| {
        claims.get(name).is_none_or(|claim| claim.is_null() || has_type(claim))
    };
    ["iss", "sub", "jti"].iter().all(|name| is_absent_or(name, serde_json::Value::is_string))
        && is_absent_or("iat", serde_json::Value::is_number)
}

fn cause_of(error: &jsonwebtoken::errors::Error) -> JwtError {
    use jsonwebtoken::errors::ErrorKind;
    match error.kind() {
        ErrorKind::InvalidSignature => JwtError::Signature,
        ErrorKind::InvalidAlgorithm => JwtError::Algorithm,
        ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => JwtError::Audience,
        // The library's list grows, and whatever else is wrong is wrong with the token.
        _ => JwtError::Malformed,
    }
}

impl fmt::Debug for JwtKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|key| &key.kid)).finish()
    }
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtVerifier").field("rules", &self.rules).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
