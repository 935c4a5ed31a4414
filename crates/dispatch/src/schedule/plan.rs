//! When a job is due, and what happens to missed ticks. Plain functions of times.

mod cron;
#[cfg(test)]
mod fuzz;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base::Timestamp;

use self::cron::Pattern;
use crate::error::Error;
use crate::limits::{INTERVAL_MIN, MISFIRE_GRACE};

/// The times of a job. As a text it is `every 5000 ms` or `cron 0 9 * * MON-FRI in Asia/Tokyo`.
#[derive(Clone, Debug)]
pub struct Schedule {
    text: String,
    times: Times,
}

#[derive(Clone, Debug)]
enum Times {
    Every(u64),
    Cron(Box<Pattern>),
}

/// The rule for ticks that were missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Misfire {
    /// Skip them; run the next tick that is on time.
    Skip,
    /// One run stands for all of them.
    #[default]
    FireOnce,
    /// Run each of them in order, unless it is too old.
    CatchUp {
        /// The age limit.
        within: Duration,
    },
}

/// The next step for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Do nothing before this time.
    Wait(Timestamp),
    /// Run this tick.
    Run(Timestamp),
    /// Skip the ticks before this one.
    SkipTo(Timestamp),
}

impl Schedule {
    /// Every `interval`, aligned to whole multiples of it since 1970, so that all instances agree
    /// and a restart changes nothing.
    ///
    /// # Errors
    /// The interval is shorter than 100 ms, or not of whole milliseconds.
    pub fn every(interval: Duration) -> Result<Schedule, Error> {
        let bad = |why: String| Error::BadSchedule { text: format!("{interval:?}"), why };
        if interval < INTERVAL_MIN {
            return Err(bad(format!("the shortest interval is {INTERVAL_MIN:?}")));
        }
        let millis = u64::try_from(interval.as_millis()).ok();
        let whole = millis.filter(|millis| Duration::from_millis(*millis) == interval);
        let millis = whole.ok_or_else(|| bad("not a number of milliseconds".to_owned()))?;
        Ok(Schedule { text: format!("every {millis} ms"), times: Times::Every(millis) })
    }

    /// A cron pattern of five fields, or six with seconds first, in a named time zone. When clocks
    /// go forward, a fixed time in the gap is due right after the gap; when they go back, a fixed
    /// time that occurs twice is due once.
    ///
    /// # Errors
    /// The pattern or the zone is invalid, or the pattern never matches.
    pub fn cron(pattern: &str, zone: &str) -> Result<Schedule, Error> {
        let text = format!("cron {pattern} in {zone}");
        match Pattern::parse(pattern, zone) {
            Ok(pattern) => Ok(Schedule { text, times: Times::Cron(Box::new(pattern)) }),
            Err(why) => Err(Error::BadSchedule { text, why }),
        }
    }

    /// The first tick after `time`.
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        match &self.times {
            Times::Every(millis) => {
                let next = (time.millis() / millis).checked_add(1)?.checked_mul(*millis)?;
                Some(Timestamp::from_millis(next))
            }
            Times::Cron(pattern) => pattern.next_after(time),
        }
    }

    /// The last tick at or before `time`.
    pub fn last_until(&self, time: Timestamp) -> Option<Timestamp> {
        match &self.times {
            Times::Every(millis) => Some(Timestamp::from_millis(time.millis() / millis * millis)),
            Times::Cron(pattern) => pattern.last_until(time),
        }
    }

    /// The next step for a job whose next tick is `next`.
    pub(super) fn decide(&self, misfire: Misfire, next: Timestamp, now: Timestamp) -> Step {
        if now < next {
            return Step::Wait(next);
        }
        let last = self.last_until(now).filter(|last| *last >= next).unwrap_or(next);
        match misfire {
            Misfire::Skip if now.since(last) <= MISFIRE_GRACE => Step::Run(last),
            Misfire::Skip => self.skip_to(now),
            Misfire::FireOnce => Step::Run(last),
            Misfire::CatchUp { within } => {
                // A tick that is on time is never too old.
                let oldest = now.checked_sub(within.max(MISFIRE_GRACE)).unwrap_or(Timestamp::EPOCH);
                if next >= oldest {
                    return Step::Run(next);
                }
                let before = Timestamp::from_millis(oldest.millis().saturating_sub(1));
                self.skip_to(before)
            }
        }
    }

    fn skip_to(&self, time: Timestamp) -> Step {
        self.next_after(time).map_or(Step::Wait(Timestamp::from_millis(u64::MAX)), Step::SkipTo)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Schedule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Schedule, Error> {
        let every = || text.strip_prefix("every ")?.strip_suffix(" ms")?.parse().ok();
        if let Some(millis) = every() {
            return Schedule::every(Duration::from_millis(millis));
        }
        match text.strip_prefix("cron ").and_then(|rest| rest.rsplit_once(" in ")) {
            Some((pattern, zone)) => Schedule::cron(pattern, zone),
            None => {
                let why = "neither `every … ms` nor `cron … in …`".to_owned();
                Err(Error::BadSchedule { text: text.to_owned(), why })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::Timestamp;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{Misfire, Schedule, Step};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn ticks(schedule: &Schedule, from: &str, to: &str) -> Vec<String> {
        let (mut ticks, to) = (Vec::new(), at(to));
        let mut tick = schedule.next_after(at(from)).unwrap();
        while tick <= to {
            ticks.push(tick.to_string().replace(":00.000Z", "").replace("2026-", ""));
            tick = schedule.next_after(tick).unwrap();
        }
        ticks
    }

    #[test]
    fn a_pattern_is_read_on_the_clocks_of_its_zone() {
        let tokyo = Schedule::cron("0 9 * * MON-FRI", "Asia/Tokyo").unwrap();
        let week = ticks(&tokyo, "2026-03-01T00:00:00Z", "2026-03-08T23:00:00Z");
        let days = ["02", "03", "04", "05", "06"].map(|day| format!("03-{day}T00:00"));
        assert_eq!(week, days);
        let seconds = Schedule::cron("*/20 * * * * *", "UTC").unwrap();
        let next = seconds.next_after(at("2026-03-01T00:00:19.999Z"));
        assert_eq!(next, Some(at("2026-03-01T00:00:20Z")));
        let next = seconds.next_after(at("2026-03-01T00:00:20.000Z"));
        assert_eq!(next, Some(at("2026-03-01T00:00:40Z")));
    }

    #[test]
    fn a_time_that_does_not_exist_is_due_after_the_gap() {
        // Clocks in Berlin go from 02:00 to 03:00, which is 01:00 UTC.
        let daily = Schedule::cron("30 2 * * *", "Europe/Berlin").unwrap();
        let spring = ticks(&daily, "2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z");
        assert_eq!(spring, ["03-28T01:30", "03-29T01:00", "03-30T00:30"]);
        let hourly = Schedule::cron("0 * * * *", "Europe/Berlin").unwrap();
        let night = ticks(&hourly, "2026-03-28T23:30:00Z", "2026-03-29T02:30:00Z");
        assert_eq!(night, ["03-29T00:00", "03-29T01:00", "03-29T02:00"]);
    }

    #[test]
    fn a_time_that_occurs_twice_is_due_once_and_all_hours_are_due() {
        // Clocks in Berlin go from 03:00 to 02:00, which is 01:00 UTC.
        let daily = Schedule::cron("30 2 * * *", "Europe/Berlin").unwrap();
        let autumn = ticks(&daily, "2026-10-23T12:00:00Z", "2026-10-26T12:00:00Z");
        assert_eq!(autumn, ["10-24T00:30", "10-25T00:30", "10-26T01:30"]);
        let hourly = Schedule::cron("0 * * * *", "Europe/Berlin").unwrap();
        let night = ticks(&hourly, "2026-10-24T23:30:00Z", "2026-10-25T02:30:00Z");
        assert_eq!(night, ["10-25T00:00", "10-25T01:00", "10-25T02:00"]);
        let evening = at("2026-10-25T21:00:00Z");
        assert_eq!(daily.last_until(evening), Some(at("2026-10-25T00:30:00Z")));
    }

    #[test]
    fn an_invalid_schedule_is_refused_with_a_reason() {
        let bad = [
            ("* * * *", "UTC"),
            ("61 * * * *", "UTC"),
            ("0 0 30 2 *", "UTC"),
            ("1,,2 * * * *", "UTC"),
            ("0 0 * * *", "Mars/Olympus"),
            ("often", "UTC"),
        ];
        for (pattern, zone) in bad {
            let why = Schedule::cron(pattern, zone).unwrap_err().to_string();
            assert!(why.contains("is not a schedule: "), "{why}");
        }
        assert!(Schedule::every(Duration::from_millis(99)).is_err());
        assert!(Schedule::every(Duration::from_micros(100_500)).is_err());
        for text in ["every 5 s", "cron * * * * *", "every 0 ms", ""] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }

    #[test]
    fn missed_ticks_are_skipped_run_once_or_caught_up() {
        let hourly = Schedule::every(Duration::from_secs(3600)).unwrap();
        let next = at("2026-03-01T01:00:00Z");
        let decide = |misfire, now| hourly.decide(misfire, next, at(now));
        let catch_up = Misfire::CatchUp { within: Duration::from_secs(2 * 3600) };
        for misfire in [Misfire::Skip, Misfire::FireOnce, catch_up] {
            assert_eq!(decide(misfire, "2026-03-01T00:59:59.999Z"), Step::Wait(next));
            assert_eq!(decide(misfire, "2026-03-01T01:00:10Z"), Step::Run(next));
        }
        let late = "2026-03-01T05:30:00Z";
        assert_eq!(decide(Misfire::Skip, late), Step::SkipTo(at("2026-03-01T06:00:00Z")));
        assert_eq!(decide(Misfire::FireOnce, late), Step::Run(at("2026-03-01T05:00:00Z")));
        assert_eq!(decide(catch_up, late), Step::SkipTo(at("2026-03-01T04:00:00Z")));
        let in_time = "2026-03-01T05:00:05Z";
        assert_eq!(decide(Misfire::Skip, in_time), Step::Run(at("2026-03-01T05:00:00Z")));
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn ticks_are_in_order_aligned_and_found_from_both_sides(
            millis in 100..10_000_000_u64,
            time in 0..4_000_000_000_000_u64,
            cron in 0..4_usize,
        ) {
            let time = Timestamp::from_millis(time);
            let every = Schedule::every(Duration::from_millis(millis)).unwrap();
            let next = every.next_after(time).unwrap();
            prop_assert!(next > time && next.millis().is_multiple_of(millis));
            let patterns = [
                ("*/7 * * * *", "America/New_York"),
                ("15 3 * * *", "Australia/Lord_Howe"),
                ("0 0 1 * *", "Asia/Tokyo"),
                ("*/13 * * * * *", "UTC"),
            ];
            let (pattern, zone) = patterns[cron];
            let cron = Schedule::cron(pattern, zone).unwrap();
            for schedule in [every, cron] {
                let next = schedule.next_after(time).unwrap();
                prop_assert!(next > time);
                prop_assert_eq!(schedule.last_until(next), Some(next));
                let before = Timestamp::from_millis(next.millis() - 1);
                prop_assert!(schedule.last_until(before).is_none_or(|last| last <= time));
                let again: Schedule = schedule.to_string().parse().unwrap();
                prop_assert_eq!(again.next_after(time), Some(next));
            }
        }

        #[test]
        fn every_step_moves_on_and_runs_nothing_early(
            next in 0..1_000_000_u64,
            now in 0..100_000_000_u64,
            within in 0..50_000_u64,
        ) {
            let schedule = Schedule::every(Duration::from_millis(100)).unwrap();
            let (next, now) = (Timestamp::from_millis(next * 100), Timestamp::from_millis(now));
            let within = Duration::from_millis(within);
            for misfire in [Misfire::Skip, Misfire::FireOnce, Misfire::CatchUp { within }] {
                match schedule.decide(misfire, next, now) {
                    Step::Wait(time) => prop_assert!(time == next && next > now),
                    Step::Run(tick) => prop_assert!(next <= tick && tick <= now),
                    Step::SkipTo(tick) => prop_assert!(next < tick),
                }
            }
        }
    }
}
