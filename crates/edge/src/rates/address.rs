//! What all callers of one address may do together, and each of their connections.
//!
//! Many requests say nothing of their caller, or a name that costs nothing to invent. Behind one
//! address sits a school, so a limit by address alone would be used up for all by one of them who
//! asks all the time. Such callers are told apart by their connections: each has a share of what its
//! address has, and comes first. Callers behind a trusted proxy have no connection of their own, and
//! addresses of their own instead.
//!
//! Left out on purpose: a caller that opens more connections than there are shares uses up the
//! address. How many connections an address has is bounded elsewhere (`addresses.rs`).

use std::num::NonZeroU32;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use base::{Clock, Tasks};

use super::{Bucket, Exceeded, Policy, RateLimit, Taken};
use crate::Client;
use crate::limits::guard::{CONNECTION_BURST_MIN, CONNECTION_SHARES};

/// A limit for all callers of one address, of which each connection has a share.
#[derive(Clone, Debug)]
pub struct AddressLimit {
    share: &'static str,
    connections: RateLimit,
    addresses: RateLimit,
}

impl AddressLimit {
    /// A limit that lets `policy` through from each address, and a share of it on each connection.
    /// Callers hear of the share under the name `share`.
    pub fn new(policy: Policy, share: &'static str, clock: &Clock, tasks: &Tasks) -> AddressLimit {
        AddressLimit {
            share,
            connections: RateLimit::new(of_connection(policy, share), clock, tasks),
            addresses: RateLimit::new(policy, clock, tasks),
        }
    }

    /// Goes on with another policy; see [`RateLimit::change`].
    pub fn change(&self, policy: Policy) {
        self.connections.change(of_connection(policy, self.share));
        self.addresses.change(policy);
    }

    /// Takes one from the buckets of the caller's connection and of its address, or from none of
    /// them. [`Taken::give_back`] returns only the place of the address: the connection has tried.
    ///
    /// # Errors
    /// One of them is empty.
    pub fn take(&self, client: Client) -> Result<Taken, Exceeded> {
        let address = [(&self.addresses, Bucket::Address(client.network()))];
        match client.connection() {
            Some(connection) => self.connections.take(&connection, &address),
            None => Taken::of(&address),
        }
    }

    /// The buckets of the caller's connection and of its address, in the form that
    /// [`RateLimit::take`] wants: for callers that have a bucket of their own as well.
    pub fn places(&self, client: Client) -> Vec<(&RateLimit, Bucket)> {
        let own = client.connection().map(|connection| (&self.connections, connection));
        own.into_iter().chain([(&self.addresses, Bucket::Address(client.network()))]).collect()
    }

    /// Puts both back: the request was not what the limit is for.
    pub fn give_back(&self, client: Client) {
        for (limit, bucket) in self.places(client) {
            limit.give_back(&bucket);
        }
    }

    /// The routes behind this limit.
    pub fn guard(&self, routes: Router) -> Router {
        routes.layer(middleware::from_fn_with_state(self.clone(), pass))
    }

    /// Runs the request if both buckets have a place for it; the answer says how the address stands.
    pub(super) async fn answer(&self, request: Request, next: Next) -> Response {
        let client = Client::of(request.extensions());
        let own = client.connection();
        if let Some(Err(exceeded)) = own.as_ref().map(|own| self.connections.check(own)) {
            return exceeded.into_response();
        }
        match self.addresses.check(&Bucket::Address(client.network())) {
            Ok(allowance) => {
                let mut response = next.run(request).await;
                allowance.write(response.headers_mut());
                response
            }
            Err(exceeded) => {
                if let Some(own) = own {
                    self.connections.give_back(&own);
                }
                exceeded.into_response()
            }
        }
    }
}

/// A connection's share of what its address has.
fn of_connection(policy: Policy, share: &'static str) -> Policy {
    let all = policy.burst.get();
    let share_of_burst = (all / CONNECTION_SHARES).max(CONNECTION_BURST_MIN).min(all);
    Policy {
        name: share,
        burst: NonZeroU32::new(share_of_burst).unwrap_or(NonZeroU32::MIN),
        interval: policy.interval.saturating_mul(CONNECTION_SHARES),
    }
}

async fn pass(State(limit): State<AddressLimit>, request: Request, next: Next) -> Response {
    limit.answer(request, next).await
}
