//! Writing timelines: what becomes of the facts that the timeline hears.
//!
//! Invariants: an entry's key is its post's, so that writing it again changes nothing. Every
//! transaction that writes entries checks that their posts are still there, and that a follow it
//! relies on still stands: so no order of facts brings back what is deleted. What slips through
//! because followers were read a moment before is dropped at read. Whom a new post reaches is
//! remembered for the next one, as long as the store tells that nobody came, went or muted.

use std::collections::BTreeSet;
use std::sync::Arc;

use dispatch::Effect;
use table::{Query, TransactItem, TransactWrite, Watch};

use super::timeline::is_fresh;
use super::{Tries, is_lost};
use crate::Sns;
use crate::error::Error;
use crate::items::{social, timeline};
use crate::limits::{
    BACKFILL, FANOUT_CHUNK, FANOUT_LAST, FOLLOWERS_PAGE, INDEX_LOOKS, INDEX_PAUSE,
};
use crate::model::UserId;
use crate::model::post::Post;
use crate::model::social::Follow;
use crate::model::timeline::Entry;

/// Who sees what an author says.
pub(crate) struct Audience {
    users: Vec<UserId>,
    watch: Watch,
}

impl Audience {
    /// How much it takes to remember it.
    pub(crate) fn weight(&self) -> u32 {
        u32::try_from(self.users.len()).unwrap_or(u32::MAX).saturating_add(8)
    }
}

/// Those of some followers who want to see the posts.
fn seeing(followers: &[(UserId, bool)]) -> Vec<UserId> {
    followers.iter().filter(|(_, muted)| !muted).map(|(user, _)| *user).collect()
}

impl Sns {
    /// Puts a new post on the timelines of the author's followers, or has it merged in at read when
    /// they are many; and tells those who listen. What is left to do is the effect.
    pub(crate) async fn fan_out(self: &Arc<Self>, post: &Post) -> Result<Effect, Error> {
        let nothing = Effect::default();
        if self.find_post(post.id).await?.is_none() {
            return Ok(nothing);
        }
        let followers = self.count_social(post.author).await?.followers;
        let is_pushed = followers < self.options.push_threshold;
        if !is_pushed {
            self.pull(post.author).await?;
        }
        let news = self.find_news_of(post).await?;
        let tell = |users: &[UserId]| news.iter().for_each(|news| self.tell_all(users, news));
        if is_pushed {
            let audience = self.audience(post.author, followers).await?;
            let mut users = audience.users.as_slice();
            while users.len() > FANOUT_LAST {
                let (some, rest) = users.split_at(users.len().min(FANOUT_CHUNK));
                let writes = self.deliver(post, some);
                if !writes.is_empty() && self.commit(writes, &[]).await?.is_err() {
                    return Ok(nothing);
                }
                tell(some);
                users = rest;
            }
            let (sns, users) = (Arc::clone(self), users.to_vec());
            let last = Effect::from(self.deliver(post, &users));
            return Ok(last.then(move || news.iter().for_each(|news| sns.tell_all(&users, news))));
        }
        let mut after = None;
        loop {
            let (followers, has_more) = self.page_followers(post.author, after).await?;
            after = followers.last().map(|(user, _)| *user);
            tell(&seeing(&followers));
            if !has_more {
                return Ok(nothing);
            }
        }
    }

    /// Who sees what an author says, of whom there are not too many to remember. So many were
    /// counted: an index that shows fewer may be behind, and is waited for a while.
    async fn audience(&self, author: UserId, counted: u64) -> Result<Arc<Audience>, Error> {
        if let Some(audience) = self.audiences.get(&author).filter(|known| known.watch.holds()) {
            return Ok(audience);
        }
        let mut watch = Watch::default();
        self.tables.watch(&self.layout.social.partition_of_others(author), &mut watch);
        let [followers, muters] = self.layout.social.query_audience(author, FOLLOWERS_PAGE);
        let mut users = self.list_others(followers.clone()).await?;
        for _ in 1..INDEX_LOOKS {
            if users.len() as u64 >= counted || !watch.is_blind() {
                break;
            }
            self.clock.sleep(INDEX_PAUSE).await;
            users = self.list_others(followers.clone()).await?;
        }
        let muters: BTreeSet<UserId> = self.list_others(muters).await?.into_iter().collect();
        users.retain(|user| !muters.contains(user));
        let audience = Arc::new(Audience { users, watch });
        if audience.watch.holds() {
            self.audiences.insert(author, Arc::clone(&audience));
        }
        Ok(audience)
    }

    async fn list_others(&self, query: Query) -> Result<Vec<UserId>, Error> {
        let items = table::query_all(&*self.tables, query).await?;
        Ok(items.iter().filter_map(social::read_other).collect())
    }

    /// Puts a post on some timelines, if it is still there; nothing if it is too old for that.
    fn deliver(&self, post: &Post, users: &[UserId]) -> Vec<TransactItem> {
        let now = self.clock.now();
        if users.is_empty() || !is_fresh(post, now) {
            return Vec::new();
        }
        let entry = Entry { place: post.place(), author: post.author };
        let mut writes = Vec::with_capacity(users.len() + 1);
        writes.push(self.layout.posts.exists(post.id));
        writes.extend(self.layout.timelines.put_all(users, entry, now));
        writes
    }

    /// From now on this author is merged in at read.
    async fn pull(&self, author: UserId) -> Result<(), Error> {
        if !self.pulled.read().contains(&author) {
            let there = self.layout.users.exists(author);
            let writes = vec![there, self.layout.timelines.put_pulled(author)];
            // Who is gone meanwhile has no posts to merge in.
            if self.commit(writes, &[]).await?.is_ok() {
                self.tell_pulled(author);
            }
        }
        Ok(())
    }

    /// Reads who is merged in at read.
    pub(crate) async fn refresh_pulled(&self) -> Result<(), Error> {
        let query = self.layout.timelines.query_pulled();
        let items = table::query_all(&*self.tables, query).await?;
        let pulled: BTreeSet<UserId> = items.iter().filter_map(timeline::read_pulled).collect();
        let mut known = self.pulled.write();
        // What is remembered of timelines is good as long as this is the very same.
        if **known != pulled {
            *known = Arc::new(pulled);
        }
        Ok(())
    }

    /// Takes a post that is gone off all timelines.
    pub(crate) async fn take_back(&self, post: &Post) -> Result<(), Error> {
        let mut after = None;
        self.tell_gone(&[post.author], post);
        loop {
            let (followers, has_more) = self.page_followers(post.author, after).await?;
            after = followers.last().map(|(user, _)| *user);
            let users: Vec<UserId> = followers.into_iter().map(|(user, _)| user).collect();
            let delete = |user: &UserId| self.layout.timelines.delete(*user, post.place());
            self.write_all(users.iter().map(delete).collect()).await?;
            self.tell_gone(&users, post);
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Puts the newest posts of an author on the timeline of who follows it now.
    pub(crate) async fn back_fill(&self, told: &Follow) -> Result<(), Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let follow = self.find_follow(told.follower, told.followee).await?;
            let Some(follow) = follow.filter(|follow| follow.id == told.id && !follow.muted) else {
                return Ok(());
            };
            let limit = u32::try_from(BACKFILL).unwrap_or(u32::MAX);
            let now = self.clock.now();
            let posts = self.query_posts(follow.followee, None, limit).await?;
            let posts: Vec<Post> = posts.into_iter().filter(|post| is_fresh(post, now)).collect();
            let mut writes = vec![self.layout.social.follow_stands(&follow)];
            for post in &posts {
                let entry = Entry { place: post.place(), author: post.author };
                writes.push(self.layout.posts.exists(post.id));
                writes.extend(self.layout.timelines.put_all(&[follow.follower], entry, now));
            }
            if self.commit(writes, &[]).await?.is_ok() {
                return Ok(());
            }
        }
    }

    /// Takes the posts of an author off the timeline of who does not follow it any more.
    pub(crate) async fn clear(&self, gone: &Follow) -> Result<(), Error> {
        let (user, author) = (gone.follower, gone.followee);
        let query = self.layout.timelines.query_author(user, author);
        let items = table::query_all(&*self.tables, query).await?;
        for some in items.chunks(FANOUT_CHUNK) {
            let mut writes = vec![self.layout.social.no_follow(user, author)];
            writes.extend(some.iter().map(|item| self.layout.timelines.delete_found(item)));
            match self.commit(writes, &[]).await? {
                Ok(()) => {}
                // Followed again: what is there may stay.
                Err(lost) if is_lost(&lost, 0) => return Ok(()),
                Err(_) => return Err(Error::Contended),
            }
        }
        Ok(())
    }

    /// Removes the timeline and the notifications of a user who is gone.
    pub(crate) async fn remove_timeline(&self, user: UserId) -> Result<(), Error> {
        let query = self.layout.timelines.query_user(user);
        let items = table::query_all(&*self.tables, query).await?;
        let deletes = items.iter().map(|item| self.layout.timelines.delete_found(item));
        let pulled = self.layout.timelines.delete_pulled(user);
        self.write_all(deletes.chain([pulled]).collect()).await
    }

    /// Writes that need not happen together.
    pub(crate) async fn write_all(&self, writes: Vec<TransactItem>) -> Result<(), Error> {
        for some in writes.chunks(table::limits::TRANSACT_MAX) {
            self.tables.transact_write(TransactWrite::new(some.to_vec())).await?;
        }
        Ok(())
    }
}
