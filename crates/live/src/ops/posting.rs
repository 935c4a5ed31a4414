//! Where a comment gets its number.
//!
//! Every comment is a turn of its room's item, so a room takes one commit after the other. Comments
//! that come while one is under way wait, and all of them are in the next: a crowd pays for one
//! commit, and a lone comment waits for nobody.
//!
//! Invariants:
//! - a comment is decided on the room as it is after the comment before it;
//! - whoever waits is told its own outcome, also when others of the commit are refused or went away;
//! - no commit writes a mark twice: who would waits for the next one, and finds the mark there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::Timestamp;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use table::commit;
use table::limits::TRANSACT_MAX;
use tokio::sync::oneshot;

use super::Tries;
use crate::Live;
use crate::error::Error;
use crate::items;
use crate::limits::WRITES_PER_COMMENT_MAX;
use crate::live::Entry;
use crate::model::{Comment, PostComment, Room, retry_key};

/// Comments that wait for a commit, by room.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<HashMap<String, Vec<Posted>>>);

/// A comment that waits.
struct Posted {
    post: PostComment,
    /// Where a retry of it finds it.
    retry: Option<String>,
    done: oneshot::Sender<Result<Comment, Error>>,
}

/// What is remembered of earlier comments.
struct Remembered {
    /// What an earlier try has made.
    first: Option<Comment>,
    /// When the participant spoke, if the room is in slow mode.
    spoke_at: Option<Timestamp>,
}

impl Waiting {
    /// Adds a comment; whether it is the first, for which somebody must come.
    fn add(&self, room_id: &str, posted: Posted) -> bool {
        let mut rooms = self.0.lock();
        if let Some(waiting) = rooms.get_mut(room_id) {
            waiting.push(posted);
            return false;
        }
        rooms.insert(room_id.to_owned(), vec![posted]);
        true
    }

    fn take(&self, room_id: &str) -> Vec<Posted> {
        self.0.lock().remove(room_id).unwrap_or_default()
    }
}

impl Live {
    /// Adds a comment to an open room.
    pub(crate) async fn post_comment(
        self: &Arc<Self>,
        room_id: &str,
        post: PostComment,
    ) -> Result<Comment, Error> {
        self.check_comments()?;
        let retry = post.client_id.as_deref().map(|id| retry_key(id, &post)).transpose()?;
        let (done, outcome) = oneshot::channel();
        if self.waiting.add(room_id, Posted { post, retry, done }) {
            // A task of its own, because a caller may go away while others wait for its commit.
            let post_all = Arc::clone(self).post_all(room_id.to_owned());
            self.tasks.spawn("live comments", post_all);
        }
        // A task that is gone was dropped with its runtime.
        outcome.await.unwrap_or(Err(Error::Contended))
    }

    async fn post_all(self: Arc<Self>, room_id: String) {
        let _order = self.order.enter(&room_id).await;
        let mut posts = self.waiting.take(&room_id);
        while !posts.is_empty() {
            posts = self.post_some(&room_id, posts).await;
        }
    }

    /// Decides and tells as many as one commit takes, and answers the others.
    async fn post_some(&self, room_id: &str, posts: Vec<Posted>) -> Vec<Posted> {
        let mut tries = Tries::new();
        let outcomes = loop {
            if let Err(error) = tries.again() {
                break Err(error);
            }
            match self.try_posts(room_id, &posts).await {
                Ok(Some(outcomes)) => break Ok(outcomes),
                Ok(None) => {}
                Err(error) => break Err(error),
            }
        };
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(error) => posts.iter().map(|_| Some(Err(error.clone()))).collect(),
        };
        let mut others = Vec::new();
        for (posted, outcome) in posts.into_iter().zip(outcomes) {
            match outcome {
                // Who went away does not hear it.
                Some(outcome) => drop(posted.done.send(outcome)),
                None => others.push(posted),
            }
        }
        others
    }

    /// The outcomes of those that one commit takes, in the order of the posts; nothing at all if
    /// the room has changed meanwhile.
    async fn try_posts(
        &self,
        room_id: &str,
        posts: &[Posted],
    ) -> Result<Option<Vec<Option<Result<Comment, Error>>>>, Error> {
        let mut room = self.get_room(room_id).await?;
        let remembered =
            try_join_all(posts.iter().map(|posted| self.remembered(&room, posted))).await?;
        let (seq, mut marked, mut writes, mut said) =
            (room.seq, HashSet::new(), Vec::new(), Vec::new());
        let mut outcomes = Vec::with_capacity(posts.len());
        for (posted, remembered) in posts.iter().zip(remembered) {
            if let Some(first) = remembered.first {
                outcomes.push(Some(Ok(first)));
                continue;
            }
            let (id, now) = (self.ids.ordered(), self.clock.now());
            let comment = match room.admit(&posted.post, &self.rules, remembered.spoke_at, id, now)
            {
                Ok(comment) => comment,
                Err(error) => {
                    outcomes.push(Some(Err(error)));
                    continue;
                }
            };
            let fits = writes.len() + WRITES_PER_COMMENT_MAX < TRANSACT_MAX;
            let is_marked = posted.retry.iter().any(|key| !marked.insert(key.clone()))
                || (room.slow_mode_seconds > 0 && !marked.insert(comment.author.clone()));
            if !fits || is_marked {
                outcomes.push(None);
                continue;
            }
            writes.extend(self.layout.put_comment(&room, &comment, posted.retry.as_deref()));
            room.seq = comment.seq;
            room.last_comment.clone_from(&comment.id);
            said.push(Entry::comment(&comment));
            outcomes.push(Some(Ok(comment)));
        }
        if !said.is_empty() {
            writes.push(self.layout.turn(&room, seq, self.clock.now()));
            if !commit(&*self.tables, writes).await? {
                return Ok(None);
            }
        }
        self.comments.add(said.len());
        said.into_iter().for_each(|entry| self.stages.say(room_id, entry));
        Ok(Some(outcomes))
    }

    async fn remembered(&self, room: &Room, posted: &Posted) -> Result<Remembered, Error> {
        let mut remembered = Remembered { first: None, spoke_at: None };
        if let Some(key) = &posted.retry {
            let mark = self.tables.get(self.layout.get_retry(&room.id, key)).await?;
            let id = mark.as_ref().and_then(|mark| items::read_retry(mark, self.clock.now()));
            if let Some(id) = id {
                remembered.first = Some(self.get_comment(room, &id).await?);
            }
        }
        if room.slow_mode_seconds > 0 {
            let author = room.author(&posted.post.participant);
            let mark = self.tables.get(self.layout.get_spoke(&room.id, &author)).await?;
            remembered.spoke_at = mark.as_ref().and_then(items::read_spoke);
        }
        Ok(remembered)
    }
}
