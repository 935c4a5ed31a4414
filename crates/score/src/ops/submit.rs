//! A play becomes a row: of its month and of all time, in one transaction.
//!
//! Invariants:
//! - Both rows, the session's end and the boards' notes are written together or not at all.
//! - A row is replaced only by a better one, compared with what the table holds: the write is
//!   refused if that was another one by then, and decided again. So the best of all that come at
//!   once stays, in whichever order they are served. What memory knows is a first guess, which the
//!   write proves: most plays are stored without a look at the table.
//! - A play of a claimed id is its owner's, and a banned player stores none: the write is refused
//!   otherwise.
//! - A session is for one play. The same play may be submitted once more under the other period,
//!   and hears what is stored; everything else is refused.

use std::sync::Arc;

use base::Timestamp;
use table::{Item, Value as Stored, commit_each};

use super::Tries;
use crate::Score;
use crate::error::Error;
use crate::items::{self, Spent, player};
use crate::limits::{SPENT_KEPT, SUBMIT_GRACE};
use crate::model::board::{BoardKey, Row, Standing};
use crate::model::game::{Game, Value};
use crate::model::period::Period;
use crate::model::play::{Claim, End, Suspicion};
use crate::model::player::kept_until;
use crate::ops::boards::Slot;

/// A play that was found to be in order.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) game: Arc<Game>,
    /// The period that the path names.
    pub(crate) period: Period,
    pub(crate) user: String,
    pub(crate) name: String,
    /// Who owns the user's id, by the play's beginning; none if nobody had claimed it.
    pub(crate) owner: Option<String>,
    pub(crate) claim: Claim,
    pub(crate) end: End,
    pub(crate) meta: Option<Stored>,
}

/// What became of it in one period.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) period: Period,
    pub(crate) updated: bool,
    /// The row as it is stored.
    pub(crate) row: Row,
    pub(crate) rank: Option<usize>,
}

/// One of the two boards that a play counts in.
struct Target {
    key: BoardKey,
    slot: Arc<Slot>,
}

impl Score {
    /// The month of a play that ended then, if the path may name `period` for it.
    pub(crate) fn month_of(&self, period: &Period, end: &End) -> Result<Period, Error> {
        let month = Period::month_of(end.ended, &self.zone);
        let touched = [Period::all(), month.clone(), Period::month_of(end.started, &self.zone)];
        if touched.contains(period) {
            return Ok(month);
        }
        Err(Error::invalid(format!("the play was in {month}, not in {period}")))
    }

    /// Where a play would stand that is below every board that it counts in, and need not be
    /// stored: in all time, or else in its month. None if it is not. Looks at memory alone, once
    /// the boards are filled.
    pub(crate) async fn find_below(
        self: &Arc<Self>,
        game: &Arc<Game>,
        claim: &Claim,
        ended: Timestamp,
        in_all_time: bool,
    ) -> Result<Option<Standing>, Error> {
        let value = self.value(claim);
        let month = Period::month_of(ended, &self.zone);
        let mut standing = None;
        for (period, is_asked) in [(month, !in_all_time), (Period::all(), in_all_time)] {
            let slot = self.board(game, &period).await?;
            let below = slot.read(|board| {
                board.is_below(&value).then(|| is_asked.then(|| board.standing_at(&value)))
            });
            let Some(here) = below else { return Ok(None) };
            standing = standing.or(here);
        }
        Ok(standing)
    }

    /// Stores a play where it is better than what is there.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        submission: &Submission,
    ) -> Result<Vec<Outcome>, Error> {
        let Submission { game, user, end, .. } = submission;
        let month = self.month_of(&submission.period, end)?;
        let mut targets = Vec::new();
        for period in [month, Period::all()] {
            let slot = self.board(game, &period).await?;
            let key = BoardKey::new(&game.name, period);
            if slot.is_archived() {
                let (game, period) = (key.game, key.period.to_string());
                return Err(Error::Archived { game, period });
            }
            targets.push(Target { key, slot });
        }
        let _turn = self.players.enter((game.name.as_str(), user)).await;
        let outcomes = self.store_play(submission, &targets).await?;
        for Target { key, slot } in &targets {
            self.trim_if_long(key, game, slot);
        }
        Ok(outcomes)
    }

    async fn store_play(
        &self,
        submission: &Submission,
        targets: &[Target],
    ) -> Result<Vec<Outcome>, Error> {
        let user = &submission.user;
        let remembered = targets.iter().map(|target| target.find_row(user)).collect();
        if let Some(outcomes) = self.try_guess(submission, targets, remembered).await? {
            return Ok(outcomes);
        }
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            if let Some(outcomes) = self.try_submit(submission, targets).await? {
                return Ok(outcomes);
            }
        }
    }

    /// Stores a play that is better than what memory knows; none if it is not, or if the table
    /// knows otherwise, also that its session is spent.
    async fn try_guess(
        &self,
        submission: &Submission,
        targets: &[Target],
        rows: Vec<Option<Row>>,
    ) -> Result<Option<Vec<Outcome>>, Error> {
        if !rows.iter().all(|before| self.is_better(submission, before.as_ref())) {
            return Ok(None);
        }
        self.write_play(submission, targets, rows).await
    }

    /// None if somebody else was faster.
    async fn try_submit(
        &self,
        submission: &Submission,
        targets: &[Target],
    ) -> Result<Option<Vec<Outcome>>, Error> {
        let Submission { user, owner, end, .. } = submission;
        let mut gets = vec![player::get_player(user), items::get_spent(&end.sid)];
        gets.extend(targets.iter().map(|target| items::get_row(&target.key, user)));
        let found = self.tables.transact_get(gets).await?;
        let mut found = found.iter().map(Option::as_ref);
        let player = player::read_player(found.next().flatten());
        player.check_play(user, owner.as_deref(), self.clock.now())?;
        let spent = found.next().flatten();
        let rows: Vec<Option<Row>> =
            found.map(|item: Option<&Item>| item.and_then(items::read_row)).collect();
        if let Some(spent) = spent {
            return self.answer_again(submission, spent, targets, rows).map(Some);
        }
        self.write_play(submission, targets, rows).await
    }

    /// Uses the session, and stores the play where it is better than these rows; none if they are
    /// not what is there, the session was used, or the player may not play.
    async fn write_play(
        &self,
        submission: &Submission,
        targets: &[Target],
        rows: Vec<Option<Row>>,
    ) -> Result<Option<Vec<Outcome>>, Error> {
        let Submission { game, user, owner, claim, end, .. } = submission;
        let spent = Spent {
            game: game.name.clone(),
            user: user.clone(),
            claim: *claim,
            period: submission.period.to_string(),
        };
        let forget_at = end.ended.checked_add(SUBMIT_GRACE + SPENT_KEPT).unwrap_or(end.ended);
        let (owner, now) = (owner.as_deref(), self.clock.now());
        let mut writes = vec![
            items::put_spent(&end.sid, &spent, forget_at),
            player::may_play(user, owner, now, kept_until(now)),
        ];
        let mut decided = Vec::new();
        for (target, before) in targets.iter().zip(rows) {
            let row = self.decide(submission, before.as_ref());
            if let Some(row) = &row {
                let ver = before.as_ref().map(|before| before.ver);
                writes.push(items::put_row(&target.key, row, submission.meta.as_ref(), ver));
                if !target.slot.is_noted() {
                    writes.push(items::note_board(&target.key));
                }
            }
            decided.push((target, row, before));
        }
        if commit_each(&*self.tables, writes).await?.is_err() {
            return Ok(None);
        }
        let outcomes = decided.into_iter().filter_map(|(target, row, before)| {
            if let Some(row) = &row {
                target.slot.set_noted();
                self.row_written(&target.key, row);
            }
            let updated = row.is_some();
            Some(target.outcome(updated, row.or(before)?))
        });
        Ok(Some(outcomes.collect()))
    }

    /// The row that replaces what is there, if it is better.
    fn decide(&self, submission: &Submission, before: Option<&Row>) -> Option<Row> {
        let last = before.map_or(0, |before| before.ver);
        self.is_better(submission, before).then(|| Row {
            user: Arc::from(submission.user.as_str()),
            name: Arc::from(submission.name.as_str()),
            value: self.value(&submission.claim),
            ver: self.next_version(last),
        })
    }

    fn is_better(&self, submission: &Submission, before: Option<&Row>) -> bool {
        let value = self.value(&submission.claim);
        before.is_none_or(|before| submission.game.sort.compare(&value, &before.value).is_lt())
    }

    /// What is stored, for the same play under the other period.
    fn answer_again(
        &self,
        submission: &Submission,
        spent: &Item,
        targets: &[Target],
        rows: Vec<Option<Row>>,
    ) -> Result<Vec<Outcome>, Error> {
        let spent = items::read_spent(spent).ok_or(Error::Spent)?;
        let is_same = spent.game == submission.game.name
            && spent.user == submission.user
            && spent.claim == submission.claim
            && spent.period != submission.period.as_str();
        if !is_same {
            self.suspect_replay(submission, &spent);
            return Err(Error::Spent);
        }
        let stored = targets.iter().zip(rows);
        Ok(stored.filter_map(|(target, row)| Some(target.outcome(false, row?))).collect())
    }

    /// Notes a session that is used for another play. The same play once more is no sign of
    /// anything: its first answer may be lost.
    fn suspect_replay(&self, submission: &Submission, spent: &Spent) {
        let Submission { game, user, owner, claim, .. } = submission;
        if spent.game == game.name && spent.user == *user && spent.claim == *claim {
            return;
        }
        let why = Suspicion::Replayed { score: spent.claim.score, time_ms: spent.claim.time_ms };
        self.suspect(&game.name, Some(user), owner.is_some(), *claim, why);
    }

    fn value(&self, claim: &Claim) -> Value {
        Value { score: claim.score, time_ms: claim.time_ms, updated_at: self.clock.now() }
    }
}

impl Target {
    /// A player's row, as memory knows it.
    fn find_row(&self, user: &str) -> Option<Row> {
        self.slot.read(|board| board.find_row(user).cloned())
    }

    fn outcome(&self, updated: bool, row: Row) -> Outcome {
        let rank = self.slot.read(|board| board.rank_of(&row.user));
        Outcome { period: self.key.period.clone(), updated, row, rank }
    }
}
