//! Notifications: what others did to a user.

use base::Timestamp;

use super::{Page, Part};
use crate::Sns;
use crate::error::{Error, Flaw};
use crate::items::{sort_key, timeline};
use crate::model::UserId;
use crate::model::social::{Follow, Like};
use crate::model::timeline::{Note, NoteKind};

impl Sns {
    /// Tells a user that it is followed, if it still is.
    pub(crate) async fn note_follow(&self, follow: &Follow) -> Result<(), Error> {
        let found = self.find_follow(follow.follower, follow.followee).await?;
        let Some(found) = found.filter(|found| found.id == follow.id) else { return Ok(()) };
        let note = Note {
            id: follow.id.clone(),
            user: follow.followee,
            actor: follow.follower,
            kind: NoteKind::Follow,
            created: follow.created,
        };
        self.notify(note, self.layout.social.follow_stands(&found)).await
    }

    /// Tells a user that its post is liked, if it still is.
    pub(crate) async fn note_like(&self, like: &Like) -> Result<(), Error> {
        if like.user == like.author {
            return Ok(());
        }
        let note = Note {
            id: like.id.clone(),
            user: like.author,
            actor: like.user,
            kind: NoteKind::Like(like.post),
            created: like.created,
        };
        self.notify(note, self.layout.social.like_stands(like)).await
    }

    /// Notifies, unless what it tells is not true any more or is not wanted.
    async fn notify(&self, note: Note, stands: table::TransactItem) -> Result<(), Error> {
        if !self.list_unwanted(note.user, [note.actor]).await?.is_empty() {
            return Ok(());
        }
        let there = self.layout.users.exists(note.user);
        let writes = vec![stands, there, self.layout.timelines.put_note(&note)];
        if self.commit(writes, &[]).await?.is_ok() {
            self.tell_note(&note).await?;
        }
        Ok(())
    }

    /// Takes back that a user is followed.
    pub(crate) async fn unnote_follow(&self, follow: &Follow) -> Result<(), Error> {
        self.unnote(follow.followee, follow.created, &follow.id).await
    }

    /// Takes back that a user's post is liked.
    pub(crate) async fn unnote_like(&self, like: &Like) -> Result<(), Error> {
        self.unnote(like.author, like.created, &like.id).await
    }

    async fn unnote(&self, user: UserId, created: Timestamp, note: &str) -> Result<(), Error> {
        let delete = self.layout.timelines.delete_note(user, created, note);
        self.tables.delete(delete).await?;
        Ok(())
    }

    /// Notifications of a user, newest first, and up to when it has read them.
    pub(crate) async fn list_notes(
        &self,
        user: UserId,
        part: &Part,
    ) -> Result<(Page<Note>, Timestamp), Error> {
        let after = part.after.as_deref();
        if let Some(after) = after.filter(|after| !timeline::is_note_place(after)) {
            return Err(Flaw::Cursor(after.to_owned()).into());
        }
        let layout = &self.layout.timelines;
        let (now, query) = (self.clock.now(), layout.query_notes(user, after, part.rows()));
        let items = self.tables.query(query).await?.items;
        let read = self.tables.get(layout.get_read(user)).await?;
        let page = part.cut(items, |item| sort_key(item).to_owned());
        let notes = page.items.iter().filter_map(|item| timeline::read_note(item, now));
        let mut notes: Vec<Note> = notes.collect();
        // Who was blocked or muted since.
        let unwanted = self.list_unwanted(user, notes.iter().map(|note| note.actor)).await?;
        notes.retain(|note| !unwanted.contains(&note.actor));
        Ok((Page { items: notes, next: page.next }, timeline::read_read(read.as_ref())))
    }

    /// A user has read its notifications up to now.
    pub(crate) async fn read_notes(&self, user: UserId) -> Result<(), Error> {
        let put = self.layout.timelines.put_read(user, self.clock.now());
        self.tables.put(put).await?;
        Ok(())
    }
}
