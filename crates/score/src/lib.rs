//! The score room: rankings of many games behind a cheap, strict edge.
//!
//! `model` decides, `items` knows the tables, `ops` are the verbs of the contract, `live` is what
//! is pushed, `api` speaks and keeps forged plays from ever touching the store.
//!
//! What is exact and what may lag:
//! - A row is the best of all plays that were accepted for it, whoever submitted at once: versions
//!   are compared when it is written, and the loser of a race decides again.
//! - A play counts in its month and in all time together, or in neither, and its session once.
//! - Boards are exact behind every acknowledged submission of this instance. What another instance
//!   wrote arrives by a push; where none was carried, a board that is asked for or watched is read
//!   again every `score.board_refresh_seconds`.
//! - A rendered ranking goes when a row on it changes; caches outside may be as old as they are
//!   told to be.

mod api;
mod error;
mod items;
mod jobs;
mod limits;
mod live;
mod model;
mod ops;
mod options;
mod pages;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use base::{Clock, Ids, Stripes, Tasks};
use dispatch::Dispatch;
use edge::{Cache, Ground, Keeping, KeyRing, Operator, Room};
use hub::{Channel, News};
use jiff::tz::TimeZone;
use table::Tables;

use self::api::ranking::{Ranking, RankingKey};
pub use self::api::tokens::sign;
pub use self::error::Error;
pub use self::items::SECRETS;
pub use self::jobs::rotate_keys;
use self::limits::{PLAYER_STRIPES, RANKING_BYTES_MAX, RANKING_FRESH, RANKING_STALE};
#[cfg(feature = "bench")]
pub use self::model::board::bare::BareBoard;
pub use self::model::play::Suspicion;
use self::ops::boards::Boards;
use self::ops::games::Games;
use self::ops::suspicions::Suspicions;
pub use self::options::Options;

/// The room.
pub struct Score {
    tables: Arc<dyn Tables>,
    clock: Clock,
    ids: Ids,
    tasks: Tasks,
    options: Options,
    zone: TimeZone,
    ring: KeyRing,
    games: Games,
    boards: Boards,
    /// Keeps submissions of one player behind each other.
    players: Stripes,
    rankings: Cache<RankingKey, Arc<Ranking>, Arc<Error>>,
    suspicions: Suspicions,
    /// What readers of boards are told.
    changes: Channel,
    /// What other instances are told.
    news: News,
    /// The newest version of a row that was written here.
    versions: AtomicU64,
}

impl Score {
    /// Looks at what the options name, without opening anything.
    ///
    /// # Errors
    /// The zone is none, or the file of games cannot be read or holds none.
    pub fn check(options: &Options) -> Result<(), Error> {
        find_zone(options)?;
        jobs::check_games_file(options)
    }

    /// Opens the room: its tables are made if they are missing, and its games are read.
    ///
    /// # Errors
    /// The zone is none, or the store does not answer. A file of games that cannot be read is
    /// reported and ends nothing here: [`Score::check`] looks at it before a start.
    pub async fn open(
        options: Options,
        ground: &Ground,
        dispatch: &Dispatch,
    ) -> Result<Arc<Score>, Error> {
        let zone = find_zone(&options)?;
        let Ground { tables, clock, ids, random, tasks, .. } = ground.clone();
        for spec in items::tables() {
            tables.ensure_table(spec).await?;
        }
        let random = random.fork("score keys");
        let ring = jobs::open_ring(Arc::clone(&tables), clock.clone(), random, &tasks).await?;
        let refresh = Duration::from_secs(options.board_refresh_seconds);
        let keeping = Keeping {
            fresh: RANKING_FRESH.min(refresh),
            stale: RANKING_STALE,
            weight_max: RANKING_BYTES_MAX,
        };
        let rankings =
            Cache::new(keeping, |_, ranking: &Arc<Ranking>| ranking.weight(), &clock, &tasks);
        let score = Arc::new(Score {
            boards: Boards::new(refresh),
            games: Games::default(),
            players: Stripes::new(PLAYER_STRIPES),
            suspicions: Suspicions::default(),
            changes: live::changes(&ground.hub),
            news: ground.hub.news("score.news"),
            versions: AtomicU64::new(0),
            tables,
            clock,
            ids,
            tasks,
            options,
            zone,
            ring,
            rankings,
        });
        score.watch_games().await?;
        score.hear_news();
        score.start_trimming(dispatch).await?;
        score.start_priming();
        score.start_refreshing(refresh);
        Ok(score)
    }

    /// The room's routes, some of them for the operator.
    pub fn room(self: &Arc<Self>, ground: &Ground, operator: &Operator) -> Room {
        api::room(self, ground, operator)
    }
}

fn find_zone(options: &Options) -> Result<TimeZone, Error> {
    let name = &options.time_zone;
    TimeZone::get(name).map_err(|_| Error::NoSuchZone(name.clone()))
}
