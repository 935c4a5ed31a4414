//! What the operator does. A deed on one row or one game is one transaction with its entry in the
//! audit; an import and a trim, which are many, are entered when they are done.

use std::sync::Arc;

use base::hex;
use sha2::{Digest, Sha256};
use table::{TransactItem, Value as Stored, commit_each};

use super::Tries;
use crate::Score;
use crate::error::Error;
use crate::items;
use crate::limits::AUDITED_BYTES_MAX;
use crate::live::NewsKind;
use crate::model::audit::{Deed, Entry, Head, check_chain};
use crate::model::board::{BoardKey, Row};
use crate::model::game::{Game, Value};
use crate::model::period::Period;

/// Rows of an import that are written together.
const IMPORTED_AT_ONCE: usize = 90;

/// Boards whose rows of a player are deleted together: on each a row, and one that a ban took away.
/// A transaction has at most 100 items.
const DELETED_AT_ONCE: usize = 45;

/// A row from elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    pub(crate) user: String,
    pub(crate) name: String,
    pub(crate) value: Value,
    pub(crate) meta: Option<Stored>,
}

/// A row as it is exported.
#[derive(Clone, Debug)]
pub(crate) struct Exported {
    pub(crate) row: Row,
    pub(crate) meta: Option<Stored>,
}

impl Score {
    /// Does `writes` and appends the deed to the audit; false if one of the writes lost a race.
    pub(crate) async fn audited(
        &self,
        deed: &Deed,
        writes: Vec<TransactItem>,
    ) -> Result<bool, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let head = self.audit_head().await?;
            let entry = Entry::seal(deed, &head, self.clock.now());
            let chained = items::audit::append(&entry);
            let own = chained.len();
            let all = chained.into_iter().chain(writes.iter().cloned()).collect();
            match commit_each(&*self.tables, all).await? {
                Ok(()) => return Ok(true),
                Err(lost) if lost.iter().skip(own).any(|lost| *lost) => return Ok(false),
                Err(_) => {}
            }
        }
    }

    /// Sets a game, or says that it is gone.
    pub(crate) async fn set_game(
        self: &Arc<Self>,
        actor: &str,
        name: &str,
        game: Option<&Game>,
    ) -> Result<(), Error> {
        if game.is_none() {
            self.get_game(name)?;
        }
        let action = if game.is_some() { "set-game" } else { "delete-game" };
        let mut detail = vec![("game", name.to_owned())];
        detail.extend(game.map(|game| ("config", audited_config(game))));
        let deed = Deed { actor: actor.to_owned(), action, detail };
        self.audited(&deed, vec![items::game::put_game(name, game)]).await?;
        self.reload_games().await?;
        self.tell_instances(|| NewsKind::Games);
        Ok(())
    }

    /// Deletes a score, also of an archived month: what should not stand there is nobody's record.
    pub(crate) async fn delete_score(
        self: &Arc<Self>,
        actor: &str,
        key: &BoardKey,
        user: &str,
        reason: &str,
    ) -> Result<(), Error> {
        let deleted = self.delete_rows(actor, std::slice::from_ref(key), user, reason).await?;
        if deleted.is_empty() {
            return Err(no_such_player(key, user));
        }
        Ok(())
    }

    /// Deletes a player's scores of a game in all periods; answers in which there were any.
    pub(crate) async fn delete_scores(
        self: &Arc<Self>,
        actor: &str,
        game: &str,
        user: &str,
        reason: &str,
    ) -> Result<Vec<Period>, Error> {
        let mut periods = Vec::new();
        for some in self.list_boards(|key| key.game == game).await?.chunks(DELETED_AT_ONCE) {
            periods.extend(self.delete_rows(actor, some, user, reason).await?);
        }
        if periods.is_empty() {
            return Err(no_such_player(&BoardKey::new(game, Period::all()), user));
        }
        Ok(periods)
    }

    /// Deletes a player's rows on these boards of one game, in one transaction with its entry in
    /// the audit; answers in which periods there were any. Rows that a ban took away are deleted as
    /// well, and do not come back.
    async fn delete_rows(
        &self,
        actor: &str,
        boards: &[BoardKey],
        user: &str,
        reason: &str,
    ) -> Result<Vec<Period>, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let rows = boards.iter().map(|key| items::get_row(key, user));
            let shelved = boards.iter().map(|key| items::player::get_shelved(key, user));
            let found = self.tables.transact_get(rows.chain(shelved).collect()).await?;
            let (rows, shelved) = found.split_at(boards.len());
            let rows = rows.iter().map(|item| item.as_ref().and_then(items::read_row));
            let found: Vec<(&BoardKey, Option<Row>)> = boards
                .iter()
                .zip(rows.zip(shelved))
                .filter(|(_, (row, shelved))| row.is_some() || shelved.is_some())
                .map(|(key, (row, _))| (key, row))
                .collect();
            let Some((first, _)) = found.first() else { return Ok(Vec::new()) };
            let periods: Vec<Period> = found.iter().map(|(key, _)| key.period.clone()).collect();
            let names: Vec<&str> = periods.iter().map(Period::as_str).collect();
            let detail = vec![
                ("game", first.game.clone()),
                ("period", names.join(" ")),
                ("user", user.to_owned()),
                ("reason", reason.to_owned()),
            ];
            let deed = Deed { actor: actor.to_owned(), action: "delete-score", detail };
            let rows = found.iter().filter_map(|(key, row)| Some((*key, row.as_ref()?.ver)));
            let rows: Vec<(&BoardKey, u64)> = rows.collect();
            let deletes = rows.iter().map(|(key, ver)| items::delete_row(key, user, *ver));
            let forgets = found.iter().map(|(key, _)| items::player::delete_shelved(key, user));
            if self.audited(&deed, deletes.chain(forgets).collect()).await? {
                rows.iter().for_each(|(key, ver)| self.row_deleted(key, user, *ver));
                return Ok(periods);
            }
        }
    }

    /// Takes rows in where they are better than what is there; answers how many were.
    pub(crate) async fn import(
        self: &Arc<Self>,
        actor: &str,
        game: &Arc<Game>,
        period: &Period,
        rows: &[Imported],
    ) -> Result<usize, Error> {
        let key = BoardKey::new(&game.name, period.clone());
        let mut written = 0;
        for some in rows.chunks(IMPORTED_AT_ONCE) {
            let mut tries = Tries::new();
            loop {
                tries.again()?;
                self.check_open(&key).await?;
                if let Some(count) = self.try_import(game, &key, some).await? {
                    written += count;
                    break;
                }
            }
        }
        let detail = vec![
            ("game", key.game.clone()),
            ("period", key.period.to_string()),
            ("rows", rows.len().to_string()),
            ("written", written.to_string()),
        ];
        let deed = Deed { actor: actor.to_owned(), action: "import", detail };
        self.audited(&deed, Vec::new()).await?;
        Ok(written)
    }

    async fn try_import(
        self: &Arc<Self>,
        game: &Arc<Game>,
        key: &BoardKey,
        rows: &[Imported],
    ) -> Result<Option<usize>, Error> {
        let gets = rows.iter().map(|row| items::get_row(key, &row.user)).collect();
        let found = self.tables.transact_get(gets).await?;
        let (mut writes, mut written) = (vec![items::note_board(key)], Vec::new());
        for (new, item) in rows.iter().zip(&found) {
            let before = item.as_ref().and_then(items::read_row);
            let is_better = before
                .as_ref()
                .is_none_or(|before| game.sort.compare(&new.value, &before.value).is_lt());
            if is_better {
                let last = before.as_ref().map(|before| before.ver);
                let row = Row {
                    user: Arc::from(new.user.as_str()),
                    name: Arc::from(new.name.as_str()),
                    value: new.value,
                    ver: self.next_version(last.unwrap_or(0)),
                };
                writes.push(items::put_row(key, &row, new.meta.as_ref(), last));
                written.push(row);
            }
        }
        if commit_each(&*self.tables, writes).await?.is_err() {
            return Ok(None);
        }
        self.board(game, &key.period).await?.set_noted();
        written.iter().for_each(|row| self.row_written(key, row));
        Ok(Some(written.len()))
    }

    /// Rows of a board by user, behind one; and behind whom there are more.
    pub(crate) async fn export(
        &self,
        actor: &str,
        key: &BoardKey,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<Exported>, Option<String>), Error> {
        let mut query = items::query_whole_rows(key).limit(limit);
        query.start_after = after.map(|user| items::behind_row(key, user));
        let page = self.tables.query(query).await?;
        let exported = page.items.iter().filter_map(|item| {
            Some(Exported { row: items::read_row(item)?, meta: items::read_meta(item).cloned() })
        });
        let exported: Vec<Exported> = exported.collect();
        // A page is full by its bytes too, before it has as many rows as were asked for.
        let next = page.last_key.as_ref().and_then(items::read_row_key).map(str::to_owned);
        let detail = vec![
            ("game", key.game.clone()),
            ("period", key.period.to_string()),
            ("after", after.unwrap_or_default().to_owned()),
            ("rows", exported.len().to_string()),
        ];
        let deed = Deed { actor: actor.to_owned(), action: "export", detail };
        self.audited(&deed, Vec::new()).await?;
        Ok((exported, next))
    }

    /// The end of the audit's chain.
    pub(crate) async fn audit_head(&self) -> Result<Head, Error> {
        let head = self.tables.get(items::audit::get_head()).await?;
        Ok(head.as_ref().and_then(items::audit::read_head).unwrap_or_default())
    }

    /// Entries of the audit behind a number, whether their chain is whole, and its end.
    pub(crate) async fn list_audit(
        &self,
        after: u64,
        limit: u32,
    ) -> Result<(Vec<Entry>, bool, Head), Error> {
        // First, so that what is appended meanwhile is not missed at the end.
        let newest = self.audit_head().await?;
        // The entry before is read along, because the first is sealed to it.
        let from = after.saturating_sub(1);
        let query = items::audit::query_entries(from, limit.saturating_add(1));
        let page = self.tables.query(query).await?;
        let entries = page.items.iter().filter_map(items::audit::read_entry).collect();
        let is_end = page.last_key.is_none();
        let (mut entries, is_whole) = check_chain(entries, after, &newest, is_end);
        entries.truncate(limit as usize);
        Ok((entries, is_whole, newest))
    }

    async fn check_open(self: &Arc<Self>, key: &BoardKey) -> Result<(), Error> {
        let note = self.tables.get(items::get_note(key)).await?;
        let note = note.as_ref().map(items::read_note).unwrap_or_default();
        if note.archived_at.is_some() {
            let (game, period) = (key.game.clone(), key.period.to_string());
            return Err(Error::Archived { game, period });
        }
        Ok(())
    }
}

/// A game's config for the audit: as it is, or what stands for it if it is long.
fn audited_config(game: &Game) -> String {
    let config = items::game::config(game);
    if config.len() <= AUDITED_BYTES_MAX {
        return config;
    }
    format!("sha256:{}", hex(&Sha256::digest(&config)))
}

/// The player is not on the board.
pub(crate) fn no_such_player(key: &BoardKey, user: &str) -> Error {
    let (game, period) = (key.game.clone(), key.period.to_string());
    Error::NoSuchPlayer { game, period, user: user.to_owned() }
}
