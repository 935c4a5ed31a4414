//! Rooms: opened, listed, changed, closed, removed.

use base::Timestamp;

use table::{Item, commit, commit_each, query_all, write_all};

use super::Tries;
use crate::Live;
use crate::error::Error;
use crate::items::{self, Seat};
use crate::limits::{CODE_LENGTH, CODE_LETTERS, REMOVED_AT_ONCE};
use crate::live::{Entry, ShownRoom};
use crate::model::{ChangeRoom, CreateRoom, Room, check_host_id};

/// Letters of a room's salt: 190 random bits.
const SALT_LETTERS: usize = 32;

impl Live {
    /// Opens a room.
    pub(crate) async fn create_room(&self, command: &CreateRoom) -> Result<Room, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let code = self.ids.word(CODE_LETTERS, CODE_LENGTH);
            let salt = self.ids.alphanumeric(SALT_LETTERS);
            let id = self.ids.random().to_string();
            let room = command.decide(id, code, salt, self.clock.now())?;
            let max = self.options.rooms_max;
            match commit_each(&*self.tables, self.layout.put_room(&room, max)).await? {
                Ok(()) => return Ok(room),
                Err(lost) if lost.last() == Some(&true) => return Err(Error::RoomsFull(max)),
                // Lost to a room that has drawn the same code.
                Err(_) => {}
            }
        }
    }

    /// Rooms of a host, newest first, and where to go on.
    pub(crate) async fn list_rooms(
        &self,
        host_id: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<Room>, Option<String>), Error> {
        check_host_id(host_id)?;
        if let Some(place) = after {
            let parts = place.split_once('~');
            let is_place = parts.is_some_and(|(time, id)| {
                time.parse::<Timestamp>().is_ok() && !id.is_empty() && id.len() <= 64
            });
            if !is_place {
                return Err(Error::invalid(format!("`{place}` is not a cursor of this list")));
            }
        }
        let page = self.tables.query(self.layout.query_rooms(host_id, after, limit)).await?;
        let rooms: Vec<Room> = page.items.iter().filter_map(items::read_room).collect();
        let next = page.last_key.and(rooms.last()).map(items::room_place);
        Ok((rooms, next))
    }

    /// Changes a room for its host.
    pub(crate) async fn change_room(
        &self,
        id: &str,
        host_id: Option<&str>,
        change: &ChangeRoom,
    ) -> Result<Room, Error> {
        let _order = self.order.enter(id).await;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let before = self.get_room(id).await?;
            before.check_host(host_id)?;
            before.check_change(&self.rules)?;
            let room = before.change(change, self.clock.now())?;
            if commit(&*self.tables, self.layout.change_room(&room, before.seq)).await? {
                self.stages.say(id, Entry::room(room.seq, ShownRoom::of(&room)));
                return Ok(room);
            }
        }
    }

    /// Removes a room with everything in it, for its host.
    pub(crate) async fn delete_room(&self, id: &str, host_id: Option<&str>) -> Result<(), Error> {
        self.remove_room(id, |room| room.check_host(host_id)).await
    }

    /// Removes the room itself, and notes with it that its comments and marks are to follow.
    pub(super) async fn remove_room(
        &self,
        id: &str,
        may: impl Fn(&Room) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let _order = self.order.enter(id).await;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let room = self.get_room(id).await?;
            may(&room)?;
            let removal = self.removals.prepare(crate::jobs::removal(id)?)?;
            let mut writes = self.layout.delete_room(&room);
            writes.push(removal.write());
            if commit(&*self.tables, writes).await? {
                removal.committed();
                self.stages.say(id, Entry::room(room.seq + 1, ShownRoom::deleted(&room)));
                return Ok(());
            }
        }
    }

    /// Removes what a room that is gone has left.
    pub(crate) async fn remove_remains(&self, id: &str) -> Result<(), Error> {
        for query in self.layout.query_remains(id) {
            let table = query.table.clone();
            let keys = query_all(&*self.tables, query).await?;
            for some in keys.chunks(REMOVED_AT_ONCE) {
                let removals = some.iter().map(|key| items::remove(&table, key)).collect();
                write_all(&*self.tables, &self.clock, removals).await?;
            }
        }
        Ok(())
    }

    /// How many are in a room, at all instances.
    pub(crate) fn viewers(&self, id: &str) -> usize {
        self.stages.viewers(id)
    }

    /// Notes that a connection is in a room.
    pub(crate) async fn put_connection(&self, seat: &Seat) -> Result<(), Error> {
        self.tables.put(self.layout.put_connection(seat, self.clock.now())).await?;
        Ok(())
    }

    /// Notes that it still is.
    pub(crate) async fn renew_connection(&self, seat: &Seat) -> Result<(), Error> {
        let renewed = self.tables.put(self.layout.renew_connection(seat, self.clock.now()));
        unless_moved(renewed.await)
    }

    /// Forgets a connection that has left its seat.
    pub(crate) async fn delete_connection(&self, seat: &Seat) -> Result<(), Error> {
        unless_moved(self.tables.delete(self.layout.delete_connection(seat)).await)
    }

    /// Forgets a connection whose lease has ended.
    pub(crate) async fn delete_lapsed(&self, connection: &str) -> Result<(), Error> {
        let delete = self.layout.delete_lapsed(connection, self.clock.now());
        unless_moved(self.tables.delete(delete).await)
    }
}

/// The connection has another seat by now, or none: nothing is to be done.
fn unless_moved(done: Result<Option<Item>, table::Error>) -> Result<(), Error> {
    match done {
        Ok(_) | Err(table::Error::ConditionFailed { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
