//! Where somebody who joins a room begins to listen.
//!
//! A joiner says the last number it knows. If the channel's memory reaches back there, it follows
//! from that place, and everything it missed is pushed to it from what is already encoded: a room
//! full of people who come back at once costs no read. If not, or if something was hidden since,
//! what it missed is read from the store up to a number that the channel's memory has, and it
//! follows from there. Either way every number comes once.
//!
//! Invariant: a room that somebody follows has a push in memory that says which number is the
//! newest one told; [`Live::mark`] makes one when there is none.

use std::cell::Cell;
use std::collections::HashMap;

use hub::{Channel, Position, View};

use table::query_all;

use super::Tries;
use crate::Live;
use crate::error::Error;
use crate::items;
use crate::limits::{ITEMS_PER_READ, MARKED_LOOK, MARKED_WITHIN, REPLAY_BYTES_MAX, REPLAY_MAX};
use crate::live::{BARE, Entry, HOST, HOST_EVENTS, ShownRoom, head, render};
use crate::model::{Change, ChangeKind, Comment, Room, State};

/// Who wants to listen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Following {
    /// In which form.
    pub(crate) view: View,
    /// Behind which number.
    pub(crate) after: Option<u64>,
}

/// Where they begin.
#[derive(Debug)]
pub(crate) struct Start {
    /// Where the channel goes on.
    pub(crate) position: Position,
    /// The newest number told in this moment. What is later will be pushed.
    pub(crate) seq: u64,
    /// What is told before, from the store.
    pub(crate) replay: Vec<Entry>,
    /// Whether something between `after` and the beginning is not told: the pages have it.
    pub(crate) gap: bool,
}

/// A push in a channel's memory.
#[derive(Clone, Copy, Debug)]
struct Known {
    position: Position,
    last: u64,
}

impl Live {
    /// The channel of a form.
    pub(crate) fn channel(&self, view: View) -> &Channel {
        if view == BARE { self.stages.single() } else { self.stages.room() }
    }

    /// Finds where somebody begins to listen.
    pub(crate) async fn find_start(
        &self,
        room: &Room,
        following: Following,
    ) -> Result<Start, Error> {
        let channel = self.channel(following.view);
        let mut newest = self.newest(channel, &room.id).await?;
        let from = |known: Known| Start {
            position: known.position,
            seq: known.last,
            replay: Vec::new(),
            gap: false,
        };
        let Some(after) = following.after else { return Ok(from(newest)) };
        if after > newest.last {
            // Somebody has read what is about to be told: let it be told first.
            let _order = self.order.enter(&room.id).await;
            self.stages.flush(&room.id);
            newest = self.newest_known(channel, &room.id).unwrap_or(newest);
        }
        if after >= newest.last {
            return Ok(from(newest));
        }
        if let Some(known) = find_behind(channel, &room.id, after) {
            return Ok(Start { position: known.position, ..from(newest) });
        }
        let is_host = matches!(following.view, HOST | HOST_EVENTS);
        let replay = self.replay(room, after, newest.last, is_host).await?;
        let fits = replay.as_ref().is_some_and(|entries| {
            let bytes = entries.iter().filter_map(|entry| {
                render(std::slice::from_ref(entry), following.view).map(|text| text.len())
            });
            bytes.sum::<usize>() <= REPLAY_BYTES_MAX
        });
        let replay = replay.filter(|_| fits);
        Ok(Start { gap: replay.is_none(), replay: replay.unwrap_or_default(), ..from(newest) })
    }

    /// The newest push in memory, which is made if there is none.
    async fn newest(&self, channel: &Channel, room_id: &str) -> Result<Known, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            if let Some(known) = self.newest_known(channel, room_id) {
                return Ok(known);
            }
            self.mark(channel, room_id).await?;
            self.until_marked(channel, room_id).await?;
        }
    }

    /// Waits for a mark, which is there at once in a house that stands alone, and over a broker
    /// when it has come back in its place among what others tell.
    async fn until_marked(&self, channel: &Channel, room_id: &str) -> Result<(), Error> {
        let began = self.clock.instant();
        while self.newest_known(channel, room_id).is_none() {
            if self.clock.instant().since(began) > MARKED_WITHIN {
                return Err(Error::Contended);
            }
            self.clock.sleep(MARKED_LOOK).await;
        }
        Ok(())
    }

    fn newest_known(&self, channel: &Channel, room_id: &str) -> Option<Known> {
        let last = Cell::new(0);
        let position = channel
            .find(room_id, |push| head(push).inspect(|head| last.set(head.last)).is_some())?;
        Some(Known { position, last: last.get() })
    }

    /// Says in the channel which number is the newest, once for a room in which nothing was told
    /// for a while. Under the room's lock: nothing is committed and not yet told then.
    async fn mark(&self, channel: &Channel, room_id: &str) -> Result<(), Error> {
        let _order = self.order.enter(room_id).await;
        if self.newest_known(channel, room_id).is_none() {
            let room = self.get_room(room_id).await?;
            channel.publish(room_id, crate::live::encode(&[Entry::mark(room.seq)]));
        }
        Ok(())
    }

    /// What happened behind `after` and not behind `until`, as it stands now; nothing if it is too
    /// much.
    async fn replay(
        &self,
        room: &Room,
        after: u64,
        until: u64,
        is_host: bool,
    ) -> Result<Option<Vec<Entry>>, Error> {
        let numbers = usize::try_from(until - after).unwrap_or(usize::MAX);
        if numbers > REPLAY_MAX {
            return Ok(None);
        }
        let mut entries = self.replay_comments(room, after, until, is_host).await?;
        let changes =
            query_all(&*self.tables, self.layout.query_changes(&room.id, after, until)).await?;
        let changes: Vec<Change> = changes.iter().filter_map(items::read_change).collect();
        entries.extend(self.replay_changes(room, &changes, after, is_host).await?);
        entries.sort_by_key(|entry| entry.seq);
        Ok(Some(entries))
    }

    /// Comments with these numbers. Read from the newest back, because they lie in the order of
    /// their numbers and the wanted ones are at the end.
    async fn replay_comments(
        &self,
        room: &Room,
        after: u64,
        until: u64,
        is_host: bool,
    ) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        let query = self.layout.query_comments(&room.id);
        let mut query = query.descending().limit(ITEMS_PER_READ);
        loop {
            let page = self.tables.query(query.clone()).await?;
            for comment in page.items.iter().filter_map(items::read_comment) {
                if comment.seq <= after {
                    return Ok(entries);
                }
                let is_seen = is_host || comment.state == State::Shown;
                if comment.seq <= until && is_seen {
                    entries.push(Entry::comment(&comment));
                }
            }
            match page.last_key {
                Some(last) => query.start_after = Some(last),
                None => return Ok(entries),
            }
        }
    }

    /// Changes, each with its comment as it is now: what is hidden by now is not shown for having
    /// been restored once.
    async fn replay_changes(
        &self,
        room: &Room,
        changes: &[Change],
        after: u64,
        is_host: bool,
    ) -> Result<Vec<Entry>, Error> {
        // It may have changed since it was looked at.
        let room = &self.get_room(&room.id).await?;
        let (mut entries, mut comments) = (Vec::new(), HashMap::<&str, Comment>::new());
        for change in changes {
            if change.kind == ChangeKind::Room {
                entries.push(Entry::room(change.seq, ShownRoom::of(room)));
                continue;
            }
            let id = change.comment_id.as_str();
            if !comments.contains_key(id) {
                match self.get_comment(room, id).await {
                    Ok(comment) => comments.insert(id, comment),
                    Err(Error::CommentNotFound(_)) => continue,
                    Err(error) => return Err(error),
                };
            }
            let Some(comment) = comments.get(id) else { continue };
            let is_seen = is_host || comment.state == State::Shown;
            let is_told = match change.kind {
                ChangeKind::Hidden => true,
                // Told among the comments already, if it is a new one.
                ChangeKind::Approved | ChangeKind::Restored => is_seen && comment.seq <= after,
                ChangeKind::Room
                | ChangeKind::Pinned
                | ChangeKind::Unpinned
                | ChangeKind::Answered
                | ChangeKind::Unanswered => is_seen,
            };
            if !is_told {
                continue;
            }
            entries.push(Entry::change(change.seq, change.kind, comment, room));
        }
        Ok(entries)
    }
}

/// The place behind number `after`, if memory has all that follows and nothing of it was hidden.
fn find_behind(channel: &Channel, room_id: &str, after: u64) -> Option<Known> {
    let (first, last, is_whole) = (Cell::new(u64::MAX), Cell::new(0), Cell::new(true));
    let position = channel.find(room_id, |push| {
        let Some(head) = head(push) else { return false };
        if head.last <= after {
            last.set(head.last);
            return true;
        }
        first.set(head.first);
        is_whole.set(is_whole.get() && !head.takes_back);
        false
    })?;
    // A frame that begins before the place would tell some numbers twice.
    (is_whole.get() && first.get() > after).then_some(Known { position, last: last.get() })
}
