//! How many stand where on a board.

use std::sync::Arc;

use edge::{Client, Failure, HeaderMap, Path, Query, Response, Routes, State, get};
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::ranking::{Ranked, fresh};
use crate::limits::STEPS_MAX;
use crate::model::board::Board;
use crate::model::check_id;
use crate::model::game::{Field, Game, Keys};

#[derive(OpenApi)]
#[openapi(paths(get_distribution))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/score/ranking/{game}/{period}/distribution", get(get_distribution))
        .with_state(Arc::clone(door))
}

/// How many stand where, by what counts first in the game.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Distribution {
    /// `score`, `timeMs` or `updatedAt`, which is in milliseconds here.
    #[schema(value_type = String)]
    #[serde(serialize_with = "word")]
    pub(crate) field: Field,
    /// How many there are, trimmed ones included, also those that are in no step because they were
    /// counted before the game sorted so.
    pub(crate) total: u64,
    pub(crate) top_n: usize,
    /// The value at the last rank of a full board.
    pub(crate) line: Option<i64>,
    /// Equal steps from the worst to the best; trimmed rows are in them by estimate.
    pub(crate) steps: Vec<Step>,
    /// Where the user stands who was asked for; none if on no board.
    standing: Option<Ranked>,
}

/// Plays between two values, both included.
#[derive(Serialize, ToSchema)]
pub(crate) struct Step {
    /// The worse end.
    pub(crate) from: i64,
    /// The better end.
    pub(crate) to: i64,
    pub(crate) count: u64,
}

impl Distribution {
    /// That of a board.
    pub(crate) fn of(game: &Game, board: &Board, user: Option<&str>) -> Distribution {
        let first = game.sort.first();
        let steps = board.distribution(STEPS_MAX);
        let value = |keys: Keys| first.turn(keys.first().copied().unwrap_or(0));
        Distribution {
            field: first.by,
            total: board.total(),
            top_n: board.top_n(),
            line: board.threshold().map(|row| value(game.sort.keys(&row.value))),
            steps: steps
                .iter()
                .rev()
                .map(|step| Step {
                    from: first.turn(step.high),
                    to: first.turn(step.low),
                    count: step.count,
                })
                .collect(),
            standing: user.and_then(|user| Ranked::find(board, user)),
        }
    }
}

fn word<S: serde::Serializer>(field: &Field, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(field.word())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Among {
    user_id: Option<String>,
}

/// How many stand where, in equal steps of what counts first.
#[utoipa::path(get, path = "/score/ranking/{gameId}/{period}/distribution", params(
    ("gameId" = String, Path), ("period" = String, Path),
    ("userId" = Option<String>, Query, description = "Whose standing is told along."),
), responses(
    (status = 200, description = "Steps from the worst to the best.", body = Distribution),
    (status = 404, description = "There is no such game."),
))]
async fn get_distribution(
    State(door): State<Arc<Door>>,
    Path((game, period)): Path<(String, String)>,
    Query(among): Query<Among>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    let (game, period) = door.board_of(&game, &period)?;
    let user = among.user_id.as_deref();
    user.map(|user| check_id("userId", user)).transpose()?;
    let slot = door.score.board(&game, &period).await?;
    Ok(fresh(&slot.read(|board| Distribution::of(&game, board, user))))
}
