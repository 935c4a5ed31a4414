//! The games and the bans, as they are now.
//!
//! Games come from a file and from the operator; what the operator set goes first, also that a
//! game is gone. A house that has neither a file nor a game offers the sample game, so that it can be
//! tried at once. Invariant: what is broken, in the file or in the table, takes no game away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use table::query_all;

use crate::Score;
use crate::error::Error;
use crate::items;
use crate::model::game::Game;

/// All games.
#[derive(Default)]
pub(crate) struct Games {
    file: Mutex<FromFile>,
    seen: RwLock<Arc<Catalogue>>,
}

#[derive(Clone, Default)]
struct FromFile {
    games: Vec<Game>,
    problem: Option<String>,
}

/// What holds at a moment.
#[derive(Default)]
pub(crate) struct Catalogue {
    pub(crate) games: BTreeMap<String, Arc<Game>>,
    /// The sample game's name, if the house offers it because it has no game of its own.
    pub(crate) sample: Option<String>,
    /// Who may not submit, and why.
    pub(crate) bans: BTreeMap<String, String>,
    /// What is wrong with the file.
    pub(crate) problem: Option<String>,
}

impl Games {
    /// What holds now.
    pub(crate) fn now(&self) -> Arc<Catalogue> {
        Arc::clone(&self.seen.read())
    }

    /// What the file says now; what is broken changes nothing but the word about it.
    pub(crate) fn set_file(&self, games: Result<Vec<Game>, Error>) {
        let mut file = self.file.lock();
        match games {
            Ok(games) => *file = FromFile { games, problem: None },
            Err(error) => file.problem = Some(error.to_string()),
        }
    }
}

impl Score {
    /// The game of that name.
    pub(crate) fn get_game(&self, name: &str) -> Result<Arc<Game>, Error> {
        let game = self.games.now().games.get(name).cloned();
        game.ok_or_else(|| Error::NoSuchGame(name.to_owned()))
    }

    /// Looks at file and table, and says what holds from now on.
    pub(crate) async fn reload_games(self: &Arc<Self>) -> Result<(), Error> {
        let FromFile { games, problem } = self.games.file.lock().clone();
        let own = query_all(&*self.tables, items::game::query_games()).await?;
        let bans = query_all(&*self.tables, items::player::query_bans()).await?;
        let named = |game: Game| (game.name.clone(), Arc::new(game));
        let mut games: BTreeMap<String, Arc<Game>> = games.into_iter().map(named).collect();
        let mut is_deleted = BTreeSet::new();
        for (name, game) in own.iter().filter_map(items::game::read_game) {
            match game {
                Some(game) => drop(games.insert(name, Arc::new(game))),
                None => {
                    games.remove(&name);
                    is_deleted.insert(name);
                }
            }
        }
        let wants_sample = games.is_empty() && self.options.games_file.is_none();
        let sample = wants_sample.then(items::game::sample_game).flatten();
        let sample = sample.filter(|game| !is_deleted.contains(&game.name));
        games.extend(sample.clone().map(named));
        let sample = sample.map(|game| game.name);
        let bans = bans.iter().filter_map(items::player::read_ban).collect();
        let is_same = self.games.now().games == games;
        *self.games.seen.write() = Arc::new(Catalogue { games, sample, bans, problem });
        if !is_same {
            self.rankings.invalidate_all();
            self.refit_boards();
        }
        Ok(())
    }
}
