//! The verbs of the contract: load, decide, commit, announce.
//!
//! A commit repeats as conditions what the decision relied on; a lost race is loaded and decided
//! again, a bounded number of times. Who commits something that has a number holds the room's lock
//! from the look to the push, so that pushes leave in the order of the numbers.

mod census;
mod comments;
mod follow;
mod moderation;
mod posting;
mod rooms;
mod search;

pub(crate) use self::census::Comments;
pub(crate) use self::comments::{Page, Place};
pub(crate) use self::follow::{Following, Start};
pub(crate) use self::posting::Waiting;

use crate::Live;
use crate::error::Error;
use crate::items;
use crate::limits::{CODE_LENGTH, RACES_MAX};
use crate::model::{Comment, Room, check_id};

impl Live {
    /// The room.
    pub(crate) async fn get_room(&self, id: &str) -> Result<Room, Error> {
        check_id("roomId", id)?;
        let item = self.tables.get(self.layout.get_room(id)).await?;
        let room = item.as_ref().and_then(items::read_room);
        room.ok_or_else(|| Error::RoomNotFound(id.to_owned()))
    }

    /// The room by its id or its code, in whatever case the code was typed.
    pub(crate) async fn find_by_name(&self, name: &str) -> Result<Room, Error> {
        if name.chars().count() != CODE_LENGTH {
            return self.get_room(name).await;
        }
        let item = self.tables.get(self.layout.get_code(&name.to_ascii_uppercase())).await?;
        match item.as_ref().and_then(items::read_code) {
            Some(id) => self.get_room(&id).await,
            None => Err(Error::RoomNotFound(name.to_owned())),
        }
    }

    async fn get_comment(&self, room: &Room, id: &str) -> Result<Comment, Error> {
        check_id("commentId", id)?;
        let item = self.tables.get(self.layout.get_comment(&room.id, id)).await?;
        let comment = item.as_ref().and_then(items::read_comment);
        comment.ok_or_else(|| Error::CommentNotFound(id.to_owned()))
    }
}

/// Counts the tries of a decision; an error when there were too many.
struct Tries(u32);

impl Tries {
    fn new() -> Tries {
        Tries(RACES_MAX)
    }

    fn again(&mut self) -> Result<(), Error> {
        self.0 = self.0.checked_sub(1).ok_or(Error::Contended)?;
        Ok(())
    }
}
