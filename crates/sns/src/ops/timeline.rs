//! Reading timelines.
//!
//! A page is one query of entries and one batch of gets: the posts, authors whose names are not
//! remembered, and the version of the reader's circle. Authors with many followers are merged in
//! here, by one query each.
//!
//! Invariants: what is shown is there, not expired, and of an author whom the reader sees now,
//! whatever the entries say. A page has as many posts as asked for while there are more. Nobody is
//! shown more than the newest 800 entries.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::Timestamp;

use super::{Page, Part};
use crate::Sns;
use crate::error::Error;
use crate::items::{post, social, timeline, user};
use crate::limits::{ENTRY_LIFE, TIMELINE_MAX};
use crate::model::account::Card;
use crate::model::post::Post;
use crate::model::social::Circle;
use crate::model::timeline::{Bookmark, Entry, Place, merge};
use crate::model::{PostId, UserId};

/// A post as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) post: Post,
    pub(crate) author: Arc<Card>,
}

/// Entries behind a place, and whether there are more behind them: then there is one at least.
struct Stretch {
    entries: Vec<Entry>,
    has_more: bool,
}

impl Sns {
    /// Part of a user's timeline, newest first.
    pub(crate) async fn read_timeline(
        &self,
        user: UserId,
        part: &Part,
    ) -> Result<Page<Shown>, Error> {
        let from: Option<Bookmark> = part.after.as_deref().map(str::parse).transpose()?;
        let mut after = from.map(|from| from.place);
        // Of all entries of this reader's way through the timeline, those of the pages before.
        let before = from.map_or(0, |from| from.looked);
        let wanted = part.offset + part.limit;
        let mut shown: Vec<Shown> = Vec::with_capacity(wanted);
        let pulled = self.pulled_by(user).await?;
        let mut looked: Vec<Place> = Vec::with_capacity(wanted + 1);
        let mut has_more = true;
        while has_more && shown.len() <= wanted && before + looked.len() < TIMELINE_MAX {
            // One more than is wanted says whether there is a next page.
            let left = TIMELINE_MAX - before - looked.len();
            let room = (wanted + 1 - shown.len()).min(left);
            let stretch = self.stretch(user, &pulled, after, room).await?;
            looked.extend(stretch.entries.iter().map(|entry| entry.place));
            after = looked.last().copied().or(after);
            has_more = stretch.has_more;
            shown.extend(self.hydrate(user, &stretch.entries).await?);
        }
        Ok(part.cut(shown, |last| {
            let place = last.post.place();
            let until = looked.iter().take_while(|looked| **looked >= place).count();
            Bookmark { place, looked: before + until }.to_string()
        }))
    }

    /// How many posts a user's timeline has.
    pub(crate) async fn count_timeline(&self, user: UserId) -> Result<usize, Error> {
        let part = Part { after: None, offset: 0, limit: TIMELINE_MAX };
        Ok(self.read_timeline(user, &part).await?.items.len())
    }

    /// The newest entries behind a place, of the timeline and of those who are merged in.
    async fn stretch(
        &self,
        user: UserId,
        pulled: &[UserId],
        after: Option<Place>,
        room: usize,
    ) -> Result<Stretch, Error> {
        let (now, limit) = (self.clock.now(), u32::try_from(room).unwrap_or(u32::MAX));
        let page = self.tables.query(self.layout.timelines.query(user, after, limit)).await?;
        let read = |item| timeline::read(item, now);
        let entries: Vec<Entry> = page.items.iter().filter_map(read).collect();
        // Behind one that is over stand only older ones.
        let mut has_more = page.last_key.is_some() && entries.len() == page.items.len();
        if pulled.is_empty() {
            return Ok(Stretch { entries, has_more });
        }
        let mut lists = vec![entries];
        for author in pulled {
            let posts = self.query_posts(*author, after, limit).await?;
            let entry = |post: &Post| Entry { place: post.place(), author: *author };
            let fresh = posts.iter().filter(|post| is_fresh(post, now)).map(entry);
            let fresh: Vec<Entry> = fresh.collect();
            has_more |= fresh.len() >= room;
            lists.push(fresh);
        }
        let mut entries = merge(lists);
        has_more |= entries.len() > room;
        entries.truncate(room);
        Ok(Stretch { entries, has_more })
    }

    /// The authors whom a user sees and who are merged in.
    async fn pulled_by(&self, user: UserId) -> Result<Vec<UserId>, Error> {
        let pulled = self.pulled.read().clone();
        if pulled.is_empty() {
            return Ok(Vec::new());
        }
        let version = self.count_social(user).await?.version;
        let circle = self.circle(user, version).await?;
        Ok(pulled.iter().copied().filter(|author| circle.shows(*author)).collect())
    }

    /// The posts of entries that the reader sees, with their authors.
    async fn hydrate(&self, reader: UserId, entries: &[Entry]) -> Result<Vec<Shown>, Error> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut cards: HashMap<UserId, Arc<Card>> = HashMap::with_capacity(entries.len());
        let mut asked: HashSet<UserId> = HashSet::new();
        let layout = &self.layout;
        let mut gets: Vec<_> =
            entries.iter().map(|entry| layout.posts.get(entry.place.post)).collect();
        for Entry { author, .. } in entries {
            if asked.insert(*author) {
                match self.find_card(*author) {
                    Some(card) => drop(cards.insert(*author, card)),
                    None => gets.push(layout.users.get(*author)),
                }
            }
        }
        gets.push(layout.social.get_counts(reader));
        let mut posts: HashMap<PostId, Post> = HashMap::with_capacity(entries.len());
        let mut version = 0;
        for (table, item) in self.get_all(gets).await? {
            if layout.posts.is_mine(&table) {
                posts.extend(post::read(&item).map(|post| (post.id, post)));
            } else if layout.users.is_mine(&table) {
                let card = user::read_card(&item).map(|card| self.remember_card(card));
                cards.extend(card.map(|card| (card.id, card)));
            } else if layout.social.is_mine(&table) {
                version = social::read_counts(Some(&item)).version;
            }
        }
        let circle: Arc<Circle> = self.circle(reader, version).await?;
        let show = |entry: &Entry| {
            let author = cards.get(&entry.author).filter(|_| circle.shows(entry.author))?;
            let post = posts.remove(&entry.place.post)?;
            Some(Shown { post, author: Arc::clone(author) })
        };
        Ok(entries.iter().filter_map(show).collect())
    }
}

/// Whether a post is still shown on timelines.
pub(super) fn is_fresh(post: &Post, now: Timestamp) -> bool {
    now.since(post.created) < ENTRY_LIFE
}
