//! What is pushed: changes of a board to who watches it, and changes of rows to other instances.
//!
//! A stream begins with the board as it is, and has it again when its game ranks otherwise or the
//! store knew better; each change behind it says which row moved where. A
//! reader takes the row out, puts it in at its rank, puts in who `entered`, and cuts at `topN`. A
//! change may tell what the first event knew already: a reader leaves alone what is not newer, by
//! the row's `ver`.

use hub::{ChannelSpec, Hub, Text};
use serde::{Deserialize, Serialize};

use crate::Score;
use crate::limits::PUSHES_KEPT;
use crate::model::board::{Board, BoardKey, Change, Row};
use crate::ops::boards::Slot;

/// A row with its rank.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RankedRow {
    user_id: String,
    user_name: String,
    score: i64,
    time_ms: i64,
    rank: usize,
    /// In streams: grows with every write of the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    ver: Option<u64>,
}

impl RankedRow {
    /// A row of a ranking.
    pub(crate) fn new(row: &Row, rank: usize) -> RankedRow {
        RankedRow {
            user_id: row.user.to_string(),
            user_name: row.name.to_string(),
            score: row.value.score,
            time_ms: row.value.time_ms,
            rank,
            ver: None,
        }
    }

    fn live(row: &Row, rank: usize) -> RankedRow {
        RankedRow { ver: Some(row.ver), ..RankedRow::new(row, rank) }
    }
}

/// What readers of a board are told.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Push {
    /// The whole board.
    Board { top_n: usize, count: usize, rows: Vec<RankedRow> },
    /// A row is new, or better than it was.
    Change { row: RankedRow, previous_rank: Option<usize>, entered: Option<RankedRow> },
    /// A row is gone.
    Remove { user_id: String, ver: u64, previous_rank: Option<usize>, entered: Option<RankedRow> },
}

impl Push {
    /// The board as it is.
    pub(crate) fn board(board: &Board) -> Push {
        let rows = (1..).zip(board.top()).map(|(rank, row)| RankedRow::live(row, rank));
        Push::Board { top_n: board.top_n(), count: board.len(), rows: rows.collect() }
    }

    fn change(change: &Change) -> Push {
        let entered = change.entered.as_ref().map(|(rank, row)| RankedRow::live(row, *rank));
        let previous_rank = change.before;
        match (&change.row, change.after) {
            (Some(row), Some(rank)) => {
                Push::Change { row: RankedRow::live(row, rank), previous_rank, entered }
            }
            (None, _) | (_, None) => {
                let user_id = change.user.to_string();
                Push::Remove { user_id, ver: change.ver, previous_rank, entered }
            }
        }
    }

    /// The text that is pushed.
    pub(crate) fn text(&self) -> Text {
        Text::from(serde_json::to_string(self).expect("texts and numbers always have a JSON form"))
    }
}

/// The topic of a board.
pub(crate) fn topic(board: &BoardKey) -> String {
    format!("{}/{}", board.game, board.period)
}

/// What instances tell each other: what has changed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum NewsKind {
    /// A row of a board, which is read again.
    Row { game: String, period: String, user: String, ver: u64 },
    /// What was trimmed off a board.
    Trimmed { game: String, period: String },
    /// Games or bans.
    Games,
}

impl NewsKind {
    /// What a text tells, if it is news.
    pub(crate) fn read(text: &Text) -> Option<NewsKind> {
        serde_json::from_str(text.as_str()).ok()
    }
}

impl Score {
    /// Tells who watches a board what changed on it.
    pub(crate) fn tell_readers(&self, board: &BoardKey, change: &Change) {
        self.changes.publish(&topic(board), Push::change(change).text());
    }

    /// Tells who watches a board what it is now, when no change says how it became so.
    pub(crate) fn tell_board(&self, key: &BoardKey, slot: &Slot) {
        let text = slot.read(|board| Push::board(board).text());
        self.changes.publish(&topic(key), text);
    }

    /// Tells the other instances.
    pub(crate) fn tell_instances(&self, what: impl FnOnce() -> NewsKind) {
        self.news.tell(|| {
            serde_json::to_string(&what()).expect("texts and numbers always have a JSON form")
        });
    }
}

/// The channel of all boards.
pub(crate) fn changes(hub: &Hub) -> hub::Channel {
    hub.channel(ChannelSpec::new("score.board", PUSHES_KEPT))
}
