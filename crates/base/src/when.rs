//! Instants as people give them: as a time, or as how long ago.

use std::str::FromStr;
use std::time::Duration;

use crate::Timestamp;

/// An instant of the past: `2026-04-01T09:30:00+09:00`, or `-5m`, which is five minutes ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this time, in milliseconds of Unix time.
    At(u64),
    /// So many milliseconds ago.
    Ago(u64),
}

/// A text that is neither a time nor how long ago.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an instant such as `2026-04-01T09:30:00Z`, or `-5m` for five minutes ago")]
pub struct NotAnInstant(String);

/// Units of a length of time, in milliseconds.
const UNITS: [(&str, u64); 6] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
];

impl When {
    /// The instant, as seen at `now`. Before 1970 there is none.
    pub fn as_of(self, now: Timestamp) -> Timestamp {
        match self {
            When::At(millis) => Timestamp::from_millis(millis),
            When::Ago(millis) => {
                now.checked_sub(Duration::from_millis(millis)).unwrap_or(Timestamp::EPOCH)
            }
        }
    }
}

impl FromStr for When {
    type Err = NotAnInstant;

    fn from_str(text: &str) -> Result<When, NotAnInstant> {
        let text = text.trim();
        match text.strip_prefix('-') {
            Some(ago) => parse_length(ago).map(When::Ago).ok_or(()),
            None => text.parse::<Timestamp>().map(|at| When::At(at.millis())).map_err(|_| ()),
        }
        .map_err(|()| NotAnInstant(text.to_owned()))
    }
}

/// `1h30m`, in milliseconds.
fn parse_length(text: &str) -> Option<u64> {
    let (mut rest, mut sum) = (text, 0_u64);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit_and_rest) = rest.split_at_checked(digits)?;
        let end = unit_and_rest.find(|c: char| c.is_ascii_digit()).unwrap_or(unit_and_rest.len());
        let (unit, behind) = unit_and_rest.split_at_checked(end)?;
        let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(number.parse::<u64>().ok()?.checked_mul(*millis)?)?;
        rest = behind;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::When;
    use crate::Timestamp;

    #[test]
    fn an_instant_is_a_time_or_how_long_ago() {
        let now = Timestamp::from_millis(1_000_000_000);
        let as_of = |text: &str| text.parse::<When>().map(|when| when.as_of(now).millis()).ok();
        assert_eq!(as_of("-5m"), Some(1_000_000_000 - 300_000));
        assert_eq!(as_of("-1h30m"), Some(1_000_000_000 - 5_400_000));
        assert_eq!(as_of("-250ms"), Some(1_000_000_000 - 250));
        assert_eq!(as_of("-1w2d3s"), Some(1_000_000_000 - 777_603_000));
        assert_eq!(as_of("-90000d"), Some(0), "before 1970 there is nothing");
        assert_eq!(as_of(" 1970-01-01T09:00:01+09:00 "), Some(1_000));
        for text in
            ["", "-", "5m", "-5", "-m", "-5x", "-5m3", "yesterday", "-99999999999999999999d"]
        {
            assert_eq!(as_of(text), None, "{text}");
        }
    }
}
