//! The library's signatures, verified by ring.
//!
//! The library comes with two backends. The one in Rust brings an RSA with an open advisory, the
//! other one a second large library of C. Ring is in the house for TLS, and does all we need.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, new_error};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    // The house does not sign by this library.
    signer_factory: |_, _| Err(new_error(ErrorKind::UnsupportedAlgorithm)),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes the library use ring. A second time changes nothing.
pub(super) fn install() {
    let _installed_before = PROVIDER.install_default();
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    if algorithm.family() != key.family() {
        return Err(new_error(ErrorKind::InvalidAlgorithm));
    }
    Ok(Box::new(Check { algorithm: *algorithm, key: key.clone() }))
}

struct Check {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for Check {
    fn verify(&self, message: &[u8], mark: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match (self.key.kind(), self.algorithm) {
            (DecodingKeyKind::RsaModulusExponent { n, e }, Algorithm::RS256) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, mark)
            }
            (DecodingKeyKind::RsaModulusExponent { n, e }, Algorithm::PS256) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PSS_2048_8192_SHA256, message, mark)
            }
            (DecodingKeyKind::SecretOrDer(key), Algorithm::ES256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(message, mark)
            }
            (DecodingKeyKind::SecretOrDer(key), Algorithm::EdDSA) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, mark)
            }
            // Nothing else is in the rules, and the library's list grows.
            (_, _) => Err(ring::error::Unspecified),
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Check {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
