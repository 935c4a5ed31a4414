//! How fast callers may be: each by itself first, and all of one address together as a high ceiling.
//!
//! Behind one address sits a school or a venue, so a caller is told apart by what it says it is: a
//! participant by its name, a host by its credential, a socket by its connection. Invariant: a
//! request that is refused, here or later, takes nothing from what others share.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use edge::{Bucket, Exceeded, Failure, Ground, Policy, RateLimit, StatusCode, Taken};

use crate::Options;
use crate::limits::{
    COMMENT_BURST, COMMENT_SPAN, COMMENTS_PER_SPAN, HOST_AT_ONCE_SECONDS, HOSTS_OF_ADDRESS,
    JOIN_BURST, JOINS_PER_SECOND, LIKES_OF_ADDRESS_PER_SECOND, LIKES_PER_SECOND,
    REACTIONS_OF_ADDRESS_PER_SECOND, REACTIONS_PER_SECOND, ROOMS_OF_HOST_PER_HOUR,
};
use crate::model::hashed;

/// The rates of the room.
pub(super) struct Pace {
    /// Comments of a participant.
    comments: RateLimit,
    /// Comments of all callers of one address that give themselves no name.
    nameless: RateLimit,
    /// Comments of an address, whoever sends them.
    comments_of_address: RateLimit,
    /// What a host says and does in a room.
    host: RateLimit,
    /// The same of all hosts of one address.
    hosts_of_address: RateLimit,
    likes: RateLimit,
    likes_of_address: RateLimit,
    reactions: RateLimit,
    reactions_of_address: RateLimit,
    /// Rooms that a connection joins.
    joins: RateLimit,
    rooms_of_host: RateLimit,
    rooms_of_address: RateLimit,
}

impl Pace {
    pub(super) fn new(options: &Options, ground: &Ground) -> Pace {
        let limit = |policy| RateLimit::new(policy, &ground.clock, &ground.tasks);
        let second = |name, count: u32, burst: u32| {
            limit(Policy::new(name, count, Duration::from_secs(1)).with_burst(burst))
        };
        let hour = |name, count| limit(Policy::new(name, count, Duration::from_secs(3_600)));
        let comments = Policy::new("comments", COMMENTS_PER_SPAN, COMMENT_SPAN);
        let each_second = options.address_comments_per_second;
        // A fifth of the ceiling: callers without a name cannot use up what the named ones need.
        let nameless = NonZeroU32::new(each_second / 5).unwrap_or(NonZeroU32::MIN).get();
        let host = options.host_requests_per_second;
        let hosts = host.saturating_mul(HOSTS_OF_ADDRESS);
        Pace {
            comments: limit(comments.with_burst(COMMENT_BURST)),
            nameless: second("comments-without-name", nameless, nameless.saturating_mul(4)),
            comments_of_address: second(
                "comments-of-address",
                each_second,
                each_second.saturating_mul(4),
            ),
            host: second("host", host, host.saturating_mul(HOST_AT_ONCE_SECONDS)),
            hosts_of_address: second(
                "hosts-of-address",
                hosts,
                hosts.saturating_mul(HOST_AT_ONCE_SECONDS),
            ),
            likes: second("likes", LIKES_PER_SECOND, LIKES_PER_SECOND * 5),
            likes_of_address: second(
                "likes-of-address",
                LIKES_OF_ADDRESS_PER_SECOND,
                LIKES_OF_ADDRESS_PER_SECOND * 5,
            ),
            reactions: second("reactions", REACTIONS_PER_SECOND, REACTIONS_PER_SECOND * 2),
            reactions_of_address: second(
                "reactions-of-address",
                REACTIONS_OF_ADDRESS_PER_SECOND,
                REACTIONS_OF_ADDRESS_PER_SECOND * 2,
            ),
            joins: second("joins", JOINS_PER_SECOND, JOIN_BURST),
            rooms_of_host: hour("rooms", ROOMS_OF_HOST_PER_HOUR),
            rooms_of_address: hour("rooms-of-address", options.address_rooms_per_hour),
        }
    }

    /// A comment of a participant, or of somebody without a name.
    pub(super) fn comment(
        &self,
        address: IpAddr,
        room_id: &str,
        participant: &str,
        is_nameless: bool,
    ) -> Result<Taken, Failure> {
        let shared = [(&self.comments_of_address, Bucket::Address(address))];
        let taken = if is_nameless {
            self.nameless.take(&Bucket::Address(address), &shared)
        } else {
            self.comments.take(&of_participant(room_id, participant), &shared)
        };
        taken.map_err(|exceeded| too_fast(&exceeded))
    }

    /// Something that who presents this credential says or does in a room as its host. A wrong
    /// credential is another bucket than the host's.
    pub(super) fn host(
        &self,
        address: IpAddr,
        room_id: &str,
        credential: &str,
    ) -> Result<Taken, Failure> {
        let shared = [(&self.hosts_of_address, Bucket::Address(address))];
        let taken = self.host.take(&of_participant(room_id, credential), &shared);
        taken.map_err(|exceeded| too_fast(&exceeded))
    }

    /// A like.
    pub(super) fn like(
        &self,
        address: IpAddr,
        room_id: &str,
        participant: &str,
    ) -> Result<Taken, Failure> {
        let shared = [(&self.likes_of_address, Bucket::Address(address))];
        let taken = self.likes.take(&of_participant(room_id, participant), &shared);
        taken.map_err(|exceeded| too_fast(&exceeded))
    }

    /// A reaction.
    pub(super) fn react(
        &self,
        address: IpAddr,
        room_id: &str,
        participant: &str,
    ) -> Result<Taken, Failure> {
        let shared = [(&self.reactions_of_address, Bucket::Address(address))];
        let taken = self.reactions.take(&of_participant(room_id, participant), &shared);
        taken.map_err(|exceeded| too_fast(&exceeded))
    }

    /// A connection that joins a room. How many connections an address has is bounded elsewhere.
    pub(super) fn join(&self, connection: &str) -> Result<(), Failure> {
        let joined = self.joins.check(&Bucket::Subject(connection.into()));
        joined.map(drop).map_err(|exceeded| too_fast(&exceeded))
    }

    /// A room that a host opens.
    pub(super) fn open_room(&self, address: IpAddr, host_id: &str) -> Result<Taken, Failure> {
        let shared = [(&self.rooms_of_address, Bucket::Address(address))];
        let taken = self.rooms_of_host.take(&Bucket::Subject(host_id.into()), &shared);
        taken.map_err(|exceeded| too_fast(&exceeded))
    }
}

/// By a digest: what callers say of themselves has no bound here, and buckets are kept.
fn of_participant(room_id: &str, participant: &str) -> Bucket {
    Bucket::Subject(hashed(&[room_id.as_bytes(), participant.as_bytes()]).into())
}

fn too_fast(exceeded: &Exceeded) -> Failure {
    let failure = Failure::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", exceeded.to_string());
    failure.retry_after(exceeded.wait())
}
