//! How often a caller may ask: named policies, one bucket for each caller.
//!
//! A [`RateLimit`] is one policy. A bucket holds `burst` requests and fills again by one every
//! `interval` (the generic cell rate algorithm, which needs one number for each caller). Every
//! answer behind it says how it stands, in the fields of the IETF's draft
//! (draft-ietf-httpapi-ratelimit-headers): `RateLimit-Policy: "name";q=5;w=4` and
//! `RateLimit: "name";r=3;t=2`; a refused one also says `Retry-After`.
//!
//! A request may need a place in several buckets: its caller's own, and others that it shares with
//! everybody of the same address or room. [`RateLimit::take`] takes from all of them or from none,
//! the caller's own first, so that a caller who is too fast uses up nobody else's allowance. Callers
//! that say nothing of themselves have an [`AddressLimit`].
//!
//! Invariants: time is the house's clock. In any span `s` a caller passes at most
//! `burst + s / interval` times. No number of callers takes more memory than [`buckets`] allows.
//!
//! Limits are those of one instance: several of them let through as many times more.

mod address;
mod buckets;

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

pub use address::AddressLimit;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use base::{Clock, Tasks};
use buckets::Buckets;
use governor::middleware::StateInformationMiddleware;
use governor::{Quota, RateLimiter};
use parking_lot::RwLock;

use crate::limits::guard::BUCKET_SWEEP;
use crate::{Caller, Client, Failure, Subject};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The policy's name, seen by callers: letters, digits and hyphens.
    pub name: &'static str,
    /// Requests that a rested caller may send at once.
    pub burst: NonZeroU32,
    /// Time in which one more becomes possible.
    pub interval: Duration,
}

impl Policy {
    /// `count` requests in every `span`, and as many at once.
    ///
    /// # Panics
    /// If `count` is zero, or `span` too short to be divided by it.
    pub const fn new(name: &'static str, count: u32, span: Duration) -> Policy {
        let burst = NonZeroU32::new(count).expect("a policy lets something through");
        let nanos = span.as_nanos() / count as u128;
        assert!(nanos > 0 && nanos < u64::MAX as u128, "a policy has a measurable interval");
        Policy { name, burst, interval: Duration::from_nanos(nanos as u64) }
    }

    /// The same rate, with this many at once.
    ///
    /// # Panics
    /// If `count` is zero.
    #[must_use]
    pub const fn with_burst(self, count: u32) -> Policy {
        let burst = NonZeroU32::new(count).expect("a policy lets something through");
        Policy { burst, ..self }
    }

    /// Time in which an empty bucket is full again.
    fn window(&self) -> Duration {
        self.interval.saturating_mul(self.burst.get())
    }
}

/// By what callers are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By their address, of IPv6 by the /64.
    Address,
    /// By their API key; those without one by address.
    Key,
    /// By whom they act for; those who act for nobody by address.
    Subject,
}

/// Whose bucket it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// A network, from [`Client::network`].
    Address(IpAddr),
    /// A connection of a caller itself, not of a proxy.
    Connection(u64),
    /// An API key's name.
    Key(Arc<str>),
    /// A user, a participant, a game: whatever a room counts by.
    Subject(Arc<str>),
}

/// One policy and the buckets of its callers. Clones share them.
#[derive(Clone)]
pub struct RateLimit {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    /// Read by every request, written when the operator changes the rate.
    state: RwLock<Limiter>,
}

/// A policy at work.
struct Limiter {
    policy: Policy,
    buckets: Buckets,
    limiter: RateLimiter<Bucket, Buckets, HouseClock, StateInformationMiddleware>,
}

impl Limiter {
    fn new(policy: Policy, clock: &Clock) -> Limiter {
        let quota = Quota::with_period(policy.interval).expect("a policy's interval is not zero");
        let clock = HouseClock { clock: clock.clone(), start: clock.instant() };
        let buckets = Buckets::new();
        let limiter = RateLimiter::new(quota.allow_burst(policy.burst), buckets.clone(), clock);
        Limiter { policy, buckets, limiter }
    }
}

impl RateLimit {
    /// A limit whose idle buckets a task removes until the tasks shut down.
    pub fn new(policy: Policy, clock: &Clock, tasks: &Tasks) -> RateLimit {
        let mut ticks = tasks.ticks(clock, BUCKET_SWEEP);
        let state = RwLock::new(Limiter::new(policy, clock));
        let shared = Arc::new(Shared { clock: clock.clone(), state });
        let limit = shared.clone();
        tasks.spawn("rate limit sweeper", async move {
            while ticks.next().await {
                limit.state.read().limiter.retain_recent();
            }
        });
        RateLimit { shared }
    }

    /// Goes on with another policy. Every caller begins with a full bucket: what is left in the old
    /// ones says nothing about the new rate.
    pub fn change(&self, policy: Policy) {
        *self.shared.state.write() = Limiter::new(policy, &self.shared.clock);
    }

    /// The name of its policy, which callers see.
    pub fn name(&self) -> &'static str {
        self.shared.state.read().policy.name
    }

    /// Takes one from the bucket.
    ///
    /// # Errors
    /// It is empty.
    pub fn check(&self, bucket: &Bucket) -> Result<Allowance, Exceeded> {
        let state = self.shared.state.read();
        let policy = state.policy;
        match state.limiter.check_key(bucket) {
            Ok(left) => Ok(Allowance { policy, left: left.remaining_burst_capacity() }),
            Err(not_until) => {
                let now = governor::clock::Clock::now(state.limiter.clock());
                metrics::counter!("nagaya_http_rate_limited_total", "policy" => policy.name)
                    .increment(1);
                Err(Exceeded { policy, wait: not_until.wait_time_from(now) })
            }
        }
    }

    /// Takes one from the caller's own bucket of this limit and one from each bucket that it shares
    /// with others, or from none of them. A caller whose own bucket is empty never reaches a shared
    /// one; a shared bucket that is empty gives the earlier ones back.
    ///
    /// # Errors
    /// One of them is empty: the first one.
    pub fn take(&self, own: &Bucket, shared: &[(&RateLimit, Bucket)]) -> Result<Taken, Exceeded> {
        self.check(own)?;
        Taken::of(shared).inspect_err(|_| self.give_back(own))
    }

    /// Puts back one that [`check`](RateLimit::check) took: the request was not what the limit is
    /// for.
    pub fn give_back(&self, bucket: &Bucket) {
        let state = self.shared.state.read();
        state.buckets.give_back(bucket, state.policy.interval);
    }

    /// The routes behind this limit.
    pub fn guard(&self, routes: Router, by: By) -> Router {
        routes.layer(middleware::from_fn_with_state((self.clone(), by), pass))
    }

    /// The routes behind this limit, which counts what was done: a request that is answered with a
    /// failure gives its place back. The routes need another limit for requests as such.
    pub fn guard_done(&self, routes: Router, by: By) -> Router {
        routes.layer(middleware::from_fn_with_state((self.clone(), by), pass_done))
    }

    /// The routes: requests that act for somebody behind this limit, by whom they act for; others
    /// behind that of `strangers`, by their connection and address.
    pub fn guard_subjects(&self, routes: Router, strangers: &AddressLimit) -> Router {
        let state = (self.clone(), strangers.clone());
        routes.layer(middleware::from_fn_with_state(state, pass_subject))
    }

    #[cfg(test)]
    fn buckets(&self) -> usize {
        self.shared.state.read().limiter.len()
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.shared.state.read().policy;
        f.debug_struct("RateLimit").field("policy", &policy).finish_non_exhaustive()
    }
}

async fn pass(
    State((limit, by)): State<(RateLimit, By)>,
    request: Request,
    next: Next,
) -> Response {
    let bucket = bucket_of(&request, by);
    answer(&limit, &bucket, request, next).await
}

async fn pass_done(
    State((limit, by)): State<(RateLimit, By)>,
    request: Request,
    next: Next,
) -> Response {
    let bucket = bucket_of(&request, by);
    let mut allowance = match limit.check(&bucket) {
        Ok(allowance) => allowance,
        Err(exceeded) => return exceeded.into_response(),
    };
    let mut response = next.run(request).await;
    if response.status().is_client_error() || response.status().is_server_error() {
        limit.give_back(&bucket);
        allowance.left += 1;
    }
    allowance.write(response.headers_mut());
    response
}

fn bucket_of(request: &Request, by: By) -> Bucket {
    let extensions = request.extensions();
    let client = Client::of(extensions);
    let key = extensions.get::<Caller>().map(|caller| Bucket::Key(caller.name().clone()));
    let subject = extensions.get::<Subject>().map(|Subject(of)| Bucket::Subject(of.clone()));
    let bucket = match by {
        By::Address => None,
        By::Key => key,
        By::Subject => subject,
    };
    bucket.unwrap_or(Bucket::Address(client.network()))
}

async fn pass_subject(
    State((subjects, strangers)): State<(RateLimit, AddressLimit)>,
    request: Request,
    next: Next,
) -> Response {
    match request.extensions().get::<Subject>() {
        Some(Subject(of)) => {
            let subject = Bucket::Subject(of.clone());
            answer(&subjects, &subject, request, next).await
        }
        None => strangers.answer(request, next).await,
    }
}

/// Runs the request if the bucket has a place for it; the answer says how the caller stands.
async fn answer(limit: &RateLimit, bucket: &Bucket, request: Request, next: Next) -> Response {
    match limit.check(bucket) {
        Ok(allowance) => {
            let mut response = next.run(request).await;
            allowance.write(response.headers_mut());
            response
        }
        Err(exceeded) => exceeded.into_response(),
    }
}

/// The places of one request in buckets that others need too. Dropping it keeps them taken.
#[derive(Debug)]
#[must_use = "a request that is refused later gives its places back"]
pub struct Taken {
    shared: Vec<(RateLimit, Bucket)>,
}

impl Taken {
    /// Takes one from each of these buckets, or from none of them: for a request whose own bucket
    /// was checked earlier.
    ///
    /// # Errors
    /// One of them is empty: the first one.
    pub fn of(shared: &[(&RateLimit, Bucket)]) -> Result<Taken, Exceeded> {
        let mut taken = Taken { shared: Vec::with_capacity(shared.len()) };
        for (limit, bucket) in shared {
            if let Err(exceeded) = limit.check(bucket) {
                taken.give_back();
                return Err(exceeded);
            }
            taken.shared.push(((*limit).clone(), bucket.clone()));
        }
        Ok(taken)
    }

    /// The outcome of the request. One that was refused gives the shared places back, because it did
    /// nothing; the caller's own place stays taken: trying counts as well.
    ///
    /// # Errors
    /// Those of the outcome.
    pub fn settle<T, E>(self, outcome: Result<T, E>) -> Result<T, E> {
        if outcome.is_err() {
            self.give_back();
        }
        outcome
    }

    /// Gives the shared places back: the request did nothing that they are for.
    pub fn give_back(self) {
        for (limit, bucket) in &self.shared {
            limit.give_back(bucket);
        }
    }
}

/// A request that may pass, and how many more may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    policy: Policy,
    left: u32,
}

impl Allowance {
    /// Requests that may follow at once.
    pub fn left(&self) -> u32 {
        self.left
    }

    fn write(self, headers: &mut HeaderMap) {
        let used = self.policy.burst.get().saturating_sub(self.left);
        write(headers, &self.policy, self.left, self.policy.interval.saturating_mul(used));
    }
}

/// A request that may not pass, and when it may. As an answer: 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests by `{}`; the next may come in {} s", .policy.name, seconds(*.wait))]
pub struct Exceeded {
    policy: Policy,
    wait: Duration,
}

impl Exceeded {
    /// How long to wait.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// What the answer says about it, for who answers in another form.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        write(&mut headers, &self.policy, 0, self.wait);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds(self.wait)));
        headers
    }
}

impl From<Exceeded> for Failure {
    fn from(exceeded: Exceeded) -> Failure {
        let message = exceeded.to_string();
        let wait = seconds(exceeded.wait);
        let failure = Failure::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
            .in_japanese(format!("リクエストが多すぎます。{wait}秒後にもう一度お試しください"));
        let headers = exceeded.headers();
        headers.iter().fold(failure, |failure, (name, value)| {
            failure.with_header(name.clone(), value.clone())
        })
    }
}

impl IntoResponse for Exceeded {
    fn into_response(self) -> Response {
        Failure::from(self).into_response()
    }
}

/// Appends, because a request may pass several limits, and the fields are lists.
fn write(headers: &mut HeaderMap, policy: &Policy, left: u32, reset: Duration) {
    let (name, burst) = (policy.name, policy.burst);
    let quota = format!("\"{name}\";q={burst};w={}", seconds(policy.window()));
    let state = format!("\"{name}\";r={left};t={}", seconds(reset));
    for (field, text) in [(RATE_LIMIT_POLICY, quota), (RATE_LIMIT, state)] {
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.append(field, value);
        }
    }
}

/// Whole seconds, rounded up: who waits that long has waited long enough.
fn seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// The house's monotonic time, in the limiter's words.
struct HouseClock {
    clock: Clock,
    start: base::Monotonic,
}

impl governor::clock::Clock for HouseClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.clock.instant().since(self.start)
    }
}

#[cfg(test)]
mod tests;
