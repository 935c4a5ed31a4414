//! What a play must beat to be on a board, as the seed's record has it.

use std::sync::Arc;

use edge::{Client, Failure, HeaderMap, Path, Query, Response, Routes, State, get};
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::ranking::fresh;
use crate::Score;
use crate::error::Error;
use crate::model::game::{Field, Game, Value};
use crate::ops::boards::Slot;

#[derive(OpenApi)]
#[openapi(paths(get_threshold, get_threshold_by_key))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/score/threshold/{game}/{period}", get(get_threshold))
        .route("/score/threshold", get(get_threshold_by_key))
        .with_state(Arc::clone(door))
}

/// What a play must beat to be on a board.
#[utoipa::path(get, path = "/score/threshold/{gameId}/{period}", params(
    ("gameId" = String, Path), ("period" = String, Path),
), responses(
    (status = 200, description = "`{ver, order, thr, topN, updatedAt}`; `thr` is empty while the \
     board is not full.", body = ThresholdRecord),
    (status = 404, description = "There is no such game."),
))]
async fn get_threshold(
    State(door): State<Arc<Door>>,
    Path((game, period)): Path<(String, String)>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    let (game, period) = door.board_of(&game, &period)?;
    let slot = door.score.board(&game, &period).await?;
    Ok(fresh(&threshold(&game, &slot, &door.score)))
}

#[derive(Deserialize)]
struct Keyed {
    key: String,
}

/// The same, by the seed's key: `htmlgame-thr#g:{gameId}#p:{period}`, or `thr#…` as it once was.
#[utoipa::path(get, path = "/score/threshold", params(
    ("key" = String, Query, description = "`htmlgame-thr#g:snake#p:ALL`"),
), responses(
    (status = 200, description = "`{ver, order, thr, topN, updatedAt}`", body = ThresholdRecord),
    (status = 400, description = "The key is none."),
))]
async fn get_threshold_by_key(
    State(door): State<Arc<Door>>,
    Query(Keyed { key }): Query<Keyed>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    door.admit_reader(&headers, client)?;
    let rest = key.strip_prefix("htmlgame-thr#g:").or(key.strip_prefix("thr#g:"));
    let (game, period) = rest.and_then(|rest| rest.split_once("#p:")).ok_or_else(|| {
        Error::invalid(format!("a key is `htmlgame-thr#g:<game>#p:<period>`, not `{key}`"))
    })?;
    let (game, period) = door.board_of(game, period)?;
    let slot = door.score.board(&game, &period).await?;
    Ok(fresh(&threshold(&game, &slot, &door.score)))
}

/// What a play must beat to be on a board, as the seed's record has it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ThresholdRecord {
    ver: u32,
    /// The game's sort: pairs of a field and `asc` or `desc`.
    #[schema(value_type = Vec<Vec<String>>)]
    order: Vec<[&'static str; 2]>,
    /// The values at the last rank, in this order; empty while the board is not full.
    thr: Vec<ThresholdValue>,
    top_n: usize,
    updated_at: String,
}

/// One of the values at the last rank.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ThresholdValue {
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
}

impl ThresholdValue {
    fn new(field: Field, value: &Value) -> ThresholdValue {
        let none = ThresholdValue::default();
        match field {
            Field::Score => ThresholdValue { score: Some(value.score), ..none },
            Field::TimeMs => ThresholdValue { time_ms: Some(value.time_ms), ..none },
            Field::UpdatedAt => {
                ThresholdValue { updated_at: Some(value.updated_at.to_string()), ..none }
            }
        }
    }
}

fn threshold(game: &Game, slot: &Slot, score: &Score) -> ThresholdRecord {
    let rules = game.sort.rules();
    let last = slot.read(|board| board.threshold().map(|row| row.value));
    let values =
        last.iter().flat_map(|value| rules.iter().map(|rule| ThresholdValue::new(rule.by, value)));
    let updated_at = last.map_or_else(|| score.clock.now(), |value| value.updated_at);
    ThresholdRecord {
        ver: 1,
        order: rules.iter().map(|rule| [rule.by.word(), rule.direction.word()]).collect(),
        thr: values.collect(),
        top_n: game.top_n,
        updated_at: updated_at.to_string(),
    }
}
