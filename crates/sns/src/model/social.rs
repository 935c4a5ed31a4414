//! Follows, likes, and whom a user does not want to see.

use base::Timestamp;

use super::{PostId, UserId};

/// Somebody follows somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Follow {
    /// Names this follow; following again makes another one.
    pub(crate) id: String,
    pub(crate) follower: UserId,
    pub(crate) followee: UserId,
    pub(crate) created: Timestamp,
    /// Whether the follower does not want to see the posts.
    pub(crate) muted: bool,
}

/// Somebody likes a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Like {
    /// Names this like; liking again makes another one.
    pub(crate) id: String,
    pub(crate) user: UserId,
    pub(crate) post: PostId,
    pub(crate) author: UserId,
    pub(crate) created: Timestamp,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) followers: u64,
    pub(crate) following: u64,
    pub(crate) likes: u64,
    /// Grows whenever the user's circle changes.
    pub(crate) version: u64,
}

/// Whose posts a user sees: those it follows, and its own. What is remembered of it is good as
/// long as its version is the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) version: u64,
    user: UserId,
    /// In the order of their ids, each with whether it is muted.
    following: Vec<(UserId, bool)>,
}

impl Circle {
    /// The circle of a user who follows these.
    pub(crate) fn new(user: UserId, version: u64, mut following: Vec<(UserId, bool)>) -> Circle {
        following.sort_unstable();
        following.shrink_to_fit();
        Circle { version, user, following }
    }

    /// Whether the user sees posts of this author.
    pub(crate) fn shows(&self, author: UserId) -> bool {
        let found = self.following.binary_search_by_key(&author, |(followee, _)| *followee);
        let muted = found.ok().and_then(|at| self.following.get(at)).map(|(_, muted)| *muted);
        author == self.user || muted == Some(false)
    }

    /// All whose posts the user sees.
    pub(crate) fn authors(&self) -> impl Iterator<Item = UserId> {
        let followed = self.following.iter().filter(|(_, muted)| !muted).map(|(id, _)| *id);
        std::iter::once(self.user).chain(followed)
    }

    /// How much it takes to remember it.
    pub(crate) fn weight(&self) -> u32 {
        u32::try_from(self.following.len()).unwrap_or(u32::MAX).saturating_add(4)
    }
}

#[cfg(test)]
mod tests {
    use base::Uuid;

    use super::Circle;
    use crate::model::UserId;

    #[test]
    fn a_circle_shows_whom_the_user_follows_and_has_not_muted_and_itself() {
        let id = |number| UserId(Uuid::from_u128(number));
        let circle = Circle::new(id(1), 0, vec![(id(9), false), (id(3), true), (id(2), false)]);
        let shown: Vec<u128> = (0..10).filter(|number| circle.shows(id(*number))).collect();
        assert_eq!(shown, [1, 2, 9]);
        assert_eq!(circle.authors().map(|id| id.0.as_u128()).collect::<Vec<_>>(), [1, 2, 9]);
    }
}
