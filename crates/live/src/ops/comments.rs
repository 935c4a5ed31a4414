//! Comments, read in pages.

use base::Uuid;
use table::{Item, attr};

use crate::Live;
use crate::error::Error;
use crate::items;
use crate::limits::ITEMS_PER_READ;
use crate::model::{Comment, Room, State};

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
