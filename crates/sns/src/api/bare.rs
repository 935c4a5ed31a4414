//! The room without its door, for `cargo xtask bench`: people who know each other from the first
//! moment, and what they do as the wire would have it done.

use std::sync::Arc;

use edge::Ground;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Asked, Door};
use crate::Sns;
use crate::error::Error;
use crate::items::social::Moved;
use crate::model::social::Follow;
use crate::ops::identity::{Caller, Opened, Proof, Register};

/// Writes of the furnishing that are under way at once.
const AT_ONCE: usize = 64;
/// How far from each other those stand in the ring who follow one another.
const STRIDE: usize = 97;

/// A room full of people. They are named by numbers.
pub struct BareRoom {
    door: Door,
    people: Vec<Caller>,
}

impl BareRoom {
    /// So many users, each of whom follows so many others and is followed by as many.
    ///
    /// # Errors
    /// The store does not take it.
    pub async fn furnish(
        sns: &Arc<Sns>,
        ground: &Ground,
        users: usize,
        follows: usize,
    ) -> Result<BareRoom, Error> {
        let register = |number: usize| async move {
            let (issuer, subject) = ("bench".to_owned(), number.to_string());
            let (email, username) = (format!("{number}@example.org"), format!("user-{number}"));
            let proof = Proof::Identity { issuer, subject };
            let command = Register { email, username, proof, invite: None, device: None };
            let Opened { user, session, .. } = sns.register(command, "elsewhere").await?;
            let ends = sns.token_ends(&session);
            Ok::<Caller, Error>(Caller { user: user.id, session: session.id, ends })
        };
        let registering = stream::iter(0..users).map(register).buffered(AT_ONCE);
        let people: Vec<Caller> = registering.try_collect().await?;
        let room = BareRoom { door: Door::new(sns, ground), people };
        let follow = |number| room.follow_all(number, follows);
        stream::iter(0..users).map(follow).buffered(AT_ONCE).try_collect::<()>().await?;
        Ok(room)
    }

    /// Follows as many others, without a word to anybody.
    async fn follow_all(&self, number: usize, follows: usize) -> Result<(), Error> {
        let sns = &self.door.sns;
        let (follower, count) = (self.one(number).user, i64::try_from(follows).unwrap_or(i64::MAX));
        let social = &sns.layout.social;
        let moved = Moved { followers: count, following: count, circle: true, ..Moved::default() };
        let mut writes = vec![social.count(follower, moved)];
        writes.extend((1..=follows).map(|step| {
            let followee = self.one(number + step * STRIDE).user;
            let (id, created) = (sns.ids.random().to_string(), sns.clock.now());
            social.put_follow(&Follow { id, follower, followee, created, muted: false })
        }));
        sns.write_all(writes).await
    }

    fn one(&self, number: usize) -> &Caller {
        let found = self.people.get(number % self.people.len());
        found.expect("a remainder is below the number by which was divided")
    }

    /// Says something in a user's name.
    ///
    /// # Errors
    /// The store does not take it.
    pub async fn post(&self, user: usize, content: &str) -> Result<(), Error> {
        self.door.sns.create_post(self.one(user).user, content).await.map(drop)
    }

    /// The first page of a user's timeline, as it is answered.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn read(&self, user: usize) -> Result<Vec<u8>, Error> {
        let page = self.door.timeline(self.one(user).user, &Asked::default()).await?;
        Ok(serde_json::to_vec(&page).expect("texts, numbers and switches have a JSON form"))
    }

    /// Opens one stream in a user's name.
    ///
    /// # Errors
    /// The store does not take it.
    pub async fn ticket(&self, user: usize) -> Result<String, Error> {
        self.door.sns.make_ticket(self.one(user)).await
    }

    /// Facts that nobody has handled yet.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn waiting(&self) -> Result<u64, Error> {
        let mut waiting = 0;
        let queues = self.door.sns.queues.read().clone();
        for queue in queues {
            waiting += queue.depth().await?.messages;
        }
        Ok(waiting)
    }

    /// Entries of all timelines: nothing else is in their table.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn entries(&self) -> Result<u64, Error> {
        let sns = &self.door.sns;
        let name = &sns.layout.timelines.spec().name;
        Ok(sns.tables.describe_table(name).await?.items)
    }
}
