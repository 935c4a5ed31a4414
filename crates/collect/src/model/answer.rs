//! Which answers of an upstream count, and what the mock upstream answers.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::decimal::Decimal;
use super::kind::Kind;
use super::slot::{Slot, spell};
use crate::limits::COUNT_MAX;

/// An answer that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is no JSON.
    NotJson(String),
    /// It is of another window, or does not say of which.
    OtherWindow { asked: String, said: String },
    /// There is nothing where the value should be.
    Missing(String),
    /// The value is none of its kind.
    NotAValue { kind: Kind, said: String },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NotJson(why) => write!(f, "the answer is not JSON: {why}"),
            Refused::OtherWindow { asked, said } => {
                write!(f, "the answer is of {said}, asked was {asked}")
            }
            Refused::Missing(pointer) => write!(f, "the answer has nothing at `{pointer}`"),
            Refused::NotAValue { kind: Kind::Count, said } => {
                write!(f, "the value must be a whole number from 0 to {COUNT_MAX}, not {said}")
            }
            Refused::NotAValue { kind: Kind::Gauge, said } => write!(
                f,
                "the value must be a decimal from -{COUNT_MAX} to {COUNT_MAX}, not {said}"
            ),
        }
    }
}

/// The window of an answer must be the one that was asked for.
pub(crate) fn check_window(
    slot: Slot,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<(), Refused> {
    let window = |from: &str, to: &str| format!("{from} to {to}");
    let asked = (spell(slot.from()), spell(slot.to()));
    if (from, to) == (Some(&asked.0), Some(&asked.1)) {
        return Ok(());
    }
    let said = window(from.unwrap_or("nothing"), to.unwrap_or("nothing"));
    Err(Refused::OtherWindow { asked: window(&asked.0, &asked.1), said })
}

/// The value that stands in an answer, as it is written there in JSON.
pub(crate) fn read_value(kind: Kind, written: &str) -> Result<Decimal, Refused> {
    let bound = Decimal::from(COUNT_MAX);
    let value = match kind {
        Kind::Count => written.parse::<u64>().ok().map(Decimal::from),
        // A power of ten is written out, with the fewest digits that mean the same.
        Kind::Gauge if written.contains(['e', 'E']) => {
            let number = written.parse::<f64>().ok().filter(|number| number.abs() < 1e16);
            number.and_then(|number| Decimal::parse(&number.to_string()))
        }
        Kind::Gauge => Decimal::parse(written),
    };
    let value = value.filter(|value| value.size() <= bound);
    let said = || written.chars().take(100).collect();
    value.ok_or_else(|| Refused::NotAValue { kind, said: said() })
}

/// What the mock upstream counts in a window that ends then: the minute, so that charts show a
/// pattern that everybody can check.
pub(crate) fn mock_count(to: Timestamp) -> u64 {
    let minute = to.to_zoned(TimeZone::UTC).minute();
    u64::from(minute.unsigned_abs()) % 11
}

/// A time in ISO 8601; without an offset it is taken as UTC.
pub(crate) fn read_iso(text: &str) -> Option<Timestamp> {
    let zoned = || text.parse::<Timestamp>().ok();
    let civil = || {
        let time: DateTime = text.parse().ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    zoned().or_else(civil)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{check_window, mock_count, read_iso, read_value};
    use crate::model::decimal::Decimal;
    use crate::model::kind::Kind;
    use crate::model::slot::{Slot, read_time};

    fn iso(text: &str) -> jiff::Timestamp {
        read_iso(text).unwrap()
    }

    #[test]
    fn only_whole_counts_are_taken() {
        for (written, count) in [("0", 0), ("7", 7), ("9007199254740992", 1 << 53)] {
            assert_eq!(read_value(Kind::Count, written), Ok(Decimal::from(count)));
        }
        for written in
            ["-1", "1.5", "7.0", "1e3", "9007199254740993", "\"7\"", "null", "[]", "{}", "true"]
        {
            let error = read_value(Kind::Count, written).unwrap_err().to_string();
            assert!(error.ends_with(&format!("to 9007199254740992, not {written}")), "{error}");
        }
    }

    #[test]
    fn a_gauge_is_a_decimal_of_either_sign() {
        for (written, read) in [
            ("0", "0"),
            ("-2.5", "-2.5"),
            ("7.0", "7"),
            ("1e3", "1000"),
            ("1.5e-7", "0.00000015"),
            ("0.1", "0.1"),
            ("-9007199254740992", "-9007199254740992"),
        ] {
            let value = read_value(Kind::Gauge, written).map(|value| value.to_string());
            assert_eq!(value.as_deref(), Ok(read), "{written}");
        }
        for written in ["9007199254740993", "1e300", "\"7\"", "null", "[]", "true"] {
            let error = read_value(Kind::Gauge, written).unwrap_err().to_string();
            assert!(error.starts_with("the value must be a decimal from -9007"), "{error}");
        }
    }

    #[test]
    fn an_answer_of_another_window_is_none() {
        let (from, to) = ("2025-12-02T10:23:00Z", "2025-12-02T10:23:05Z");
        let slot = Slot::between(read_time(from).unwrap(), read_time(to).unwrap()).unwrap();
        assert_eq!(check_window(slot, Some(from), Some(to)), Ok(()));
        for (said_from, said_to) in [
            (Some(to), Some(to)),
            (Some(from), Some(from)),
            (None, Some(to)),
            (Some(from), None),
            (Some("2025-12-02T10:23:00.000Z"), Some(to)),
        ] {
            assert!(check_window(slot, said_from, said_to).is_err(), "{said_from:?} {said_to:?}");
        }
    }

    #[test]
    fn the_mock_counts_the_minute_of_the_end_in_utc() {
        assert_eq!(mock_count(iso("2025-12-02T10:23:05Z")), 1);
        assert_eq!(mock_count(iso("2025-12-02T10:59:59.999Z")), 4);
        assert_eq!(mock_count(iso("2025-12-02T10:10:00Z")), 10);
        assert_eq!(mock_count(iso("2025-12-02T10:11:00Z")), 0);
        // A quarter of an hour off UTC, as in Nepal.
        assert_eq!(mock_count(iso("2025-12-02T10:23:05+05:45")), 38 % 11);
    }

    #[test]
    fn what_is_not_iso_8601_is_no_time() {
        for text in ["", "yesterday", "2025-13-01T00:00:00Z", "10:23:05", "1733135000"] {
            assert_eq!(read_iso(text), None, "{text}");
        }
        assert_eq!(read_iso("2025-12-02T10:23:05"), Some(iso("2025-12-02T10:23:05Z")));
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(512))]

        // **Feature: data-collection-scheduler, Property 8: for any valid ISO8601 date-time string
        // the mock API parses it into a date, and formatting that back to ISO8601 produces an
        // equivalent timestamp**
        #[test]
        fn any_iso_8601_time_is_read_and_written_back(
            seconds in -62_135_596_800_i64..=253_402_207_200,
            nanos in 0..1_000_000_000_i32,
            offset_minutes in -14 * 60..=14 * 60_i32,
        ) {
            let time = jiff::Timestamp::new(seconds, nanos).unwrap();
            let offset = jiff::tz::Offset::from_seconds(offset_minutes * 60).unwrap();
            for text in [time.to_string(), format!("{}", time.display_with_offset(offset))] {
                let read = iso(&text);
                prop_assert_eq!(read, time);
                prop_assert_eq!(iso(&read.to_string()), time);
            }
        }
    }
}
