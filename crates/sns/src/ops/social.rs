//! Follows and likes.
//!
//! Invariants: a follow, its two counts and its fact are one transaction, and so are a like and
//! its two counts. Nobody follows or likes who is not there, or where one has blocked the other.

use std::sync::Arc;

use table::TransactItem;

use super::{Page, Part, Tries, is_lost};
use crate::Sns;
use crate::error::{Error, Flaw};
use crate::items::facts::{OfFollow, OfLike, Told};
use crate::items::social::{self, Aversion, Moved};
use crate::limits::FOLLOWERS_PAGE;
use crate::model::post::Post;
use crate::model::social::{Circle, Counts, Follow, Like};
use crate::model::{PostId, UserId};

impl Sns {
    /// Follows a user.
    pub(crate) async fn follow(&self, user: UserId, other: UserId) -> Result<Follow, Error> {
        if user == other {
            return Err(Error::Oneself);
        }
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let muted = self.is_averse(Aversion::Mute, user, other).await?;
            let (id, created) = (self.ids.random().to_string(), self.clock.now());
            let follow = Follow { id, follower: user, followee: other, created, muted };
            let Layouts { social, users } = self.layouts();
            let going = Moved { following: 1, circle: true, ..Moved::default() };
            let writes = vec![
                users.exists(other),
                social.check_aversion(Aversion::Block, user, other, false),
                social.check_aversion(Aversion::Block, other, user, false),
                social.put_follow(&follow),
                social.count(user, going),
                social.count(other, Moved { followers: 1, ..Moved::default() }),
                users.exists(user),
                social.check_aversion(Aversion::Mute, user, other, muted),
            ];
            let told = [Told::FollowCreated(OfFollow::new(&follow))];
            return match self.commit(writes, &told).await? {
                Ok(()) => Ok(follow),
                Err(lost) if is_lost(&lost, 0) => Err(Error::NoSuchUser(other.to_string())),
                Err(lost) if is_lost(&lost, 1) || is_lost(&lost, 2) => Err(Error::Blocked),
                Err(lost) if is_lost(&lost, 3) => Err(Error::AlreadyFollowing),
                Err(lost) if is_lost(&lost, 4) => Err(Flaw::FollowsTooMany.into()),
                Err(lost) if is_lost(&lost, 6) => Err(Error::NoSuchUser(user.to_string())),
                Err(_) => continue,
            };
        }
    }

    /// Stops following a user.
    pub(crate) async fn unfollow(&self, user: UserId, other: UserId) -> Result<(), Error> {
        self.get_user(other).await?;
        let follow = self.find_follow(user, other).await?.ok_or(Error::NotFollowing)?;
        if self.remove_follow(&follow).await? { Ok(()) } else { Err(Error::NotFollowing) }
    }

    /// Removes a follow; false if it is gone already.
    async fn remove_follow(&self, follow: &Follow) -> Result<bool, Error> {
        let (writes, told) = self.removal(follow);
        let removed = self.commit(writes, &[told]).await?.is_ok();
        if removed {
            self.tell_unfollowed(follow);
        }
        Ok(removed)
    }

    fn removal(&self, follow: &Follow) -> (Vec<TransactItem>, Told) {
        let social = &self.layout.social;
        let going = Moved { following: -1, circle: true, ..Moved::default() };
        let writes = vec![
            social.delete_follow(follow),
            social.count(follow.follower, going),
            social.count(follow.followee, Moved { followers: -1, ..Moved::default() }),
        ];
        (writes, Told::FollowDeleted(OfFollow::new(follow)))
    }

    /// The follow of a user by another, if there is one.
    pub(crate) async fn find_follow(
        &self,
        user: UserId,
        other: UserId,
    ) -> Result<Option<Follow>, Error> {
        let item = self.tables.get(self.layout.social.get_follow(user, other)).await?;
        Ok(item.as_ref().and_then(social::read_follow))
    }

    /// Who follows a user, by id.
    pub(crate) async fn list_followers(
        &self,
        user: UserId,
        part: &Part,
    ) -> Result<Page<UserId>, Error> {
        let query = self.layout.social.query_followers(user, read_user(part)?, part.rows());
        let items = self.tables.query(query).await?.items;
        let ids = items.iter().filter_map(|item| Some(social::read_follow(item)?.follower));
        Ok(part.cut(ids.collect(), UserId::to_string))
    }

    /// Whom a user follows, by id.
    pub(crate) async fn list_following(
        &self,
        user: UserId,
        part: &Part,
    ) -> Result<Page<UserId>, Error> {
        let query = self.layout.social.query_following(user, read_user(part)?, part.rows());
        let items = self.tables.query(query).await?.items;
        let ids = items.iter().filter_map(|item| Some(social::read_follow(item)?.followee));
        Ok(part.cut(ids.collect(), UserId::to_string))
    }

    /// So many followers behind one, each with whether it does not want to see the posts; and whether
    /// there are more.
    pub(crate) async fn page_followers(
        &self,
        user: UserId,
        after: Option<UserId>,
    ) -> Result<(Vec<(UserId, bool)>, bool), Error> {
        let query = self.layout.social.query_followers(user, after, FOLLOWERS_PAGE);
        let page = self.tables.query(query).await?;
        let followers = page.items.iter().filter_map(social::read_follower).collect();
        Ok((followers, page.last_key.is_some()))
    }

    /// How many there are of everything.
    pub(crate) async fn count_social(&self, user: UserId) -> Result<Counts, Error> {
        let item = self.tables.get(self.layout.social.get_counts(user)).await?;
        Ok(social::read_counts(item.as_ref()))
    }

    /// Whose posts a user sees, as it is at this version or later.
    pub(crate) async fn circle(&self, user: UserId, version: u64) -> Result<Arc<Circle>, Error> {
        if let Some(circle) = self.circles.get(&user)
            && circle.version == version
        {
            return Ok(circle);
        }
        // The version first: a circle may be newer than it says, never older.
        let version = self.count_social(user).await?.version;
        let query = self.layout.social.query_following(user, None, 1000);
        let items = table::query_all(&*self.tables, query).await?;
        let follows = items.iter().filter_map(social::read_follow);
        let following = follows.map(|follow| (follow.followee, follow.muted)).collect();
        let circle = Arc::new(Circle::new(user, version, following));
        self.circles.insert(user, Arc::clone(&circle));
        Ok(circle)
    }

    // Likes

    /// Likes a post.
    pub(crate) async fn like(&self, user: UserId, post: PostId) -> Result<Post, Error> {
        let liked = self.get_post(post).await?;
        let Layouts { social, users } = self.layouts();
        let (id, created) = (self.ids.random().to_string(), self.clock.now());
        let like = Like { id, user, post, author: liked.author, created };
        let mut writes = vec![
            self.layout.posts.count_like(post, 1),
            social.put_like(&like),
            users.exists(user),
            social.count(user, Moved { likes: 1, ..Moved::default() }),
        ];
        if user != liked.author {
            writes.push(social.check_aversion(Aversion::Block, liked.author, user, false));
            writes.push(social.check_aversion(Aversion::Block, user, liked.author, false));
        }
        match self.commit(writes, &[Told::LikeCreated(OfLike::new(&like))]).await? {
            Ok(()) => self.liked(post, user).await,
            Err(lost) if is_lost(&lost, 1) => Err(Error::AlreadyLiked),
            Err(lost) if is_lost(&lost, 2) => Err(Error::NoSuchUser(user.to_string())),
            // It is gone, or of somebody whose posts the user does not see.
            Err(_) => Err(Error::NoSuchPost(post.to_string())),
        }
    }

    /// Likes a post no more.
    pub(crate) async fn unlike(&self, user: UserId, post: PostId) -> Result<(), Error> {
        self.get_post(post).await?;
        let like = self.find_like(user, post).await?.ok_or(Error::NotLiked)?;
        if !self.remove_like(&like).await? {
            return Err(Error::NotLiked);
        }
        self.liked(post, user).await.map(drop)
    }

    /// Removes a like, and counts it off if its post is there; false if it is gone already.
    async fn remove_like(&self, like: &Like) -> Result<bool, Error> {
        let mut tries = Tries::new();
        let mut is_post_there = true;
        loop {
            tries.again()?;
            let social = &self.layout.social;
            let off = social.count(like.user, Moved { likes: -1, ..Moved::default() });
            let mut writes = vec![social.delete_like(like), off];
            if is_post_there {
                writes.push(self.layout.posts.count_like(like.post, -1));
            }
            match self.commit(writes, &[Told::LikeDeleted(OfLike::new(like))]).await? {
                Ok(()) => return Ok(true),
                Err(lost) if is_lost(&lost, 0) => return Ok(false),
                Err(_) => is_post_there = false,
            }
        }
    }

    /// The post with its likes as they are, told to who may show them.
    async fn liked(&self, post: PostId, by: UserId) -> Result<Post, Error> {
        let post = self.get_post(post).await?;
        self.tell_likes(&post, by);
        Ok(post)
    }

    /// The like of a post by a user, if there is one.
    pub(crate) async fn find_like(
        &self,
        user: UserId,
        post: PostId,
    ) -> Result<Option<Like>, Error> {
        let item = self.tables.get(self.layout.social.get_like(user, post)).await?;
        Ok(item.as_ref().and_then(social::read_like))
    }

    /// Which of these posts a user likes.
    pub(crate) async fn list_liked(
        &self,
        user: UserId,
        posts: &[PostId],
    ) -> Result<Vec<PostId>, Error> {
        let gets = posts.iter().map(|post| self.layout.social.get_like(user, *post)).collect();
        let items = self.get_all(gets).await?;
        Ok(items.iter().filter_map(|(_, item)| Some(social::read_like(item)?.post)).collect())
    }

    /// What a user likes, the newest posts first.
    pub(crate) async fn list_likes_of(
        &self,
        user: UserId,
        part: &Part,
    ) -> Result<Page<PostId>, Error> {
        let after = part.after.as_deref().map(|text| text.parse().map_err(|()| no_cursor(text)));
        let query = self.layout.social.query_likes_of(user, after.transpose()?, part.rows());
        let items = self.tables.query(query).await?.items;
        let posts = items.iter().filter_map(|item| Some(social::read_like(item)?.post));
        Ok(part.cut(posts.collect(), PostId::to_string))
    }

    /// Who likes a post, by id.
    pub(crate) async fn list_likers(
        &self,
        post: PostId,
        part: &Part,
    ) -> Result<Page<UserId>, Error> {
        let query = self.layout.social.query_likers(post, read_user(part)?, part.rows());
        let items = self.tables.query(query).await?.items;
        let users = items.iter().filter_map(|item| Some(social::read_like(item)?.user));
        Ok(part.cut(users.collect(), UserId::to_string))
    }

    /// Removes all likes of a post that is gone.
    pub(crate) async fn remove_likes_of(&self, post: PostId) -> Result<(), Error> {
        let mut tries = Tries::new();
        loop {
            let query = self.layout.social.query_likers(post, None, 100);
            let items = self.tables.query(query).await?.items;
            if items.is_empty() {
                return Ok(());
            }
            let mut removed = false;
            for like in items.iter().filter_map(social::read_like) {
                removed |= self.remove_like(&like).await?;
            }
            // An index may show for a while what is gone.
            if !removed {
                tries.again()?;
            }
        }
    }

    /// Removes all that a user who is gone had to do with others.
    pub(crate) async fn remove_relations_of(&self, user: UserId) -> Result<(), Error> {
        let social = &self.layout.social;
        let mut tries = Tries::new();
        loop {
            let mut items = self.tables.query(social.query_following(user, None, 100)).await?.items;
            items.extend(self.tables.query(social.query_followers(user, None, 100)).await?.items);
            items.extend(self.tables.query(social.query_likes_of(user, None, 100)).await?.items);
            if items.is_empty() {
                break;
            }
            let mut removed = false;
            for follow in items.iter().filter_map(social::read_follow) {
                removed |= self.remove_follow(&follow).await?;
            }
            for like in items.iter().filter_map(social::read_like) {
                removed |= self.remove_like(&like).await?;
            }
            if !removed {
                tries.again()?;
            }
        }
        for query in social.query_aversions(user) {
            for item in table::query_all(&*self.tables, query).await? {
                self.tables.delete(social.delete_found(&item)).await?;
            }
        }
        self.forget(social.delete_counts(user)).await
    }

    pub(super) fn layouts(&self) -> Layouts<'_> {
        Layouts { social: &self.layout.social, users: &self.layout.users }
    }
}

/// The service's own table, and the one of users, who must be there.
pub(super) struct Layouts<'l> {
    pub(super) social: &'l social::Social,
    pub(super) users: &'l crate::items::user::Users,
}

/// The user that a cursor of a list names.
pub(super) fn read_user(part: &Part) -> Result<Option<UserId>, Error> {
    part.after.as_deref().map(|text| text.parse().map_err(|()| no_cursor(text))).transpose()
}

fn no_cursor(text: &str) -> Error {
    Flaw::Cursor(text.to_owned()).into()
}
