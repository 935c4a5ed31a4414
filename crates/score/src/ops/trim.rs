//! Trimming: rows beyond a board's end are deleted and counted, and closed months archived.
//!
//! Invariants:
//! - What a trim deletes is what it compared: every deletion repeats the row's version, so a row
//!   that improved meanwhile survives.
//! - A row and its count in the histogram go together, in one transaction.
//! - Without its game's config a board is left alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use table::{Error as StoreError, TransactItem, commit_each, query_all};

use super::Tries;
use crate::Score;
use crate::error::Error;
use crate::items;
use crate::limits::{BUCKETS_MAX, TRIMMED_AT_ONCE};
use crate::live::NewsKind;
use crate::model::audit::Deed;
use crate::model::board::{Board, BoardKey, Row};
use crate::model::game::Game;
use crate::ops::boards::Slot;

/// What a trim did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trimmed {
    pub(crate) board: BoardKey,
    pub(crate) kept: usize,
    pub(crate) deleted: usize,
    pub(crate) archived: bool,
    /// Why the board was left alone.
    pub(crate) refused: Option<String>,
}

impl Score {
    /// Trims all boards.
    pub(crate) async fn trim(&self, actor: &str, is_dry: bool) -> Result<Vec<Trimmed>, Error> {
        let mut report = Vec::new();
        for item in query_all(&*self.tables, items::query_notes()).await? {
            let Some(key) = items::read_note_key(&item) else { continue };
            if items::read_note(&item).archived_at.is_some() {
                continue;
            }
            let trimmed = match self.get_game(&key.game) {
                Ok(game) => self.trim_board(&key, &game, is_dry).await?,
                Err(error) => Trimmed {
                    board: key,
                    kept: 0,
                    deleted: 0,
                    archived: false,
                    refused: Some(error.to_string()),
                },
            };
            report.push(trimmed);
        }
        let deleted: usize = report.iter().map(|trimmed| trimmed.deleted).sum();
        let archived = report.iter().filter(|trimmed| trimmed.archived).count();
        if !is_dry {
            let detail = vec![
                ("boards", report.len().to_string()),
                ("deleted", deleted.to_string()),
                ("archived", archived.to_string()),
            ];
            let deed = Deed { actor: actor.to_owned(), action: "trim", detail };
            self.audited(&deed, Vec::new()).await?;
        }
        Ok(report)
    }

    /// Trims a board in the background if it has more rows than it may, once at a time: whoever
    /// invents players can add rows all day, and trimming by the schedule comes at night.
    pub(crate) fn trim_if_long(
        self: &Arc<Self>,
        key: &BoardKey,
        game: &Arc<Game>,
        slot: &Arc<Slot>,
    ) {
        let most = self.options.board_rows_max.max(game.top_n);
        if slot.read(Board::len) <= most || slot.trimming.swap(true, Ordering::AcqRel) {
            return;
        }
        let (score, slot) = (Arc::clone(self), Arc::clone(slot));
        let (key, game) = (key.clone(), Arc::clone(game));
        self.tasks.spawn("score trim", async move {
            match score.trim_board(&key, &game, false).await {
                Ok(trimmed) => {
                    let (game, deleted) = (&key.game, trimmed.deleted);
                    tracing::info!(%game, period = %key.period, deleted, "a long board was trimmed");
                }
                // The next submission tries again.
                Err(error) => tracing::warn!(%error, "a long board was not trimmed"),
            }
            slot.trimming.store(false, Ordering::Release);
        });
    }

    async fn trim_board(
        &self,
        key: &BoardKey,
        game: &Arc<Game>,
        is_dry: bool,
    ) -> Result<Trimmed, Error> {
        let rows = query_all(&*self.tables, items::query_rows(key)).await?;
        let mut board = Board::new(game, Default::default());
        for row in rows.iter().filter_map(items::read_row) {
            board.put(row);
        }
        let beyond: Vec<Row> = board.from(game.top_n + 1).cloned().collect();
        let is_closed = key.period.is_closed(self.clock.now(), &self.zone);
        let mut deleted = beyond.len();
        if !is_dry {
            deleted = 0;
            for some in beyond.chunks(TRIMMED_AT_ONCE) {
                deleted += self.delete_counted(key, game, some.to_vec()).await?;
            }
            if is_closed {
                self.archive(key).await?;
            }
            self.trimmed(key).await?;
            self.tell_instances(|| NewsKind::Trimmed {
                game: key.game.clone(),
                period: key.period.to_string(),
            });
        }
        let kept = board.len() - deleted;
        Ok(Trimmed { board: key.clone(), kept, deleted, archived: is_closed, refused: None })
    }

    /// Deletes those of the rows that are still as they were, and counts them.
    pub(crate) async fn delete_counted(
        &self,
        key: &BoardKey,
        game: &Game,
        mut rows: Vec<Row>,
    ) -> Result<usize, Error> {
        let mut tries = Tries::new();
        while !rows.is_empty() {
            tries.again()?;
            let note = self.tables.get(items::get_note(key)).await?;
            let note = note.as_ref().map(items::read_note).unwrap_or_default();
            let mut trimmed = note.trimmed.counted_by(game.sort.first());
            for row in &rows {
                let first = game.sort.keys(&row.value).first().copied().unwrap_or(0);
                trimmed.add(first, BUCKETS_MAX);
            }
            let deletes = rows.iter().map(|row| items::delete_row(key, &row.user, row.ver));
            let mut writes: Vec<TransactItem> = deletes.collect();
            writes.push(items::put_trimmed(key, note.trims, &trimmed));
            match commit_each(&*self.tables, writes).await? {
                Ok(()) => {
                    rows.iter().for_each(|row| self.row_deleted(key, &row.user, row.ver));
                    return Ok(rows.len());
                }
                // Rows that were written meanwhile stay.
                Err(lost) => {
                    let mut lost = lost.into_iter();
                    rows.retain(|_| lost.next() == Some(false));
                }
            }
        }
        Ok(0)
    }

    async fn archive(&self, key: &BoardKey) -> Result<(), Error> {
        match self.tables.update(items::archive_board(key, self.clock.now())).await {
            Ok(_) | Err(StoreError::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
