//! Cron patterns on the clocks of a time zone.
//!
//! A library parses patterns and searches for matching times. Two limits bound a search: a pattern
//! is accepted only if some day of the calendar matches it, and a search with too many steps ends
//! without a result. Without these limits a search could go on to the year 5000.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;
use std::rc::Rc;

use base::Timestamp;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds};
use croner::{CivilDateTime, Cron, CronDateTime, CronPattern, Resolution, Weekday};
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};

/// Steps of one search. Almost every search takes a few. At a forward change of the clocks, a
/// search takes a step for each skipped second, and islands that crossed the date line skipped a
/// day of 86,400 seconds.
const SEARCH_STEPS_MAX: u32 = 100_000;

/// Years with all 14 kinds of calendars: leap or not, and the weekday of the first day. The days
/// that a pattern matches in a year depend only on the kind of the year.
const ALL_YEARS: Range<i16> = 2000..2028;

/// A pattern with its time zone.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    cron: Cron,
    zone: TimeZone,
}

impl Pattern {
    /// Parses a pattern of five fields, or six with seconds first. The error is a text for the
    /// caller.
    pub(super) fn parse(pattern: &str, zone: &str) -> Result<Pattern, String> {
        // The library ignores empty elements, and a list with only empty elements matches nothing.
        if pattern.split_whitespace().any(|field| field.split(',').any(str::is_empty)) {
            return Err("a list has an empty element".to_owned());
        }
        let cron = CronParser::builder().seconds(Seconds::Optional).build().parse(pattern);
        let cron = cron.map_err(|cause| cause.to_string())?;
        let zone = TimeZone::get(zone).map_err(|cause| cause.to_string())?;
        let is_possible = has_day(&cron.pattern);
        let pattern = Pattern { cron, zone };
        match is_possible && pattern.next_after(Timestamp::EPOCH).is_some() {
            true => Ok(pattern),
            false => Err("no date matches it".to_owned()),
        }
    }

    /// The first matching time after `time`.
    pub(super) fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        let start = SearchTime::new(time, &self.zone)?;
        timestamp(&self.cron.find_next_occurrence(&start, false).ok()?.time)
    }

    /// The last matching time at or before `time`.
    pub(super) fn last_until(&self, time: Timestamp) -> Option<Timestamp> {
        let start = SearchTime::new(time, &self.zone)?;
        timestamp(&self.cron.find_previous_occurrence(&start, true).ok()?.time)
    }
}

/// Whether a pattern matches a day of any year.
fn has_day(pattern: &CronPattern) -> bool {
    let days = date(ALL_YEARS.start, 1, 1).series(Span::new().days(1));
    days.take_while(|day| ALL_YEARS.contains(&day.year())).any(|day| is_day_of(pattern, day))
}

fn is_day_of(pattern: &CronPattern, day: Date) -> bool {
    let weekday = Weekday::from_days_from_sunday(day.weekday().to_sunday_zero_offset() as u32);
    let (year, month) = (i32::from(day.year()), day.month() as u32);
    pattern.month_match(month).unwrap_or(false)
        && pattern.day_match(year, month, day.day() as u32, weekday).unwrap_or(false)
}

/// A time in a search. It counts the steps of the search.
#[derive(Clone)]
struct SearchTime {
    time: Zoned,
    steps_left: Rc<Cell<u32>>,
}

impl SearchTime {
    /// The time in whole seconds, the precision of patterns, on the clocks of a zone.
    fn new(time: Timestamp, zone: &TimeZone) -> Option<SearchTime> {
        let seconds = i64::try_from(time.seconds()).ok()?;
        let time = jiff::Timestamp::from_second(seconds).ok()?.to_zoned(zone.clone());
        Some(SearchTime { time, steps_left: Rc::new(Cell::new(SEARCH_STEPS_MAX)) })
    }

    /// Another time of the same search.
    fn at(&self, time: Zoned) -> SearchTime {
        SearchTime { time, steps_left: Rc::clone(&self.steps_left) }
    }
}

impl CronDateTime for SearchTime {
    fn to_civil(&self) -> CivilDateTime {
        self.time.to_civil()
    }

    fn civil_weekday(&self) -> Weekday {
        self.time.civil_weekday()
    }

    /// Every step of a search ends here.
    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let left = self.steps_left.get().checked_sub(1);
        self.steps_left.set(left.ok_or(CronError::TimeSearchLimitExceeded)?);
        Ok(match self.time.resolve_civil(civil)? {
            Resolution::Single(time) => Resolution::Single(self.at(time)),
            Resolution::Ambiguous(one, other) => {
                Resolution::Ambiguous(self.at(one), self.at(other))
            }
            Resolution::Gap => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.time.checked_add_seconds(seconds).map(|time| self.at(time))
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.time.cmp_instant(&other.time)
    }
}

fn timestamp(time: &Zoned) -> Option<Timestamp> {
    Timestamp::from_seconds(u64::try_from(time.timestamp().as_second()).ok()?)
}

#[cfg(test)]
mod tests {
    use base::Timestamp;
    use croner::errors::CronError;

    use super::{Pattern, SearchTime};

    fn refused(pattern: &str) -> String {
        Pattern::parse(pattern, "UTC").unwrap_err()
    }

    #[test]
    fn an_empty_element_of_a_list_is_refused() {
        for pattern in ["1,,2 * * * *", ", * * * *", "* * , * *", "0 0 1, * *", "0 0 * * ,MON"] {
            assert_eq!(refused(pattern), "a list has an empty element", "{pattern}");
        }
        assert!(Pattern::parse("1,2 * * * MON,TUE", "UTC").is_ok());
    }

    #[test]
    fn a_pattern_without_a_day_is_refused_before_any_search() {
        let never = [
            "0 0 30 2 *",
            "0 0 31 4,6,9,11 *",
            // A last day that is no weekday.
            "0 0 * * L",
            // The fifth Monday is never among the first days of a month.
            "0 0 1-28 * +MON#5",
        ];
        for pattern in never {
            assert_eq!(refused(pattern), "no date matches it", "{pattern}");
        }
        // The rarest day: 29 February on one weekday, once in 28 or 40 years.
        let rare = Pattern::parse("0 0 29 2 +SUN", "UTC").unwrap();
        let next = rare.next_after("2088-02-29T00:00:00Z".parse().unwrap());
        assert_eq!(next, Some("2128-02-29T00:00:00Z".parse().unwrap()));
    }

    #[test]
    fn a_search_that_finds_nothing_ends_after_a_bounded_number_of_steps() {
        // Clocks in Berlin leave this hour out in every year from 1981.
        let pattern = Pattern::parse("* * 2 * 3 SUN#L", "Europe/Berlin").unwrap();
        let time: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let start = SearchTime::new(time, &pattern.zone).unwrap();
        let found = pattern.cron.find_next_occurrence(&start, false).map(|found| found.time);
        assert!(matches!(found, Err(CronError::TimeSearchLimitExceeded)), "{found:?}");
        assert_eq!(start.steps_left.get(), 0);
        assert_eq!(pattern.next_after(time), None);
    }

    #[test]
    fn a_day_that_a_zone_left_out_is_searched_to_its_end() {
        // Samoa went from 29 to 31 December 2011.
        let pattern = Pattern::parse("* * * 30,31 12 *", "Pacific/Apia").unwrap();
        let before = "2011-12-30T09:59:59Z".parse().unwrap();
        assert_eq!(pattern.next_after(before), Some("2011-12-30T10:00:00Z".parse().unwrap()));
    }
}
