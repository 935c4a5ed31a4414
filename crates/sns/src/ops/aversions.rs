//! Blocks and mutes: who does not want to see whom.
//!
//! Invariants: of two users of whom one has blocked the other, neither follows the other, sees what
//! the other said, or is notified of it. Their profiles stay, so that a block can be lifted. Who is
//! muted is not on the timeline and not notified of, and learns nothing of it.

use std::collections::BTreeSet;

use table::Get;

use super::social::{Layouts, read_user};
use super::{Page, Part, Tries};
use crate::Sns;
use crate::error::{Error, Flaw};
use crate::items::facts::{OfFollow, Told};
use crate::items::social::{self, Aversion, Moved};
use crate::model::UserId;

impl Sns {
    /// Those of some users who have blocked `viewer`, or whom it has blocked.
    pub(crate) async fn list_apart(
        &self,
        viewer: UserId,
        others: impl IntoIterator<Item = UserId>,
    ) -> Result<BTreeSet<UserId>, Error> {
        let gets = distinct(viewer, others).into_iter().flat_map(|other| self.apart(viewer, other));
        self.other_sides(viewer, gets.collect()).await
    }

    /// Whether one of two users has blocked the other.
    pub(crate) async fn is_apart(&self, viewer: UserId, other: UserId) -> Result<bool, Error> {
        Ok(self.list_apart(viewer, [other]).await?.contains(&other))
    }

    /// Those of some users of whom `viewer` is not notified: who are apart from it, or muted.
    pub(crate) async fn list_unwanted(
        &self,
        viewer: UserId,
        others: impl IntoIterator<Item = UserId>,
    ) -> Result<BTreeSet<UserId>, Error> {
        let gets = distinct(viewer, others).into_iter().flat_map(|other| {
            let muted = self.layout.social.get_aversion(Aversion::Mute, viewer, other);
            self.apart(viewer, other).into_iter().chain([muted])
        });
        self.other_sides(viewer, gets.collect()).await
    }

    fn apart(&self, one: UserId, other: UserId) -> [Get; 2] {
        let social = &self.layout.social;
        [(one, other), (other, one)].map(|(by, of)| social.get_aversion(Aversion::Block, by, of))
    }

    /// Who else is named by those of these items that are there.
    async fn other_sides(&self, viewer: UserId, gets: Vec<Get>) -> Result<BTreeSet<UserId>, Error> {
        let items = self.get_all(gets).await?;
        let sides = items.iter().filter_map(|(_, item)| social::read_aversion(item));
        Ok(sides.map(|(by, of)| if by == viewer { of } else { by }).collect())
    }

    /// Whether a user blocks or mutes another.
    pub(crate) async fn is_averse(
        &self,
        what: Aversion,
        user: UserId,
        of: UserId,
    ) -> Result<bool, Error> {
        let found = self.tables.get(self.layout.social.get_aversion(what, user, of)).await?;
        Ok(found.is_some())
    }

    /// Whom a user blocks or mutes, by id.
    pub(crate) async fn list_averse(
        &self,
        what: Aversion,
        user: UserId,
        part: &Part,
    ) -> Result<Page<UserId>, Error> {
        let query = self.layout.social.query_averse(what, user, read_user(part)?, part.rows());
        let items = self.tables.query(query).await?.items;
        let ids = items.iter().filter_map(|item| Some(social::read_aversion(item)?.1));
        Ok(part.cut(ids.collect(), UserId::to_string))
    }

    /// Blocks a user: neither follows the other any more, nor can.
    pub(crate) async fn block(&self, user: UserId, other: UserId) -> Result<(), Error> {
        self.check_other(user, other).await?;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let there = self.find_follow(user, other).await?;
            let back = self.find_follow(other, user).await?;
            let (out, inward) = (there.is_some(), back.is_some());
            let Layouts { social, users } = self.layouts();
            let mut writes =
                vec![social.put_aversion(Aversion::Block, user, other), users.exists(user)];
            let mut told = Vec::new();
            for (follow, one, two) in [(&there, user, other), (&back, other, user)] {
                match follow {
                    Some(follow) => {
                        writes.push(social.delete_follow(follow));
                        told.push(Told::FollowDeleted(OfFollow::new(follow)));
                    }
                    None => writes.push(social.no_follow(one, two)),
                }
            }
            for (one, going, coming) in [(user, out, inward), (other, inward, out)] {
                let [following, followers] = [going, coming].map(|is| -i64::from(is));
                if going || coming {
                    let moved = Moved { followers, following, likes: 0, circle: going };
                    writes.push(social.count(one, moved));
                }
            }
            if self.commit(writes, &told).await?.is_ok() {
                [&there, &back].into_iter().flatten().for_each(|gone| self.tell_unfollowed(gone));
                return Ok(());
            }
        }
    }

    /// Blocks a user no more. What they followed does not come back.
    pub(crate) async fn unblock(&self, user: UserId, other: UserId) -> Result<(), Error> {
        self.check_other(user, other).await?;
        let Layouts { social, users } = self.layouts();
        let writes = vec![social.delete_aversion(Aversion::Block, user, other), users.exists(user)];
        let unblocked = self.commit(writes, &[]).await?;
        unblocked.map_err(|_| Error::NoSuchUser(user.to_string()))
    }

    /// Mutes a user, or does so no more: its posts are neither written to the timeline nor shown.
    pub(crate) async fn mute(&self, user: UserId, other: UserId, is: bool) -> Result<(), Error> {
        self.check_other(user, other).await?;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let follow = self.find_follow(user, other).await?;
            let Layouts { social, users } = self.layouts();
            let noted = match is {
                true => social.put_aversion(Aversion::Mute, user, other),
                false => social.delete_aversion(Aversion::Mute, user, other),
            };
            let mut writes = vec![noted, users.exists(user)];
            match &follow {
                Some(follow) => {
                    writes.push(social.mute_follow(follow, is));
                    writes.push(social.count(user, Moved { circle: true, ..Moved::default() }));
                }
                None => writes.push(social.no_follow(user, other)),
            }
            let again =
                follow.filter(|_| !is).map(|follow| Told::MuteDeleted(OfFollow::new(&follow)));
            if self.commit(writes, again.as_slice()).await?.is_ok() {
                return Ok(());
            }
        }
    }

    async fn check_other(&self, user: UserId, other: UserId) -> Result<(), Error> {
        if user == other {
            return Err(Flaw::OnlyOthers.into());
        }
        self.get_user(other).await.map(drop)
    }
}

/// Others, each once: a store reads an item once in a batch.
fn distinct(viewer: UserId, others: impl IntoIterator<Item = UserId>) -> BTreeSet<UserId> {
    others.into_iter().filter(|other| *other != viewer).collect()
}
