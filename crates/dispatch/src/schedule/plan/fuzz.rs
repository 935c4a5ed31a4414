//! Schedules from arbitrary texts.

use base::Timestamp;

use super::Schedule;

/// Times to search from: the first second, a leap day, both changes of the clock in Europe, and one
/// far in the future.
const TIMES: [&str; 5] = [
    "1970-01-01T00:00:00Z",
    "2028-02-29T12:00:00Z",
    "2026-03-29T00:30:00Z",
    "2026-10-25T00:59:59.999Z",
    "2099-12-31T23:59:59Z",
];

#[test]
fn every_schedule_has_ticks_in_order_and_reads_back_as_written() {
    testkit::fuzz::check("schedules", |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let Ok(schedule) = text.parse::<Schedule>() else { return };
        let again: Schedule = schedule.to_string().parse().unwrap();
        assert_eq!(again.to_string(), schedule.to_string());
        for time in TIMES {
            let time: Timestamp = time.parse().unwrap();
            let next = schedule.next_after(time);
            assert_eq!(again.next_after(time), next);
            let Some(next) = next else { continue };
            assert!(next > time, "{next} does not follow {time}");
            assert_eq!(
                schedule.last_until(next),
                Some(next),
                "a tick is not found from its own time"
            );
            let before = Timestamp::from_millis(next.millis() - 1);
            let last = schedule.last_until(before);
            assert!(last.is_none_or(|last| last <= time), "{last:?} is between {time} and {next}");
        }
    });
}
