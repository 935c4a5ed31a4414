//! Secrets of the house's own making, and how texts are compared with them.
//!
//! A secret has 238 random bits, so nobody finds it by guessing, and SHA-256 is all that its copy
//! at rest needs: a slow hash protects what people choose, and would here only let callers spend
//! our time.

use base::Ids;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::limits::guard::SECRET_LETTERS;

/// A new secret.
pub(crate) fn make(ids: &Ids) -> String {
    ids.alphanumeric(SECRET_LETTERS)
}

/// Whether a text can be one of our secrets. Says nothing about which.
pub(crate) fn has_form(text: &str) -> bool {
    text.len() == SECRET_LETTERS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// What is kept of a secret: its SHA-256, as text.
pub fn digest(secret: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(secret))
}

/// Whether a digest is the kept one, in a time that does not tell where they differ.
pub(crate) fn is_same_digest(presented: &str, kept: &str) -> bool {
    presented.as_bytes().ct_eq(kept.as_bytes()).into()
}

/// Whether two secrets are the same, in a time that tells neither where they differ nor how long
/// the expected one is. For secrets that settings hold.
pub fn is_same_secret(presented: &[u8], expected: &[u8]) -> bool {
    is_same_digest(&digest(presented), &digest(expected))
}

#[cfg(test)]
mod tests {
    use base::{Clock, Ids, Random};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{digest, has_form, is_same_digest, is_same_secret, make};

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn only_the_same_is_the_same(one in any::<Vec<u8>>(), other in any::<Vec<u8>>()) {
            prop_assert_eq!(is_same_secret(&one, &other), one == other);
            prop_assert_eq!(is_same_secret(&one, &one.clone()), true);
        }
    }

    #[test]
    fn a_secret_has_its_form_and_fits_its_digest_alone() {
        let ids = Ids::new(Clock::real(), Random::seeded(1));
        let (one, other) = (make(&ids), make(&ids));
        assert!(has_form(&one) && !has_form(&one[1..]) && !has_form(&format!("{}-", &one[1..])));
        assert!(is_same_digest(&digest(&one), &digest(&one)));
        assert!(!is_same_digest(&digest(&one), &digest(&other)));
        assert!(!is_same_digest(&digest(&one), &digest(&one)[1..]));
    }
}
