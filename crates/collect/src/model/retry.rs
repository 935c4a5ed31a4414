//! What becomes of a slot that could not be had: tried again, or given up; and the breaker that
//! leaves a dead upstream alone.

use std::fmt;
use std::time::Duration;

use base::{Monotonic, Timestamp};

use super::answer::Refused;
use super::redact::scrub;
use super::slot::spell;
use crate::limits::{ANSWER_BYTES_MAX, BREAKER_FAILURES, BREAKER_REST, TRY_TIMEOUT};

/// Why a slot was not had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There was no answer.
    Unreachable(String),
    /// There was none in time.
    TimedOut,
    /// The answer was none of success.
    Status {
        code: u16,
        /// When the upstream wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// It led elsewhere.
    Redirected(String),
    /// It had too many bytes.
    TooLarge,
    /// It said something that cannot be taken.
    Refused(Refused),
    /// Its address is none that may be asked.
    Forbidden(String),
    /// A file with a secret, which it would be asked with, cannot be read.
    NoSecret(String),
    /// The upstream is left alone, because of this.
    Resting(String),
    /// The source is instant, and its slot was over then.
    Over(Timestamp),
    /// It was had, and the store did not take it.
    Store(String),
}

impl Trouble {
    /// Whether trying again would not help.
    fn is_final(&self) -> bool {
        match self {
            Trouble::Status { code, .. } => (400..500).contains(code) && !matches!(code, 408 | 429),
            Trouble::Forbidden(_) | Trouble::Over(_) => true,
            Trouble::Unreachable(_)
            | Trouble::TimedOut
            | Trouble::Redirected(_)
            | Trouble::TooLarge
            | Trouble::Refused(_)
            | Trouble::NoSecret(_)
            | Trouble::Resting(_)
            | Trouble::Store(_) => false,
        }
    }

    /// Whether the upstream is to blame.
    pub(crate) fn is_the_upstreams(&self) -> bool {
        !matches!(
            self,
            Trouble::Resting(_)
                | Trouble::Over(_)
                | Trouble::Store(_)
                | Trouble::Forbidden(_)
                | Trouble::NoSecret(_)
        )
    }

    /// Whether no call was made.
    pub(crate) fn is_before_the_call(&self) -> bool {
        matches!(self, Trouble::Resting(_) | Trouble::Over(_))
    }

    /// The same without these secrets in what an upstream said.
    pub(crate) fn without(self, secrets: &[String]) -> Trouble {
        let scrub = |text: String| scrub(&text, secrets);
        match self {
            Trouble::Unreachable(why) => Trouble::Unreachable(scrub(why)),
            Trouble::Redirected(place) => Trouble::Redirected(scrub(place)),
            Trouble::Refused(Refused::NotJson(why)) => {
                Trouble::Refused(Refused::NotJson(scrub(why)))
            }
            Trouble::Refused(Refused::OtherWindow { asked, said }) => {
                Trouble::Refused(Refused::OtherWindow { asked, said: scrub(said) })
            }
            Trouble::Refused(Refused::NotAValue { kind, said }) => {
                Trouble::Refused(Refused::NotAValue { kind, said: scrub(said) })
            }
            other @ (Trouble::TimedOut
            | Trouble::Status { .. }
            | Trouble::TooLarge
            | Trouble::Refused(Refused::Missing(_))
            | Trouble::Forbidden(_)
            | Trouble::NoSecret(_)
            | Trouble::Resting(_)
            | Trouble::Over(_)
            | Trouble::Store(_)) => other,
        }
    }

    fn asked_pause(&self) -> Duration {
        match self {
            Trouble::Status { retry_after: Some(pause), .. } => *pause,
            Trouble::Resting(_) => BREAKER_REST,
            Trouble::Status { retry_after: None, .. }
            | Trouble::Unreachable(_)
            | Trouble::TimedOut
            | Trouble::Redirected(_)
            | Trouble::TooLarge
            | Trouble::Refused(_)
            | Trouble::Forbidden(_)
            | Trouble::NoSecret(_)
            | Trouble::Over(_)
            | Trouble::Store(_) => Duration::ZERO,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Unreachable(why) => write!(f, "no answer: {why}"),
            Trouble::TimedOut => write!(f, "no answer within {TRY_TIMEOUT:?}"),
            Trouble::Status { code, .. } => write!(f, "status {code}"),
            Trouble::Redirected(place) => write!(f, "a redirect that is not followed, to {place}"),
            Trouble::TooLarge => write!(f, "an answer of more than {ANSWER_BYTES_MAX} bytes"),
            Trouble::Refused(refused) => write!(f, "{refused}"),
            Trouble::Forbidden(why) => write!(f, "{why}"),
            Trouble::NoSecret(file) => write!(f, "the file `{file}` of its secret cannot be read"),
            Trouble::Resting(cause) => write!(f, "{cause}"),
            Trouble::Over(end) => write!(
                f,
                "the source is instant, and its slot could be read until {} alone",
                spell(*end)
            ),
            Trouble::Store(why) => write!(f, "not stored: {why}"),
        }
    }
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is tried again then.
    Again(Timestamp),
    /// It is given up.
    GiveUp,
}

/// Decides after a failed try, with the pause that its number of tries asks for. What could only
/// be tried behind its deadline is given up.
pub(crate) fn judge(
    trouble: &Trouble,
    pause: Duration,
    deadline: Timestamp,
    now: Timestamp,
) -> Verdict {
    let again = now.checked_add(pause.max(trouble.asked_pause()));
    match again.filter(|again| *again <= deadline && !trouble.is_final()) {
        Some(again) => Verdict::Again(again),
        None => Verdict::GiveUp,
    }
}

/// Leaves an upstream alone that failed again and again. Closed, it lets every call through; open,
/// none; after its rest it lets one through and waits for what becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Breaker {
    failures: u32,
    open_until: Option<Monotonic>,
    /// What the last failure was.
    cause: String,
}

impl Breaker {
    /// Lets a call through, or tells the failure for which it does not. The caller says how the
    /// call went.
    pub(crate) fn admit(&mut self, now: Monotonic) -> Result<(), String> {
        match self.open_until {
            None => Ok(()),
            Some(until) if now < until => Err(self.cause.clone()),
            Some(_) => {
                // One looks; the others wait for another rest, or for its success.
                self.open_until = Some(now.after(BREAKER_REST));
                Ok(())
            }
        }
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Breaker::default();
    }

    pub(crate) fn failed(&mut self, now: Monotonic, cause: &Trouble) {
        self.cause = cause.to_string();
        self.failures = self.failures.saturating_add(1);
        if self.failures >= BREAKER_FAILURES {
            self.open_until = Some(now.after(BREAKER_REST));
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open_until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::{Clock, Monotonic, Timestamp};
    use proptest::prelude::{prop_assert, proptest};

    use super::{Breaker, Trouble, Verdict, judge};
    use crate::limits::{BREAKER_FAILURES, BREAKER_REST};

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn status(code: u16) -> Trouble {
        Trouble::Status { code, retry_after: None }
    }

    fn start() -> Monotonic {
        Clock::virtual_at(Timestamp::EPOCH).0.instant()
    }

    #[test]
    fn a_failed_try_comes_again_until_the_deadline() {
        let pause = Duration::from_secs(2);
        for trouble in [status(500), status(408), status(429), status(302), Trouble::TimedOut] {
            assert_eq!(judge(&trouble, pause, at(100), at(98)), Verdict::Again(at(100)));
            assert_eq!(judge(&trouble, pause, at(100), at(99)), Verdict::GiveUp);
        }
    }

    #[test]
    fn what_the_caller_did_wrong_is_not_tried_again() {
        for code in [400, 401, 403, 404, 410, 422, 451] {
            let verdict = judge(&status(code), Duration::ZERO, at(100), at(0));
            assert_eq!(verdict, Verdict::GiveUp, "{code}");
        }
        let forbidden = Trouble::Forbidden("127.0.0.1 is private".to_owned());
        assert_eq!(judge(&forbidden, Duration::ZERO, at(100), at(0)), Verdict::GiveUp);
    }

    #[test]
    fn an_upstream_says_when_it_wants_to_be_asked_again() {
        let asked = |seconds| Trouble::Status {
            code: 429,
            retry_after: Some(Duration::from_secs(seconds)),
        };
        let pause = Duration::from_secs(2);
        assert_eq!(judge(&asked(30), pause, at(100), at(0)), Verdict::Again(at(30)));
        assert_eq!(judge(&asked(1), pause, at(100), at(0)), Verdict::Again(at(2)));
        assert_eq!(judge(&asked(101), pause, at(100), at(0)), Verdict::GiveUp);
    }

    #[test]
    fn a_breaker_opens_rests_looks_once_and_closes() {
        let (mut breaker, begin) = (Breaker::default(), start());
        for _ in 0..BREAKER_FAILURES {
            assert_eq!(breaker.admit(begin), Ok(()));
            breaker.failed(begin, &Trouble::TimedOut);
        }
        let why = Err("no answer within 4s".to_owned());
        assert!(breaker.admit(begin) == why && breaker.is_open());
        let rested = begin.after(BREAKER_REST);
        assert_eq!(breaker.admit(rested), Ok(()), "one looks");
        assert_eq!(breaker.admit(rested), why, "others wait for it");
        breaker.failed(rested, &status(503));
        let why = Err("status 503".to_owned());
        assert_eq!(breaker.admit(rested.after(BREAKER_REST / 2)), why);
        assert_eq!(breaker.admit(rested.after(BREAKER_REST)), Ok(()));
        breaker.succeeded();
        assert!(breaker.admit(rested) == Ok(()) && !breaker.is_open());
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_breaker_calls_a_dead_upstream_once_a_rest(gaps in proptest::collection::vec(0..9_u64, 1..400)) {
            let (mut breaker, mut now, mut calls) = (Breaker::default(), start(), 0_u32);
            let (begin, mut passed) = (now, Duration::ZERO);
            for gap in gaps {
                now = now.after(Duration::from_secs(gap));
                passed = now.since(begin);
                if breaker.admit(now).is_ok() {
                    calls += 1;
                    breaker.failed(now, &Trouble::TimedOut);
                }
            }
            let rests = passed.as_secs() / BREAKER_REST.as_secs();
            prop_assert!(u64::from(calls) <= u64::from(BREAKER_FAILURES) + rests);
        }
    }
}
