//! Comments: posted, and read in pages.

use base::{Timestamp, Uuid};
use table::{Item, attr, commit};

use super::Tries;
use crate::Live;
use crate::error::Error;
use crate::items;
use crate::limits::ITEMS_PER_READ;
use crate::live::Entry;
use crate::model::{Comment, PostComment, Room, State, retry_key};

/// A place among the comments of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A comment, there or not.
    Comment(String),
    /// A number.
    Seq(u64),
}

impl Place {
    /// Reads a comment's id or a number.
    pub(crate) fn parse(what: &str, text: &str) -> Result<Place, Error> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && let Ok(seq) = text.parse() {
            return Ok(Place::Seq(seq));
        }
        // In the form in which ids are stored and sorted.
        let id = Uuid::parse_str(text).map_err(|_| {
            Error::invalid(format!("{what} must be a comment's id or a number, not `{text}`"))
        })?;
        Ok(Place::Comment(id.to_string()))
    }
}

/// What part of a room's comments is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) after: Option<Place>,
    pub(crate) before: Option<Place>,
    pub(crate) limit: u32,
    /// Whether hidden comments and those that wait are wanted too.
    pub(crate) for_host: bool,
}

impl Live {
    /// Adds a comment to an open room.
    pub(crate) async fn post_comment(
        &self,
        room_id: &str,
        post: &PostComment,
    ) -> Result<Comment, Error> {
        let retry = post.client_id.as_deref().map(|id| retry_key(id, post)).transpose()?;
        let _order = self.order.enter(room_id).await;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let room = self.get_room(room_id).await?;
            if let Some(first) = self.find_retried(&room, retry.as_deref()).await? {
                return Ok(first);
            }
            let spoke_at = self.find_spoke(&room, post).await?;
            let (id, now) = (self.ids.ordered(), self.clock.now());
            let comment = room.admit(post, &self.rules, spoke_at, id, now)?;
            if commit(&*self.tables, self.layout.put_comment(&room, &comment, retry.as_deref()))
                .await?
            {
                self.stages.say(room_id, Entry::comment(&comment));
                return Ok(comment);
            }
        }
    }

    /// The comment that an earlier try has made.
    async fn find_retried(
        &self,
        room: &Room,
        retry: Option<&str>,
    ) -> Result<Option<Comment>, Error> {
        let Some(key) = retry else { return Ok(None) };
        let mark = self.tables.get(self.layout.get_retry(&room.id, key)).await?;
        let id = mark.as_ref().and_then(|mark| items::read_retry(mark, self.clock.now()));
        match id {
            Some(id) => self.get_comment(room, &id).await.map(Some),
            None => Ok(None),
        }
    }

    /// When the participant spoke, if the room is in slow mode.
    async fn find_spoke(
        &self,
        room: &Room,
        post: &PostComment,
    ) -> Result<Option<Timestamp>, Error> {
        if room.slow_mode_seconds == 0 {
            return Ok(None);
        }
        let author = room.author(&post.participant);
        let mark = self.tables.get(self.layout.get_spoke(&room.id, &author)).await?;
        Ok(mark.as_ref().and_then(items::read_spoke))
    }

    /// A page of comments, oldest first, and where to go on: behind it, or, if only `before` is
    /// said, before it.
    pub(crate) async fn list_comments(
        &self,
        room: &Room,
        page: &Page,
    ) -> Result<(Vec<Comment>, Option<String>), Error> {
        let id = |place: &Option<Place>| match place {
            Some(Place::Comment(id)) => Some(id.clone()),
            Some(Place::Seq(_)) | None => None,
        };
        let (after, before) = (id(&page.after), id(&page.before));
        let query = self.layout.query_comments(&room.id, after.as_deref(), before.as_deref());
        let mut query = query.limit(ITEMS_PER_READ);
        if let Some(Place::Seq(seq)) = page.after {
            query = query.filter(attr("seq").gt(seq));
        }
        if let Some(Place::Seq(seq)) = page.before {
            query = query.filter(attr("seq").lt(seq));
        }
        if !page.for_host {
            query = query.filter(attr("state").eq(State::Shown.word()));
        }
        let backwards = page.before.is_some() && page.after.is_none();
        if backwards {
            query = query.descending();
        }
        let wanted = page.limit as usize;
        let mut comments: Vec<Comment> = Vec::new();
        // One more than wanted tells whether there is more.
        while comments.len() <= wanted {
            let found = self.tables.query(query.clone()).await?;
            comments.extend(found.items.iter().filter_map(items::read_comment));
            match found.last_key {
                Some(last) => query.start_after = Some(last),
                None => break,
            }
        }
        let has_more = comments.len() > wanted;
        comments.truncate(wanted);
        let next = comments.last().filter(|_| has_more).map(|comment| comment.id.clone());
        if backwards {
            comments.reverse();
        }
        Ok((comments, next))
    }

    /// The comments of one read of a whole room, for its host, and where the next one begins.
    pub(crate) async fn export_comments(
        &self,
        room_id: &str,
        start_after: Option<Item>,
    ) -> Result<(Vec<Comment>, Option<Item>), Error> {
        let mut query = self.layout.query_comments(room_id, None, None).limit(ITEMS_PER_READ);
        query.start_after = start_after;
        let page = self.tables.query(query).await?;
        Ok((page.items.iter().filter_map(items::read_comment).collect(), page.last_key))
    }
}
