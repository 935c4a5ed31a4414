//! How fast members may be: each node for itself, and each site with its groups. What all requests of
//! one address may do together is a high ceiling in `routes.rs`.

use std::time::Duration;

use edge::{Bucket, Ground, Policy, RateLimit};

use crate::Options;
use crate::error::Error;
use crate::limits::{
    GROUPS_OF_SITE_AT_ONCE, GROUPS_OF_SITE_PER_SECOND, ID_CHARACTERS_MAX, NODE_CALLS_KEPT_SECONDS,
};
use crate::model::GroupKey;

/// The rates of the room.
pub(crate) struct Pace {
    nodes: RateLimit,
    groups: RateLimit,
}

impl Pace {
    pub(crate) fn new(options: &Options, ground: &Ground) -> Pace {
        let limit = |name, count, burst| {
            let policy = Policy::new(name, count, Duration::from_secs(1)).with_burst(burst);
            RateLimit::new(policy, &ground.clock, &ground.tasks)
        };
        let calls = options.node_requests_per_second;
        Pace {
            nodes: limit("mesh-nodes", calls, calls.saturating_mul(NODE_CALLS_KEPT_SECONDS)),
            groups: limit("mesh-groups", GROUPS_OF_SITE_PER_SECOND, GROUPS_OF_SITE_AT_ONCE),
        }
    }

    /// One more call of a node, or of the host, in a group.
    pub(crate) fn call(&self, key: &GroupKey, node_id: &str) -> Result<(), Error> {
        // Nobody has looked at the id yet, and buckets are kept.
        let node_id: String = node_id.chars().take(ID_CHARACTERS_MAX).collect();
        let node = Bucket::Subject(format!("{}/{node_id}", key.full_id()).into());
        self.nodes.check(&node).map(drop).map_err(|_| Error::TooFast)
    }

    /// One more group of a site. `domain` is the one that the server found, not what a caller says.
    pub(crate) fn open_group(&self, domain: &str) -> Result<(), Error> {
        let site = Bucket::Subject(domain.into());
        self.groups.check(&site).map(drop).map_err(|_| Error::TooFast)
    }
}
