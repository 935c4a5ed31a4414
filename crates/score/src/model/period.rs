//! The periods of a ranking: months of the house's zone, and all time.

use std::fmt;
use std::str::FromStr;

use base::Timestamp;
use jiff::tz::TimeZone;

use crate::error::Error;
use crate::limits::MONTH_GRACE;

/// `ALL`, or a month as `2026-11`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Period(String);

const ALL: &str = "ALL";

impl Period {
    /// All time.
    pub(crate) fn all() -> Period {
        Period(ALL.to_owned())
    }

    /// The month that an instant lies in.
    pub(crate) fn month_of(time: Timestamp, zone: &TimeZone) -> Period {
        let millis = i64::try_from(time.millis()).unwrap_or(i64::MAX);
        let instant = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        let date = instant.to_zoned(zone.clone()).date();
        Period(format!("{:04}-{:02}", date.year(), date.month()))
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a month that no play can count in any more.
    pub(crate) fn is_closed(&self, now: Timestamp, zone: &TimeZone) -> bool {
        let lately = now.checked_sub(MONTH_GRACE).unwrap_or(Timestamp::EPOCH);
        // Months of four digits sort as they follow each other.
        self.0 != ALL && *self < Period::month_of(lately, zone)
    }
}

impl FromStr for Period {
    type Err = Error;

    fn from_str(text: &str) -> Result<Period, Error> {
        let digits = |part: &str, length| {
            let plain = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| part.parse::<u32>().ok()).flatten()
        };
        let month = text.split_once('-').and_then(|(year, month)| {
            digits(year, 4)?;
            digits(month, 2).filter(|month| (1..=12).contains(month))
        });
        if text == ALL || month.is_some() {
            return Ok(Period(text.to_owned()));
        }
        let told = format!("a period is ALL or a month such as 2026-11, not `{text}`");
        Err(Error::invalid(told))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::Period;

    #[test]
    fn a_month_ends_at_midnight_of_the_zone() {
        let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
        let month =
            |time: &str, zone: &TimeZone| Period::month_of(time.parse().unwrap(), zone).to_string();
        assert_eq!(month("2026-11-30T14:59:59.999Z", &tokyo), "2026-11");
        assert_eq!(month("2026-11-30T15:00:00Z", &tokyo), "2026-12");
        assert_eq!(month("2026-11-30T23:59:59.999Z", &TimeZone::UTC), "2026-11");
        assert_eq!(month("2026-12-31T15:00:00Z", &tokyo), "2027-01");
    }

    #[test]
    fn a_month_is_closed_an_hour_behind_its_end_and_all_time_never() {
        let closed = |period: &str, now: &str| {
            let period: Period = period.parse().unwrap();
            period.is_closed(now.parse().unwrap(), &TimeZone::UTC)
        };
        assert!(!closed("2026-11", "2026-12-01T00:59:59.999Z"));
        assert!(closed("2026-11", "2026-12-01T01:00:00Z"));
        assert!(!closed("2026-12", "2026-12-01T01:00:00Z"));
        assert!(!closed("ALL", "2026-12-01T01:00:00Z"));
    }

    #[test]
    fn what_is_no_period_is_refused_by_name() {
        for text in ["ALL", "2026-01", "2026-12", "0000-10"] {
            assert_eq!(text.parse::<Period>().unwrap().as_str(), text);
        }
        for text in ["", "all", "2026-00", "2026-13", "2026-1", "26-01", "2026-011", "+026-01"] {
            let told = text.parse::<Period>().unwrap_err().to_string();
            assert_eq!(told, format!("a period is ALL or a month such as 2026-11, not `{text}`"));
        }
    }
}
