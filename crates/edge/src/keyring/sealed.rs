//! Texts that only the house can have written: for links and tokens.
//!
//! ```text
//! <kid> . <second of expiry> . <payload> . <HMAC-SHA256 of purpose, 0, and all before>
//! ```
//!
//! Payload and signature are Base64 for URLs without padding. The purpose is signed and not
//! written, so a text that was made for one thing opens no other.

use base::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::KeyRing;
use crate::Error;
use crate::limits::guard::SEALED_LETTERS_MAX;

impl KeyRing {
    /// A text that carries `payload`, readable by anybody, until `expires`.
    pub fn seal(&self, purpose: &str, payload: &[u8], expires: Timestamp) -> String {
        let key = self.current();
        let payload = URL_SAFE_NO_PAD.encode(payload);
        let text = format!("{}.{}.{payload}", key.kid(), expires.seconds());
        let mac = URL_SAFE_NO_PAD.encode(key.sign(&signed(purpose, &text)));
        format!("{text}.{mac}")
    }

    /// The payload of a text that was sealed for this purpose and has not expired.
    ///
    /// # Errors
    /// The store failed.
    pub async fn unseal(&self, purpose: &str, sealed: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(parts) = Parts::of(sealed) else { return Ok(None) };
        let Some(key) = self.find(parts.kid).await? else { return Ok(None) };
        let is_ours = key.verify(&signed(purpose, parts.text), &parts.mac);
        let is_valid = is_ours && self.shared.clock.now().seconds() < parts.expires;
        Ok(is_valid.then_some(parts.payload))
    }
}

struct Parts<'t> {
    kid: &'t str,
    expires: u64,
    payload: Vec<u8>,
    text: &'t str,
    mac: Vec<u8>,
}

impl Parts<'_> {
    fn of(sealed: &str) -> Option<Parts<'_>> {
        let (text, mac) =
            Some(sealed).filter(|text| text.len() <= SEALED_LETTERS_MAX)?.rsplit_once('.')?;
        let mut words = text.split('.');
        let (kid, expires, payload) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() {
            return None;
        }
        Some(Parts {
            kid,
            expires: expires.parse().ok()?,
            payload: URL_SAFE_NO_PAD.decode(payload).ok()?,
            text,
            mac: URL_SAFE_NO_PAD.decode(mac).ok()?,
        })
    }
}

fn signed(purpose: &str, text: &str) -> Vec<u8> {
    format!("{purpose}\0{text}").into_bytes()
}
