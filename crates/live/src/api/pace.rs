//! How fast callers may be: each by itself first, and all of one address together as a high ceiling.
//!
//! Behind one address sits a school or a venue, so a caller is told apart by what it is: a
//! participant by its signed id or its name, a host by its credential, a socket by its connection.
//! A name costs nothing to invent, so callers that the server has signed have ceilings of their own.
//! Invariant: a request that is refused, here or later, takes nothing from what others share.

use std::net::IpAddr;
use std::time::Duration;

use edge::{
    AddressLimit, Bucket, Client, Exceeded, Failure, Ground, Policy, RateLimit, StatusCode, Taken,
};

use super::participants::{Caller, Standing};
use crate::Options;
use crate::limits::{
    COMMENT_BURST, COMMENT_SPAN, COMMENTS_PER_SPAN, HOST_AT_ONCE_SECONDS, HOSTS_OF_ADDRESS,
    JOIN_BURST, JOINS_AT_ONCE_SECONDS, JOINS_PER_SECOND, LIKES_OF_ADDRESS_PER_SECOND,
    LIKES_PER_SECOND, REACTIONS_OF_ADDRESS_PER_SECOND, REACTIONS_PER_SECOND,
    ROOMS_OF_HOST_PER_HOUR,
};
use crate::model::hashed;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

const PARTICIPANTS: &str = "participants-of-address";

/// Seconds of the comments of one address that may come at once.
const COMMENTS_AT_ONCE_SECONDS: u32 = 4;

/// Of the ceiling for comments, what callers without a name have: they cannot use up what the named
/// ones need.
fn fifth(count: u32) -> u32 {
    (count / 5).max(1)
}

/// The rates of the room.
pub(super) struct Pace {
    /// Comments of a participant.
    comments: RateLimit,
    /// Comments of all callers of one address that give themselves no name.
    nameless: RateLimit,
    comments_of_address: Ceiling,
    /// What a host says and does in a room.
    host: RateLimit,
    hosts_of_address: Ceiling,
    likes: RateLimit,
    likes_of_address: Ceiling,
    reactions: RateLimit,
    reactions_of_address: Ceiling,
    /// Rooms that a connection joins.
    joins: RateLimit,
    joins_of_address: Ceiling,
    /// Rooms that a host opens.
    rooms: RateLimit,
    rooms_of_address: Ceiling,
    /// Participants that are issued to an address.
    participants: AddressLimit,
}

/// What all callers of one address may do together: those that the server has signed, and apart from
/// them all others.
struct Ceiling {
    signed: RateLimit,
    unsigned: RateLimit,
}

impl Ceiling {
    fn of(&self, caller: &Caller) -> &RateLimit {
        match caller.standing {
            Standing::Signed => &self.signed,
            Standing::Named | Standing::Nameless => &self.unsigned,
        }
    }

    /// Lets the operator change the setting with this key, which says how many pass in `span`.
    fn add_dial(&self, ground: &Ground, key: &'static str, span: Duration, at_once: u32) {
        let limits = [self.signed.clone(), self.unsigned.clone()];
        ground.dials.add_rate(key, move |count: u32| {
            for limit in &limits {
                let policy = Policy::new(limit.name(), count, span);
                limit.change(policy.with_burst(count.saturating_mul(at_once)));
            }
        });
    }

    /// The place of a caller, in the form that [`RateLimit::take`] wants.
    fn place(&self, address: IpAddr, caller: &Caller) -> [(&RateLimit, Bucket); 1] {
        [(self.of(caller), Bucket::Address(address))]
    }
}

impl Pace {
    pub(super) fn new(options: &Options, ground: &Ground) -> Pace {
        let limit = |policy| RateLimit::new(policy, &ground.clock, &ground.tasks);
        let own = |name, count: u32, at_once: u32| {
            limit(Policy::new(name, count, SECOND).with_burst(count.saturating_mul(at_once)))
        };
        // So many in a span, and as many times more at once; the names are those of the signed and
        // of all others.
        let ceiling = |[signed, unsigned]: [&'static str; 2], count: u32, span, at_once: u32| {
            let policy =
                |name| Policy::new(name, count, span).with_burst(count.saturating_mul(at_once));
            Ceiling { signed: limit(policy(signed)), unsigned: limit(policy(unsigned)) }
        };
        let comments = Policy::new("comments", COMMENTS_PER_SPAN, COMMENT_SPAN);
        let each_second = options.address_comments_per_second;
        let host = options.host_requests_per_second;
        let participants = options.address_participants_per_hour;
        let pace = Pace {
            comments: limit(comments.with_burst(COMMENT_BURST)),
            nameless: own("comments-without-name", fifth(each_second), COMMENTS_AT_ONCE_SECONDS),
            comments_of_address: ceiling(
                ["signed-comments-of-address", "comments-of-address"],
                each_second,
                SECOND,
                COMMENTS_AT_ONCE_SECONDS,
            ),
            host: own("host", host, HOST_AT_ONCE_SECONDS),
            hosts_of_address: ceiling(
                ["signed-hosts-of-address", "hosts-of-address"],
                host.saturating_mul(HOSTS_OF_ADDRESS),
                SECOND,
                HOST_AT_ONCE_SECONDS,
            ),
            likes: own("likes", LIKES_PER_SECOND, 5),
            likes_of_address: ceiling(
                ["signed-likes-of-address", "likes-of-address"],
                LIKES_OF_ADDRESS_PER_SECOND,
                SECOND,
                5,
            ),
            reactions: own("reactions", REACTIONS_PER_SECOND, 2),
            reactions_of_address: ceiling(
                ["signed-reactions-of-address", "reactions-of-address"],
                REACTIONS_OF_ADDRESS_PER_SECOND,
                SECOND,
                2,
            ),
            joins: own("joins", JOINS_PER_SECOND, JOIN_BURST),
            joins_of_address: ceiling(
                ["signed-joins-of-address", "joins-of-address"],
                options.address_joins_per_second,
                SECOND,
                JOINS_AT_ONCE_SECONDS,
            ),
            rooms: limit(Policy::new("rooms", ROOMS_OF_HOST_PER_HOUR, HOUR)),
            rooms_of_address: ceiling(
                ["signed-rooms-of-address", "rooms-of-address"],
                options.address_rooms_per_hour,
                HOUR,
                1,
            ),
            participants: AddressLimit::new(
                Policy::new(PARTICIPANTS, participants, HOUR),
                "participants-of-connection",
                &ground.clock,
                &ground.tasks,
            ),
        };
        pace.add_dials(ground);
        pace
    }

    /// Lets the operator change rates while the room is open: those that one setting alone decides.
    fn add_dials(&self, ground: &Ground) {
        let joins = &self.joins_of_address;
        joins.add_dial(ground, "live.address_joins_per_second", SECOND, JOINS_AT_ONCE_SECONDS);
        self.rooms_of_address.add_dial(ground, "live.address_rooms_per_hour", HOUR, 1);
        let participants = self.participants.clone();
        ground.dials.add_rate("live.address_participants_per_hour", move |count| {
            participants.change(Policy::new(PARTICIPANTS, count, HOUR));
        });
        let (signed, unsigned) =
            (self.comments_of_address.signed.clone(), self.comments_of_address.unsigned.clone());
        let nameless = self.nameless.clone();
        ground.dials.add_rate("live.address_comments_per_second", move |count| {
            for (limit, count) in [(&signed, count), (&unsigned, count), (&nameless, fifth(count))]
            {
                let policy = Policy::new(limit.name(), count, SECOND);
                limit.change(policy.with_burst(count.saturating_mul(COMMENTS_AT_ONCE_SECONDS)));
            }
        });
    }

    /// A comment.
    pub(super) fn comment(
        &self,
        address: IpAddr,
        room_id: &str,
        caller: &Caller,
    ) -> Result<Taken, Failure> {
        let shared = self.comments_of_address.place(address, caller);
        let taken = match caller.standing {
            Standing::Nameless => self.nameless.take(&Bucket::Address(address), &shared),
            Standing::Signed | Standing::Named => {
                self.comments.take(&own(room_id, caller), &shared)
            }
        };
        taken.map_err(too_fast)
    }

    /// Something that the caller who presents this credential says or does in a room as its host. A
    /// wrong credential has another bucket than the host's.
    pub(super) fn host(
        &self,
        address: IpAddr,
        room_id: &str,
        credential: &str,
        caller: &Caller,
    ) -> Result<Taken, Failure> {
        let shared = self.hosts_of_address.place(address, caller);
        let bucket = match caller.standing {
            Standing::Signed => own(room_id, caller),
            Standing::Named | Standing::Nameless => subject(&[room_id, credential]),
        };
        self.host.take(&bucket, &shared).map_err(too_fast)
    }

    /// A like.
    pub(super) fn like(
        &self,
        address: IpAddr,
        room_id: &str,
        caller: &Caller,
    ) -> Result<Taken, Failure> {
        let shared = self.likes_of_address.place(address, caller);
        self.likes.take(&own(room_id, caller), &shared).map_err(too_fast)
    }

    /// A reaction.
    pub(super) fn react(
        &self,
        address: IpAddr,
        room_id: &str,
        caller: &Caller,
    ) -> Result<Taken, Failure> {
        let shared = self.reactions_of_address.place(address, caller);
        self.reactions.take(&own(room_id, caller), &shared).map_err(too_fast)
    }

    /// A connection that joins a room. How many connections an address has is bounded elsewhere.
    pub(super) fn join(
        &self,
        address: IpAddr,
        connection: &str,
        caller: &Caller,
    ) -> Result<Taken, Failure> {
        let shared = self.joins_of_address.place(address, caller);
        self.joins.take(&Bucket::Subject(connection.into()), &shared).map_err(too_fast)
    }

    /// A stream that follows a room. It is a join, and its connection joins once.
    pub(super) fn follow(&self, address: IpAddr, caller: &Caller) -> Result<(), Failure> {
        let joined = self.joins_of_address.of(caller).check(&Bucket::Address(address));
        joined.map(drop).map_err(too_fast)
    }

    /// A room that a host opens. A credential costs nothing to invent, so a signed participant is
    /// counted by itself.
    pub(super) fn open_room(
        &self,
        address: IpAddr,
        host_id: &str,
        caller: &Caller,
    ) -> Result<Taken, Failure> {
        let shared = self.rooms_of_address.place(address, caller);
        let bucket = match caller.standing {
            Standing::Signed => subject(&[&caller.participant]),
            Standing::Named | Standing::Nameless => subject(&["host", host_id]),
        };
        self.rooms.take(&bucket, &shared).map_err(too_fast)
    }

    /// A new participant for a caller.
    pub(super) fn issue(&self, client: Client) -> Result<(), Failure> {
        self.participants.take(client).map(drop).map_err(too_fast)
    }
}

/// The bucket of a caller. A signed participant has one for all rooms: anybody can open more rooms.
fn own(room_id: &str, caller: &Caller) -> Bucket {
    match caller.standing {
        Standing::Signed => subject(&[&caller.participant]),
        Standing::Named | Standing::Nameless => subject(&[room_id, &caller.participant]),
    }
}

/// By a digest: what callers say of themselves is long, and buckets are kept.
fn subject(parts: &[&str]) -> Bucket {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    Bucket::Subject(hashed(&parts).into())
}

fn too_fast(exceeded: Exceeded) -> Failure {
    let failure = Failure::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", exceeded.to_string());
    failure.retry_after(exceeded.wait())
}

#[cfg(test)]
mod tests;
