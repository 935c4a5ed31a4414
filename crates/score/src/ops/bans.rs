//! Bans: a banned player submits no more, and its rows leave their boards until the ban is lifted.
//!
//! Invariants:
//! - A ban and its entry in the audit are one transaction, and no play of a banned player is stored
//!   after it: every submission repeats that its player is not banned. Rows that the ban finds are
//!   therefore all there are.
//! - A row and its copy on the shelf change places in one transaction, so a ban that breaks off
//!   loses none. Banning or lifting again goes on where it broke off: rows come back before the ban
//!   ends.

use std::sync::Arc;

use table::{TransactItem, commit_each, query_all};

use super::Tries;
use crate::Score;
use crate::error::Error;
use crate::items;
use crate::items::player::{self, Shelved};
use crate::live::NewsKind;
use crate::model::audit::Deed;
use crate::model::board::{BoardKey, Row};
use crate::model::player::kept_until;

/// Rows that are moved together: each is two writes, and a transaction has at most 100.
const MOVED_AT_ONCE: usize = 45;

impl Score {
    /// Lets a player submit no more, and takes its rows off all boards; answers how many.
    pub(crate) async fn ban(
        self: &Arc<Self>,
        actor: &str,
        user: &str,
        reason: &str,
    ) -> Result<usize, Error> {
        let detail = vec![("user", user.to_owned()), ("reason", reason.to_owned())];
        let deed = Deed { actor: actor.to_owned(), action: "ban", detail };
        let ban = player::put_ban(user, reason, self.clock.now());
        self.audited(&deed, ban.to_vec()).await?;
        self.reload_games().await?;
        self.tell_instances(|| NewsKind::Games);
        let mut count = 0;
        for some in self.list_boards(|_| true).await?.chunks(MOVED_AT_ONCE) {
            count += self.shelve(some, user).await?;
        }
        Ok(count)
    }

    /// Lets a player submit again, and puts its rows back; answers how many.
    pub(crate) async fn unban(self: &Arc<Self>, actor: &str, user: &str) -> Result<usize, Error> {
        let not_banned = || Error::NotBanned(user.to_owned());
        self.tables.get(player::get_ban(user)).await?.ok_or_else(not_banned)?;
        let shelved = query_all(&*self.tables, player::query_shelved(user)).await?;
        let shelved: Vec<Shelved> =
            shelved.iter().filter_map(|item| player::read_shelved(user, item)).collect();
        let mut count = 0;
        for some in shelved.chunks(MOVED_AT_ONCE) {
            count += self.put_back(some).await?;
        }
        let detail = vec![("user", user.to_owned())];
        let deed = Deed { actor: actor.to_owned(), action: "unban", detail };
        let lifted = player::delete_ban(user, kept_until(self.clock.now()));
        if !self.audited(&deed, lifted.to_vec()).await? {
            return Err(not_banned());
        }
        self.reload_games().await?;
        self.tell_instances(|| NewsKind::Games);
        Ok(count)
    }

    /// All boards that somebody has played on and that are wanted.
    pub(crate) async fn list_boards(
        &self,
        is_wanted: impl Fn(&BoardKey) -> bool,
    ) -> Result<Vec<BoardKey>, Error> {
        let noted = query_all(&*self.tables, items::query_notes()).await?;
        Ok(noted.iter().filter_map(items::read_note_key).filter(is_wanted).collect())
    }

    /// Takes a player's rows off these boards.
    async fn shelve(&self, boards: &[BoardKey], user: &str) -> Result<usize, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let gets = boards.iter().map(|board| items::get_row(board, user)).collect();
            let found = self.tables.transact_get(gets).await?;
            let rows = boards.iter().zip(&found).filter_map(|(board, item)| {
                let item = item.as_ref()?;
                let (row, meta) = (items::read_row(item)?, items::read_meta(item).cloned());
                Some(Shelved { board: board.clone(), row, meta })
            });
            let rows: Vec<Shelved> = rows.collect();
            if rows.is_empty() {
                return Ok(0);
            }
            let writes = rows.iter().flat_map(|shelved| {
                let Shelved { board, row, .. } = shelved;
                [items::delete_row(board, user, row.ver), player::put_shelved(shelved)]
            });
            if commit_each(&*self.tables, writes.collect()).await?.is_ok() {
                rows.iter().for_each(|it| self.row_deleted(&it.board, user, it.row.ver));
                return Ok(rows.len());
            }
        }
    }

    /// Puts rows back on their boards, unless a better one stands there by now.
    async fn put_back(&self, shelved: &[Shelved]) -> Result<usize, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let gets = shelved.iter().map(|it| items::get_row(&it.board, &it.row.user)).collect();
            let found = self.tables.transact_get(gets).await?;
            let (mut writes, mut restored): (Vec<TransactItem>, Vec<_>) = (Vec::new(), Vec::new());
            for (it, item) in shelved.iter().zip(&found) {
                writes.push(player::delete_shelved(&it.board, &it.row.user));
                let there = item.as_ref().and_then(items::read_row);
                if self.is_worth_restoring(it, there.as_ref()) {
                    let before = there.as_ref().map(|there| there.ver);
                    let last = before.unwrap_or(0).max(it.row.ver);
                    let row = Row { ver: self.next_version(last), ..it.row.clone() };
                    writes.push(items::put_row(&it.board, &row, it.meta.as_ref(), before));
                    restored.push((&it.board, row));
                }
            }
            if commit_each(&*self.tables, writes).await?.is_ok() {
                restored.iter().for_each(|(board, row)| self.row_written(board, row));
                return Ok(restored.len());
            }
        }
    }

    fn is_worth_restoring(&self, shelved: &Shelved, there: Option<&Row>) -> bool {
        let Some(there) = there else { return true };
        let game = self.get_game(&shelved.board.game);
        game.is_ok_and(|game| game.sort.compare(&shelved.row.value, &there.value).is_lt())
    }
}
