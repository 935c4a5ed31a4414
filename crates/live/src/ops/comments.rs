//! Comments, read in pages.

use base::Uuid;
use table::{Item, Query, attr};

use super::search::{Probe, Search, Span};
use crate::Live;
use crate::error::Error;
use crate::items;
use crate::limits::{ITEMS_PER_READ, NUMBERS_LEFT_MAX, PROBES_MAX, READS_PER_PAGE_MAX};
use crate::model::{Comment, Room, State};

/// A place among the comments of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A comment, there or not.
    Comment(Uuid),
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
        let id = Uuid::parse_str(text).map_err(|_| {
            Error::invalid(format!("{what} must be a comment's id or a number, not `{text}`"))
        })?;
        Ok(Place::Comment(id))
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
    /// said, before it. A page among hidden comments may hold fewer than wanted, also none, and
    /// still say where to go on.
    pub(crate) async fn list_comments(
        &self,
        room: &Room,
        page: &Page,
    ) -> Result<(Vec<Comment>, Option<String>), Error> {
        let after = match page.after {
            Some(Place::Seq(seq)) => self.find_seq(room, seq).await?.up_to,
            Some(Place::Comment(id)) => Some(id),
            None => None,
        };
        let before = match page.before {
            Some(Place::Seq(seq)) => self.find_seq(room, seq.saturating_sub(1)).await?.behind,
            Some(Place::Comment(id)) => Some(id),
            None => None,
        };
        let Some(query) = self.layout.query_between(&room.id, after, before) else {
            return Ok((Vec::new(), None));
        };
        // One more than wanted tells whether there is more.
        self.read_page(query.limit(page.limit + 1 + NUMBERS_LEFT_MAX), page).await
    }

    async fn read_page(
        &self,
        mut query: Query,
        page: &Page,
    ) -> Result<(Vec<Comment>, Option<String>), Error> {
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
        for _ in 0..READS_PER_PAGE_MAX {
            let found = self.tables.query(query.clone()).await?;
            comments.extend(found.items.iter().filter_map(items::read_comment));
            query.start_after = found.last_key;
            if query.start_after.is_none() || comments.len() > wanted {
                break;
            }
        }
        let next = if comments.len() > wanted {
            comments.truncate(wanted);
            comments.last().map(|comment| comment.id.clone())
        } else {
            query.start_after.as_ref().and_then(items::read_comment_key)
        };
        if backwards {
            comments.reverse();
        }
        Ok((comments, next))
    }

    /// Finds a number among the ids of a room, by looking at single comments. Numbers and ids have
    /// the same order, and ids are moments: two of three looks guess by the numbers on both sides,
    /// so that a steady talk is found at once, and the third halves the time that is left.
    async fn find_seq(&self, room: &Room, seq: u64) -> Result<Span, Error> {
        if seq >= room.seq {
            let last = Uuid::parse_str(&room.last_comment).ok();
            return Ok(Span { up_to: last, behind: None });
        }
        let Ok(last) = Uuid::parse_str(&room.last_comment) else { return Ok(Span::ALL) };
        let mut search = Search::new(seq, last.as_u128(), room.seq);
        for turn in 0..PROBES_MAX {
            let Some(probe) = search.probe(turn) else { break };
            let query = match probe {
                Probe::Above(at) => {
                    self.layout.query_between(&room.id, Some(Uuid::from_u128(at)), None)
                }
                Probe::UpTo(at) => {
                    let before = at.checked_add(1).map(Uuid::from_u128);
                    let query = self.layout.query_between(&room.id, None, before);
                    query.map(Query::descending)
                }
            };
            let Some(query) = query else { break };
            let found = self.tables.query(query.limit(1)).await?;
            let found = found.items.first().and_then(items::read_numbered);
            search.learn(probe, found.map(|(id, seq)| (id.as_u128(), seq)));
        }
        Ok(search.span())
    }

    /// The comments of one read of a whole room, for its host, and where the next one begins.
    pub(crate) async fn export_comments(
        &self,
        room_id: &str,
        start_after: Option<Item>,
    ) -> Result<(Vec<Comment>, Option<Item>), Error> {
        let mut query = self.layout.query_comments(room_id).limit(ITEMS_PER_READ);
        query.start_after = start_after;
        let page = self.tables.query(query).await?;
        Ok((page.items.iter().filter_map(items::read_comment).collect(), page.last_key))
    }
}
