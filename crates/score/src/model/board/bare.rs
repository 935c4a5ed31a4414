//! A board alone, for `cargo xtask bench`: what a rank costs without wire and store.

use std::fmt;
use std::sync::Arc;

use base::Timestamp;

use super::{Board, Row};
use crate::model::game::{Direction, Field, Game, PlayRules, Rule, Sort, Value};
use crate::model::histogram::Histogram;

/// A board of a game by score.
pub struct BareBoard(Board);

impl BareBoard {
    /// A board of these users and their scores.
    ///
    /// # Panics
    /// Never: the sort is one.
    pub fn new(users: impl IntoIterator<Item = (String, i64)>) -> BareBoard {
        let rule = Rule { by: Field::Score, direction: Direction::Descending };
        let game = Game {
            name: "bare".to_owned(),
            sort: Sort::new(vec![rule]).expect("a sort by score is one"),
            top_n: 100,
            rules: PlayRules::default(),
            origins: Vec::new(),
            requires_claim: false,
        };
        let mut board = Board::new(&game, Histogram::default());
        for (user, score) in users {
            let value = Value { score, time_ms: 1, updated_at: Timestamp::EPOCH };
            let user: Arc<str> = Arc::from(user);
            board.put(Row { name: user.clone(), user, value, ver: 1 });
        }
        board.is_filled();
        BareBoard(board)
    }

    /// A user's ordinal, competition and dense rank.
    pub fn ranks(&self, user: &str) -> Option<[u64; 3]> {
        let (_, standing) = self.0.standing_of(user)?;
        Some([standing.ordinal, standing.competition, standing.dense])
    }
}

impl fmt::Debug for BareBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BareBoard").field(&self.0.len()).finish()
    }
}
