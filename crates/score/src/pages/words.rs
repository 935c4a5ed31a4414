//! What the pages say, in Japanese and English. One type holds all words, so that a missing one
//! does not compile. What modules say is part of it and handed to them as data.

mod en;
mod ja;

use edge::Language;
use serde::Serialize;

use crate::model::game::{Direction, Field, Rule};

/// The words of one language. `{n}` is a number.
pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    pub(super) games_empty: &'static str,
    pub(super) games_empty_hint: &'static str,
    pub(super) file_broken: &'static str,
    pub(super) sample: &'static str,
    pub(super) sample_lead: &'static str,
    pub(super) sample_board: &'static str,
    pub(super) sample_hint: &'static str,
    pub(super) for_makers: &'static str,
    pub(super) all_games: &'static str,
    pub(super) no_game_title: &'static str,
    pub(super) comma: &'static str,
    /// How a rule orders: score, time, date; the greatest first and the least first.
    orders: [[&'static str; 2]; 3],
    fields: [&'static str; 3],
    directions: [&'static str; 2],

    pub(super) period: &'static str,
    pub(super) all_time: &'static str,
    pub(super) archived: &'static str,
    pub(super) best: &'static str,
    pub(super) rank: &'static str,
    pub(super) player: &'static str,
    pub(super) score: &'static str,
    pub(super) time: &'static str,
    pub(super) board_empty: &'static str,
    pub(super) around: &'static str,
    pub(super) user_id: &'static str,
    pub(super) find: &'static str,
    pub(super) not_here: &'static str,
    pub(super) estimate: &'static str,
    pub(super) distribution: &'static str,

    pub(super) desk: &'static str,
    pub(super) desk_title: &'static str,
    pub(super) console: &'static str,
    pub(super) leave: &'static str,
    pub(super) needs_script: &'static str,
    pub(super) key: &'static str,
    pub(super) key_hint: &'static str,
    pub(super) enter: &'static str,
    pub(super) or_sign_in: &'static str,
    pub(super) sign_in: &'static str,
    pub(super) suspicions: &'static str,
    pub(super) suspicions_hint: &'static str,
    pub(super) suspicions_empty: &'static str,
    pub(super) look_again: &'static str,
    pub(super) act_ban: &'static str,
    pub(super) act_score: &'static str,
    pub(super) audit: &'static str,
    pub(super) audit_empty: &'static str,
    pub(super) audit_whole: &'static str,
    pub(super) audit_broken: &'static str,
    pub(super) older: &'static str,
    pub(super) games: &'static str,
    pub(super) game: &'static str,
    pub(super) pick_game: &'static str,
    pub(super) new_game: &'static str,
    pub(super) game_name: &'static str,
    pub(super) sort: &'static str,
    pub(super) direction: &'static str,
    pub(super) top_n: &'static str,
    pub(super) tolerance: &'static str,
    pub(super) shortfall: &'static str,
    pub(super) shortfall_hint: &'static str,
    pub(super) min_play: &'static str,
    pub(super) min_score: &'static str,
    pub(super) max_score: &'static str,
    pub(super) max_rate: &'static str,
    pub(super) require_claim: &'static str,
    pub(super) require_claim_hint: &'static str,
    pub(super) origins: &'static str,
    pub(super) origins_hint: &'static str,
    pub(super) save: &'static str,
    pub(super) delete_game: &'static str,
    pub(super) add_sample: &'static str,
    pub(super) trim: &'static str,
    pub(super) trim_hint: &'static str,
    pub(super) dry_run: &'static str,
    pub(super) trim_now: &'static str,
    pub(super) board: &'static str,
    pub(super) kept: &'static str,
    pub(super) deleted: &'static str,
    pub(super) delete_score: &'static str,
    pub(super) period_hint: &'static str,
    pub(super) all_periods: &'static str,
    pub(super) reason: &'static str,
    pub(super) bans: &'static str,
    pub(super) bans_hint: &'static str,
    pub(super) bans_empty: &'static str,
    pub(super) unban: &'static str,

    pub(super) said: Said,
}

/// What modules say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) connecting: &'static str,
    live: &'static str,
    away: &'static str,
    pub(super) players: &'static str,
    pub(super) standing: &'static str,
    pub(super) line: &'static str,
    pub(super) not_full: &'static str,
    saved: &'static str,
    deleted: &'static str,
    banned: &'static str,
    unbanned: &'static str,
    confirm_trim: &'static str,
    confirm_score: &'static str,
    confirm_scores: &'static str,
    confirm_game: &'static str,
    trim_dry: &'static str,
    trim_done: &'static str,
    archives: &'static str,
    key_wrong: &'static str,
    signed_out: &'static str,
    nobody: &'static str,
    unproven: &'static str,
    offline: &'static str,
    failed: &'static str,
    reasons: Reasons,
    actions: Actions,
}

/// Why a submission was not believed, by its code.
#[derive(Debug, Serialize)]
struct Reasons {
    no_play: &'static str,
    play_too_long: &'static str,
    token_expired: &'static str,
    time_exceeds_play: &'static str,
    time_below_play: &'static str,
    play_too_short: &'static str,
    score_too_low: &'static str,
    score_too_high: &'static str,
    score_too_fast: &'static str,
    session_replayed: &'static str,
}

/// What the operator did, by its word in the audit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Actions {
    set_game: &'static str,
    delete_game: &'static str,
    ban: &'static str,
    unban: &'static str,
    delete_score: &'static str,
    import: &'static str,
    export: &'static str,
    trim: &'static str,
}

impl Words {
    /// A field's name.
    pub(super) fn field(&self, field: Field) -> &'static str {
        let [score, time, updated] = self.fields;
        match field {
            Field::Score => score,
            Field::TimeMs => time,
            Field::UpdatedAt => updated,
        }
    }

    /// A direction's name.
    pub(super) fn direction_of(&self, direction: Direction) -> &'static str {
        let [descending, ascending] = self.directions;
        match direction {
            Direction::Descending => descending,
            Direction::Ascending => ascending,
        }
    }

    /// How a rule orders.
    pub(super) fn order(&self, rule: Rule) -> &'static str {
        let [score, time, updated] = self.orders;
        let [descending, ascending] = match rule.by {
            Field::Score => score,
            Field::TimeMs => time,
            Field::UpdatedAt => updated,
        };
        match rule.direction {
            Direction::Descending => descending,
            Direction::Ascending => ascending,
        }
    }

    /// A sentence with its number.
    pub(super) fn counted(&self, sentence: &str, n: u64) -> String {
        sentence.replace("{n}", &grouped(n as i64))
    }
}

/// The words of a language.
pub(super) fn of(language: Language) -> &'static Words {
    match language {
        Language::En => &en::WORDS,
        Language::Ja => &ja::WORDS,
    }
}

/// A number with a comma between thousands, as both languages write it.
pub(super) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Milliseconds as `1:02.345`, without the minutes if there are none.
pub(super) fn seconds(millis: i64) -> String {
    let (sign, millis) = (if millis < 0 { "-" } else { "" }, millis.unsigned_abs());
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    match minutes {
        0 => format!("{sign}{seconds}.{millis:03}"),
        minutes => format!("{sign}{minutes}:{seconds:02}.{millis:03}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{grouped, seconds};

    #[test]
    fn numbers_and_times_are_as_people_write_them() {
        let numbers = [0, 999, 1000, -1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "-1,234,567"]);
        let times = [1, 900, 10_000, 62_345, 3_600_000].map(seconds);
        assert_eq!(times, ["0.001", "0.900", "10.000", "1:02.345", "60:00.000"]);
    }
}
