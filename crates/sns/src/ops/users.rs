//! Users as others see them.

use std::sync::Arc;

use base::{Monotonic, Timestamp};
use table::{TransactItem, Watch};

use super::{Tries, is_lost};
use crate::Sns;
use crate::error::Error;
use crate::items::facts::{OfUser, Told};
use crate::items::social::Aversion;
use crate::items::{post, session, social, user};
use crate::limits::{CARD_FRESH, RENAMES_MAX};
use crate::model::UserId;
use crate::model::account::{Card, Change, User, check_username, fold};
use crate::model::names::Hold;
use crate::model::social::Counts;

/// A user with what is counted, as somebody sees it.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) user: User,
    pub(crate) posts: u64,
    pub(crate) counts: Counts,
    pub(crate) is_following: bool,
    pub(crate) is_blocked: bool,
    pub(crate) is_muted: bool,
}

/// An author's name, and when it was read. It is good as long as its watch holds, or for a while
/// where the store does not tell.
#[derive(Clone)]
pub(crate) struct Remembered {
    card: Arc<Card>,
    at: Monotonic,
    watch: Watch,
}

impl Sns {
    /// The user of that id.
    pub(crate) async fn get_user(&self, id: UserId) -> Result<User, Error> {
        self.find_user(id).await?.ok_or_else(|| Error::NoSuchUser(id.to_string()))
    }

    /// The user of that id, if there is one.
    pub(crate) async fn find_user(&self, id: UserId) -> Result<Option<User>, Error> {
        let item = self.tables.get(self.layout.users.get(id)).await?;
        Ok(item.as_ref().and_then(user::read))
    }

    /// The user with that address, whatever its case.
    pub(crate) async fn find_by_email(&self, email: &str) -> Result<Option<User>, Error> {
        let page = self.tables.query(self.layout.users.query_email(email)).await?;
        Ok(page.items.first().and_then(user::read))
    }

    /// The user with that name, whatever its case.
    pub(crate) async fn find_by_name(&self, username: &str) -> Result<Option<User>, Error> {
        if check_username(username).is_err() {
            return Ok(None);
        }
        let page = self.tables.query(self.layout.users.query_name(username)).await?;
        Ok(page.items.first().and_then(user::read))
    }

    /// Users with what is counted of them, as `viewer` sees them, in the order asked; those who are
    /// not there are left out.
    pub(crate) async fn list_profiles(
        &self,
        viewer: UserId,
        ids: &[UserId],
    ) -> Result<Vec<Profile>, Error> {
        let gets = ids.iter().flat_map(|id| {
            [
                self.layout.users.get(*id),
                self.layout.posts.get_count(*id),
                self.layout.social.get_counts(*id),
                self.layout.social.get_follow(viewer, *id),
                self.layout.social.get_aversion(Aversion::Block, viewer, *id),
                self.layout.social.get_aversion(Aversion::Mute, viewer, *id),
            ]
        });
        let got = self.get_in_order(gets.collect()).await?;
        let profiles = got.chunks(6).filter_map(|parts| {
            let [profile, posts, counts, follow, block, mute] = parts else { return None };
            Some(Profile {
                user: user::read(profile.as_ref()?)?,
                posts: post::read_count(posts.as_ref()),
                counts: social::read_counts(counts.as_ref()),
                is_following: follow.is_some(),
                is_blocked: block.is_some(),
                is_muted: mute.is_some(),
            })
        });
        Ok(profiles.collect())
    }

    /// One of them.
    pub(crate) async fn get_profile(&self, viewer: UserId, id: UserId) -> Result<Profile, Error> {
        let found = self.list_profiles(viewer, &[id]).await?.pop();
        found.ok_or_else(|| Error::NoSuchUser(id.to_string()))
    }

    /// Changes a name, or what the user says of itself.
    pub(crate) async fn change_user(&self, id: UserId, change: &Change) -> Result<User, Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let before = self.get_user(id).await?;
            let after = before.changed(change, self.clock.now())?;
            let mut writes = vec![self.layout.users.change(&before, &after)];
            let claims = self.layout.users.claim_name(&before, &after);
            let held_at = writes.len() + claims.len();
            writes.extend(claims);
            if before.username != after.username {
                writes.extend(self.renaming(&before, &after).await?);
            }
            match self.commit(writes, &[Told::ProfileUpdated(OfUser::new(&after))]).await? {
                Ok(()) => {
                    self.cards.invalidate(&id);
                    return Ok(after);
                }
                Err(lost) if is_lost(&lost, 0) => {}
                Err(lost) if lost.iter().take(held_at).any(|lost| *lost) => {
                    return Err(Error::UsernameTaken(after.username));
                }
                Err(lost) if is_lost(&lost, held_at) || is_lost(&lost, held_at + 1) => {
                    return Err(Error::UsernameHeld(after.username));
                }
                Err(_) => {}
            }
        }
    }

    /// What a change of a name writes besides the claims of the new one: first that nobody else
    /// holds it, then what becomes of the old one. A change of case gives nothing up.
    async fn renaming(&self, before: &User, after: &User) -> Result<Vec<TransactItem>, Error> {
        let (sessions, now) = (&self.layout.sessions, self.clock.now());
        let mut writes = sessions.release_name(&after.username, after.id, now).to_vec();
        let has_look = self.has_look(before).await?;
        writes.extend(self.layout.users.leave_name(before, after, has_look));
        if fold(&before.username) == fold(&after.username) {
            return Ok(writes);
        }
        let renames = table::query_all(&*self.tables, sessions.query_renames(after.id)).await?;
        let mut counting: Vec<Timestamp> = renames.iter().map(session::read_until).collect();
        counting.retain(|until| now < *until);
        if let Some(first) = counting.first().filter(|_| counting.len() >= RENAMES_MAX) {
            return Err(Error::RenamedTooOften { wait: first.since(now) });
        }
        let hold = Hold::new(before.id, now);
        writes.extend(sessions.hold_name(&before.username, hold, Some(&after.username)));
        writes.push(sessions.put_rename(after.id, after.updated, hold.until));
        Ok(writes)
    }

    /// Whether what a user's name looks like is its own claim.
    pub(crate) async fn has_look(&self, user: &User) -> Result<bool, Error> {
        let [_, look] = self.layout.users.get_claims(&user.username);
        let found = self.tables.get(look).await?;
        Ok(found.as_ref().and_then(user::read_id) == Some(user.id))
    }

    /// An error if somebody new cannot have this name.
    pub(crate) async fn check_name_free(&self, username: &str) -> Result<(), Error> {
        let claims = self.layout.users.get_claims(username);
        let holds = self.layout.sessions.get_holds(username);
        let now = self.clock.now();
        let got = self.tables.transact_get(claims.into_iter().chain(holds).collect()).await?;
        let [name, look, held, held_look] = got.as_slice() else {
            unreachable!("as many answers as gets");
        };
        if name.is_some() || look.is_some() {
            return Err(Error::UsernameTaken(username.to_owned()));
        }
        let mut holds = [held, held_look].into_iter().flatten().filter_map(session::read_hold);
        match holds.any(|hold| hold.keeps(None, now)) {
            true => Err(Error::UsernameHeld(username.to_owned())),
            false => Ok(()),
        }
    }

    /// What is remembered of an author, unless it is too old.
    pub(crate) fn find_card(&self, id: UserId) -> Option<Arc<Card>> {
        let Remembered { card, at, watch } = self.cards.get(&id)?;
        let is_good = match watch.is_blind() {
            true => self.clock.instant().since(at) < CARD_FRESH,
            false => watch.holds(),
        };
        is_good.then_some(card)
    }

    /// Remembers what stands beside an author's posts. `watch` was made before it was read.
    pub(crate) fn remember_card(&self, card: Card, watch: Watch) -> Arc<Card> {
        let card = Arc::new(card);
        let at = self.clock.instant();
        self.cards.insert(card.id, Remembered { card: Arc::clone(&card), at, watch });
        card
    }

    /// What stands beside an author's posts.
    pub(crate) async fn get_card(&self, id: UserId) -> Result<Option<Arc<Card>>, Error> {
        if let Some(card) = self.find_card(id) {
            return Ok(Some(card));
        }
        let mut watch = Watch::default();
        self.tables.watch(&self.layout.users.partition(id), &mut watch);
        let user = self.find_user(id).await?;
        Ok(user.map(|user| self.remember_card(user.card(), watch)))
    }

    /// The ids of all users.
    pub(crate) async fn list_user_ids(&self) -> Result<Vec<UserId>, Error> {
        let mut scan = self.layout.users.scan_ids();
        let mut ids = Vec::new();
        loop {
            let page = self.tables.scan(scan.clone()).await?;
            ids.extend(page.items.iter().filter_map(user::read_id));
            match page.last_key {
                Some(last) => scan.start_after = Some(last),
                None => return Ok(ids),
            }
        }
    }

    /// Items in the order asked, each there or not.
    async fn get_in_order(&self, gets: Vec<table::Get>) -> Result<Vec<Option<table::Item>>, Error> {
        let mut items = Vec::with_capacity(gets.len());
        for some in gets.chunks(table::limits::TRANSACT_MAX) {
            items.extend(self.tables.transact_get(some.to_vec()).await?);
        }
        Ok(items)
    }
}
