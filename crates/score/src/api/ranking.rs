//! What is read of boards: rankings, neighbours, ranks, and their stream.
//!
//! A ranking is rendered once and answered until a row on it changes. Invariant: the cache never
//! sees how many rows a caller wants; every answer is cut from the same whole.

use std::sync::Arc;

use edge::header::HeaderValue;
use edge::{
    Client, Draining, Failure, HeaderMap, IntoResponse, Json, Path, Query, Response, Routes, State,
    Tagged, Want, get, header,
};
use hub::Follow;
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::{Door, wire};
use crate::Score;
use crate::error::Error;
use crate::items::game::GameForm;
use crate::limits::{LIMIT_MAX, NEIGHBOURS, NEIGHBOURS_MAX, RANKING_BYTES_LEAST};
use crate::live::{Push, RankedRow, topic};
use crate::model::board::{Board, BoardKey, Row, Standing};
use crate::model::check_id;
use crate::model::game::{Field, Game, Value};
use crate::model::period::Period;
use crate::model::play::Claim;
use crate::ops::operate::no_such_player;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const KEEP: HeaderValue = HeaderValue::from_static("s-maxage=600, stale-while-revalidate=120");

#[derive(OpenApi)]
#[openapi(paths(get_ranking, get_ranking_by, get_around, get_rank, get_stream, get_games))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/score/ranking/{game}/{period}", get(get_ranking))
        .route("/score/ranking/{game}/{period}/by/{field}", get(get_ranking_by))
        .route("/score/ranking/{game}/{period}/around/{user}", get(get_around))
        .route("/score/ranking/{game}/{period}/rank/{user}", get(get_rank))
        .route("/score/ranking/{game}/{period}/stream", get(get_stream))
        .route("/score/games", get(get_games))
        .with_state(Arc::clone(door))
}

/// Which rendered ranking.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RankingKey {
    board: BoardKey,
    by: Option<Field>,
}

impl RankingKey {
    /// All rankings of a board.
    pub(crate) fn all_of(board: &BoardKey) -> impl Iterator<Item = RankingKey> {
        let orders = std::iter::once(None).chain(Field::ALL.map(Some));
        orders.map(|by| RankingKey { board: board.clone(), by })
    }
}

/// A rendered ranking.
pub(crate) struct Ranking {
    /// Each row as JSON.
    rows: Vec<String>,
    /// As many of them as are answered usually.
    usual: Tagged,
}

impl Ranking {
    fn new<'r>(rows: impl Iterator<Item = &'r Row>) -> Ranking {
        let render = |(rank, row)| {
            serde_json::to_string(&RankedRow::new(row, rank)).expect("words and numbers are JSON")
        };
        let rows: Vec<String> = (1..).zip(rows).map(render).collect();
        Ranking { usual: cut(&rows, LIMIT_MAX), rows }
    }

    /// What it takes of the cache: its text, as rows and whole.
    pub(crate) fn weight(&self) -> u32 {
        let bytes: usize = self.rows.iter().map(|row| row.len() * 2 + 32).sum();
        u32::try_from(bytes + RANKING_BYTES_LEAST).unwrap_or(u32::MAX)
    }

    fn answer(&self, limit: usize, headers: &HeaderMap) -> Response {
        if limit == LIMIT_MAX || limit >= self.rows.len() {
            return self.usual.answer(headers);
        }
        cut(&self.rows, limit).answer(headers)
    }
}

fn cut(rows: &[String], limit: usize) -> Tagged {
    let rows = rows.get(..limit).unwrap_or(rows);
    Tagged::new(JSON, format!("[{}]", rows.join(","))).with_cache_control(KEEP)
}

impl Score {
    /// The rendered ranking of a board.
    async fn ranking(
        self: &Arc<Self>,
        game: &Arc<Game>,
        period: &Period,
        by: Option<Field>,
    ) -> Result<Arc<Ranking>, Arc<Error>> {
        let key = RankingKey { board: BoardKey::new(&game.name, period.clone()), by };
        let (score, game, period) = (Arc::clone(self), Arc::clone(game), period.clone());
        let load = || async move {
            let slot = score.board(&game, &period).await.map_err(Arc::new)?;
            let mut rows: Vec<Row> = slot.read(|board| board.top().cloned().collect());
            if let Some(field) = by {
                let sort = game.sort.by(field);
                rows.sort_by(|one, other| {
                    let keys = sort.keys(&one.value).cmp(&sort.keys(&other.value));
                    keys.then_with(|| one.user.cmp(&other.user))
                });
            }
            Ok(Arc::new(Ranking::new(rows.iter())))
        };
        self.rankings.get(&key, load).await
    }
}

impl Door {
    /// The game and the period of a path.
    pub(crate) fn board_of(&self, game: &str, period: &str) -> Result<(Arc<Game>, Period), Error> {
        check_id("gameId", game)?;
        let period = period.parse()?;
        Ok((self.score.get_game(game)?, period))
    }

    async fn answer_ranking(
        &self,
        game: &str,
        period: &str,
        by: Option<Field>,
        limited: &Limited,
        headers: &HeaderMap,
    ) -> Result<Response, Failure> {
        let (game, period) = self.board_of(game, period)?;
        let limit = wire::limit(limited.limit.as_deref())?;
        let ranking = self.score.ranking(&game, &period, by).await;
        let ranking = ranking.map_err(|error| Failure::from(&*error))?;
        Ok(ranking.answer(limit, headers))
    }
}

#[derive(Deserialize)]
struct Limited {
    limit: Option<String>,
}

/// The best of a board.
#[utoipa::path(get, path = "/score/ranking/{gameId}/{period}", params(
    ("gameId" = String, Path), ("period" = String, Path, description = "`ALL` or `2026-11`."),
    ("limit" = Option<u32>, Query, description = "From 10 to 100, which is usual."),
), responses(
    (status = 200, description = "Rows by rank, with a strong ETag.", body = [RankedRow]),
    (status = 304, description = "The caller has them already."),
    (status = 400, description = "The period or the limit is none."),
    (status = 404, description = "There is no such game."),
))]
async fn get_ranking(
    State(door): State<Arc<Door>>,
    Path((game, period)): Path<(String, String)>,
    Query(limited): Query<Limited>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    door.answer_ranking(&game, &period, None, &limited, &headers).await
}

/// The rows of a board's ranking, ordered by one field first.
#[utoipa::path(get, path = "/score/ranking/{gameId}/{period}/by/{field}", params(
    ("gameId" = String, Path), ("period" = String, Path),
    ("field" = String, Path, description = "`score`, `timeMs` (or `time`), `updatedAt`."),
    ("limit" = Option<u32>, Query),
), responses(
    (status = 200, description = "Rows by that field.", body = [RankedRow]),
    (status = 400, description = "The field is none."),
))]
async fn get_ranking_by(
    State(door): State<Arc<Door>>,
    Path((game, period, field)): Path<(String, String, String)>,
    Query(limited): Query<Limited>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    let word = if field == "time" { Field::TimeMs.word() } else { &field };
    let by = Field::parse(word).ok_or_else(|| {
        Error::invalid(format!("a ranking is by score, timeMs or updatedAt, not `{field}`"))
    })?;
    door.answer_ranking(&game, &period, Some(by), &limited, &headers).await
}

#[derive(Deserialize)]
struct Neighbours {
    n: Option<String>,
}

/// A player's neighbours.
#[utoipa::path(get, path = "/score/ranking/{gameId}/{period}/around/{userId}", params(
    ("gameId" = String, Path), ("period" = String, Path), ("userId" = String, Path),
    ("n" = Option<u32>, Query, description = "How many on either side, up to 50; usually 5."),
), responses(
    (status = 200, description = "Rows by rank, the player among them.", body = [RankedRow]),
    (status = 404, description = "The player is not on the board."),
))]
async fn get_around(
    State(door): State<Arc<Door>>,
    Path((game, period, user)): Path<(String, String, String)>,
    Query(asked): Query<Neighbours>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    let (game, period) = door.board_of(&game, &period)?;
    check_id("userId", &user)?;
    let n = match asked.n.as_deref() {
        None => NEIGHBOURS,
        Some(text) => text.parse().ok().filter(|n| *n <= NEIGHBOURS_MAX).ok_or_else(|| {
            Error::invalid(format!("n must be from 0 to {NEIGHBOURS_MAX}, not `{text}`"))
        })?,
    };
    let slot = door.score.board(&game, &period).await?;
    let rows: Option<Vec<RankedRow>> = slot.read(|board| {
        let rank = board.rank_of(&user)?;
        let first = rank.saturating_sub(n).max(1);
        let rows = (first..=rank + n).zip(board.from(first));
        Some(rows.map(|(rank, row)| RankedRow::new(row, rank)).collect())
    });
    let rows = rows.ok_or_else(|| no_such_player(&BoardKey::new(&game.name, period), &user))?;
    Ok(fresh(&rows))
}

/// A play that is on no board.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Supposed {
    score: Option<String>,
    time_ms: Option<String>,
}

/// Where a player stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ranked {
    user_id: String,
    score: i64,
    time_ms: i64,
    rank: Ranks,
    /// The share, in percent, of those who are not better.
    percentile: f64,
    /// How many there are, trimmed ones included.
    total: u64,
    /// Whether trimmed rows were counted into the ranks by estimate, or could not be.
    estimate: bool,
}

/// Ranks from 1, by three ways of counting equals.
#[derive(Serialize, ToSchema)]
struct Ranks {
    /// No two are the same.
    ordinal: u64,
    /// Equals share a rank, and the next skips.
    competition: u64,
    /// Equals share a rank, and the next does not skip.
    dense: u64,
}

/// A player's rank, also beyond the ranking's end.
#[utoipa::path(get, path = "/score/ranking/{gameId}/{period}/rank/{userId}", params(
    ("gameId" = String, Path), ("period" = String, Path), ("userId" = String, Path),
    ("score" = Option<i64>, Query, description = "With timeMs: where such a play would stand, for \
     a player who is not on the board."),
    ("timeMs" = Option<i64>, Query),
), responses(
    (status = 200, description = "Where the player stands.", body = Ranked),
    (status = 404, description = "The player is not on the board."),
))]
async fn get_rank(
    State(door): State<Arc<Door>>,
    Path((game, period, user)): Path<(String, String, String)>,
    Query(supposed): Query<Supposed>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    let (game, period) = door.board_of(&game, &period)?;
    check_id("userId", &user)?;
    let claim = match (&supposed.score, &supposed.time_ms) {
        (None, None) => None,
        (score, time_ms) => {
            let number = |name, text: &Option<String>| {
                wire::integer(name, text.as_deref().unwrap_or_default())
            };
            Some(Claim::new(number("score", score)?, number("timeMs", time_ms)?)?)
        }
    };
    let slot = door.score.board(&game, &period).await?;
    let now = door.score.clock.now();
    let ranked = slot.read(|board| {
        Ranked::find(board, &user).or_else(|| {
            let claim = claim?;
            let Claim { score, time_ms } = claim;
            let standing = board.standing_at(&Value { score, time_ms, updated_at: now });
            Some(Ranked::new(user.clone(), claim, standing))
        })
    });
    let key = BoardKey::new(&game.name, period);
    Ok(fresh(&ranked.ok_or_else(|| no_such_player(&key, &user))?))
}

impl Ranked {
    /// Where a user stands on a board.
    pub(super) fn find(board: &Board, user: &str) -> Option<Ranked> {
        let (row, standing) = board.standing_of(user)?;
        let Value { score, time_ms, .. } = row.value;
        Some(Ranked::new(user.to_owned(), Claim { score, time_ms }, standing))
    }

    fn new(user_id: String, claim: Claim, standing: Standing) -> Ranked {
        let Standing { ordinal, competition, dense, total, is_estimate } = standing;
        Ranked {
            user_id,
            score: claim.score,
            time_ms: claim.time_ms,
            rank: Ranks { ordinal, competition, dense },
            percentile: standing.percentile(),
            total,
            estimate: is_estimate,
        }
    }
}

#[derive(Deserialize)]
struct Resumed {
    after: Option<String>,
}

/// A board as it is, and then its changes, as server-sent events.
#[utoipa::path(get, path = "/score/ranking/{gameId}/{period}/stream", params(
    ("gameId" = String, Path), ("period" = String, Path),
    ("after" = Option<String>, Query, description = "What `Last-Event-ID` says, for who cannot \
     send a header."),
), responses(
    (status = 200, description = "`board` first, then `change` and `remove`.", body = String,
     content_type = "text/event-stream"),
    (status = 404, description = "There is no such game."),
))]
async fn get_stream(
    State(door): State<Arc<Door>>,
    Path((game, period)): Path<(String, String)>,
    Query(resumed): Query<Resumed>,
    client: Client,
    mut headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    // A browser that comes back by itself sends the header, which is newer.
    let after = resumed.after.and_then(|after| HeaderValue::try_from(after).ok());
    if let Some(after) = after {
        headers.entry("last-event-id").or_insert(after);
    }
    let (game, period) = door.board_of(&game, &period)?;
    let slot = door.score.board(&game, &period).await?;
    let key = BoardKey::new(&game.name, period);
    let (channel, topic) = (door.score.changes.clone(), topic(&key));
    let wants = [Want { channel, topic, follow: Follow::default() }];
    let score = Arc::clone(&door.score);
    let board = move |_: &Want| {
        // Behind a gap the board may have another place than when the stream began.
        let now = score.find_board(&key);
        Some(now.as_ref().unwrap_or(&slot).read(|board| Push::board(board).text()))
    };
    door.streams.greeted_events(&headers, &draining, &wants, board)
}

/// All games.
#[derive(Serialize, ToSchema)]
struct GameList {
    games: Vec<GameForm>,
    /// What is wrong with the file of games, which stay as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// The games and their configs.
#[utoipa::path(get, path = "/score/games", responses(
    (status = 200, description = "All games by name.", body = GameList),
))]
async fn get_games(
    State(door): State<Arc<Door>>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    let now = door.score.games.now();
    let games = now.games.values().map(|game| GameForm::from(&**game)).collect();
    Ok(fresh(&GameList { games, problem: now.problem.clone() }))
}

/// An answer that is true now and need not be later.
pub(super) fn fresh(answer: &impl Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-cache")], Json(answer)).into_response()
}
