//! What happens without a call: games are read again, other instances are heard, boards compared
//! with the store and trimmed, keys turned.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks};
use dispatch::{Dispatch, Failed, Job, Schedule};
use edge::{KeyRing, Rotation, WatchedFile};
use hub::Heard;
use table::Tables;

use crate::error::Error;
use crate::items;
use crate::limits::{GAMES_FILE_BYTES_MAX, GAMES_REFRESH, KEY_KEPT};
use crate::live::NewsKind;
use crate::model::board::BoardKey;
use crate::{Options, Score};

/// The job that trims all boards.
pub(crate) const TRIM: &str = "score-trim";
/// When it runs: in the quiet after the keys have turned.
const TRIM_AT: &str = "0 3 * * *";

/// The ring whose keys sign the tokens of plays.
const RING: &str = "score";

/// A new key every day at 02:00 UTC.
const ROTATION: Rotation = Rotation {
    every: Duration::from_secs(24 * 60 * 60),
    at: Duration::from_secs(2 * 60 * 60),
    keep: KEY_KEPT,
};

/// Looks at the file of games, if the options name one.
///
/// # Errors
/// It cannot be read, or is no list of games.
pub(crate) fn check_games_file(options: &Options) -> Result<(), Error> {
    let Some(path) = &options.games_file else { return Ok(()) };
    let refused = |why: String| Error::GamesFile { path: path.clone(), why };
    let mut file = WatchedFile::new(path.clone(), GAMES_FILE_BYTES_MAX);
    let text = file.look().cloned().expect("the first look answers").map_err(refused)?;
    items::game::read_games(&text).map(drop).map_err(|error| refused(error.to_string()))
}

impl Score {
    /// Reads the games, and goes on looking whether they have changed.
    pub(crate) async fn watch_games(self: &Arc<Self>) -> Result<(), Error> {
        let path = self.options.games_file.clone();
        let mut file = path.map(|path| WatchedFile::new(path, GAMES_FILE_BYTES_MAX));
        self.look_at_file(file.as_mut());
        self.reload_games().await?;
        let score = Arc::clone(self);
        let mut ticks = self.tasks.ticks(&self.clock, GAMES_REFRESH);
        self.tasks.spawn("score games", async move {
            while ticks.next().await {
                score.look_at_file(file.as_mut());
                if let Err(error) = score.reload_games().await {
                    tracing::warn!(%error, "cannot read the games");
                }
            }
        });
        Ok(())
    }

    /// Takes the games from the file, if it is another one than was seen.
    fn look_at_file(&self, file: Option<&mut WatchedFile>) {
        let Some(text) = file.and_then(WatchedFile::look) else { return };
        let text = text.clone().map_err(Error::Invalid);
        let games = text.and_then(|text| items::game::read_games(&text));
        if let Err(error) = &games {
            let file = self.options.games_file.as_deref().map(std::path::Path::display);
            let file = file.map(tracing::field::display);
            tracing::warn!(%error, file, "the games stay as they were");
        }
        self.games.set_file(games);
    }

    /// Hears what other instances did.
    pub(crate) fn hear_news(self: &Arc<Self>) {
        let score = Arc::clone(self);
        self.news.listen(&self.tasks, move |heard| {
            let score = Arc::clone(&score);
            async move { score.hear(heard).await }
        });
    }

    async fn hear(self: &Arc<Self>, heard: Heard) {
        let news = match heard {
            Heard::Word { text, .. } => NewsKind::read(&text),
            Heard::Missed => {
                self.trust_no_board();
                None
            }
        };
        let Some(news) = news else { return };
        let board = |game: &str, period: &str| Some(BoardKey::new(game, period.parse().ok()?));
        let heard = match &news {
            NewsKind::Games => self.reload_games().await,
            NewsKind::Trimmed { game, period } => match board(game, period) {
                Some(key) => self.trimmed(&key).await,
                None => Ok(()),
            },
            NewsKind::Row { game, period, user, ver } => match board(game, period) {
                Some(key) => self.row_changed_elsewhere(&key, user, *ver).await,
                None => Ok(()),
            },
        };
        if let Err(error) = heard {
            tracing::warn!(%error, "cannot follow another instance; boards are read again");
            self.trust_no_board();
        }
    }

    /// Words were lost: every board is read again, those that are watched at once.
    fn trust_no_board(self: &Arc<Self>) {
        self.boards.forget();
        self.rankings.invalidate_all();
        self.refresh_watched();
    }

    /// Goes on comparing boards that are watched with the store.
    pub(crate) fn start_refreshing(self: &Arc<Self>, every: Duration) {
        let (score, mut ticks) = (Arc::clone(self), self.tasks.ticks(&self.clock, every));
        self.tasks.spawn("score refresh", async move {
            while ticks.next().await {
                score.refresh_watched();
            }
        });
    }

    /// Reads the boards that plays of now count in, so that no player waits for a great one.
    pub(crate) fn start_priming(self: &Arc<Self>) {
        let (score, shutdown) = (Arc::clone(self), self.tasks.shutdown().begun());
        self.tasks.spawn("score boards", async move {
            tokio::select! {
                biased;
                () = shutdown => {}
                primed = score.prime_boards() => {
                    if let Err(error) = primed {
                        tracing::warn!(%error, "boards are read when they are asked for");
                    }
                }
            }
        });
    }

    /// Trims all boards once a day.
    pub(crate) async fn start_trimming(self: &Arc<Self>, dispatch: &Dispatch) -> Result<(), Error> {
        let job = Job::new(TRIM, Schedule::cron(TRIM_AT, "UTC")?);
        let score = Arc::clone(self);
        let handler = move |_run| {
            let score = Arc::clone(&score);
            async move {
                let report = score.trim("schedule", false).await;
                let report = report.map_err(|error| Failed::retry(error.to_string()))?;
                for refused in report.iter().filter_map(|trimmed| trimmed.refused.as_ref()) {
                    tracing::warn!(refused, "a board was not trimmed");
                }
                Ok(Vec::new())
            }
        };
        dispatch.scheduler().start(job, handler).await?;
        Ok(())
    }
}

/// Turns the ring of token keys now, besides its days.
///
/// # Errors
/// The store failed, or there are too many former keys.
pub async fn rotate_keys(
    tables: Arc<dyn Tables>,
    clock: Clock,
    random: Random,
) -> Result<(), Error> {
    let tasks = Tasks::new();
    let turned = open_ring(tables, clock, random, &tasks).await?.turn().await;
    tasks.shutdown().begin();
    turned.map_err(|error| Error::Keys(error.to_string()))
}

/// The ring, which turns by itself as long as the tasks run.
pub(crate) async fn open_ring(
    tables: Arc<dyn Tables>,
    clock: Clock,
    random: Random,
    tasks: &Tasks,
) -> Result<KeyRing, Error> {
    let ring = KeyRing::open(RING, ROTATION, tables, clock, random, tasks);
    ring.await.map_err(|error| Error::Keys(error.to_string()))
}
