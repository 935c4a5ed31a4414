//! Plays whose tokens are good and that cannot be true, for the operator to look at: as they were
//! submitted, or as they were told when they ended.
//!
//! They are remembered here and not in the table, because whoever sends them could otherwise make
//! the store work.

use std::collections::VecDeque;

use base::Timestamp;
use parking_lot::Mutex;

use crate::Score;
use crate::limits::SUSPICIONS_MAX;
use crate::model::play::{Claim, Suspicion};

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Suspected {
    pub(crate) at: Timestamp,
    pub(crate) game: String,
    /// None if the play ended and its token names nobody.
    pub(crate) user: Option<String>,
    /// Whether the player proved that the id is theirs. Anybody can name an unclaimed id.
    pub(crate) is_proven: bool,
    pub(crate) claim: Claim,
    pub(crate) why: Suspicion,
}

impl Score {
    /// Remembers what cannot be true.
    pub(crate) fn suspect(
        &self,
        game: &str,
        user: Option<&str>,
        is_proven: bool,
        claim: Claim,
        why: Suspicion,
    ) {
        let (at, game, user) = (self.clock.now(), game.to_owned(), user.map(str::to_owned));
        self.suspicions.note(Suspected { at, game, user, is_proven, claim, why });
    }
}

/// The newest of them.
#[derive(Default)]
pub(crate) struct Suspicions {
    newest: Mutex<VecDeque<Suspected>>,
}

impl Suspicions {
    /// Remembers one.
    fn note(&self, suspected: Suspected) {
        let mut newest = self.newest.lock();
        newest.push_front(suspected);
        newest.truncate(SUSPICIONS_MAX);
    }

    /// All that are remembered, the newest first.
    pub(crate) fn list(&self) -> Vec<Suspected> {
        self.newest.lock().iter().cloned().collect()
    }
}
