//! The sns room: a small social network, event driven.
//!
//! Four services share the room and no table: users (with identity), posts, social (follows, likes,
//! blocks, mutes) and timelines (with notifications). `model` decides, `items` knows the tables,
//! `ops` are the verbs, `jobs` hears the facts by which the services meet, `live` is what is pushed,
//! `api` speaks, `pages` shows it to people.
//!
//! What is exact and what may lag:
//! - Names, counts, likes and follows are exact when their call is answered.
//! - The author's own timeline has a post when the call is answered; the others' when its fact has
//!   been handled. Reading drops what is deleted and whom the reader does not see, at once.
//! - Facts may come late, twice and in any order; what is deleted stays deleted.

mod api;
mod error;
mod items;
mod jobs;
mod limits;
mod live;
mod model;
mod ops;
mod options;
mod pages;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{Clock, Ids, Tasks};
use dispatch::{Bus, Dispatch, Queue};
use edge::{Ground, JwtIssuer, JwtVerifier, Passwords, Room};
use hub::{Channel, Hub, News};
use moka::sync::Cache;
use parking_lot::RwLock;
use table::Tables;

#[cfg(feature = "bench")]
pub use self::api::bare::BareRoom;
pub use self::error::{Error, Flaw};
use self::items::Layout;
pub use self::items::SECRETS;
use self::items::meter::Metered;
use self::limits::{AUDIENCES_FOLLOWS_MAX, CARDS_MAX, CIRCLES_FOLLOWS_MAX, GLANCES_BYTES_MAX};
use self::model::UserId;
use self::model::social::Circle;
use self::ops::fanout::Audience;
use self::ops::timeline::Glance;
use self::ops::users::Remembered;
pub use self::options::{Options, Registration};

/// The room.
pub struct Sns {
    tables: Arc<dyn Tables>,
    layout: Layout,
    bus: Bus,
    clock: Clock,
    ids: Ids,
    tasks: Tasks,
    options: Options,
    passwords: Passwords,
    /// The queue of registrations, which take no place from log-ins.
    registering: Passwords,
    tokens: JwtIssuer,
    /// Other issuers by name.
    issuers: RwLock<BTreeMap<String, JwtVerifier>>,
    /// Names of authors, which stand beside every post.
    cards: Cache<UserId, Remembered>,
    /// Whom users see. One is good as long as its version is the user's.
    circles: Cache<UserId, Arc<Circle>>,
    /// Who sees what an author says. One is good as long as its watch holds.
    audiences: Cache<UserId, Arc<Audience>>,
    /// First pages of timelines, likewise.
    glances: Cache<UserId, Arc<Glance>>,
    /// Authors with so many followers that they are merged in at read.
    pulled: RwLock<Arc<BTreeSet<UserId>>>,
    /// The queues of the services that hear facts, for what was given up there.
    queues: RwLock<Vec<Queue>>,
    hub: Hub,
    /// What users are told.
    pushes: Channel,
    /// Which sessions end.
    ends: Channel,
    /// What instances tell each other.
    news: News,
}

impl Sns {
    /// Opens the room: its tables are made if they are missing, and facts begin to be heard.
    ///
    /// # Errors
    /// The settings cannot be used, or the store does not answer.
    pub async fn open(
        options: Options,
        ground: &Ground,
        dispatch: &Dispatch,
    ) -> Result<Arc<Sns>, Error> {
        let layout = Layout::new(&options.environment)?;
        let Ground { tables, clock, ids, random, tasks, hub, .. } = ground.clone();
        for spec in layout.tables() {
            tables.ensure_table(spec).await?;
        }
        let tables: Arc<dyn Tables> = Arc::new(Metered::new(tables, &layout.tables()));
        let ring = jobs::open_ring(ground).await?;
        let tokens = JwtIssuer::new(&options.issuer, api::AUDIENCE, ring, clock.clone());
        let passwords = Passwords::new(clock.clone(), random.fork("sns salts"));
        let weighed = |_: &UserId, circle: &Arc<Circle>| circle.weight();
        let circles = Cache::builder().max_capacity(CIRCLES_FOLLOWS_MAX).weigher(weighed).build();
        let weighed = |_: &UserId, audience: &Arc<Audience>| audience.weight();
        let audiences = Cache::builder().max_capacity(AUDIENCES_FOLLOWS_MAX).weigher(weighed);
        let weighed = |_: &UserId, glance: &Arc<Glance>| glance.weight();
        let glances = Cache::builder().max_capacity(GLANCES_BYTES_MAX).weigher(weighed);
        let sns = Arc::new(Sns {
            tables,
            layout,
            bus: dispatch.bus().clone(),
            clock,
            ids,
            tasks,
            options,
            registering: passwords.queue_apart(),
            passwords,
            tokens: tokens.map_err(|error| Error::Keys(error.to_string()))?,
            issuers: RwLock::default(),
            cards: Cache::new(CARDS_MAX),
            circles,
            audiences: audiences.build(),
            glances: glances.build(),
            pulled: RwLock::default(),
            queues: RwLock::default(),
            pushes: live::pushes(&hub),
            ends: live::ends(&hub),
            news: hub.news("sns.news"),
            hub,
        });
        sns.start(dispatch).await?;
        Ok(sns)
    }

    /// The room's routes.
    pub fn room(self: &Arc<Self>, ground: &Ground) -> Room {
        api::room(self, ground)
    }
}
