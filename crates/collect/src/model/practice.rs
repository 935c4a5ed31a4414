//! The practice upstream: what the house answers itself where a source asks `practice.invalid`.
//!
//! Nothing leaves the process: the host has no address anywhere (RFC 2606), and `upstream.rs`
//! answers it before a name is resolved. An answer depends on its window alone, so that a backfill
//! gets the values that live calls got. Some windows are answered late, and on some paths some are
//! not answered at all: a newcomer sees what gaps look like.

use std::f64::consts::TAU;
use std::time::Duration;

use base::Timestamp;
use serde_json::Number;

/// Where the practice upstream is found, by plain HTTP alone.
pub(crate) const HOST: &str = "practice.invalid";
/// What the URLs of its sources begin with.
pub(crate) const BASE_URL: &str = "http://practice.invalid";
/// The practice source that a page adds, and what it measures.
pub(crate) const NAME: &str = "practice";
/// See [`NAME`].
pub(crate) const METRIC: &str = "practice_count";

/// A window that is answered late is answered this long after its end. A source with slots of five
/// seconds is asked up to six seconds after the end, and is late five seconds after that.
const LATE_BY: Duration = Duration::from_secs(12);

/// What the practice upstream answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The value of the window.
    Value(Number),
    /// None yet; the caller should ask again after this pause.
    Later(Duration),
    /// There is no value of this window, or nothing under this path.
    Nothing,
}

/// How often the windows of a path are answered late, and how often not at all: one in so many.
/// Zero: never.
#[derive(Clone, Copy)]
struct Faults {
    late: u64,
    lost: u64,
}

/// Answers for the window from `from` to `to` under a path, at the time `now`.
pub(crate) fn answer(path: &str, from: Timestamp, to: Timestamp, now: Timestamp) -> Reply {
    let second = from.seconds();
    let (value, faults) = match path {
        "/response_count" => (
            whole(30.0 + wave(second, 240) * 14.0 + noise(second, 9)),
            Faults { late: 24, lost: 0 },
        ),
        // Few, and now and then many at once.
        "/orders" => {
            let rush = if mixed(second, 3).is_multiple_of(19) { 11.0 } else { 0.0 };
            let usual = 3.0 + wave(second, 600) * 2.5 + noise(second, 3);
            (whole(usual + rush), Faults { late: 0, lost: 0 })
        }
        // A hall that fills for nine minutes and is empty in the tenth.
        "/visitors" => {
            let filled = (second % 600).min(540) as f64 / 540.0;
            let leaving = if second % 600 >= 540 { (second % 60) as f64 / 60.0 } else { 0.0 };
            let value = 18.0 + filled * 55.0 * (1.0 - leaving) + noise(second, 5);
            (whole(value), Faults { late: 17, lost: 19 })
        }
        "/temperature" => {
            let value = 21.4 + wave(second, 1_500) * 1.6 + wave(second, 97) * 0.2;
            (tenths(value + noise(second, 2) / 10.0), Faults { late: 0, lost: 13 })
        }
        _ => return Reply::Nothing,
    };
    let is_one_in = |many: u64, of: u64| many > 0 && mixed(second, of).is_multiple_of(many);
    if is_one_in(faults.lost, 1) {
        return Reply::Nothing;
    }
    let late_by = if is_one_in(faults.late, 2) { LATE_BY } else { Duration::ZERO };
    let ready = to.checked_add(late_by).unwrap_or(to);
    if now < ready { Reply::Later(ready.since(now)) } else { Reply::Value(value) }
}

/// From -1 to 1, in a period of so many seconds.
fn wave(second: u64, period: u64) -> f64 {
    ((second % period) as f64 / period as f64 * TAU).sin()
}

/// From nought to below `most`, the same for a second whenever it is asked for.
fn noise(second: u64, most: u64) -> f64 {
    (mixed(second, 0) % most) as f64
}

/// A number that looks random, of a second and of what it is for: the finaliser of SplitMix64.
fn mixed(second: u64, of: u64) -> u64 {
    let mut bits = second.wrapping_add(of.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn whole(value: f64) -> Number {
    Number::from(value.max(0.0).round() as u64)
}

fn tenths(value: f64) -> Number {
    Number::from_f64((value * 10.0).round() / 10.0).unwrap_or_else(|| Number::from(0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use base::Timestamp;

    use super::{LATE_BY, Reply, answer};

    const PATHS: [&str; 4] = ["/response_count", "/orders", "/visitors", "/temperature"];
    /// Windows of half an hour.
    const WINDOWS: u64 = 360;

    fn window(nth: u64) -> (Timestamp, Timestamp) {
        let from = 1_764_670_800 + nth * 5;
        (Timestamp::from_millis(from * 1_000), Timestamp::from_millis((from + 5) * 1_000))
    }

    fn half_hour(path: &str, after: Duration) -> Vec<Reply> {
        let ask = |nth| {
            let (from, to) = window(nth);
            answer(path, from, to, to.checked_add(after).unwrap())
        };
        (0..WINDOWS).map(ask).collect()
    }

    #[test]
    fn series_differ_move_and_are_the_same_when_they_are_asked_for_again() {
        let mut seen = BTreeSet::new();
        for path in PATHS {
            let values = half_hour(path, LATE_BY);
            assert_eq!(values, half_hour(path, Duration::from_secs(86_400)), "{path}");
            let spelled: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            let different: BTreeSet<&String> = spelled.iter().collect();
            assert!(different.len() > 8, "{path} moves: {different:?}");
            assert!(seen.insert(spelled), "{path} has a shape of its own");
        }
    }

    #[test]
    fn some_windows_are_late_and_some_are_lost_where_a_path_has_faults() {
        let count = |path, after, of: fn(&Reply) -> bool| {
            half_hour(path, after).iter().filter(|reply| of(reply)).count()
        };
        let is_later = |reply: &Reply| matches!(reply, Reply::Later(_));
        let is_lost = |reply: &Reply| *reply == Reply::Nothing;
        let faults = PATHS.map(|path| {
            let late = count(path, Duration::from_secs(1), is_later);
            assert_eq!(count(path, LATE_BY, is_later), 0, "{path}: all come in the end");
            (late > 3, count(path, LATE_BY, is_lost) > 3)
        });
        assert_eq!(faults, [(true, false), (false, false), (true, true), (false, true)]);
    }

    #[test]
    fn a_window_has_no_value_before_it_is_over() {
        let (from, to) = window(0);
        assert_eq!(answer("/orders", from, to, from), Reply::Later(to.since(from)));
        assert_eq!(answer("/nowhere", from, to, to), Reply::Nothing);
    }
}
