//! Boards in memory: filled from the table when they are first asked for, and kept up by every
//! change.
//!
//! Invariants:
//! - Of one board at most one filling is under way, whoever asked. Changes reach the board and the
//!   one that is being filled, so that nothing falls between the two.
//! - A board whose words were lost is read again before it serves. It stays meanwhile, so that who
//!   watches it is told what the store knew better.
//! - Who changes a board holds its `order` until the change is told: readers hear of changes in
//!   the order in which they happened. The board's own lock is never held while something is told.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base::Monotonic;
use parking_lot::{Mutex, RwLock};
use table::query_all;

use crate::Score;
use crate::api::ranking::RankingKey;
use crate::error::Error;
use crate::items::{self, Note};
use crate::limits::{MONTHS_SHOWN, UNPLAYED_MAX};
use crate::live::{NewsKind, topic};
use crate::model::board::{Board, BoardKey, Change, Row};
use crate::model::game::Game;
use crate::model::period::Period;

/// The boards of this instance.
pub(crate) struct Boards {
    slots: Mutex<HashMap<BoardKey, Arc<Slot>>>,
    /// Boards that somebody asked for and nobody has played on, the longest remembered first.
    unplayed: Mutex<VecDeque<BoardKey>>,
    refresh: Duration,
}

/// One board's place.
#[derive(Default)]
pub(crate) struct Slot {
    state: RwLock<State>,
    order: Mutex<()>,
    filling: tokio::sync::Mutex<()>,
    /// Whether the board is being trimmed because it has grown too long.
    pub(super) trimming: AtomicBool,
}

#[derive(Default)]
struct State {
    board: Option<Board>,
    /// The one that is being filled.
    next: Option<Board>,
    filled: Option<Monotonic>,
    /// How often the board was forgotten: what was being read then is too old.
    forgotten: u64,
    /// Whether the table knows that there is such a board.
    is_noted: bool,
    is_archived: bool,
}

impl Boards {
    pub(crate) fn new(refresh: Duration) -> Boards {
        Boards { slots: Mutex::default(), unplayed: Mutex::default(), refresh }
    }

    fn find(&self, key: &BoardKey) -> Option<Arc<Slot>> {
        self.slots.lock().get(key).cloned()
    }

    fn all(&self) -> Vec<(BoardKey, Arc<Slot>)> {
        self.slots.lock().iter().map(|(key, slot)| (key.clone(), Arc::clone(slot))).collect()
    }

    /// Trusts no board any more; each is filled again before it is answered from.
    pub(crate) fn forget(&self) {
        for (_, slot) in self.all() {
            let mut state = slot.state.write();
            state.filled = None;
            state.forgotten += 1;
        }
    }

    /// Remembers that a board is empty, instead of the one that was remembered longest.
    fn remember_unplayed(&self, key: &BoardKey, is_kept: impl Fn(&BoardKey, &Slot) -> bool) {
        let mut unplayed = self.unplayed.lock();
        if unplayed.contains(key) {
            return;
        }
        unplayed.push_back(key.clone());
        if unplayed.len() <= UNPLAYED_MAX {
            return;
        }
        let Some(oldest) = unplayed.pop_front() else { return };
        let mut slots = self.slots.lock();
        if slots.get(&oldest).is_some_and(|slot| !is_kept(&oldest, slot)) {
            slots.remove(&oldest);
        }
    }
}

impl Slot {
    /// Looks at the board, which is filled.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Board) -> T) -> T {
        look(self.state.read().board.as_ref().expect("a slot is handed out when it is filled"))
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.state.read().is_noted
    }

    pub(crate) fn set_noted(&self) {
        self.state.write().is_noted = true;
    }

    pub(crate) fn is_archived(&self) -> bool {
        self.state.read().is_archived
    }

    pub(crate) fn set_archived(&self) {
        self.state.write().is_archived = true;
    }

    /// Changes the board and the one that is being filled.
    fn change(&self, change: impl Fn(&mut Board) -> Option<Change>) -> Option<Change> {
        let mut state = self.state.write();
        if let Some(next) = &mut state.next {
            change(next);
        }
        state.board.as_mut().and_then(change)
    }
}

impl Score {
    /// The board of a game, filled.
    pub(crate) async fn board(
        self: &Arc<Self>,
        game: &Arc<Game>,
        period: &Period,
    ) -> Result<Arc<Slot>, Error> {
        let key = BoardKey::new(&game.name, period.clone());
        // Changes must find the slot from the moment on in which the first page is read.
        let slot = Arc::clone(self.boards.slots.lock().entry(key.clone()).or_default());
        match self.needs_filling(&slot, game) {
            Need::Nothing => {}
            Need::Now => {
                let filled = self.fill(&key, &slot, game).await;
                if !self.is_worth_keeping(&key, &slot) {
                    let is_kept = |key: &BoardKey, slot: &Slot| self.is_worth_keeping(key, slot);
                    self.boards.remember_unplayed(&key, is_kept);
                }
                filled?;
            }
            Need::Later => {
                let (score, slot, game) = (Arc::clone(self), Arc::clone(&slot), Arc::clone(game));
                self.tasks.spawn("board refresh", async move {
                    if let Err(error) = score.fill(&key, &slot, &game).await {
                        tracing::warn!(%error, "cannot read a board again");
                    }
                });
            }
        }
        Ok(slot)
    }

    /// Reads all boards that plays of now count in, one after the other.
    pub(crate) async fn prime_boards(self: &Arc<Self>) -> Result<(), Error> {
        let now = [Period::all(), Period::month_of(self.clock.now(), &self.zone)];
        for item in query_all(&*self.tables, items::query_notes()).await? {
            let Some(key) = items::read_note_key(&item) else { continue };
            let Ok(game) = self.get_game(&key.game) else { continue };
            if now.contains(&key.period) {
                self.board(&game, &key.period).await?;
            }
        }
        Ok(())
    }

    /// The periods in which a game was played, this month and all time among them: the newest
    /// first, and whether they are archived.
    pub(crate) async fn list_periods(&self, game: &str) -> Result<Vec<(Period, bool)>, Error> {
        // All time and this month are told whether or not they were played in.
        let query = items::query_notes_of(game, MONTHS_SHOWN + 1);
        let noted = self.tables.query(query).await?.items;
        let mut periods: BTreeMap<Period, bool> = BTreeMap::new();
        for item in &noted {
            if let Some(key) = items::read_note_key(item) {
                periods.insert(key.period, items::read_note(item).archived_at.is_some());
            }
        }
        for always in [Period::all(), Period::month_of(self.clock.now(), &self.zone)] {
            periods.entry(always).or_default();
        }
        // By its bytes `ALL` is greater than any month.
        Ok(periods.into_iter().rev().collect())
    }

    /// Whether a board is, or plays that are submitted now may count in it: also those of the month
    /// that has just ended. Otherwise anybody could fill the memory with months.
    fn is_worth_keeping(&self, key: &BoardKey, slot: &Slot) -> bool {
        let (now, zone) = (self.clock.now(), &self.zone);
        let is_open = key.period <= Period::month_of(now, zone) && !key.period.is_closed(now, zone);
        slot.is_noted() || key.period == Period::all() || is_open
    }

    fn needs_filling(&self, slot: &Slot, game: &Game) -> Need {
        let state = slot.state.read();
        let fits = state.board.as_ref().is_some_and(|board| board.fits(game));
        let age = state.filled.map(|filled| self.clock.instant().since(filled));
        match age {
            Some(age) if fits && age < self.boards.refresh => Need::Nothing,
            Some(_) if fits && state.next.is_some() => Need::Nothing,
            Some(_) if fits => Need::Later,
            Some(_) | None => Need::Now,
        }
    }

    /// Reads a board from the table.
    async fn fill(&self, key: &BoardKey, slot: &Slot, game: &Game) -> Result<(), Error> {
        let _alone = slot.filling.lock().await;
        if matches!(self.needs_filling(slot, game), Need::Nothing) {
            return Ok(());
        }
        let began = self.clock.instant();
        let forgotten = {
            let mut state = slot.state.write();
            state.next = Some(Board::new(game, Default::default()));
            state.forgotten
        };
        let read = self.read_rows(key, slot).await;
        // Looks into the hub, whose locks are not taken under the board's.
        let is_watched = self.is_watched(key);
        let _order = slot.order.lock();
        let mut state = slot.state.write();
        let next = state.next.take();
        let note = read?;
        let next = next.map(|mut board| {
            board.set_trimmed(note.as_ref().map(|note| note.trimmed.clone()).unwrap_or_default());
            board.is_filled();
            board
        });
        let before = std::mem::replace(&mut state.board, next);
        let is_news = match (before, state.board.as_ref()) {
            (Some(was), Some(is)) => !was.shows(is),
            // The first filling is news only to who watches a board that was let go.
            (None, Some(is)) => is.len() > 0 && is_watched,
            (_, None) => false,
        };
        state.is_noted |= note.is_some();
        state.is_archived |= note.is_some_and(|note| note.archived_at.is_some());
        state.filled = Some(began).filter(|_| state.forgotten == forgotten);
        drop(state);
        self.forget_rankings(key);
        if is_news {
            self.tell_board(key, slot);
        }
        Ok(())
    }

    /// Reads boards again that do not rank as their games do now, so that who watches is told.
    pub(crate) fn refit_boards(self: &Arc<Self>) {
        for (key, slot) in self.boards.all() {
            let Ok(game) = self.get_game(&key.game) else { continue };
            if slot.state.read().board.as_ref().is_none_or(|board| board.fits(&game)) {
                continue;
            }
            let score = Arc::clone(self);
            self.tasks.spawn("board refit", async move {
                if let Err(error) = score.board(&game, &key.period).await {
                    tracing::warn!(%error, "cannot read a board again");
                }
            });
        }
    }

    /// Compares boards with the store that are watched and whose time has come: nobody asks for
    /// them, because their readers wait to be told.
    pub(crate) fn refresh_watched(self: &Arc<Self>) {
        for (key, _) in self.boards.all() {
            let Ok(game) = self.get_game(&key.game) else { continue };
            if !self.is_watched(&key) {
                continue;
            }
            let score = Arc::clone(self);
            self.tasks.spawn("board refresh", async move {
                if let Err(error) = score.board(&game, &key.period).await {
                    tracing::warn!(%error, "cannot read a board again");
                }
            });
        }
    }

    fn is_watched(&self, key: &BoardKey) -> bool {
        self.changes.audience(&topic(key)) > 0
    }

    /// The place of a board now, if it has one.
    pub(crate) fn find_board(&self, key: &BoardKey) -> Option<Arc<Slot>> {
        self.boards.find(key).filter(|slot| slot.state.read().board.is_some())
    }

    async fn read_rows(&self, key: &BoardKey, slot: &Slot) -> Result<Option<Note>, Error> {
        let mut query = items::query_rows(key);
        loop {
            let page = self.tables.query(query.clone()).await?;
            let rows: Vec<Row> = page.items.iter().filter_map(items::read_row).collect();
            if let Some(next) = &mut slot.state.write().next {
                rows.into_iter().for_each(|row| drop(next.put(row)));
            }
            match page.last_key {
                Some(last) => query.start_after = Some(last),
                None => break,
            }
        }
        let note = self.tables.get(items::get_note(key)).await?;
        Ok(note.as_ref().map(items::read_note))
    }

    /// Takes a written row into its board, and tells everybody.
    pub(crate) fn row_written(&self, key: &BoardKey, row: &Row) {
        self.apply(key, |board| board.put(row.clone()), true);
        self.tell_row(key, &row.user, row.ver);
    }

    /// Takes a deleted row out of its board, and tells everybody.
    pub(crate) fn row_deleted(&self, key: &BoardKey, user: &str, ver: u64) {
        self.apply(key, |board| board.remove(user, ver), true);
        self.tell_row(key, user, ver);
    }

    /// Takes in what another instance did to a row: what the table says now.
    pub(crate) async fn row_changed_elsewhere(
        &self,
        key: &BoardKey,
        user: &str,
        ver: u64,
    ) -> Result<(), Error> {
        if self.boards.find(key).is_none() {
            self.forget_rankings(key);
            return Ok(());
        }
        let item = self.tables.get(items::get_row(key, user)).await?;
        match item.as_ref().and_then(items::read_row) {
            // Its readers were told by who did it.
            Some(row) => self.apply(key, |board| board.put(row.clone()), false),
            None => self.apply(key, |board| board.remove(user, ver), false),
        }
        Ok(())
    }

    /// Takes in what was trimmed off a board.
    pub(crate) async fn trimmed(&self, key: &BoardKey) -> Result<(), Error> {
        let Some(slot) = self.boards.find(key) else { return Ok(()) };
        let note = self.tables.get(items::get_note(key)).await?;
        if let Some(note) = note.as_ref().map(items::read_note) {
            slot.change(|board| {
                board.set_trimmed(note.trimmed.clone());
                None
            });
            if note.archived_at.is_some() {
                slot.set_archived();
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        key: &BoardKey,
        change: impl Fn(&mut Board) -> Option<Change>,
        tells_readers: bool,
    ) {
        let Some(slot) = self.boards.find(key) else { return self.forget_rankings(key) };
        let _order = slot.order.lock();
        let Some(change) = slot.change(change).filter(|change| change.is_seen) else { return };
        self.forget_rankings(key);
        if tells_readers {
            self.tell_readers(key, &change);
        }
    }

    fn forget_rankings(&self, key: &BoardKey) {
        for key in RankingKey::all_of(key) {
            self.rankings.invalidate(&key);
        }
    }

    fn tell_row(&self, key: &BoardKey, user: &str, ver: u64) {
        self.tell_instances(|| {
            let (game, period) = (key.game.clone(), key.period.to_string());
            NewsKind::Row { game, period, user: user.to_owned(), ver }
        });
    }
}

/// Whether a board must be read from the table.
enum Need {
    Nothing,
    /// Soon; it serves meanwhile.
    Later,
    /// Before it can serve.
    Now,
}
