//! Points in time. [`Timestamp`] is the time of people and tables and may jump with the system's
//! clock; [`Monotonic`] never goes back and is only for measuring. How time passes is in
//! `clock.rs`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Error;

/// Milliseconds of Unix time. Printed and parsed as RFC 3339 in UTC: `2026-04-01T09:30:00.000Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The beginning of 1970.
    pub const EPOCH: Timestamp = Timestamp(0);

    /// From milliseconds of Unix time.
    pub const fn from_millis(millis: u64) -> Timestamp {
        Timestamp(millis)
    }

    /// From seconds of Unix time; `None` past what milliseconds can hold.
    pub fn from_seconds(seconds: u64) -> Option<Timestamp> {
        seconds.checked_mul(1000).map(Timestamp)
    }

    /// Milliseconds of Unix time.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Whole seconds of Unix time.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// This time plus `duration`, whose part below a millisecond is dropped.
    pub fn checked_add(self, duration: Duration) -> Option<Timestamp> {
        let millis = u64::try_from(duration.as_millis()).ok()?;
        self.0.checked_add(millis).map(Timestamp)
    }

    /// This time minus `duration`, whose part below a millisecond is dropped; `None` before 1970.
    pub fn checked_sub(self, duration: Duration) -> Option<Timestamp> {
        let millis = u64::try_from(duration.as_millis()).ok()?;
        self.0.checked_sub(millis).map(Timestamp)
    }

    /// The duration since `earlier`; `None` if that is later.
    pub fn checked_since(self, earlier: Timestamp) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_millis)
    }

    /// The duration since `earlier`; zero if that is later, for example after the clock was set
    /// back.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spoken = i64::try_from(self.0).ok().map(jiff::Timestamp::from_millisecond);
        match spoken {
            Some(Ok(time)) => write!(f, "{time:.3}"),
            // RFC 3339 ends with the year 9999; a number is better than a wrong time.
            Some(Err(_)) | None => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// Parses RFC 3339 with any offset; digits below a millisecond are dropped.
    fn from_str(text: &str) -> Result<Timestamp, Error> {
        let time: jiff::Timestamp = text.parse().map_err(|_| Error::NotATime(text.to_owned()))?;
        u64::try_from(time.as_millisecond())
            .map(Timestamp)
            .map_err(|_| Error::NotATime(text.to_owned()))
    }
}

/// Nanoseconds since a start that only this process knows. Never goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Monotonic(u64);

impl Monotonic {
    pub(crate) const START: Monotonic = Monotonic(0);

    pub(crate) fn from_start(elapsed: Duration) -> Monotonic {
        Monotonic(whole_nanos(elapsed))
    }

    /// The time between `earlier` and this; zero if `earlier` is later.
    pub fn since(self, earlier: Monotonic) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This instant plus `duration`. Stops at the limit of 64 bits, 584 years after the start.
    #[must_use]
    pub fn after(self, duration: Duration) -> Monotonic {
        Monotonic(self.0.saturating_add(whole_nanos(duration)))
    }
}

fn whole_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::Timestamp;

    #[test]
    fn times_are_printed_in_utc_with_milliseconds() {
        assert_eq!(Timestamp::from_millis(951_782_400_007).to_string(), "2000-02-29T00:00:00.007Z");
        assert_eq!(Timestamp::from_millis(u64::MAX).to_string(), "18446744073709551615 ms");
    }

    #[test]
    fn an_offset_is_parsed_and_an_invalid_time_refused() {
        let time: Timestamp = "2000-02-29T09:00:00.0079+09:00".parse().unwrap();
        assert_eq!(time.millis(), 951_782_400_007);
        assert!("2000-02-30T00:00:00Z".parse::<Timestamp>().is_err());
        assert!("1969-12-31T23:59:59Z".parse::<Timestamp>().is_err());
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_printed_time_parses_to_the_same_time(millis in 0..253_402_207_200_000_u64) {
            let time = Timestamp::from_millis(millis);
            prop_assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
        }
    }
}
