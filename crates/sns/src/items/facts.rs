//! What the services tell each other: CloudEvents with the contract's types.

use dispatch::{Error, Fact, NewFact};
use serde::{Deserialize, Serialize};

use crate::model::account::User;
use crate::model::post::Post;
use crate::model::social::{Follow, Like};
use crate::model::{PostId, UserId};

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    UserRegistered(OfUser),
    ProfileUpdated(OfUser),
    UserDeleted(OfUser),
    PostCreated(OfPost),
    PostDeleted(OfPost),
    FollowCreated(OfFollow),
    FollowDeleted(OfFollow),
    /// A follower wants to see the posts again.
    MuteDeleted(OfFollow),
    LikeCreated(OfLike),
    LikeDeleted(OfLike),
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfUser {
    user_id: String,
    username: String,
}

/// A post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfPost {
    post_id: String,
    user_id: String,
    pub(crate) content: String,
    created_at: String,
}

/// A follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfFollow {
    pub(crate) follow_id: String,
    follower_id: String,
    followee_id: String,
    created_at: String,
}

/// A like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfLike {
    pub(crate) like_id: String,
    user_id: String,
    post_id: String,
    author_id: String,
    created_at: String,
}

const USER_REGISTERED: &str = "com.mini-sns.user.user.registered";
const PROFILE_UPDATED: &str = "com.mini-sns.user.user.profileUpdated";
const USER_DELETED: &str = "com.mini-sns.user.user.deleted";
const POST_CREATED: &str = "com.mini-sns.post.post.created";
const POST_DELETED: &str = "com.mini-sns.post.post.deleted";
const FOLLOW_CREATED: &str = "com.mini-sns.social.follow.created";
const FOLLOW_DELETED: &str = "com.mini-sns.social.follow.deleted";
const MUTE_DELETED: &str = "com.mini-sns.social.mute.deleted";
const LIKE_CREATED: &str = "com.mini-sns.social.like.created";
const LIKE_DELETED: &str = "com.mini-sns.social.like.deleted";

/// What the timeline wants to know.
pub(crate) const FOR_TIMELINE: [&str; 7] = [
    POST_CREATED,
    POST_DELETED,
    FOLLOW_CREATED,
    FOLLOW_DELETED,
    MUTE_DELETED,
    PROFILE_UPDATED,
    USER_DELETED,
];

/// What the user service wants to know.
pub(crate) const FOR_USERS: [&str; 1] = [USER_DELETED];

/// What the social service wants to know.
pub(crate) const FOR_SOCIAL: [&str; 2] = [POST_DELETED, USER_DELETED];

/// What the post service wants to know.
pub(crate) const FOR_POSTS: [&str; 1] = [USER_DELETED];

/// What becomes notifications.
pub(crate) const FOR_NOTES: [&str; 4] =
    [FOLLOW_CREATED, FOLLOW_DELETED, LIKE_CREATED, LIKE_DELETED];

impl Told {
    /// The fact that tells it.
    pub(crate) fn fact(&self) -> Result<NewFact, Error> {
        match self {
            Told::UserRegistered(of) => of_user(USER_REGISTERED, of),
            Told::ProfileUpdated(of) => of_user(PROFILE_UPDATED, of),
            Told::UserDeleted(of) => of_user(USER_DELETED, of),
            Told::PostCreated(of) => of_post(POST_CREATED, of),
            Told::PostDeleted(of) => of_post(POST_DELETED, of),
            Told::FollowCreated(of) => of_follow(FOLLOW_CREATED, of),
            Told::FollowDeleted(of) => of_follow(FOLLOW_DELETED, of),
            Told::MuteDeleted(of) => of_follow(MUTE_DELETED, of),
            Told::LikeCreated(of) => of_like(LIKE_CREATED, of),
            Told::LikeDeleted(of) => of_like(LIKE_DELETED, of),
        }
    }

    /// What a fact tells.
    pub(crate) fn read(fact: &Fact) -> Result<Told, Error> {
        Ok(match fact.kind.as_str() {
            USER_REGISTERED => Told::UserRegistered(fact.read_data()?),
            PROFILE_UPDATED => Told::ProfileUpdated(fact.read_data()?),
            USER_DELETED => Told::UserDeleted(fact.read_data()?),
            POST_CREATED => Told::PostCreated(fact.read_data()?),
            POST_DELETED => Told::PostDeleted(fact.read_data()?),
            FOLLOW_CREATED => Told::FollowCreated(fact.read_data()?),
            FOLLOW_DELETED => Told::FollowDeleted(fact.read_data()?),
            MUTE_DELETED => Told::MuteDeleted(fact.read_data()?),
            LIKE_CREATED => Told::LikeCreated(fact.read_data()?),
            LIKE_DELETED => Told::LikeDeleted(fact.read_data()?),
            other => return Err(Error::Misfit(format!("no fact of `{other}` is known"))),
        })
    }
}

fn of_user(kind: &str, of: &OfUser) -> Result<NewFact, Error> {
    let fact = NewFact::new("mini-sns/user-service", kind, of)?;
    Ok(fact.subject(&format!("user:{}", of.user_id)))
}

fn of_post(kind: &str, of: &OfPost) -> Result<NewFact, Error> {
    let fact = NewFact::new("mini-sns/post-service", kind, of)?;
    Ok(fact.subject(&format!("post:{}", of.post_id)))
}

fn of_follow(kind: &str, of: &OfFollow) -> Result<NewFact, Error> {
    let fact = NewFact::new("mini-sns/social-service", kind, of)?;
    Ok(fact.subject(&format!("follow:{}", of.follow_id)))
}

fn of_like(kind: &str, of: &OfLike) -> Result<NewFact, Error> {
    let fact = NewFact::new("mini-sns/social-service", kind, of)?;
    Ok(fact.subject(&format!("like:{}", of.like_id)))
}

impl OfUser {
    pub(crate) fn new(user: &User) -> OfUser {
        OfUser { user_id: user.id.to_string(), username: user.username.clone() }
    }

    pub(crate) fn user(&self) -> Result<UserId, Error> {
        read("userId", &self.user_id)
    }
}

impl OfPost {
    pub(crate) fn new(post: &Post) -> OfPost {
        OfPost {
            post_id: post.id.to_string(),
            user_id: post.author.to_string(),
            content: post.content.clone(),
            created_at: post.created.to_string(),
        }
    }

    /// A post that is gone, and with it what it said.
    pub(crate) fn gone(post: &Post) -> OfPost {
        OfPost { content: String::new(), ..OfPost::new(post) }
    }

    pub(crate) fn post(&self) -> Result<Post, Error> {
        Ok(Post {
            id: read::<PostId>("postId", &self.post_id)?,
            author: read("userId", &self.user_id)?,
            content: self.content.clone(),
            likes: 0,
            created: read_time(&self.created_at)?,
        })
    }
}

impl OfFollow {
    pub(crate) fn new(follow: &Follow) -> OfFollow {
        OfFollow {
            follow_id: follow.id.clone(),
            follower_id: follow.follower.to_string(),
            followee_id: follow.followee.to_string(),
            created_at: follow.created.to_string(),
        }
    }

    pub(crate) fn follow(&self) -> Result<Follow, Error> {
        Ok(Follow {
            id: self.follow_id.clone(),
            follower: read("followerId", &self.follower_id)?,
            followee: read("followeeId", &self.followee_id)?,
            created: read_time(&self.created_at)?,
            muted: false,
        })
    }
}

impl OfLike {
    pub(crate) fn new(like: &Like) -> OfLike {
        OfLike {
            like_id: like.id.clone(),
            user_id: like.user.to_string(),
            post_id: like.post.to_string(),
            author_id: like.author.to_string(),
            created_at: like.created.to_string(),
        }
    }

    pub(crate) fn like(&self) -> Result<Like, Error> {
        Ok(Like {
            id: self.like_id.clone(),
            user: read("userId", &self.user_id)?,
            post: read("postId", &self.post_id)?,
            author: read("authorId", &self.author_id)?,
            created: read_time(&self.created_at)?,
        })
    }
}

fn read<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| Error::Misfit(format!("`{text}` is no {name}")))
}

fn read_time(text: &str) -> Result<base::Timestamp, Error> {
    text.parse().map_err(|cause: base::Error| Error::Misfit(cause.to_string()))
}
