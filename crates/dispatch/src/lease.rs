//! Leases: the right to do something that only one instance may do, held until a time.
//!
//! A lease is a row of its own that is never deleted. Its token grows with every holder. A paused
//! holder may lose its lease without noticing; the token distinguishes it from the current holder.
//! Put [`Lease::check`] into every transaction that relies on the lease: the store then refuses the
//! writes of a former holder.
//!
//! Invariants:
//! - A token belongs to one holder.
//! - A lease is acquired only if it was released or has ended by the clock of the new holder. The
//!   clocks of instances must agree to within a fraction of the shortest lease; the fence does not
//!   depend on this.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Monotonic, Timestamp, Uuid};
use table::{Check, Item, Return, Tables, TransactItem, Update, attr};

use crate::error::{Error, check_name};
use crate::items::{TABLE, key, number, time};

/// Hands out leases. Cheap to clone.
#[derive(Clone)]
pub struct Leases {
    tables: Arc<dyn Tables>,
    clock: Clock,
    holder: Uuid,
}

/// A held lease. When dropped, it ends at its time.
pub struct Lease {
    leases: Leases,
    name: String,
    token: u64,
    duration: Duration,
    /// The time of the last acquisition or renewal, taken before the request to the store.
    since: Monotonic,
}

impl Leases {
    pub(crate) fn new(tables: Arc<dyn Tables>, clock: Clock, holder: Uuid) -> Leases {
        Leases { tables, clock, holder }
    }

    /// Acquires the lease for `duration`, if it is free.
    ///
    /// # Errors
    /// The name is invalid, or the store failed.
    pub async fn acquire(&self, name: &str, duration: Duration) -> Result<Option<Lease>, Error> {
        check_name(name)?;
        Ok(self.try_acquire(name, duration).await?.ok())
    }

    /// Waits until the lease is free, and acquires it for `duration`.
    ///
    /// # Errors
    /// The name is invalid, or the store failed.
    pub async fn wait(&self, name: &str, duration: Duration) -> Result<Lease, Error> {
        /// How often to look: a lease may be released before its end, and nothing announces that.
        const LOOK: Duration = Duration::from_secs(1);
        check_name(name)?;
        loop {
            match self.try_acquire(name, duration).await? {
                Ok(lease) => return Ok(lease),
                Err(until) => {
                    let left = until.since(self.clock.now());
                    self.clock.sleep(left.clamp(Duration::from_millis(1), LOOK)).await;
                }
            }
        }
    }

    /// Acquires the lease if it is free, runs `work` while the lease can be renewed, and releases
    /// it. `None` if another holder has it.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease could not be renewed; the work was dropped in that case.
    /// Otherwise as for [`acquire`](Leases::acquire).
    pub async fn run<T, F: Future<Output = T>>(
        &self,
        name: &str,
        duration: Duration,
        work: impl FnOnce(TransactItem) -> F,
    ) -> Result<Option<T>, Error> {
        let Some(mut lease) = self.acquire(name, duration).await? else { return Ok(None) };
        let done = lease.renew_while(work(lease.check())).await?;
        lease.release().await?;
        Ok(Some(done))
    }

    /// The lease, or the time until which another holder has it.
    pub(crate) async fn try_acquire(
        &self,
        name: &str,
        duration: Duration,
    ) -> Result<Result<Lease, Timestamp>, Error> {
        let (since, now) = (self.clock.instant(), self.clock.now());
        let until = now.checked_add(duration).unwrap_or(now);
        let take = Update::new(TABLE, lease_key(name))
            .set("holder", self.holder.to_string())
            .set("until", until.millis())
            .add("token", 1)
            .when(attr("until").not_exists().or(attr("until").le(now.millis())))
            .returning(Return::AllNew)
            .telling();
        match self.tables.update(take).await {
            Ok(item) => {
                let token = number(&item.unwrap_or_default(), "token")?;
                let (leases, name) = (self.clone(), name.to_owned());
                Ok(Ok(Lease { leases, name, token, duration, since }))
            }
            Err(table::Error::ConditionFailed { item }) => {
                Ok(Err(item.map_or(Ok(now), |item| time(&item, "until"))?))
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Lease {
    /// The token, which grows with every holder of this lease.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Whether the lease has not ended by this clock. The store decides: see
    /// [`check`](Lease::check).
    pub fn is_held(&self) -> bool {
        self.leases.clock.instant().since(self.since) < self.duration
    }

    /// The fence: fails its transaction unless this is the last holder.
    pub fn check(&self) -> TransactItem {
        Check::new(TABLE, lease_key(&self.name), attr("token").eq(self.token)).into()
    }

    /// Releases the lease as part of a transaction, which fails unless this is the last holder:
    /// fence and release in one write.
    pub fn release_write(&self) -> TransactItem {
        self.update().set("until", 0).into()
    }

    /// Extends the lease for its duration from now.
    ///
    /// # Errors
    /// [`Error::Lost`] if another holder has it, or the store failed.
    pub async fn renew(&mut self) -> Result<(), Error> {
        let (since, now) = (self.leases.clock.instant(), self.leases.clock.now());
        let until = now.checked_add(self.duration).unwrap_or(now);
        self.write(self.update().set("until", until.millis())).await?;
        self.since = since;
        Ok(())
    }

    /// Releases the lease.
    ///
    /// # Errors
    /// [`Error::Lost`] if another holder has it, or the store failed.
    pub async fn release(self) -> Result<(), Error> {
        self.write(self.update().set("until", 0)).await
    }

    /// Runs `work` and renews the lease meanwhile.
    ///
    /// # Errors
    /// [`Error::Lost`] if another holder has it; the work was dropped in that case.
    pub async fn renew_while<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = std::pin::pin!(work);
        let clock = self.leases.clock.clone();
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = clock.sleep(self.duration / 3) => {}
            }
            match self.renew().await {
                Ok(()) => {}
                Err(error @ Error::Lost(_)) => return Err(error),
                // The lease has not ended yet; the store may recover before it does.
                Err(error) if self.is_held() => {
                    if !error.is_outage() {
                        tracing::warn!(lease = self.name, %error, "cannot renew a lease");
                    }
                }
                Err(_) => return Err(Error::Lost(self.name.clone())),
            }
        }
    }

    fn update(&self) -> Update {
        Update::new(TABLE, lease_key(&self.name)).when(attr("token").eq(self.token))
    }

    async fn write(&self, update: Update) -> Result<(), Error> {
        match self.leases.tables.update(update).await {
            Ok(_) => Ok(()),
            Err(table::Error::ConditionFailed { .. }) => Err(Error::Lost(self.name.clone())),
            Err(error) => Err(error.into()),
        }
    }
}

fn lease_key(name: &str) -> Item {
    key(format!("L#{name}"), "-")
}
