//! Jobs at their times, over several instances.

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use dispatch::{Error, Failed, Job, Misfire, Run, Schedule};
use parking_lot::Mutex;
use table::{
    Get, Item, KeyAttribute, KeySpec, Put, TableSpec, TransactItem, TransactWrite, Update, attr,
};

use testkit::{Instance, Left, World};

use crate::support::{HOUR, SECOND, drive, kill, pass_unseen, process, world};

const MINUTE: Duration = Duration::from_secs(60);

type Log = Arc<Mutex<Vec<(u64, Run)>>>;

async fn world_with_counts() -> World {
    let world = world().await;
    let key = KeySpec::simple(KeyAttribute::s("id"));
    world.tables.ensure_table(TableSpec::new("counts", key)).await.unwrap();
    world
}

fn count() -> TransactItem {
    Update::new("counts", Item::new().with("id", "runs")).add("count", 1).into()
}

async fn counted(world: &World) -> u64 {
    let item = world.tables.get(Get::new("counts", Item::new().with("id", "runs"))).await.unwrap();
    item.and_then(|item| item.get("count")?.as_n()?.floor_u64()).unwrap_or(0)
}

fn hourly() -> Job {
    Job::new("hourly", Schedule::every(HOUR).unwrap())
}

/// Starts a job that logs its runs and counts them in its effect.
async fn start(instance: &Instance, number: u64, job: Job, log: &Log) {
    let log = Arc::clone(log);
    let handler = move |run: Run| {
        log.lock().push((number, run));
        async { Ok(vec![count()]) }
    };
    instance.dispatch.scheduler().start(job, handler).await.unwrap();
}

fn ticks(log: &Log) -> Vec<String> {
    let tick = |(_, run): &(u64, Run)| run.tick.to_string()[5..16].to_owned();
    log.lock().iter().map(tick).collect()
}

#[testkit::test]
async fn a_job_runs_on_every_aligned_tick() {
    let world = world_with_counts().await;
    world.time.advance(MINUTE * 7).await;
    let (instance, log) = (world.instance().await, Log::default());
    let often = Job::new("often", Schedule::every(MINUTE * 5).unwrap());
    start(&instance, 1, often, &log).await;
    world.time.advance(MINUTE * 120).await;
    let ticks = ticks(&log);
    assert_eq!(
        (ticks.len(), ticks[0].as_str(), ticks[23].as_str()),
        (24, "03-01T00:10", "03-01T02:05")
    );
    let history = instance.dispatch.scheduler().history("often").await.unwrap();
    assert_eq!(history.len(), 24);
    assert!(history.iter().all(|run| run.began == run.tick && run.failed.is_none()));
    assert!(history.is_sorted_by(|newer, older| newer.tick > older.tick));
}

#[testkit::test]
async fn three_instances_run_each_tick_once() {
    let world = world_with_counts().await;
    let log = Log::default();
    let mut instances = Vec::new();
    for number in 1..=3 {
        let instance = world.instance().await;
        let job = Job::new("often", Schedule::every(SECOND * 7).unwrap());
        start(&instance, number, job, &log).await;
        instances.push(instance);
    }
    world.time.advance(SECOND * 700).await;
    let runs = log.lock().clone();
    let mut ticks: Vec<Timestamp> = runs.iter().map(|(_, run)| run.tick).collect();
    assert_eq!((ticks.len(), ticks.is_sorted()), (100, true));
    ticks.dedup();
    assert_eq!((ticks.len(), counted(&world).await), (100, 100));
    assert!(runs.is_sorted_by(|(_, older), (_, newer)| older.token < newer.token));
    let kept = instances[0].dispatch.scheduler().history("often").await.unwrap().len();
    assert!((30..=60).contains(&kept), "{kept}");
}

#[testkit::test]
async fn a_paused_instance_loses_its_run_to_another_and_writes_nothing() {
    let world = world_with_counts().await;
    let (go, log) = (Arc::new(tokio::sync::Notify::new()), Log::default());
    let paused = process();
    let one = drive(&paused, async {
        let one = world.instance().await;
        let (go, log) = (Arc::clone(&go), Arc::clone(&log));
        let handler = move |run: Run| {
            let go = Arc::clone(&go);
            log.lock().push((1, run));
            async move {
                go.notified().await;
                Ok(vec![count()])
            }
        };
        one.dispatch.scheduler().start(hourly(), handler).await.unwrap();
        world.time.advance(HOUR).await;
        one
    });
    let (_, stale) = log.lock()[0].clone();
    let two = world.instance().await;
    start(&two, 2, hourly(), &log).await;
    world.time.advance(MINUTE).await;
    let (by, fresh) = log.lock()[1].clone();
    assert_eq!((by, fresh.tick), (2, stale.tick));
    assert!(fresh.token > stale.token);
    // The first instance wakes up and continues.
    go.notify_one();
    drive(&paused, world.time.advance(SECOND));
    let late = TransactWrite::new(vec![stale.fence.clone(), count()]);
    assert!(world.tables.transact_write(late).await.is_err());
    assert_eq!(counted(&world).await, 1);
    let history = two.dispatch.scheduler().history("hourly").await.unwrap();
    assert_eq!((history.len(), history[0].token), (1, fresh.token));
    assert!(one.ground.tasks.panicked().is_empty());
    kill(paused);
}

#[testkit::test]
async fn a_run_longer_than_its_lease_and_its_period_continues_alone() {
    let world = world_with_counts().await;
    let log = Log::default();
    let mut instances = Vec::new();
    for number in 1..=2 {
        let instance = world.instance().await;
        let (log, clock) = (Arc::clone(&log), world.clock.clone());
        let job = Job::new("slow", Schedule::every(MINUTE).unwrap()).misfire(Misfire::Skip);
        let handler = move |run: Run| {
            let (log, clock) = (Arc::clone(&log), clock.clone());
            async move {
                log.lock().push((number, run));
                clock.sleep(SECOND * 150).await;
                Ok(vec![count()])
            }
        };
        instance.dispatch.scheduler().start(job, handler).await.unwrap();
        instances.push(instance);
    }
    world.time.advance(MINUTE * 10).await;
    // From the first minute on: a tick at half past the third minute would be late, the fourth
    // minute is on time.
    assert_eq!(ticks(&log), ["03-01T00:01", "03-01T00:04", "03-01T00:07", "03-01T00:10"]);
    assert_eq!(counted(&world).await, 3);
    // The last run ends before the next tick.
    world.time.advance(SECOND * 165).await;
    assert_eq!(counted(&world).await, 4);
}

#[testkit::test]
async fn ticks_missed_while_the_server_was_down_are_skipped_run_once_or_caught_up() {
    let cases = [
        (Misfire::Skip, vec!["03-01T09:00"]),
        (Misfire::FireOnce, vec!["03-01T08:00", "03-01T09:00"]),
        (
            Misfire::CatchUp { within: HOUR * 3 },
            vec!["03-01T06:00", "03-01T07:00", "03-01T08:00", "03-01T09:00"],
        ),
    ];
    for (misfire, expected) in cases {
        let world = world_with_counts().await;
        let before = world.instance().await;
        start(&before, 1, hourly().misfire(misfire), &Log::default()).await;
        world.time.advance(HOUR * 2).await;
        before.close(&world.time).await;
        pass_unseen(&world, HOUR * 6 + MINUTE * 30).await;
        let (after, log) = (world.instance().await, Log::default());
        start(&after, 2, hourly().misfire(misfire), &log).await;
        world.time.advance(HOUR).await;
        assert_eq!(ticks(&log), expected, "{misfire:?}");
    }
}

#[testkit::test]
async fn a_job_can_be_run_paused_and_resumed_by_hand_from_any_instance() {
    let world = world_with_counts().await;
    let (one, two) = (world.instance().await, world.instance().await);
    let log = Log::default();
    start(&one, 1, hourly(), &log).await;
    let far = two.dispatch.scheduler();
    far.pause("hourly").await.unwrap();
    world.time.advance(HOUR * 3).await;
    assert_eq!(ticks(&log).len(), 0);
    far.run_now("hourly").await.unwrap();
    world.time.advance(SECOND * 5).await;
    assert!(log.lock()[0].1.by_hand && ticks(&log) == ["03-01T03:00"]);
    far.resume("hourly").await.unwrap();
    let [state] = &far.list().await.unwrap()[..] else { panic!() };
    assert_eq!((state.name.as_str(), state.paused, state.asked), ("hourly", false, None));
    assert_eq!(
        (state.schedule.as_str(), state.next),
        ("every 3600000 ms", "2026-03-01T04:00:00Z".parse().unwrap())
    );
    world.time.advance(HOUR).await;
    assert_eq!(ticks(&log), ["03-01T03:00", "03-01T04:00"]);
    // On the job's own instance a run by hand starts at once.
    one.dispatch.scheduler().run_now("hourly").await.unwrap();
    world.time.settle().await;
    let [last, ..] = &one.dispatch.scheduler().history("hourly").await.unwrap()[..] else {
        panic!()
    };
    assert!(last.by_hand && last.began == world.clock.now());
    for refused in [far.run_now("no").await, far.pause("no").await, far.resume("no").await] {
        assert!(matches!(refused, Err(Error::NoSuchJob(_))));
    }
}

#[testkit::test]
async fn a_run_that_fails_panics_or_is_refused_is_recorded_and_the_next_tick_comes() {
    let world = world_with_counts().await;
    // The story needs this panic; the end asserts that it is the only one.
    world.allow(Left::Tasks);
    let instance = world.instance().await;
    let calls = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&calls);
    let handler = move |_| {
        *counts.lock() += 1;
        let call = *counts.lock();
        async move {
            let here = Item::new().with("id", "once");
            match call {
                1 => Err(Failed::retry("no luck")),
                2 => panic!("on purpose"),
                3 => Ok(vec![Put::new("counts", here).when(attr("id").exists()).into()]),
                4 => Ok((0..98).map(|_| count()).collect()),
                _ => Ok(vec![count()]),
            }
        }
    };
    instance.dispatch.scheduler().start(hourly(), handler).await.unwrap();
    world.time.advance(HOUR * 5).await;
    let history = instance.dispatch.scheduler().history("hourly").await.unwrap();
    let reasons: Vec<String> =
        history.iter().rev().map(|run| run.failed.clone().unwrap_or_default()).collect();
    assert_eq!(reasons.len(), 5);
    assert_eq!((reasons[0].as_str(), reasons[1].as_str()), ("no luck", "the run panicked"));
    assert!(reasons[2].contains("ConditionalCheckFailed"), "{reasons:?}");
    assert!(reasons[3].contains("98 writes, at most 97"), "{reasons:?}");
    assert_eq!((reasons[4].as_str(), counted(&world).await), ("", 1));
    assert_eq!(instance.ground.tasks.panicked(), ["job run"]);
}

#[testkit::test]
async fn a_changed_schedule_counts_from_now() {
    let world = world_with_counts().await;
    let (before, log) = (world.instance().await, Log::default());
    start(&before, 1, hourly(), &log).await;
    world.time.advance(MINUTE * 90).await;
    before.close(&world.time).await;
    let after = world.instance().await;
    let daily = Job::new("hourly", Schedule::cron("45 10 * * *", "Asia/Tokyo").unwrap());
    start(&after, 2, daily, &log).await;
    // Past two hours at which the former schedule would have run it.
    world.time.advance(HOUR * 2).await;
    assert_eq!(ticks(&log), ["03-01T01:00", "03-01T01:45"]);
}
