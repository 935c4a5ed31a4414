//! A board: the ranking of one game in one period, in memory.
//!
//! The table is the truth, a board is a copy in order. It is filled from the table and follows
//! every change by its row's version.
//!
//! Invariants:
//! - One row for each user. A row replaces an older version of itself only, in whichever order
//!   changes and pages of the table arrive; versions grow for ever, also over a deletion.
//! - While a board is being filled, a row that was deleted meanwhile is not brought back by a page
//!   that was read before.
//! - `places` and `distinct` are what `rows` are, in the order of the game's sort: ranks among
//!   them are exact. Ranks of plays beyond what was trimmed are estimates, and say so.

use std::collections::HashMap;
use std::sync::Arc;

use super::game::{Game, Keys, Sort, Value};
use super::histogram::{Bucket, Histogram};
use super::period::Period;
use super::ranks::Ranks;

/// Which board.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BoardKey {
    pub(crate) game: String,
    pub(crate) period: Period,
}

impl BoardKey {
    pub(crate) fn new(game: &str, period: Period) -> BoardKey {
        BoardKey { game: game.to_owned(), period }
    }
}

/// A player's best play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) user: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) value: Value,
    pub(crate) ver: u64,
}

/// A row's place: its keys, and its user where they are the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    keys: Keys,
    user: Arc<str>,
}

impl Place {
    /// Whether it stands before the place of a user with these keys. The user's text, which lies
    /// elsewhere, is looked at only among equals.
    fn stands_before(&self, keys: &Keys, user: &str) -> bool {
        self.keys.cmp(keys).then_with(|| (*self.user).cmp(user)).is_lt()
    }
}

/// A board.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    sort: Sort,
    top_n: usize,
    rows: HashMap<Arc<str>, Row>,
    places: Ranks<Place>,
    distinct: Ranks<Keys>,
    trimmed: Histogram,
    /// Versions of rows that were deleted while the board is being filled.
    gone: Option<HashMap<Arc<str>, u64>>,
}

/// What a change did. Ranks are from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) user: Arc<str>,
    pub(crate) ver: u64,
    /// The row as it is; none if it is gone.
    pub(crate) row: Option<Row>,
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
    /// Who stands at the end of the board by this row's going down or away.
    pub(crate) entered: Option<(usize, Row)>,
    /// Whether the answer of the ranking is another one now.
    pub(crate) is_seen: bool,
}

/// Where a play stands. Ranks are from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// The place in the list: no two are the same.
    pub(crate) ordinal: u64,
    /// 1 + how many are better: equals share it, and the next skips.
    pub(crate) competition: u64,
    /// 1 + how many different results are better: equals share it, and the next does not skip.
    pub(crate) dense: u64,
    /// How many there are, trimmed ones included.
    pub(crate) total: u64,
    /// Whether trimmed rows were counted into the ranks by estimate, or could not be.
    pub(crate) is_estimate: bool,
}

impl Standing {
    /// The share, in percent, of those who are not better: the first has 100.
    pub(crate) fn percentile(&self) -> f64 {
        let not_better = (self.total + 1).saturating_sub(self.competition);
        (not_better as f64 * 10_000.0 / self.total.max(1) as f64).round() / 100.0
    }
}

impl Board {
    /// An empty board that is about to be filled.
    pub(crate) fn new(game: &Game, trimmed: Histogram) -> Board {
        Board {
            sort: game.sort.clone(),
            top_n: game.top_n,
            trimmed: trimmed.counted_by(game.sort.first()),
            rows: HashMap::new(),
            places: Ranks::default(),
            distinct: Ranks::default(),
            gone: Some(HashMap::new()),
        }
    }

    /// Ends the filling.
    pub(crate) fn is_filled(&mut self) {
        self.gone = None;
    }

    /// Whether the board ranks as the game says.
    pub(crate) fn fits(&self, game: &Game) -> bool {
        self.sort == game.sort && self.top_n == game.top_n
    }

    /// Whether another board shows the same rows, of the same versions.
    pub(crate) fn shows(&self, other: &Board) -> bool {
        let seen = |row: &Row| (row.user.clone(), row.ver);
        self.top_n == other.top_n && self.top().map(seen).eq(other.top().map(seen))
    }

    pub(crate) fn set_trimmed(&mut self, trimmed: Histogram) {
        self.trimmed = trimmed.counted_by(self.sort.first());
    }

    /// How many there are, trimmed ones included.
    pub(crate) fn total(&self) -> u64 {
        self.rows.len() as u64 + self.trimmed.total()
    }

    /// Takes in a row; none if it is no newer than what is known.
    pub(crate) fn put(&mut self, row: Row) -> Option<Change> {
        let known = self.rows.get(&row.user).map(|known| known.ver);
        let gone = self.gone.as_ref().and_then(|gone| gone.get(&row.user)).copied();
        if known.max(gone) >= Some(row.ver) {
            return None;
        }
        let before = self.take(&row.user);
        let place = self.place(&row);
        // The distinct list has each of the keys once.
        self.distinct.insert(place.keys);
        self.places.insert(place);
        let (user, ver) = (row.user.clone(), row.ver);
        self.rows.insert(user.clone(), row.clone());
        let after = self.rank_of(&user);
        Some(self.change(user, ver, Some(row), before, after))
    }

    /// Takes a row away; none if it is newer, or not there.
    pub(crate) fn remove(&mut self, user: &str, ver: u64) -> Option<Change> {
        let user: Arc<str> = Arc::from(user);
        if let Some(gone) = &mut self.gone {
            let known = gone.entry(user.clone()).or_default();
            *known = ver.max(*known);
        }
        if self.rows.get(&user)?.ver > ver {
            return None;
        }
        let before = self.take(&user);
        Some(self.change(user, ver, None, before, None))
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn top_n(&self) -> usize {
        self.top_n
    }

    /// A user's row.
    pub(crate) fn find_row(&self, user: &str) -> Option<&Row> {
        self.rows.get(user)
    }

    /// The rank of a user, from 1.
    pub(crate) fn rank_of(&self, user: &str) -> Option<usize> {
        let keys = self.sort.keys(&self.rows.get(user)?.value);
        Some(self.places.before(|other| other.stands_before(&keys, user)) + 1)
    }

    /// The rows from a rank on, which is from 1.
    pub(crate) fn from(&self, rank: usize) -> impl Iterator<Item = &Row> {
        let places = self.places.from(rank.saturating_sub(1));
        places.filter_map(|place| self.rows.get(&place.user))
    }

    /// The rows that the ranking shows.
    pub(crate) fn top(&self) -> impl Iterator<Item = &Row> {
        self.from(1).take(self.top_n)
    }

    /// The row at the last rank of a full board: whoever is worse is not on it.
    pub(crate) fn threshold(&self) -> Option<&Row> {
        self.from(self.top_n).next()
    }

    /// Whether a play would stand below a full board, whoever played it and whenever it is stored. A
    /// tie does not.
    pub(crate) fn is_below(&self, value: &Value) -> bool {
        let last = self.threshold();
        last.is_some_and(|last| self.sort.compare_for_certain(value, &last.value).is_gt())
    }

    /// A user's row, and where it stands.
    pub(crate) fn standing_of(&self, user: &str) -> Option<(&Row, Standing)> {
        let row = self.rows.get(user)?;
        let keys = self.sort.keys(&row.value);
        let (better, before) = self
            .places
            .before_both(|other| other.keys < keys, |other| other.stands_before(&keys, user));
        Some((row, self.standing(better, before, &keys)))
    }

    /// Where a play would stand that is on no board, behind its equals.
    pub(crate) fn standing_at(&self, value: &Value) -> Standing {
        let keys = self.sort.keys(value);
        let (better, before) =
            self.places.before_both(|other| other.keys < keys, |other| other.keys <= keys);
        let mut standing = self.standing(better, before, &keys);
        standing.total += 1;
        standing
    }

    /// How many stand where: equal steps of the first key, at most so many, from the best. Trimmed
    /// rows are counted in by estimate, if they have a place.
    pub(crate) fn distribution(&self, steps_max: u32) -> Vec<Bucket> {
        let first = |keys: &Keys| keys.first().copied().unwrap_or(0);
        let ends = [self.places.get(0), self.places.get(self.len().saturating_sub(1))];
        let ranked = ends.into_iter().flatten().map(|place| first(&place.keys));
        let trimmed = self.trimmed.buckets().iter().flat_map(|bucket| [bucket.low, bucket.high]);
        let ends: Vec<i64> = ranked.chain(trimmed).collect();
        let (Some(best), Some(worst)) = (ends.iter().min(), ends.iter().max()) else {
            return Vec::new();
        };
        let width = worst.saturating_sub(*best) / i64::from(steps_max.max(1)) + 1;
        let before = |key: i64| {
            let ranked = self.places.before(|place| first(&place.keys) < key);
            ranked as u64 + self.trimmed.better(key)
        };
        let (mut steps, mut low, mut counted) = (Vec::new(), *best, 0);
        for _ in 0..steps_max.max(1) {
            if low > *worst {
                break;
            }
            let next = low.saturating_add(width);
            let upto = before(next);
            steps.push(Bucket { low, high: next - 1, count: upto - counted });
            (low, counted) = (next, upto);
        }
        steps
    }

    fn standing(&self, better: usize, before: usize, keys: &Keys) -> Standing {
        let has_ties = self.distinct.len() != self.places.len();
        let distinct = if has_ties { self.distinct.before(|other| other < keys) } else { better };
        let trimmed = self.trimmed.better(keys.first().copied().unwrap_or(0));
        Standing {
            ordinal: before as u64 + 1 + trimmed,
            competition: better as u64 + 1 + trimmed,
            dense: distinct as u64 + 1 + trimmed,
            total: self.total(),
            is_estimate: trimmed > 0 || self.trimmed.unplaced() > 0,
        }
    }

    fn place(&self, row: &Row) -> Place {
        Place { keys: self.sort.keys(&row.value), user: row.user.clone() }
    }

    /// Takes a row out of all lists; its rank.
    fn take(&mut self, user: &Arc<str>) -> Option<usize> {
        let rank = self.rank_of(user)?;
        let row = self.rows.remove(user)?;
        let place = self.place(&row);
        self.places.remove(&place);
        let first = self.places.before(|other| other.keys < place.keys);
        if self.places.get(first).is_none_or(|other| other.keys != place.keys) {
            self.distinct.remove(&place.keys);
        }
        Some(rank)
    }

    fn change(
        &self,
        user: Arc<str>,
        ver: u64,
        row: Option<Row>,
        before: Option<usize>,
        after: Option<usize>,
    ) -> Change {
        let top = |rank: Option<usize>| rank.is_some_and(|rank| rank <= self.top_n);
        let entered = || Some((self.top_n, self.from(self.top_n).next()?.clone()));
        let entered = if top(before) && !top(after) { entered() } else { None };
        Change { user, ver, row, before, after, entered, is_seen: top(before) || top(after) }
    }
}

#[cfg(feature = "bench")]
pub(crate) mod bare;
#[cfg(test)]
mod tests;
