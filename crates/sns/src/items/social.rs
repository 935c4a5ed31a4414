//! Follows, likes, blocks and mutes, each one item that both sides find.

use table::{
    Check, Condition, Delete, Get, Item, Partition, Put, Query, SortCondition, TableSpec,
    TransactItem, Update, attr,
};

use super::post::is_or_none;
use super::{GSI1PK, GSI1SK, PK, SK, by_first, id, key, number, owned, spec, text, time};
use crate::limits::FOLLOWING_MAX;
use crate::model::social::{Counts, Follow, Like};
use crate::model::{PostId, UserId};

const REVERSE: &str = "reverse-index";

/// The table of what users have to do with each other.
#[derive(Clone, Debug)]
pub(crate) struct Social {
    pub(super) table: String,
}

/// How a user's counts move.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) followers: i64,
    pub(crate) following: i64,
    pub(crate) likes: i64,
    /// Whether the circle is another one.
    pub(crate) circle: bool,
}

/// What one user does not want of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aversion {
    /// Neither reads the other.
    Block,
    /// The one does not see the other's posts.
    Mute,
}

impl Aversion {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Aversion::Block => ("BLOCK", "BLOCKER"),
            Aversion::Mute => ("MUTE", "MUTER"),
        }
    }
}

impl Social {
    pub(super) fn spec(&self) -> TableSpec {
        spec(&self.table).index(REVERSE, by_first())
    }

    /// All that a user has to do with others.
    pub(crate) fn partition(&self, user: UserId) -> Partition<'_> {
        Partition::new(&self.table, user_pk(user))
    }

    /// All that others have to do with a user.
    pub(crate) fn partition_of_others(&self, user: UserId) -> Partition<'_> {
        Partition::new(&self.table, user_pk(user)).index(REVERSE)
    }

    // Follows

    /// Reads a follow (AP-S3).
    pub(crate) fn get_follow(&self, follower: UserId, followee: UserId) -> Get {
        Get::new(&self.table, follow_key(follower, followee))
    }

    /// Writes a follow that is not there (AP-S4).
    pub(crate) fn put_follow(&self, follow: &Follow) -> TransactItem {
        let item = follow_key(follow.follower, follow.followee)
            .with("entityType", "FOLLOW")
            .with("followId", follow.id.as_str())
            .with("followerId", follow.follower.to_string())
            .with("followeeId", follow.followee.to_string())
            .with("createdAt", follow.created.to_string())
            .with("muted", follow.muted)
            .with(GSI1PK, user_pk(follow.followee))
            .with(GSI1SK, format!("FOLLOWER#{}", follow.follower));
        Put::new(&self.table, item).when(attr(PK).not_exists()).into()
    }

    /// Removes a follow, if it is still this one.
    pub(crate) fn delete_follow(&self, follow: &Follow) -> TransactItem {
        let delete = Delete::new(&self.table, follow_key(follow.follower, follow.followee));
        delete.when(is_follow(follow)).into()
    }

    /// Lets a follower see the posts of a followee, or not, if it still follows by this follow.
    pub(crate) fn mute_follow(&self, follow: &Follow, muted: bool) -> TransactItem {
        let update = Update::new(&self.table, follow_key(follow.follower, follow.followee));
        update.set("muted", muted).when(is_follow(follow)).into()
    }

    /// There must be this follow, seen or not as it was looked at.
    pub(crate) fn follow_stands(&self, follow: &Follow) -> TransactItem {
        let key = follow_key(follow.follower, follow.followee);
        let same = is_follow(follow).and(attr("muted").eq(follow.muted));
        Check::new(&self.table, key, same).into()
    }

    /// There must be no follow.
    pub(crate) fn no_follow(&self, follower: UserId, followee: UserId) -> TransactItem {
        let key = follow_key(follower, followee);
        Check::new(&self.table, key, attr(PK).not_exists()).into()
    }

    /// Whom a user follows, behind an id (AP-S1).
    pub(crate) fn query_following(&self, user: UserId, after: Option<UserId>, limit: u32) -> Query {
        let after = after.map(|followee| follow_key(user, followee));
        self.mine(user, "FOLLOW#", after, limit)
    }

    /// Who follows a user, behind an id (AP-S2).
    pub(crate) fn query_followers(&self, user: UserId, after: Option<UserId>, limit: u32) -> Query {
        let after = after.map(|follower| {
            follow_key(follower, user)
                .with(GSI1PK, user_pk(user))
                .with(GSI1SK, format!("FOLLOWER#{follower}"))
        });
        self.reverse(user_pk(user), "FOLLOWER#", after, limit)
    }

    /// Who follows a user, and who has muted it, by their ids alone.
    pub(crate) fn query_audience(&self, user: UserId, limit: u32) -> [Query; 2] {
        ["FOLLOWER#", "MUTER#"]
            .map(|prefix| self.reverse(user_pk(user), prefix, None, limit).project([attr(GSI1SK)]))
    }

    // Likes

    /// Reads a like.
    pub(crate) fn get_like(&self, user: UserId, post: PostId) -> Get {
        Get::new(&self.table, like_key(user, post))
    }

    /// Writes a like that is not there.
    pub(crate) fn put_like(&self, like: &Like) -> TransactItem {
        let item = like_key(like.user, like.post)
            .with("entityType", "LIKE")
            .with("likeId", like.id.as_str())
            .with("userId", like.user.to_string())
            .with("postId", like.post.to_string())
            .with("authorId", like.author.to_string())
            .with("createdAt", like.created.to_string())
            .with(GSI1PK, format!("POST#{}", like.post))
            .with(GSI1SK, format!("LIKE#{}", like.user));
        Put::new(&self.table, item).when(attr(PK).not_exists()).into()
    }

    /// Removes a like, if it is still this one.
    pub(crate) fn delete_like(&self, like: &Like) -> TransactItem {
        let delete = Delete::new(&self.table, like_key(like.user, like.post));
        delete.when(attr("likeId").eq(like.id.as_str())).into()
    }

    /// There must be this like.
    pub(crate) fn like_stands(&self, like: &Like) -> TransactItem {
        let is = attr("likeId").eq(like.id.as_str());
        Check::new(&self.table, like_key(like.user, like.post), is).into()
    }

    /// What a user likes, behind a post, the newest posts first (AP-S5).
    pub(crate) fn query_likes_of(&self, user: UserId, after: Option<PostId>, limit: u32) -> Query {
        let after = after.map(|post| like_key(user, post));
        self.mine(user, "LIKE#", after, limit).descending()
    }

    /// Who likes a post, behind a user (AP-S6).
    pub(crate) fn query_likers(&self, post: PostId, after: Option<UserId>, limit: u32) -> Query {
        let after = after.map(|user| {
            like_key(user, post)
                .with(GSI1PK, format!("POST#{post}"))
                .with(GSI1SK, format!("LIKE#{user}"))
        });
        self.reverse(format!("POST#{post}"), "LIKE#", after, limit)
    }

    // Blocks and mutes

    /// Reads whether a user blocks or mutes another.
    pub(crate) fn get_aversion(&self, what: Aversion, user: UserId, of: UserId) -> Get {
        Get::new(&self.table, aversion_key(what, user, of))
    }

    /// Whom a user blocks or mutes, behind an id.
    pub(crate) fn query_averse(
        &self,
        what: Aversion,
        user: UserId,
        after: Option<UserId>,
        limit: u32,
    ) -> Query {
        let after = after.map(|of| aversion_key(what, user, of));
        self.mine(user, &format!("{}#", what.words().0), after, limit)
    }

    /// Notes that a user blocks or mutes another.
    pub(crate) fn put_aversion(&self, what: Aversion, user: UserId, of: UserId) -> TransactItem {
        let item = aversion_key(what, user, of)
            .with(GSI1PK, user_pk(of))
            .with(GSI1SK, format!("{}#{user}", what.words().1));
        Put::new(&self.table, item).into()
    }

    /// Notes that it does not any more.
    pub(crate) fn delete_aversion(&self, what: Aversion, user: UserId, of: UserId) -> TransactItem {
        Delete::new(&self.table, aversion_key(what, user, of)).into()
    }

    /// A user must block or mute another, or must not.
    pub(crate) fn check_aversion(
        &self,
        what: Aversion,
        user: UserId,
        of: UserId,
        is: bool,
    ) -> TransactItem {
        let condition = if is { attr(PK).exists() } else { attr(PK).not_exists() };
        Check::new(&self.table, aversion_key(what, user, of), condition).into()
    }

    /// All blocks and mutes by a user, and of a user.
    pub(crate) fn query_aversions(&self, user: UserId) -> [Query; 4] {
        let by = |prefix: &str| self.mine(user, prefix, None, 1000);
        let of = |prefix: &str| self.reverse(user_pk(user), prefix, None, 1000);
        [by("BLOCK#"), by("MUTE#"), of("BLOCKER#"), of("MUTER#")]
    }

    /// Removes an item that such a query found.
    pub(crate) fn delete_found(&self, item: &Item) -> Delete {
        Delete::new(&self.table, key(owned(item, PK), owned(item, SK)))
    }

    // Counts

    /// Reads how many there are of everything.
    pub(crate) fn get_counts(&self, user: UserId) -> Get {
        Get::new(&self.table, counts_key(user))
    }

    /// Whether an item of a reading over several tables is one of these.
    pub(crate) fn is_mine(&self, table: &str) -> bool {
        table == self.table
    }

    /// Moves a user's counts. Nobody follows more than so many.
    pub(crate) fn count(&self, user: UserId, moved: Moved) -> TransactItem {
        let mut update = Update::new(&self.table, counts_key(user));
        let numbers = [
            ("followers", moved.followers),
            ("following", moved.following),
            ("likes", moved.likes),
            ("version", i64::from(moved.circle)),
        ];
        for (name, by) in numbers.into_iter().filter(|(_, by)| *by != 0) {
            update = update.add(name, by);
        }
        if moved.following > 0 {
            let room = attr("following").lt(FOLLOWING_MAX);
            update = update.when(room.or(attr("following").not_exists()));
        }
        update.into()
    }

    /// Corrects a user's counts, if they are still `before`.
    pub(crate) fn put_counts(&self, user: UserId, before: &Counts, after: &Counts) -> Update {
        let same = is_or_none("followers", before.followers)
            .and(is_or_none("following", before.following))
            .and(is_or_none("likes", before.likes));
        Update::new(&self.table, counts_key(user))
            .set("followers", after.followers)
            .set("following", after.following)
            .set("likes", after.likes)
            .when(same)
    }

    /// Forgets the counts of a user who is gone, if nothing is left to count.
    pub(crate) fn delete_counts(&self, user: UserId) -> Delete {
        let none = is_or_none("followers", 0).and(is_or_none("following", 0));
        Delete::new(&self.table, counts_key(user)).when(none.and(is_or_none("likes", 0)))
    }

    fn mine(&self, user: UserId, prefix: &str, after: Option<Item>, limit: u32) -> Query {
        let query = Query::new(&self.table, PK, user_pk(user)).limit(limit);
        let query = query.sort(SK, SortCondition::begins_with(prefix)).consistent();
        Query { start_after: after, ..query }
    }

    fn reverse(&self, of: String, prefix: &str, after: Option<Item>, limit: u32) -> Query {
        let query = Query::new(&self.table, GSI1PK, of).index(REVERSE).limit(limit);
        let query = query.sort(GSI1SK, SortCondition::begins_with(prefix));
        Query { start_after: after, ..query }
    }
}

fn is_follow(follow: &Follow) -> Condition {
    attr("followId").eq(follow.id.as_str())
}

/// The follow of an item.
pub(crate) fn read_follow(item: &Item) -> Option<Follow> {
    Some(Follow {
        id: text(item, "followId")?.to_owned(),
        follower: id(item, "followerId")?,
        followee: id(item, "followeeId")?,
        created: time(item, "createdAt")?,
        muted: is_muted(item),
    })
}

/// Who follows by an item, and whether it does not want to see the posts.
pub(crate) fn read_follower(item: &Item) -> Option<(UserId, bool)> {
    Some((id(item, "followerId")?, is_muted(item)))
}

/// Who has to do with a user, by the key under which that one finds it.
pub(crate) fn read_other(item: &Item) -> Option<UserId> {
    let (_, other) = text(item, GSI1SK)?.split_once('#')?;
    other.parse().ok()
}

fn is_muted(item: &Item) -> bool {
    item.get("muted") == Some(&table::Value::Bool(true))
}

/// Who blocks or mutes by an item, and whom.
pub(crate) fn read_aversion(item: &Item) -> Option<(UserId, UserId)> {
    let (_, by) = text(item, PK)?.split_once('#')?;
    let (_, of) = text(item, SK)?.split_once('#')?;
    Some((by.parse().ok()?, of.parse().ok()?))
}

/// The like of an item.
pub(crate) fn read_like(item: &Item) -> Option<Like> {
    Some(Like {
        id: text(item, "likeId")?.to_owned(),
        user: id(item, "userId")?,
        post: id(item, "postId")?,
        author: id(item, "authorId")?,
        created: time(item, "createdAt")?,
    })
}

/// The counts of an item; a user of whom nothing is counted has none.
pub(crate) fn read_counts(item: Option<&Item>) -> Counts {
    let count = |name| item.map_or(0, |item| number(item, name));
    Counts {
        followers: count("followers"),
        following: count("following"),
        likes: count("likes"),
        version: count("version"),
    }
}

fn user_pk(user: UserId) -> String {
    format!("USER#{user}")
}

fn follow_key(follower: UserId, followee: UserId) -> Item {
    key(user_pk(follower), format!("FOLLOW#{followee}"))
}

fn like_key(user: UserId, post: PostId) -> Item {
    key(user_pk(user), format!("LIKE#{post}"))
}

fn aversion_key(what: Aversion, user: UserId, of: UserId) -> Item {
    key(user_pk(user), format!("{}#{of}", what.words().0))
}

fn counts_key(user: UserId) -> Item {
    key(user_pk(user), "COUNTS")
}
