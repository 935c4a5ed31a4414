//! A play: what its two tokens say, what its player claims, and whether that can be.
//!
//! The house measures a play by its own clock, from the start token to the end token. What the
//! player claims must fit into that.

use std::fmt;

use base::Timestamp;

use super::game::Game;
use crate::error::Error;
use crate::limits::{PLAY_SECONDS_MAX, SCORE_MAX, SUBMIT_GRACE};

/// What a start token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) game: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) sid: String,
    /// What the cookie of the player's browser says, if it was there before this play.
    pub(crate) browser: Option<String>,
    /// The digest of the secret with which the player proved that the id is theirs.
    pub(crate) owner: Option<String>,
    pub(crate) started: Timestamp,
    pub(crate) max_seconds: u64,
}

impl Start {
    /// What the browser's cookie must say.
    pub(crate) fn cookie(&self) -> &str {
        self.browser.as_deref().unwrap_or(&self.sid)
    }
}

/// What an end token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) game: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) sid: String,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
}

/// What a player says of a play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) score: i64,
    pub(crate) time_ms: i64,
}

/// Why a play is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// It ended before it began.
    NoPlay,
    /// It lasted longer than a play may.
    TooLong {
        /// What was measured.
        played_ms: i64,
    },
    /// It was submitted long after its end.
    TooLate {
        /// How long after.
        seconds: u64,
    },
    /// It claims more time than was measured.
    TimeExceedsPlay {
        /// What is claimed.
        time_ms: i64,
        /// What was measured.
        played_ms: i64,
    },
    /// It claims much less time than was measured.
    TimeBelowPlay {
        /// What is claimed.
        time_ms: i64,
        /// What was measured.
        played_ms: i64,
    },
    /// It is shorter than a play of this game can be.
    TooShort {
        /// What was measured or claimed, whichever is less.
        played_ms: i64,
        /// What the game asks for.
        min_ms: i64,
    },
    /// Its score is lower than this game gives.
    ScoreTooLow {
        /// What is claimed.
        score: i64,
        /// What the game gives.
        min: i64,
    },
    /// Its score is higher than this game gives.
    ScoreTooHigh {
        /// What is claimed.
        score: i64,
        /// What the game gives.
        max: i64,
    },
    /// Its score grew faster than in this game it can.
    ScoreTooFast {
        /// What is claimed.
        score: i64,
        /// What the game gives in a second.
        max_per_second: i64,
    },
    /// Its session was used for another play.
    Replayed {
        /// What was played then.
        score: i64,
        /// In which time.
        time_ms: i64,
    },
}

impl Suspicion {
    /// A stable word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Suspicion::NoPlay => "no_play",
            Suspicion::TooLong { .. } => "play_too_long",
            Suspicion::TooLate { .. } => "token_expired",
            Suspicion::TimeExceedsPlay { .. } => "time_exceeds_play",
            Suspicion::TimeBelowPlay { .. } => "time_below_play",
            Suspicion::TooShort { .. } => "play_too_short",
            Suspicion::ScoreTooLow { .. } => "score_too_low",
            Suspicion::ScoreTooHigh { .. } => "score_too_high",
            Suspicion::ScoreTooFast { .. } => "score_too_fast",
            Suspicion::Replayed { .. } => "session_replayed",
        }
    }
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suspicion::NoPlay => write!(f, "the play ended before it began"),
            Suspicion::TooLong { played_ms } => {
                write!(f, "the play lasted {played_ms} ms, at most {PLAY_SECONDS_MAX} s allowed")
            }
            Suspicion::TooLate { seconds } => {
                let most = SUBMIT_GRACE.as_secs();
                write!(f, "the play ended {seconds} s ago, at most {most} s allowed")
            }
            Suspicion::TimeExceedsPlay { time_ms, played_ms }
            | Suspicion::TimeBelowPlay { time_ms, played_ms } => {
                write!(f, "timeMs is {time_ms}, and the play was measured at {played_ms} ms")
            }
            Suspicion::TooShort { played_ms, min_ms } => {
                write!(f, "the play took {played_ms} ms, at least {min_ms} ms needed")
            }
            Suspicion::ScoreTooLow { score, min } => {
                write!(f, "the score is {score}, at least {min} possible")
            }
            Suspicion::ScoreTooHigh { score, max } => {
                write!(f, "the score is {score}, at most {max} possible")
            }
            Suspicion::ScoreTooFast { score, max_per_second } => {
                write!(f, "the score is {score}, at most {max_per_second} in a second possible")
            }
            Suspicion::Replayed { score, time_ms } => {
                write!(f, "the session was used for a score of {score} in {time_ms} ms")
            }
        }
    }
}

impl Claim {
    /// The claim, if it is within the bounds of numbers.
    pub(crate) fn new(score: i64, time_ms: i64) -> Result<Claim, Error> {
        if !(-SCORE_MAX..=SCORE_MAX).contains(&score) {
            let told = format!("X-Score must be from -{SCORE_MAX} to {SCORE_MAX}, not {score}");
            return Err(Error::invalid(told));
        }
        if !(1..=SCORE_MAX).contains(&time_ms) {
            let told = format!("X-Time-Ms must be from 1 to {SCORE_MAX}, not {time_ms}");
            return Err(Error::invalid(told));
        }
        Ok(Claim { score, time_ms })
    }

    /// Whether the claim fits into a play that was measured so, by the game's rules.
    pub(crate) fn judge(&self, played_ms: i64, game: &Game) -> Result<(), Suspicion> {
        let (Claim { score, time_ms }, rules) = (*self, &game.rules);
        self.judge_time(played_ms, rules.time_tolerance_ms)?;
        if time_ms.saturating_add(rules.shortfall_ms(&game.sort)) < played_ms {
            return Err(Suspicion::TimeBelowPlay { time_ms, played_ms });
        }
        let least = time_ms.min(played_ms);
        if let Some(min_ms) = rules.min_play_ms.filter(|min_ms| least < *min_ms) {
            return Err(Suspicion::TooShort { played_ms: least, min_ms });
        }
        if let Some(min) = rules.min_score.filter(|min| score < *min) {
            return Err(Suspicion::ScoreTooLow { score, min });
        }
        if let Some(max) = rules.max_score.filter(|max| score > *max) {
            return Err(Suspicion::ScoreTooHigh { score, max });
        }
        let too_fast =
            |most: &i64| i128::from(score) * 1000 > i128::from(*most) * i128::from(played_ms);
        if let Some(max_per_second) = rules.max_score_per_second.filter(too_fast) {
            return Err(Suspicion::ScoreTooFast { score, max_per_second });
        }
        Ok(())
    }

    /// Whether the claimed time fits into a play of any game.
    pub(crate) fn judge_time(&self, played_ms: i64, tolerance_ms: i64) -> Result<(), Suspicion> {
        let time_ms = self.time_ms;
        if time_ms > played_ms.saturating_add(tolerance_ms) {
            return Err(Suspicion::TimeExceedsPlay { time_ms, played_ms });
        }
        Ok(())
    }
}

/// How long a play lasted, if it can have.
pub(crate) fn measure(
    started: Timestamp,
    ended: Timestamp,
    max_seconds: u64,
) -> Result<i64, Suspicion> {
    let played = ended.checked_since(started).filter(|played| !played.is_zero());
    let played = played.ok_or(Suspicion::NoPlay)?;
    let played_ms = i64::try_from(played.as_millis()).unwrap_or(i64::MAX);
    if played.as_millis() > u128::from(max_seconds.min(PLAY_SECONDS_MAX)) * 1000 {
        return Err(Suspicion::TooLong { played_ms });
    }
    Ok(played_ms)
}

/// Both tokens of a play that is submitted now, against each other, its path and the clock.
pub(crate) fn check_tokens(start: &Start, end: &End, game: &str, user: &str) -> Result<(), Error> {
    let wrong = |which, why| Err(Error::BadToken { which, why });
    if start.sid != end.sid || start.started != end.started {
        return wrong("X-Token-End", "it belongs to another X-Token-Start");
    }
    let bound = |to: &Option<String>, path: &str| to.as_deref().is_none_or(|to| to == path);
    for (which, to) in [("X-Token-Start", &start.game), ("X-Token-End", &end.game)] {
        if !bound(to, game) {
            return wrong(which, "it belongs to another game");
        }
    }
    for (which, to) in [("X-Token-Start", &start.user), ("X-Token-End", &end.user)] {
        if !bound(to, user) {
            return wrong(which, "it belongs to another user");
        }
    }
    Ok(())
}

/// Whether the claim of a submitted play can be true.
pub(crate) fn judge(
    start: &Start,
    end: &End,
    claim: &Claim,
    game: &Game,
    now: Timestamp,
) -> Result<(), Suspicion> {
    let played_ms = measure(end.started, end.ended, start.max_seconds)?;
    let ago = now.since(end.ended);
    if ago > SUBMIT_GRACE {
        return Err(Suspicion::TooLate { seconds: ago.as_secs() });
    }
    claim.judge(played_ms, game)
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{Claim, End, Start, Suspicion, check_tokens, measure};
    use crate::model::game::{Direction, Field, Game, PlayRules, Rule, Sort};

    /// A game that ranks by one field.
    fn game(by: Field, direction: Direction, rules: PlayRules) -> Game {
        let sort = Sort::new(vec![Rule { by, direction }]).unwrap();
        let (name, origins) = ("g".to_owned(), Vec::new());
        Game { name, sort, top_n: 10, rules, origins, requires_claim: false }
    }

    const AT: fn(u64) -> Timestamp = Timestamp::from_millis;

    #[test]
    fn a_play_is_measured_to_the_millisecond() {
        assert_eq!(measure(AT(5), AT(5), 1800), Err(Suspicion::NoPlay));
        assert_eq!(measure(AT(5), AT(4), 1800), Err(Suspicion::NoPlay));
        assert_eq!(measure(AT(5), AT(6), 1800), Ok(1));
        assert_eq!(measure(AT(0), AT(1_800_000), 1800), Ok(1_800_000));
        let too_long = Suspicion::TooLong { played_ms: 1_800_001 };
        assert_eq!(measure(AT(0), AT(1_800_001), 1800), Err(too_long));
        assert_eq!(measure(AT(0), AT(1_800_001), 9999), Err(too_long), "whatever the token says");
    }

    #[test]
    fn a_claim_must_fit_the_measured_play_and_the_games_rules() {
        let rules = PlayRules {
            min_play_ms: Some(500),
            max_score: Some(100),
            max_score_per_second: Some(10),
            ..PlayRules::default()
        };
        let game = game(Field::Score, Direction::Descending, rules);
        let judge = |score, time_ms, played_ms| {
            Claim { score, time_ms }.judge(played_ms, &game).map_err(|why| why.word())
        };
        assert_eq!(judge(10, 2500, 1000), Ok(()));
        assert_eq!(judge(10, 2501, 1000), Err("time_exceeds_play"));
        assert_eq!(judge(1, 499, 1000), Err("play_too_short"));
        assert_eq!(judge(1, 1000, 499), Err("play_too_short"));
        assert_eq!(judge(101, 60_000, 60_000), Err("score_too_high"));
        assert_eq!(judge(11, 1000, 1000), Err("score_too_fast"));
        assert_eq!(judge(-5, 1000, 1000), Ok(()));
    }

    #[test]
    fn a_time_far_below_the_measured_play_is_not_believed() {
        let judge = |by, direction, time_shortfall_ms, time_ms, played_ms| {
            let rules = PlayRules { time_shortfall_ms, ..PlayRules::default() };
            let game = game(by, direction, rules);
            Claim { score: 1, time_ms }.judge(played_ms, &game).map_err(|why| why.word())
        };
        let below = Err("time_below_play");
        let (score, time) = (Field::Score, Field::TimeMs);
        let (descending, ascending) = (Direction::Descending, Direction::Ascending);
        assert_eq!(judge(score, descending, None, 30_000, 60_000), Ok(()));
        assert_eq!(judge(score, descending, None, 29_999, 60_000), below);
        assert_eq!(judge(time, ascending, None, 50_000, 60_000), Ok(()));
        assert_eq!(judge(time, ascending, None, 49_999, 60_000), below);
        assert_eq!(judge(time, descending, None, 30_000, 60_000), Ok(()), "longest is best");
        assert_eq!(judge(time, ascending, Some(60_000), 1, 60_001), Ok(()), "the game says");
        assert_eq!(judge(time, ascending, Some(0), 59_999, 60_000), below);
    }

    #[test]
    fn a_score_may_have_a_least_one_for_games_in_which_less_is_better() {
        let rules = PlayRules { min_score: Some(-3), ..PlayRules::default() };
        let game = game(Field::Score, Direction::Ascending, rules);
        let judge = |score| Claim { score, time_ms: 900 }.judge(1000, &game);
        assert_eq!(judge(-3), Ok(()));
        assert_eq!(judge(-4), Err(Suspicion::ScoreTooLow { score: -4, min: -3 }));
    }

    #[test]
    fn numbers_beyond_what_clients_hold_exactly_are_refused() {
        let most = 1_i64 << 53;
        for (score, time_ms) in [(most, 1), (-most, most)] {
            assert!(Claim::new(score, time_ms).is_ok());
        }
        for (score, time_ms) in [(most + 1, 1), (-most - 1, 1), (0, 0), (0, -1), (0, most + 1)] {
            assert!(Claim::new(score, time_ms).is_err(), "{score} {time_ms}");
        }
    }

    #[test]
    fn tokens_must_belong_together_and_to_the_path() {
        let start = Start {
            game: Some("g".to_owned()),
            user: None,
            sid: "s".to_owned(),
            browser: None,
            owner: None,
            started: AT(1),
            max_seconds: 1800,
        };
        let end = End {
            game: Some("g".to_owned()),
            user: Some("u".to_owned()),
            sid: "s".to_owned(),
            started: AT(1),
            ended: AT(2),
        };
        let told = |start: &Start, end: &End, game, user| {
            check_tokens(start, end, game, user).map_err(|error| error.to_string())
        };
        assert_eq!(told(&start, &end, "g", "u"), Ok(()));
        let other = "X-Token-End is not valid: it belongs to another X-Token-Start".to_owned();
        let of_other = End { sid: "t".to_owned(), ..end.clone() };
        assert_eq!(told(&start, &of_other, "g", "u"), Err(other.clone()));
        let moved = End { started: AT(0), ..end.clone() };
        assert_eq!(told(&start, &moved, "g", "u"), Err(other));
        let game = "X-Token-Start is not valid: it belongs to another game".to_owned();
        assert_eq!(told(&start, &end, "h", "u"), Err(game));
        let user = "X-Token-End is not valid: it belongs to another user".to_owned();
        assert_eq!(told(&start, &end, "g", "v"), Err(user));
    }
}
