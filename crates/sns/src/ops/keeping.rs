//! What proves and restores: counts are counted again, timelines made again from the source, and
//! cut where they are longer than anybody is shown.

use std::collections::BTreeSet;

use table::Error as StoreError;

use super::timeline::is_fresh;
use crate::Sns;
use crate::error::Error;
use crate::items::{post, timeline, user};
use crate::limits::TIMELINE_MAX;
use crate::model::UserId;
use crate::model::post::Post;
use crate::model::social::Counts;
use crate::model::timeline::Entry;

/// A count that was not what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miscount {
    pub(crate) what: &'static str,
    pub(crate) of: String,
    pub(crate) counted: u64,
    pub(crate) found: u64,
}

impl Sns {
    /// Counts again for every user.
    pub(crate) async fn recount_all(&self) -> Result<Vec<Miscount>, Error> {
        let mut wrong = Vec::new();
        wrong.extend(self.recount_accounts().await?);
        for user in self.list_user_ids().await? {
            wrong.extend(self.recount(user).await?);
        }
        Ok(wrong)
    }

    /// Counts the accounts if nobody has counted them yet.
    pub(crate) async fn open_accounts(&self) -> Result<(), Error> {
        let item = self.tables.get(self.layout.users.get_accounts()).await?;
        if user::read_accounts(item.as_ref()).is_none() {
            self.recount_accounts().await?;
        }
        Ok(())
    }

    /// Claims what the names of all users look like, if nobody has done so yet: users from before
    /// looks were claimed have none. Of two that look alike the first has the claim, and both stay.
    pub(crate) async fn open_looks(&self) -> Result<(), Error> {
        let item = self.tables.get(self.layout.users.get_accounts()).await?;
        if user::has_looks(item.as_ref()) {
            return Ok(());
        }
        let (mut scan, mut users) = (self.layout.users.scan_names(), 0_u64);
        loop {
            let page = self.tables.scan(scan.clone()).await?;
            for (id, username) in page.items.iter().filter_map(user::read_name) {
                let claim = self.layout.users.claim_look(&username, id);
                let _taken = self.commit(vec![claim], &[]).await?;
                users += 1;
            }
            match page.last_key {
                Some(last) => scan.start_after = Some(last),
                None => break,
            }
        }
        // A new house has nothing to note, and looks again at its next start.
        if users > 0 {
            self.tables.update(self.layout.users.note_looks()).await?;
        }
        Ok(())
    }

    /// Counts the accounts again, and corrects a number that is wrong and did not move meanwhile.
    async fn recount_accounts(&self) -> Result<Option<Miscount>, Error> {
        let item = self.tables.get(self.layout.users.get_accounts()).await?;
        let counted = user::read_accounts(item.as_ref());
        let found = count(&self.list_user_ids().await?);
        let is_right = counted.unwrap_or_default() == found;
        if is_right || !self.corrected(self.layout.users.put_accounts(counted, found)).await? {
            return Ok(None);
        }
        let (of, counted) = ("the house".to_owned(), counted.unwrap_or_default());
        Ok(Some(Miscount { what: "accounts", of, counted, found }))
    }

    /// Counts again what is counted of a user and its posts, and corrects what is wrong and did not
    /// move meanwhile.
    pub(crate) async fn recount(&self, user: UserId) -> Result<Vec<Miscount>, Error> {
        let mut wrong = Vec::new();
        let tables = &*self.tables;
        let counted = tables.get(self.layout.posts.get_count(user)).await?;
        let counted = post::read_count(counted.as_ref());
        let posts = table::query_all(tables, self.layout.posts.query(user, None, 1000)).await?;
        let posts: Vec<Post> = posts.iter().filter_map(post::read).collect();
        let found = count(&posts);
        if counted != found
            && self.corrected(self.layout.posts.put_count(user, counted, found)).await?
        {
            wrong.push(Miscount { what: "posts", of: user.to_string(), counted, found });
        }
        for post in &posts {
            let query = self.layout.social.query_likers(post.id, None, 1000);
            let found = count(&table::query_all(tables, query).await?);
            let update = self.layout.posts.put_likes(post.id, post.likes, found);
            if post.likes != found && self.corrected(update).await? {
                let (of, counted) = (post.id.to_string(), post.likes);
                wrong.push(Miscount { what: "likes", of, counted, found });
            }
        }
        wrong.extend(self.recount_social(user).await?);
        Ok(wrong)
    }

    async fn recount_social(&self, user: UserId) -> Result<Vec<Miscount>, Error> {
        let (tables, layout) = (&*self.tables, &self.layout.social);
        let before = self.count_social(user).await?;
        let after = Counts {
            followers: count(
                &table::query_all(tables, layout.query_followers(user, None, 1000)).await?,
            ),
            following: count(
                &table::query_all(tables, layout.query_following(user, None, 1000)).await?,
            ),
            likes: count(&table::query_all(tables, layout.query_likes_of(user, None, 1000)).await?),
            version: before.version,
        };
        if before == after || !self.corrected(layout.put_counts(user, &before, &after)).await? {
            return Ok(Vec::new());
        }
        let all = [
            ("followers", before.followers, after.followers),
            ("following", before.following, after.following),
            ("likes of user", before.likes, after.likes),
        ];
        let wrong = all.into_iter().filter(|(_, counted, found)| counted != found);
        let of = user.to_string();
        let told = |(what, counted, found)| Miscount { what, of: of.clone(), counted, found };
        Ok(wrong.map(told).collect())
    }

    async fn corrected(&self, update: table::Update) -> Result<bool, Error> {
        match self.tables.update(update).await {
            Ok(_) => Ok(true),
            // It moved while we counted, and moves rightly.
            Err(StoreError::ConditionFailed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a timeline again from the posts of those whom the user sees; answers its length.
    pub(crate) async fn rebuild(&self, user: UserId) -> Result<usize, Error> {
        let version = self.count_social(user).await?.version;
        let circle = self.circle(user, version).await?;
        let (now, limit) = (self.clock.now(), u32::try_from(TIMELINE_MAX).unwrap_or(u32::MAX));
        let mut right: BTreeSet<Entry> = BTreeSet::new();
        for author in circle.authors() {
            let posts = self.query_posts(author, None, limit).await?;
            let fresh = posts.iter().filter(|post| is_fresh(post, now));
            right.extend(fresh.map(|post| Entry { place: post.place(), author }));
            while right.len() > TIMELINE_MAX {
                right.pop_first();
            }
        }
        let query = self.layout.timelines.query(user, None, 1000);
        let items = table::query_all(&*self.tables, query).await?;
        let there: BTreeSet<Entry> =
            items.iter().filter_map(|item| timeline::read(item, now)).collect();
        let wrong = there.difference(&right);
        let deletes = wrong.map(|entry| self.layout.timelines.delete(user, entry.place));
        self.write_all(deletes.collect()).await?;
        for entry in right.difference(&there) {
            let mut writes = vec![self.layout.posts.exists(entry.place.post)];
            writes.extend(self.layout.timelines.put_all(&[user], *entry, now));
            // A post that is deleted meanwhile does not come back.
            let _gone = self.commit(writes, &[]).await?;
        }
        Ok(right.len())
    }

    /// Cuts all timelines to what anybody is shown; answers how many entries are gone.
    pub(crate) async fn trim(&self) -> Result<usize, Error> {
        let mut trimmed = 0;
        for user in self.list_user_ids().await? {
            let limit = u32::try_from(TIMELINE_MAX).unwrap_or(u32::MAX);
            let query = self.layout.timelines.query(user, None, limit);
            let Some(last) = self.tables.query(query.clone()).await?.last_key else { continue };
            let beyond = table::query_all(&*self.tables, query.start_after(last)).await?;
            let deletes = beyond.iter().map(|item| self.layout.timelines.delete_found(item));
            trimmed += beyond.len();
            self.write_all(deletes.collect()).await?;
        }
        Ok(trimmed)
    }
}

fn count<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}
