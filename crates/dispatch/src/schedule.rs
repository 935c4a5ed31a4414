//! The scheduler: it runs jobs at their times, with one run per tick across all instances.
//!
//! The row of a job holds its next tick. An instance that finds the tick due acquires the job's
//! lease, reads the row again, runs the handler, and commits the end of the run in one transaction:
//! the release of the lease, which fails if another holder has it; the next tick; the record of the
//! run; and the effect that the handler returned. An instance that dies or stalls during a run
//! loses the lease, and another instance runs the tick with a higher token. The fence then refuses
//! all writes of the first run.
//!
//! `plan.rs` decides what is due, `record.rs` reads and writes the rows.
//!
//! Invariants:
//! - Each tick has exactly one run that ends, and its effect happens once. A handler may be called
//!   again for a tick whose run did not end.
//! - Runs of one job do not overlap.

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
use self::record::JobRow;
pub use self::record::{JobState, RunRecord};
use crate::Core;
use crate::error::{Error, Failed, check_name};
use crate::lease::Lease;
use crate::limits::{EFFECT_WRITES_MAX, JOB_POLL, RUN_LEASE, TROUBLE_PAUSE};

/// A job: its name, its schedule, and the rule for missed ticks.
#[derive(Clone, Debug)]
pub struct Job {
    name: String,
    schedule: Schedule,
    misfire: Misfire,
}

impl Job {
    /// A job that makes up for missed ticks with one run.
    pub fn new(name: &str, schedule: Schedule) -> Job {
        Job { name: name.to_owned(), schedule, misfire: Misfire::default() }
    }

    /// Sets the rule for missed ticks.
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
    /// The tick of the run; for a run by hand, the time of the request.
    pub tick: Timestamp,
    /// Whether an operator requested it.
    pub by_hand: bool,
    /// Grows with every run of the job.
    pub token: u64,
    /// The fence: fails a transaction after another instance has taken over this job.
    pub fence: TransactItem,
}

/// Runs jobs. Cheap to clone; from [`Dispatch::scheduler`](crate::Dispatch::scheduler).
#[derive(Clone)]
pub struct Scheduler {
    inner: Arc<SchedulerInner>,
}

struct SchedulerInner {
    core: Arc<Core>,
    /// Wakes the jobs of this instance after a command on this instance.
    changed: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Scheduler {
    pub(crate) fn new(core: Arc<Core>) -> Scheduler {
        Scheduler { inner: Arc::new(SchedulerInner { core, changed: Mutex::default() }) }
    }

    /// Runs `job` at its times until shutdown, on this instance or on another one that started it
    /// too. The handler returns the effect. The transaction that ends the run commits it, at most
    /// 97 writes. A failure of the handler is recorded, and the handler is not called again for
    /// that tick.
    ///
    /// # Errors
    /// The name is invalid, the schedule has no next tick, or the store failed.
    pub async fn start<H, F>(&self, job: Job, handler: H) -> Result<(), Error>
    where
        H: Fn(Run) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Vec<TransactItem>, Failed>> + Send + 'static,
    {
        check_name(&job.name)?;
        let core = &self.inner.core;
        record::ensure(&*core.tables, &job, core.clock.now()).await?;
        let changed = self.inner.changed(&job.name);
        let (inner, handler) = (Arc::clone(&self.inner), Arc::new(handler));
        core.tasks.spawn("job", async move { inner.watch(job, changed, &*handler).await });
        Ok(())
    }

    /// Runs a job now, in addition to its ticks, even if it is paused.
    ///
    /// # Errors
    /// There is no such job, or the store failed.
    pub async fn run_now(&self, job: &str) -> Result<(), Error> {
        record::request_run(&*self.inner.core.tables, job, self.inner.core.clock.now()).await?;
        self.inner.changed(job).notify_one();
        Ok(())
    }

    /// Stops the ticks of a job until it is resumed. A running run continues.
    ///
    /// # Errors
    /// There is no such job, or the store failed.
    pub async fn pause(&self, job: &str) -> Result<(), Error> {
        record::pause(&*self.inner.core.tables, job).await
    }

    /// Continues with the first tick after now; the ticks of the pause do not count as missed.
    ///
    /// # Errors
    /// There is no such job, or the store failed.
    pub async fn resume(&self, job: &str) -> Result<(), Error> {
        record::resume(&*self.inner.core.tables, job, self.inner.core.clock.now()).await?;
        self.inner.changed(job).notify_one();
        Ok(())
    }

    /// All jobs by name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn list(&self) -> Result<Vec<JobState>, Error> {
        record::list(&*self.inner.core.tables).await
    }

    /// The last runs of a job, newest first, up to 60.
    ///
    /// # Errors
    /// The store failed.
    pub async fn history(&self, job: &str) -> Result<Vec<RunRecord>, Error> {
        record::history(&*self.inner.core.tables, job).await
    }
}

impl SchedulerInner {
    fn changed(&self, job: &str) -> Arc<Notify> {
        Arc::clone(self.changed.lock().entry(job.to_owned()).or_default())
    }

    async fn watch<H, F>(&self, job: Job, changed: Arc<Notify>, handler: &H)
    where
        H: Fn(Run) -> F,
        F: Future<Output = Result<Vec<TransactItem>, Failed>> + Send + 'static,
    {
        let (clock, shutdown) = (&self.core.clock, self.core.tasks.shutdown());
        if !self.core.wait_until_running().await {
            return;
        }
        while !shutdown.has_begun() {
            let wait = match self.step(&job, handler).await {
                Ok(until) => until.since(clock.now()).min(JOB_POLL),
                Err(error) => {
                    if !error.is_outage() {
                        tracing::warn!(job = job.name, %error, "cannot end a run");
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

    /// Does one step for a job; returns the time until which there is nothing more to do.
    async fn step<H, F>(&self, job: &Job, handler: &H) -> Result<Timestamp, Error>
    where
        H: Fn(Run) -> F,
        F: Future<Output = Result<Vec<TransactItem>, Failed>> + Send + 'static,
    {
        let Core { tables, clock, .. } = &*self.core;
        let now = clock.now();
        let row = JobRow::load(&**tables, &job.name).await?;
        match row.decide(job, now) {
            Step::Wait(time) => return Ok(time),
            Step::SkipTo(next) => {
                row.skip_to(&**tables, next).await?;
                return Ok(now);
            }
            Step::Run(_) => {}
        }
        let name = format!("job/{}", job.name);
        let mut lease = match self.core.leases().try_acquire(&name, RUN_LEASE).await? {
            Ok(lease) => lease,
            Err(until) => return Ok(until.max(Timestamp::from_millis(now.millis() + 1))),
        };
        // Only the lease makes this certain: another instance may have run this tick just before.
        let row = JobRow::load(&**tables, &job.name).await?;
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

    /// Calls a handler in a task of its own, so that a panic ends only this run. Dropping the
    /// future drops the handler.
    async fn call(
        &self,
        work: impl Future<Output = Result<Vec<TransactItem>, Failed>> + Send + 'static,
    ) -> Result<Vec<TransactItem>, Failed> {
        let (mut done, wait) = oneshot::channel();
        self.core.tasks.spawn("job run", async move {
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
        /// One attempt for an effect that is refused, the others for commands that change the job
        /// at the same moment.
        const ATTEMPTS: u32 = 5;
        let (mut effect, mut failed) = match outcome {
            Ok(effect) if effect.len() <= EFFECT_WRITES_MAX => (effect, None),
            Ok(effect) => (Vec::new(), Some(Error::EffectTooLarge(effect.len()).to_string())),
            Err(failed) => (Vec::new(), Some(failed.reason)),
        };
        let tables = &self.core.tables;
        for _ in 0..ATTEMPTS {
            let row = JobRow::load(&**tables, &job.name).await?;
            let ended = self.core.clock.now();
            let record = record::put_run(run, began, ended, failed.as_deref());
            let mut writes = vec![lease.release_write(), row.end_of_run(job, run), record];
            writes.extend(effect.iter().cloned());
            let reasons = match tables.transact_write(TransactWrite::new(writes)).await {
                Err(table::Error::TransactionCanceled { reasons }) => reasons,
                other => return Ok(other?),
            };
            // The order of the writes above: 0 is the lease, 1 is the row of the job.
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
