//! How fast members may be: each node for itself, and each site with its groups. What all requests of
//! one address may do together is a high ceiling in `routes.rs`.
//!
//! Invariant: a call that makes no group takes nothing from what the hosts of a site share.

use std::time::Duration;

use edge::{Bucket, Ground, Policy, RateLimit, Taken};

use crate::Options;
use crate::api::schema::Caller;
use crate::error::Error;
use crate::limits::{
    GROUPS_OF_CONNECTION_AT_ONCE, GROUPS_OF_CONNECTION_EVERY, GROUPS_OF_SITE_AT_ONCE,
    GROUPS_OF_SITE_PER_SECOND, ID_CHARACTERS_MAX, NODE_CALLS_KEPT_SECONDS,
};
use crate::model::GroupKey;

/// The rates of the room.
pub(crate) struct Pace {
    nodes: RateLimit,
    groups: RateLimit,
    /// Groups that are made over one connection: a host's id costs nothing to invent.
    groups_of_connection: RateLimit,
}

impl Pace {
    pub(crate) fn new(options: &Options, ground: &Ground) -> Pace {
        let every = |name, count, span, burst| {
            let policy = Policy::new(name, count, span).with_burst(burst);
            RateLimit::new(policy, &ground.clock, &ground.tasks)
        };
        let limit = |name, count, burst| every(name, count, Duration::from_secs(1), burst);
        let of_node = |calls: u32| {
            let policy = Policy::new("mesh-nodes", calls, Duration::from_secs(1));
            policy.with_burst(calls.saturating_mul(NODE_CALLS_KEPT_SECONDS))
        };
        let nodes = of_node(options.node_requests_per_second);
        let nodes = RateLimit::new(nodes, &ground.clock, &ground.tasks);
        let changed = nodes.clone();
        let change = move |calls| changed.change(of_node(calls));
        ground.dials.add_rate("mesh.node_requests_per_second", change);
        Pace {
            nodes,
            groups: limit("mesh-groups", GROUPS_OF_SITE_PER_SECOND, GROUPS_OF_SITE_AT_ONCE),
            groups_of_connection: every(
                "mesh-groups-connection",
                1,
                GROUPS_OF_CONNECTION_EVERY,
                GROUPS_OF_CONNECTION_AT_ONCE,
            ),
        }
    }

    /// One more call of a node, or of the host, in a group.
    pub(crate) fn call(&self, key: &GroupKey, node_id: &str) -> Result<(), Error> {
        let node = Bucket::Subject(format!("{}/{}", key.full_id(), bounded(node_id)).into());
        self.nodes.check(&node).map(drop).map_err(|_| Error::TooFast)
    }

    /// One more group of a site, for a host that wants one. The site is the domain that the server
    /// found, not what a caller says. The host calls at the pace of a node. A call that makes no
    /// group gives the other places back.
    pub(crate) fn open_group(&self, caller: &Caller, host_id: &str) -> Result<Taken, Error> {
        let host = format!("{} host {}", caller.domain, bounded(host_id));
        let connection = caller.connection.clone();
        let connection = connection.map(|connection| (&self.groups_of_connection, connection));
        let site = (&self.groups, Bucket::Subject(caller.domain.as_str().into()));
        let shared: Vec<_> = connection.into_iter().chain([site]).collect();
        self.nodes.take(&Bucket::Subject(host.into()), &shared).map_err(|_| Error::TooFast)
    }
}

/// An id that nobody has looked at yet, as part of a bucket: buckets are kept.
fn bounded(id: &str) -> String {
    id.chars().take(ID_CHARACTERS_MAX).collect()
}
