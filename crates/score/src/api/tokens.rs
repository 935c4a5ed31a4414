//! The two tokens of a play, and the signature of who played it.
//!
//! A token is `base64url(JSON) "." base64url(HMAC-SHA256(key, that first text))`, without padding.
//! The key's id stands in the JSON. A play is signed with the text of its end token as key.
//!
//! Invariants: what a token says is looked at by nobody before its MAC fits, but for the id of the
//! key. MACs are compared by the library, in constant time; there is no other comparison of them.
//! A start token is no end token and an end token no start token, because each lacks a field that
//! the other must have. `vectors.json` holds examples that other implementations must agree with.

#[cfg(test)]
mod fuzz;

use base::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use edge::{KeyRing, MacKey};
use ring::hmac;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::limits::TOKEN_LETTERS_MAX;
use crate::model::play::{Claim, End, Start};

/// The version of tokens.
pub(super) const VER: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StartForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    t_start: String,
    max_dur_s: u64,
    sid: String,
    /// What the browser's cookie says, if it is not `sid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bid: Option<String>,
    /// The digest of the player's secret, if the id is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<String>,
    kid: String,
    ver: u32,
}

#[derive(Serialize, Deserialize)]
struct EndForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    sid: String,
    t_start: String,
    t_end: String,
    kid: String,
    ver: u32,
}

#[derive(Deserialize)]
struct AnyForm {
    kid: String,
    ver: u32,
}

/// The token of a play that begins.
pub(super) fn seal_start(start: &Start, key: &MacKey) -> String {
    let form = StartForm {
        gid: start.game.clone(),
        uid: start.user.clone(),
        t_start: start.started.to_string(),
        max_dur_s: start.max_seconds,
        sid: start.sid.clone(),
        bid: start.browser.clone(),
        own: start.owner.clone(),
        kid: key.kid().to_owned(),
        ver: VER,
    };
    seal(&form, |text| key.sign(text))
}

/// The token of a play that has ended.
pub(super) fn seal_end(end: &End, key: &MacKey) -> String {
    let form = EndForm {
        gid: end.game.clone(),
        uid: end.user.clone(),
        sid: end.sid.clone(),
        t_start: end.started.to_string(),
        t_end: end.ended.to_string(),
        kid: key.kid().to_owned(),
        ver: VER,
    };
    seal(&form, |text| key.sign(text))
}

/// What a start token says, and the key that it was made with: what is derived from it is made with
/// the same.
pub(super) async fn open_start(ring: &KeyRing, token: &str) -> Result<(Start, MacKey), Error> {
    const WHICH: &str = "X-Token-Start";
    let (form, key): (StartForm, MacKey) = open(ring, WHICH, token).await?;
    let start = Start {
        started: time(WHICH, &form.t_start)?,
        game: form.gid,
        user: form.uid,
        sid: form.sid,
        browser: form.bid,
        owner: form.own,
        max_seconds: form.max_dur_s,
    };
    Ok((start, key))
}

/// What an end token says.
pub(super) async fn open_end(ring: &KeyRing, token: &str) -> Result<End, Error> {
    const WHICH: &str = "X-Token-End";
    let (form, _): (EndForm, MacKey) = open(ring, WHICH, token).await?;
    Ok(End {
        started: time(WHICH, &form.t_start)?,
        ended: time(WHICH, &form.t_end)?,
        game: form.gid,
        user: form.uid,
        sid: form.sid,
    })
}

/// Whether a play was signed by who holds its end token.
pub(super) fn is_signed(
    token_end: &str,
    user: &str,
    claim: &Claim,
    period: &str,
    signature: &str,
) -> bool {
    let message = format!("{user}|{}|{}|{period}", claim.score, claim.time_ms);
    let Some(mac) = read_signature(signature) else { return false };
    hmac::verify(&signing_key(token_end), message.as_bytes(), &mac).is_ok()
}

/// What a client sends as `X-Sig` for a play whose `claim` is `user|score|timeMs|period`.
pub fn sign(token_end: &str, claim: &str) -> String {
    URL_SAFE_NO_PAD.encode(hmac::sign(&signing_key(token_end), claim.as_bytes()))
}

fn signing_key(token_end: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, token_end.as_bytes())
}

/// In base64url without padding, or in hexadecimal digits.
fn read_signature(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 {
        return URL_SAFE_NO_PAD.decode(text).ok();
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? * 16 + digit(low)?),
        [..] => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

fn seal(form: &impl Serialize, sign: impl Fn(&[u8]) -> [u8; 32]) -> String {
    let json = serde_json::to_vec(form).expect("words and numbers are JSON");
    let text = URL_SAFE_NO_PAD.encode(json);
    let mac = URL_SAFE_NO_PAD.encode(sign(text.as_bytes()));
    format!("{text}.{mac}")
}

async fn open<T: DeserializeOwned>(
    ring: &KeyRing,
    which: &'static str,
    token: &str,
) -> Result<(T, MacKey), Error> {
    let wrong = |why| Error::BadToken { which, why };
    const FORM: &str = "it is not a token";
    if token.len() > TOKEN_LETTERS_MAX {
        return Err(wrong("it is too long"));
    }
    let (text, mac) = token.split_once('.').ok_or(wrong(FORM))?;
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong(FORM))?;
    let mac = URL_SAFE_NO_PAD.decode(mac).map_err(|_| wrong(FORM))?;
    let any: AnyForm = serde_json::from_slice(&json).map_err(|_| wrong(FORM))?;
    let key = ring.find(&any.kid).await.map_err(|error| Error::Keys(error.to_string()))?;
    let key = key.ok_or(wrong("its key is unknown or too old"))?;
    if !key.verify(text.as_bytes(), &mac) {
        return Err(wrong("its signature does not fit"));
    }
    if any.ver != VER {
        return Err(wrong("it is of another version"));
    }
    let form = serde_json::from_slice(&json).map_err(|_| wrong("it is not of this kind"))?;
    Ok((form, key))
}

fn time(which: &'static str, text: &str) -> Result<Timestamp, Error> {
    text.parse().map_err(|_| Error::BadToken { which, why: "it names no time" })
}

#[cfg(test)]
mod tests {
    use ring::hmac;
    use serde::Deserialize;

    use super::{EndForm, StartForm, is_signed, seal, sign};
    use crate::model::play::Claim;

    #[derive(Deserialize)]
    struct Vectors {
        key: String,
        start: Sealed<StartForm>,
        end: Sealed<EndForm>,
        signatures: Vec<Signed>,
    }

    #[derive(Deserialize)]
    struct Sealed<T> {
        payload: T,
        token: String,
    }

    #[derive(Deserialize)]
    struct Signed {
        user: String,
        score: i64,
        time_ms: i64,
        period: String,
        base64url: String,
        hex: String,
    }

    fn vectors() -> Vectors {
        serde_json::from_str(include_str!("../../vectors.json")).unwrap()
    }

    #[test]
    fn tokens_are_those_of_the_vectors() {
        let vectors = vectors();
        let key = hmac::Key::new(hmac::HMAC_SHA256, vectors.key.as_bytes());
        let sign = |text: &[u8]| hmac::sign(&key, text).as_ref().try_into().unwrap();
        assert_eq!(seal(&vectors.start.payload, sign), vectors.start.token);
        assert_eq!(seal(&vectors.end.payload, sign), vectors.end.token);
    }

    #[test]
    fn signatures_are_those_of_the_vectors_and_fit_nothing_else() {
        let Vectors { end, signatures, .. } = vectors();
        assert!(signatures.len() >= 3);
        for it in signatures {
            let claim = Claim { score: it.score, time_ms: it.time_ms };
            let fits = |user: &str, claim: &Claim, period: &str, signature: &str| {
                is_signed(&end.token, user, claim, period, signature)
            };
            let text = format!("{}|{}|{}|{}", it.user, it.score, it.time_ms, it.period);
            assert_eq!(sign(&end.token, &text), it.base64url);
            for signature in [&it.base64url, &it.hex, &it.hex.to_uppercase()] {
                assert!(fits(&it.user, &claim, &it.period, signature), "{signature}");
            }
            let more = Claim { score: it.score + 1, ..claim };
            assert!(!fits(&it.user, &more, &it.period, &it.base64url));
            let longer = Claim { time_ms: it.time_ms + 1, ..claim };
            assert!(!fits(&it.user, &longer, &it.period, &it.base64url));
            assert!(!fits("somebody", &claim, &it.period, &it.base64url));
            assert!(!fits(&it.user, &claim, "2001-01", &it.base64url));
            for signature in ["", "x", &it.base64url[1..], &it.hex[1..], &"z".repeat(64)] {
                assert!(!fits(&it.user, &claim, &it.period, signature), "{signature}");
            }
            assert!(!is_signed("other", &it.user, &claim, &it.period, &it.base64url));
        }
    }
}
