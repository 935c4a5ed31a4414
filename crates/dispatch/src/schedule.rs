//! The scheduler: jobs that run at their times, one run for each tick, however many instances
//! watch.
//!
//! A job's row says which tick is next. Whoever finds it due takes the job's lease, looks again,
//! runs, and ends the run by one transaction: the lease given back, which fails if somebody else
//! has taken it; the next tick; the run's record; and the effect that the handler answered. An
//! instance that dies or stalls in a run loses the lease and the tick is run by another, with a
//! higher token: what the first still tries to write behind the fence is refused.
//!
//! `plan.rs` decides what is due, `record.rs` reads and writes the rows.
//!
//! Invariants:
//! - A tick has one run that ends, whose effect happens once. A handler may be called again for a
//!   tick whose run did not end.
//! - Runs of a job do not overlap.

mod plan;
mod record;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use base::Timestamp;
use parking_lot::Mutex;
use table::{CancelReason, TransactItem, TransactWrite};
use tokio::sync::{Notify, oneshot};

use self::plan::Step;
pub use self::plan::{Misfire, Schedule};
use self::record::Row;
pub use self::record::{JobState, RunRecord};
use crate::Shared;
use crate::error::{Error, Failed, check_name};
use crate::lease::Lease;
use crate::limits::{EFFECT_WRITES_MAX, JOB_POLL, RUN_LEASE, TROUBLE_PAUSE};

/// A job: its name, its times, and what becomes of missed ticks.
#[derive(Clone, Debug)]
pub struct Job {
    name: String,
    schedule: Schedule,
    misfire: Misfire,
}

impl Job {
    /// A job that makes up for missed ticks by one run.
    pub fn new(name: &str, schedule: Schedule) -> Job {
        Job { name: name.to_owned(), schedule, misfire: Misfire::default() }
    }

    /// What becomes of missed ticks.
    #[must_use]
    pub fn misfire(self, misfire: Misfire) -> Job {
        Job { misfire, ..self }
    }
}

/// One run of a job.
#[derive(Clone, Debug)]
pub struct Run {
    /// The job's name.
    pub job: String,
    /// The time for which it runs; of a run by hand, when it was asked for.
    pub tick: Timestamp,
    /// Whether it was asked for by hand.
    pub by_hand: bool,
    /// Grows with every run of the job.
    pub token: u64,
    /// The fence: fails a transaction when another instance has taken over this job.
    pub fence: TransactItem,
}

/// Runs jobs. Cheap to clone; from [`Dispatch::scheduler`](crate::Dispatch::scheduler).
#[derive(Clone)]
pub struct Scheduler {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    /// Wakes the jobs of this instance when something was done to them here.
    changed: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Scheduler {
    pub(crate) fn new(shared: Arc<Shared>) -> Scheduler {
        Scheduler { inner: Arc::new(Inner { shared, changed: Mutex::default() }) }
    }

    /// Runs `job` at its times, here or on another instance that started it too, until the house
    /// closes. What the handler answers is the effect: it is written in the transaction that ends
    /// the run, at most 97 writes. A handler that fails is recorded and not called again for that
    /// tick.
    ///
    /// # Errors
    /// It is not a name, the schedule has no next tick, or the store refused.
    pub async fn start<H, F>(&self, job: Job, handler: H) -> Result<(), Error>
    where
        H: Fn(Run) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Vec<TransactItem>, Failed>> + Send + 'static,
    {
        check_name(&job.name)?;
        let shared = &self.inner.shared;
        record::ensure(&*shared.tables, &job, shared.clock.now()).await?;
        let changed = self.inner.changed(&job.name);
        let (inner, handler) = (Arc::clone(&self.inner), Arc::new(handler));
        shared.tasks.spawn("job", async move { inner.watch(job, changed, &*handler).await });
        Ok(())
    }

    /// Runs a job now, besides its ticks, also if it is paused.
    ///
    /// # Errors
    /// There is no such job, or the store refused.
    pub async fn run_now(&self, job: &str) -> Result<(), Error> {
        record::ask(&*self.inner.shared.tables, job, self.inner.shared.clock.now()).await?;
        self.inner.changed(job).notify_one();
        Ok(())
    }

    /// Lets no tick of a job run until it is resumed. A run that has begun goes on.
    ///
    /// # Errors
    /// There is no such job, or the store refused.
    pub async fn pause(&self, job: &str) -> Result<(), Error> {
        record::pause(&*self.inner.shared.tables, job).await
    }

    /// Goes on with the first tick from now; ticks of the pause were not missed.
    ///
    /// # Errors
    /// There is no such job, or the store refused.
    pub async fn resume(&self, job: &str) -> Result<(), Error> {
        record::resume(&*self.inner.shared.tables, job, self.inner.shared.clock.now()).await?;
        self.inner.changed(job).notify_one();
        Ok(())
    }

    /// All jobs by name.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn list(&self) -> Result<Vec<JobState>, Error> {
        record::list(&*self.inner.shared.tables).await
    }

    /// The last runs of a job, the newest first, up to 60.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn history(&self, job: &str) -> Result<Vec<RunRecord>, Error> {
        record::history(&*self.inner.shared.tables, job).await
    }
}

impl Inner {
    fn changed(&self, job: &str) -> Arc<Notify> {
        Arc::clone(self.changed.lock().entry(job.to_owned()).or_default())
    }

    async fn watch<H, F>(&self, job: Job, changed: Arc<Notify>, handler: &H)
    where
        H: Fn(Run) -> F,
        F: Future<Output = Result<Vec<TransactItem>, Failed>> + Send + 'static,
    {
        let (clock, shutdown) = (&self.shared.clock, self.shared.tasks.shutdown());
        if !self.shared.begun().await {
            return;
        }
        while !shutdown.has_begun() {
            let wait = match self.step(&job, handler).await {
                Ok(until) => until.since(clock.now()).min(JOB_POLL),
                Err(error) => {
                    if !error.is_outage() {
                        tracing::warn!(job = job.name, %error, "a run did not end");
                    }
                    TROUBLE_PAUSE
                }
            };
            if wait.is_zero() {
                continue;
            }
            tokio::select! {
                biased;
                () = shutdown.begun() => {}
                () = changed.notified() => {}
                () = clock.sleep(wait) => {}
            }
        }
    }

    /// Does what is to be done about a job; answers until when that is nothing more.
    async fn step<H, F>(&self, job: &Job, handler: &H) -> Result<Timestamp, Error>
    where
        H: Fn(Run) -> F,
        F: Future<Output = Result<Vec<TransactItem>, Failed>> + Send + 'static,
    {
        let Shared { tables, clock, .. } = &*self.shared;
        let now = clock.now();
        let row = Row::load(&**tables, &job.name).await?;
        match row.decide(job, now) {
            Step::Wait(time) => return Ok(time),
            Step::SkipTo(next) => {
                row.skip_to(&**tables, next).await?;
                return Ok(now);
            }
            Step::Run(_) => {}
        }
        let name = format!("job/{}", job.name);
        let mut lease = match self.shared.leases().try_acquire(&name, RUN_LEASE).await? {
            Ok(lease) => lease,
            Err(until) => return Ok(until.max(Timestamp::from_millis(now.millis() + 1))),
        };
        // Only now is it certain that nobody else is at it, or has just been.
        let row = Row::load(&**tables, &job.name).await?;
        let Step::Run(tick) = row.decide(job, now) else {
            lease.release().await?;
            return Ok(now);
        };
        let run = Run {
            job: job.name.clone(),
            tick,
            by_hand: row.asked.is_some(),
            token: lease.token(),
            fence: lease.check(),
        };
        let outcome = lease.renew_while(self.call(handler(run.clone()))).await?;
        self.end(job, &run, &lease, now, outcome).await?;
        Ok(now)
    }

    /// Calls a handler in a task of its own, so that its panic ends this run only. Dropped, it
    /// drops the handler.
    async fn call(
        &self,
        work: impl Future<Output = Result<Vec<TransactItem>, Failed>> + Send + 'static,
    ) -> Result<Vec<TransactItem>, Failed> {
        let (mut done, wait) = oneshot::channel();
        self.shared.tasks.spawn("job run", async move {
            tokio::select! {
                outcome = work => {
                    let _ = done.send(outcome);
                }
                () = done.closed() => {}
            }
        });
        wait.await.unwrap_or_else(|_| Err(Failed::retry("the run panicked")))
    }

    /// Ends a run: lease, next tick, record and effect are one transaction.
    async fn end(
        &self,
        job: &Job,
        run: &Run,
        lease: &Lease,
        began: Timestamp,
        outcome: Result<Vec<TransactItem>, Failed>,
    ) -> Result<(), Error> {
        /// One for an effect that is refused, the others for hands that do something to the job
        /// at this very moment.
        const ATTEMPTS: u32 = 5;
        let (mut effect, mut failed) = match outcome {
            Ok(effect) if effect.len() <= EFFECT_WRITES_MAX => (effect, None),
            Ok(effect) => (Vec::new(), Some(Error::EffectTooLarge(effect.len()).to_string())),
            Err(failed) => (Vec::new(), Some(failed.reason)),
        };
        let tables = &self.shared.tables;
        for _ in 0..ATTEMPTS {
            let row = Row::load(&**tables, &job.name).await?;
            let ended = self.shared.clock.now();
            let record = record::put_run(run, began, ended, failed.as_deref());
            let mut writes = vec![lease.release_write(), row.ran(job, run), record];
            writes.extend(effect.iter().cloned());
            let reasons = match tables.transact_write(TransactWrite::new(writes)).await {
                Err(table::Error::TransactionCanceled { reasons }) => reasons,
                other => return Ok(other?),
            };
            let holds = |at: usize| reasons.get(at) == Some(&CancelReason::None);
            if !holds(0) {
                break;
            }
            if holds(1) {
                failed = Some(table::Error::TransactionCanceled { reasons }.to_string());
                effect.clear();
            }
        }
        Err(Error::Lost(format!("run {} of {}", run.token, run.job)))
    }
}
