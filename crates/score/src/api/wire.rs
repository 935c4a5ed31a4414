//! How headers, queries and bodies of the contract are read.

use std::collections::BTreeMap;

use edge::{HeaderMap, header};
use serde_json::value::RawValue;
use table::Value as Stored;

use crate::error::Error;
use crate::items::meta;
use crate::limits::{LIMIT_MAX, LIMIT_MIN};
use crate::model::play::Claim;
use crate::model::player_name;

/// Where a player shows that the id is theirs.
pub(super) const PLAYER_SECRET: &str = "X-Player-Secret";

/// A header that must be there, as text.
pub(super) fn header<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<&'h str, Error> {
    find_header(headers, name)?
        .ok_or_else(|| Error::invalid(format!("the header {name} is needed")))
}

/// A header, as text.
pub(super) fn find_header<'h>(
    headers: &'h HeaderMap,
    name: &'static str,
) -> Result<Option<&'h str>, Error> {
    let value = headers.get(name).map(|value| value.to_str());
    value.transpose().map_err(|_| Error::invalid(format!("the header {name} is not plain text")))
}

/// A whole number without a sign of plus, a point or a leading zero.
pub(super) fn integer(name: &str, text: &str) -> Result<i64, Error> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let first_is_zero = digits.starts_with('0') && text != "0";
    let number = text.parse().ok().filter(|_| plain && !first_is_zero);
    number.ok_or_else(|| Error::invalid(format!("{name} must be a whole number, not `{text}`")))
}

/// What a player claims, if the headers say anything.
pub(super) fn find_claim(headers: &HeaderMap) -> Result<Option<Claim>, Error> {
    let (score, time) = ("X-Score", "X-Time-Ms");
    match (find_header(headers, score)?, find_header(headers, time)?) {
        (None, None) => Ok(None),
        (Some(points), Some(millis)) => {
            Claim::new(integer(score, points)?, integer(time, millis)?).map(Some)
        }
        (None, Some(_)) => Err(Error::invalid("the header X-Score is needed")),
        (Some(_), None) => Err(Error::invalid("the header X-Time-Ms is needed")),
    }
}

/// The player's name, which headers cannot hold as it is.
pub(super) fn player(headers: &HeaderMap) -> Result<String, Error> {
    let wrong = |why: String| Error::invalid(format!("X-Player: {why}"));
    let text = unescape(header(headers, "X-Player")?);
    let text = text.ok_or_else(|| wrong("not UTF-8 in percent-encoding".to_owned()))?;
    player_name(&text).map_err(|error| wrong(error.to_string()))
}

/// Percent-encoded UTF-8.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? * 16 + digit(rest.next()?)?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The session that the browser's cookie names.
pub(super) fn cookie_sid(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == "game_sid").map(|(_, value)| value.trim())
}

/// What a submission's body brings along.
pub(super) fn body_meta(body: &[u8]) -> Result<Option<Stored>, Error> {
    if body.is_empty() {
        return Ok(None);
    }
    let wrong = |why: &str| Error::invalid(format!("the body is not {{\"meta\": {{…}}}}: {why}"));
    let mut fields: BTreeMap<String, &RawValue> =
        serde_json::from_slice(body).map_err(|error| wrong(&error.to_string()))?;
    let sent = match fields.remove("meta").map(RawValue::get) {
        None => None,
        Some(text) if text.starts_with('{') => Some(meta::read(text)?),
        Some(_) => return Err(wrong("`meta` is no object")),
    };
    match fields.keys().next() {
        None => Ok(sent),
        Some(other) => Err(wrong(&format!("there is `{other}`"))),
    }
}

/// How many rows a ranking answers.
pub(super) fn limit(asked: Option<&str>) -> Result<usize, Error> {
    let Some(asked) = asked else { return Ok(LIMIT_MAX) };
    let limit = asked.parse().ok().filter(|limit| (LIMIT_MIN..=LIMIT_MAX).contains(limit));
    let told = || format!("limit must be from {LIMIT_MIN} to {LIMIT_MAX}, not `{asked}`");
    limit.ok_or_else(|| Error::invalid(told()))
}

#[cfg(test)]
mod tests {
    use edge::{HeaderMap, HeaderValue};
    use serde::Deserialize;

    use super::{integer, limit, player, unescape};

    #[derive(Deserialize)]
    struct Vectors {
        player: Named,
    }

    #[derive(Deserialize)]
    struct Named {
        name: String,
        header: String,
    }

    #[test]
    fn a_name_is_that_of_the_vectors() {
        let vectors: Vectors = serde_json::from_str(include_str!("../../vectors.json")).unwrap();
        let Named { name, header } = vectors.player;
        let mut headers = HeaderMap::new();
        headers.insert("x-player", HeaderValue::from_str(&header).unwrap());
        assert_eq!(player(&headers).unwrap(), name);
    }

    #[test]
    fn numbers_are_strict() {
        for (text, number) in [("0", 0), ("-5", -5), ("9007199254740993", 9_007_199_254_740_993)] {
            assert_eq!(integer("X-Score", text).unwrap(), number);
        }
        for text in
            ["", "-", "+1", "1.0", "1e3", " 1", "01", "-0", "0x1", "１", "9".repeat(30).as_str()]
        {
            let told = integer("X-Score", text).unwrap_err().to_string();
            assert_eq!(told, format!("X-Score must be a whole number, not `{text}`"));
        }
    }

    #[test]
    fn escapes_are_undone_once() {
        assert_eq!(unescape("%E5%90%8D+a%2525").as_deref(), Some("名+a%25"));
        for wrong in ["%", "%4", "%zz", "%E5%90", "%ff"] {
            assert_eq!(unescape(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_from_10_to_100() {
        assert_eq!(limit(None).unwrap(), 100);
        assert_eq!((limit(Some("10")).unwrap(), limit(Some("100")).unwrap()), (10, 100));
        for text in ["9", "101", "-1", "x", ""] {
            let told = limit(Some(text)).unwrap_err().to_string();
            assert_eq!(told, format!("limit must be from 10 to 100, not `{text}`"));
        }
    }
}
