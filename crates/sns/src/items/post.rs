//! Posts, and how many a user has.
//!
//! Invariant: of one author no two posts have the same time, and what was said later has a later one.

use base::Timestamp;
use table::{
    Check, Delete, Get, Item, Partition, Put, Query, SortCondition, TableSpec, TransactItem,
    Update, attr,
};

use super::{GSI1PK, GSI1SK, PK, by_first, id, key, number, owned, spec, time};
use crate::model::post::Post;
use crate::model::timeline::Place;
use crate::model::{PostId, UserId};

const BY_AUTHOR: &str = "user-posts-index";
const LIKES: &str = "likesCount";

/// The table of posts.
#[derive(Clone, Debug)]
pub(crate) struct Posts {
    pub(super) table: String,
}

impl Posts {
    pub(super) fn spec(&self) -> TableSpec {
        spec(&self.table).index(BY_AUTHOR, by_first())
    }

    /// A post.
    pub(crate) fn partition(&self, post: PostId) -> Partition<'_> {
        Partition::new(&self.table, post_pk(post))
    }

    /// All posts of an author.
    pub(crate) fn partition_by(&self, author: UserId) -> Partition<'_> {
        Partition::new(&self.table, author_key(author)).index(BY_AUTHOR)
    }

    /// Reads a post (AP-P1).
    pub(crate) fn get(&self, post: PostId) -> Get {
        Get::new(&self.table, post_key(post))
    }

    /// Whether an item of a reading over several tables is one of these.
    pub(crate) fn is_mine(&self, table: &str) -> bool {
        table == self.table
    }

    /// Posts of an author from a place down, newest first (AP-P2). What stands at the very time of
    /// the place is among them.
    pub(crate) fn query(&self, author: UserId, from: Option<Place>, limit: u32) -> Query {
        let query = Query::new(&self.table, GSI1PK, author_key(author));
        let query = query.index(BY_AUTHOR).descending().limit(limit);
        match from {
            None => query,
            Some(place) => query.sort(GSI1SK, SortCondition::le(place.created.to_string())),
        }
    }

    /// Makes a post (AP-P3), and counts it, if the author's last one is still of the time `last`.
    pub(crate) fn put_new(&self, post: &Post, last: Timestamp) -> [TransactItem; 2] {
        let item = post_key(post.id)
            .with("postId", post.id.to_string())
            .with("userId", post.author.to_string())
            .with("content", post.content.as_str())
            .with(LIKES, post.likes)
            .with("createdAt", post.created.to_string())
            .with("updatedAt", post.created.to_string())
            .with(GSI1PK, author_key(post.author))
            .with(GSI1SK, post.created.to_string());
        let put = Put::new(&self.table, item).when(attr(PK).not_exists());
        let count = Update::new(&self.table, counts_key(post.author))
            .add("posts", 1)
            .set("last", post.created.millis())
            .when(is_or_none("last", last.millis()));
        [put.into(), count.into()]
    }

    /// Removes a post that is there (AP-P4), and counts it off.
    pub(crate) fn delete(&self, post: &Post) -> [TransactItem; 2] {
        let delete = Delete::new(&self.table, post_key(post.id)).when(attr(PK).exists());
        let count = Update::new(&self.table, counts_key(post.author)).add("posts", -1);
        [delete.into(), count.into()]
    }

    /// Reads how many posts a user has, and of when the last one is.
    pub(crate) fn get_count(&self, user: UserId) -> Get {
        Get::new(&self.table, counts_key(user))
    }

    /// Corrects how many posts a user has, if that is still `before`.
    pub(crate) fn put_count(&self, user: UserId, before: u64, after: u64) -> Update {
        let update = Update::new(&self.table, counts_key(user)).set("posts", after);
        update.when(is_or_none("posts", before))
    }

    /// Forgets how many posts a user has who is gone, if there are none.
    pub(crate) fn delete_count(&self, user: UserId) -> Delete {
        Delete::new(&self.table, counts_key(user)).when(is_or_none("posts", 0))
    }

    /// The post must be there.
    pub(crate) fn exists(&self, post: PostId) -> TransactItem {
        Check::new(&self.table, post_key(post), attr(PK).exists()).into()
    }

    /// Counts a like of a post that is there, on or off.
    pub(crate) fn count_like(&self, post: PostId, by: i64) -> TransactItem {
        let update = Update::new(&self.table, post_key(post)).add(LIKES, by);
        update.when(attr(PK).exists()).into()
    }

    /// Corrects how many likes a post has, if that is still `before`.
    pub(crate) fn put_likes(&self, post: PostId, before: u64, after: u64) -> Update {
        let update = Update::new(&self.table, post_key(post)).set(LIKES, after);
        update.when(attr(LIKES).eq(before))
    }
}

/// A number is so much, or was never written and is zero.
pub(super) fn is_or_none(name: &str, value: u64) -> table::Condition {
    let is = attr(name).eq(value);
    if value == 0 { is.or(attr(name).not_exists()) } else { is }
}

/// The post of an item.
pub(crate) fn read(item: &Item) -> Option<Post> {
    Some(Post {
        id: id(item, "postId")?,
        author: id(item, "userId")?,
        content: owned(item, "content"),
        likes: number(item, LIKES),
        created: time(item, "createdAt")?,
    })
}

/// How many posts an item says that there are.
pub(crate) fn read_count(item: Option<&Item>) -> u64 {
    item.map_or(0, |item| number(item, "posts"))
}

/// Of when an item says that the last post is.
pub(crate) fn read_last(item: Option<&Item>) -> Timestamp {
    Timestamp::from_millis(item.map_or(0, |item| number(item, "last")))
}

fn post_pk(post: PostId) -> String {
    format!("POST#{post}")
}

fn post_key(post: PostId) -> Item {
    key(post_pk(post), "METADATA")
}

fn author_key(author: UserId) -> String {
    format!("USER#{author}")
}

fn counts_key(user: UserId) -> Item {
    key(author_key(user), "COUNTS")
}
