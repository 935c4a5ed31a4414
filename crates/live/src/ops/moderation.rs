//! What the host does with comments, and what everybody does with them.

use table::commit;

use super::Tries;
use crate::Live;
use crate::error::Error;
use crate::limits::LIKES_PER_COMMENT_MAX;
use crate::live::Entry;
use crate::model::{Action, Change, Comment, State, Status};

impl Live {
    /// Does something with a comment, for the host. What is so already stays so.
    pub(crate) async fn moderate(
        &self,
        room_id: &str,
        comment_id: &str,
        host_id: Option<&str>,
        action: Action,
    ) -> Result<Comment, Error> {
        let _order = self.order.enter(room_id).await;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let room = self.get_room(room_id).await?;
            room.check_host(host_id)?;
            let before = self.get_comment(&room, comment_id).await?;
            let Some((comment, kind)) = before.act(action)? else { return Ok(before) };
            room.check_change(&self.rules)?;
            let seq = room.seq + 1;
            let change = Change { seq, kind, comment_id: comment.id.clone() };
            let writes = self.layout.change_comment(&room, &comment, &change, self.clock.now());
            if commit(&*self.tables, writes).await? {
                self.stages.say(room_id, Entry::change(seq, kind, &comment, &room));
                return Ok(comment);
            }
        }
    }

    /// Likes a comment, once for each participant.
    pub(crate) async fn like(
        &self,
        room_id: &str,
        comment_id: &str,
        participant: &str,
    ) -> Result<Comment, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let room = self.get_room(room_id).await?;
            let comment = self.get_comment(&room, comment_id).await?;
            if room.status == Status::Closed {
                return Err(Error::Closed);
            }
            if comment.state != State::Shown {
                return Err(Error::NotShown);
            }
            if comment.likes >= LIKES_PER_COMMENT_MAX {
                return Err(Error::LikesFull);
            }
            let author = room.author(participant);
            if self.tables.get(self.layout.get_like(&comment, &author)).await?.is_some() {
                return Err(Error::AlreadyLiked);
            }
            if commit(&*self.tables, self.layout.put_like(&comment, &author)).await? {
                let liked = self.get_comment(&room, comment_id).await?;
                self.stages.like(room_id, comment_id, liked.likes);
                return Ok(liked);
            }
        }
    }

    /// Counts a reaction.
    pub(crate) async fn react(&self, room_id: &str, reaction: &str) -> Result<(), Error> {
        let room = self.get_room(room_id).await?;
        self.stages.react(room_id, room.check_reaction(reaction)?);
        Ok(())
    }
}
