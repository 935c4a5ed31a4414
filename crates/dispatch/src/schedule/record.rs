//! Jobs and runs in the table.

use base::Timestamp;
use table::{Check, Get, Item, Put, Query, Tables, TransactItem, Update, Value, attr};

use super::plan::Step;
use super::{Job, Run, Schedule};
use crate::error::Error;
use crate::items::{TABLE, find_time, key, number, text, time};
use crate::limits::RUNS_KEPT;

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// Its name.
    pub name: String,
    /// Its schedule as a text.
    pub schedule: String,
    /// The next tick.
    pub next: Timestamp,
    /// Whether it is paused.
    pub paused: bool,
    /// The time of a request to run it by hand that has no run yet.
    pub asked: Option<Timestamp>,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// The tick of the run.
    pub tick: Timestamp,
    /// Whether an operator requested it.
    pub by_hand: bool,
    /// Its token.
    pub token: u64,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// The reason of its failure, if it failed.
    pub failed: Option<String>,
}

/// The part of a job's row that the scheduler needs.
pub(super) struct JobRow {
    name: String,
    next: Timestamp,
    paused: bool,
    pub(super) asked: Option<Timestamp>,
}

/// Creates the row of a job, or updates it after a change of the schedule.
pub(super) async fn ensure(tables: &dyn Tables, job: &Job, now: Timestamp) -> Result<(), Error> {
    let schedule = job.schedule.to_string();
    let Some(next) = job.schedule.next_after(now) else {
        return Err(Error::BadSchedule { text: schedule, why: "it has no next time".to_owned() });
    };
    let update = Update::new(TABLE, job_key(&job.name))
        .set("schedule", schedule.as_str())
        .set("next", next.millis())
        .set("paused", attr("paused").or(false))
        .when(attr("schedule").ne(schedule));
    match tables.update(update).await {
        Ok(_) | Err(table::Error::ConditionFailed { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Requests a run by hand.
pub(super) async fn request_run(
    tables: &dyn Tables,
    job: &str,
    now: Timestamp,
) -> Result<(), Error> {
    edit(tables, job, Update::new(TABLE, job_key(job)).set("asked", now.millis())).await
}

/// Pauses a job.
pub(super) async fn pause(tables: &dyn Tables, job: &str) -> Result<(), Error> {
    edit(tables, job, Update::new(TABLE, job_key(job)).set("paused", true)).await
}

/// Continues with the first tick after `now`; does nothing if the job is not paused.
pub(super) async fn resume(tables: &dyn Tables, job: &str, now: Timestamp) -> Result<(), Error> {
    let state = load(tables, job).await?;
    let schedule: Schedule = state.schedule.parse()?;
    let next = schedule.next_after(now).unwrap_or(state.next);
    let update = Update::new(TABLE, job_key(job))
        .set("paused", false)
        .set("next", next.millis())
        .when(attr("paused").eq(true).and(attr("schedule").eq(state.schedule)));
    match tables.update(update).await {
        Ok(_) | Err(table::Error::ConditionFailed { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// All jobs by name.
pub(super) async fn list(tables: &dyn Tables) -> Result<Vec<JobState>, Error> {
    let mut query = Query::new(TABLE, "pk", "J").consistent();
    let mut jobs = Vec::new();
    loop {
        let page = tables.query(query.clone()).await?;
        for item in &page.items {
            jobs.push(JobState::read(item)?);
        }
        match page.last_key {
            Some(last) => query = query.start_after(last),
            None => return Ok(jobs),
        }
    }
}

/// The last runs of a job, newest first.
pub(super) async fn history(tables: &dyn Tables, job: &str) -> Result<Vec<RunRecord>, Error> {
    let page = tables.query(Query::new(TABLE, "pk", history_key(job)).consistent()).await?;
    let mut runs = page.items.iter().map(RunRecord::read).collect::<Result<Vec<_>, _>>()?;
    runs.sort_by_key(|run| std::cmp::Reverse(run.token));
    Ok(runs)
}

/// The write that records a run. It replaces the record of `RUNS_KEPT` tokens before.
pub(super) fn put_run(
    run: &Run,
    began: Timestamp,
    ended: Timestamp,
    failed: Option<&str>,
) -> TransactItem {
    let mut item = key(history_key(&run.job), format!("{:03}", run.token % RUNS_KEPT))
        .with("tick", run.tick.millis())
        .with("by_hand", run.by_hand)
        .with("token", run.token)
        .with("began", began.millis())
        .with("ended", ended.millis());
    if let Some(failed) = failed {
        item.insert("failed", failed);
    }
    Put::new(TABLE, item).into()
}

impl JobRow {
    pub(super) async fn load(tables: &dyn Tables, job: &str) -> Result<JobRow, Error> {
        let JobState { name, next, paused, asked, .. } = load(tables, job).await?;
        Ok(JobRow { name, next, paused, asked })
    }

    /// The next step: a run by hand first, then the schedule.
    pub(super) fn decide(&self, job: &Job, now: Timestamp) -> Step {
        match self.asked {
            Some(asked) => Step::Run(asked),
            None if self.paused => Step::Wait(Timestamp::from_millis(u64::MAX)),
            None => job.schedule.decide(job.misfire, self.next, now),
        }
    }

    /// Skips the ticks before `next`, unless the row has changed.
    pub(super) async fn skip_to(&self, tables: &dyn Tables, next: Timestamp) -> Result<(), Error> {
        let update = self.when_unchanged().set("next", next.millis());
        match tables.update(update).await {
            Ok(_) | Err(table::Error::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The write that moves the job past a run. A request, resume or new schedule that arrived
    /// during the run stays in force.
    pub(super) fn end_of_run(&self, job: &Job, run: &Run) -> TransactItem {
        let same = Update::new(TABLE, job_key(&self.name));
        if run.by_hand {
            let asked = attr("asked").eq(run.tick.millis());
            return match self.asked {
                Some(asked_at) if asked_at == run.tick => same.remove("asked").when(asked).into(),
                Some(_) | None => self.is_there(),
            };
        }
        match job.schedule.next_after(run.tick) {
            Some(next) if self.next <= run.tick => {
                self.when_unchanged().set("next", next.millis()).into()
            }
            Some(_) | None => self.is_there(),
        }
    }

    fn is_there(&self) -> TransactItem {
        Check::new(TABLE, job_key(&self.name), attr("sk").exists()).into()
    }

    fn when_unchanged(&self) -> Update {
        let same = attr("next").eq(self.next.millis());
        Update::new(TABLE, job_key(&self.name)).when(same)
    }
}

impl JobState {
    fn read(item: &Item) -> Result<JobState, Error> {
        Ok(JobState {
            name: text(item, "sk")?.to_owned(),
            schedule: text(item, "schedule")?.to_owned(),
            next: time(item, "next")?,
            paused: item.get("paused") == Some(&Value::Bool(true)),
            asked: find_time(item, "asked"),
        })
    }
}

impl RunRecord {
    fn read(item: &Item) -> Result<RunRecord, Error> {
        Ok(RunRecord {
            tick: time(item, "tick")?,
            by_hand: item.get("by_hand") == Some(&Value::Bool(true)),
            token: number(item, "token")?,
            began: time(item, "began")?,
            ended: time(item, "ended")?,
            failed: item.get("failed").and_then(Value::as_s).map(str::to_owned),
        })
    }
}

async fn load(tables: &dyn Tables, job: &str) -> Result<JobState, Error> {
    match tables.get(Get::new(TABLE, job_key(job))).await? {
        Some(item) => JobState::read(&item),
        None => Err(Error::NoSuchJob(job.to_owned())),
    }
}

/// Updates a job that exists.
async fn edit(tables: &dyn Tables, job: &str, update: Update) -> Result<(), Error> {
    match tables.update(update.when(attr("sk").exists())).await {
        Ok(_) => Ok(()),
        Err(table::Error::ConditionFailed { .. }) => Err(Error::NoSuchJob(job.to_owned())),
        Err(error) => Err(error.into()),
    }
}

fn job_key(job: &str) -> Item {
    key("J", job)
}

fn history_key(job: &str) -> String {
    format!("H#{job}")
}
