//! Reading timelines.
//!
//! A page is one query of entries and one batch of gets: the posts, authors whose names are not
//! remembered, and the version of the reader's circle. Authors with many followers are merged in
//! here, by one query each.
//!
//! A first page is remembered together with a watch over everything it was made of: entries, posts,
//! authors, the reader's circle. Where the store tells of changes, asking again costs a look at
//! these.
//!
//! Invariants: what is shown is there, not expired, and of an author whom the reader sees now,
//! whatever the entries say. A page has as many posts as asked for while there are more. Nobody is
//! shown more than the newest 800 entries.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use base::Timestamp;
use table::Watch;

use super::{Page, Part};
use crate::Sns;
use crate::error::Error;
use crate::items::{post, social, timeline, user};
use crate::limits::{ENTRY_LIFE, LIMIT_MAX, TIMELINE_MAX};
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

/// A first page of a timeline, and by what it is known to be still the first.
pub(crate) struct Glance {
    page: Arc<Page<Shown>>,
    limit: usize,
    /// When the oldest entry that it was made of is over; never if there is none.
    until: Option<Timestamp>,
    /// Who was merged in.
    pulled: Arc<BTreeSet<UserId>>,
    watch: Watch,
}

impl Glance {
    /// Bytes that it takes to remember it, about.
    pub(crate) fn weight(&self) -> u32 {
        let posts = self.page.items.iter().map(|shown| shown.post.content.len() + 256);
        u32::try_from(posts.sum::<usize>() + 512).unwrap_or(u32::MAX)
    }
}

impl Sns {
    /// Part of a user's timeline, newest first.
    pub(crate) async fn read_timeline(
        &self,
        user: UserId,
        part: &Part,
    ) -> Result<Arc<Page<Shown>>, Error> {
        let mut watch = Watch::default();
        if part.after.is_some() || part.offset > 0 || part.limit > LIMIT_MAX {
            return Ok(Arc::new(self.read_part(user, part, &mut watch).await?.0));
        }
        let pulled = self.pulled.read().clone();
        let now = self.clock.now();
        let is_good = |known: &Arc<Glance>| {
            known.limit == part.limit
                && known.until.is_none_or(|until| until.seconds() > now.seconds())
                && Arc::ptr_eq(&known.pulled, &pulled)
                && known.watch.holds()
        };
        if let Some(known) = self.glances.get(&user).filter(is_good) {
            return Ok(Arc::clone(&known.page));
        }
        let (page, until) = self.read_part(user, part, &mut watch).await?;
        let page = Arc::new(page);
        if watch.holds() {
            let (shown, limit) = (Arc::clone(&page), part.limit);
            let glance = Glance { page: shown, limit, until, pulled, watch };
            self.glances.insert(user, Arc::new(glance));
        }
        Ok(page)
    }

    /// The same as it is in the store, and when the oldest of the entries is over that were looked
    /// at. What is read is watched.
    async fn read_part(
        &self,
        user: UserId,
        part: &Part,
        watch: &mut Watch,
    ) -> Result<(Page<Shown>, Option<Timestamp>), Error> {
        self.tables.watch(&self.layout.timelines.partition(user), watch);
        self.tables.watch(&self.layout.social.partition(user), watch);
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
            let stretch = self.stretch(user, &pulled, after, room, watch).await?;
            looked.extend(stretch.entries.iter().map(|entry| entry.place));
            after = looked.last().copied().or(after);
            has_more = stretch.has_more;
            shown.extend(self.hydrate(user, &stretch.entries, watch).await?);
        }
        let page = part.cut(shown, |last| {
            let place = last.post.place();
            let until = looked.iter().take_while(|looked| **looked >= place).count();
            Bookmark { place, looked: before + until }.to_string()
        });
        Ok((page, looked.last().map(Place::expires)))
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
        watch: &mut Watch,
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
            self.tables.watch(&self.layout.posts.partition_by(*author), watch);
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
    async fn hydrate(
        &self,
        reader: UserId,
        entries: &[Entry],
        watch: &mut Watch,
    ) -> Result<Vec<Shown>, Error> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut cards: HashMap<UserId, Arc<Card>> = HashMap::with_capacity(entries.len());
        let mut asked: HashMap<UserId, Watch> = HashMap::new();
        let layout = &self.layout;
        let mut gets = Vec::with_capacity(2 * entries.len() + 1);
        for Entry { place, author } in entries {
            self.tables.watch(&layout.posts.partition(place.post), watch);
            gets.push(layout.posts.get(place.post));
            if cards.contains_key(author) || asked.contains_key(author) {
                continue;
            }
            // Watched before it is looked for, in memory too.
            let mut of_author = Watch::default();
            self.tables.watch(&layout.users.partition(*author), &mut of_author);
            watch.join(&of_author);
            match self.find_card(*author) {
                Some(card) => drop(cards.insert(*author, card)),
                None => {
                    gets.push(layout.users.get(*author));
                    asked.insert(*author, of_author);
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
                let Some(card) = user::read_card(&item) else { continue };
                let watch = asked.remove(&card.id).unwrap_or_default();
                cards.insert(card.id, self.remember_card(card, watch));
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
