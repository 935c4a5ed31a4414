//! Stories of virtual time, and one of real time.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::{Clock, Error, Tasks, Timestamp, VirtualTime};

const DAY: Duration = Duration::from_secs(86_400);

fn at_noon() -> (Clock, VirtualTime) {
    Clock::virtual_at("2026-04-01T12:00:00Z".parse().unwrap())
}

/// A list in which tasks record events.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().push(line.into());
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

#[tokio::test]
async fn a_day_of_ticks_passes_at_the_right_moments() {
    let (clock, time) = at_noon();
    let (tasks, seen) = (Tasks::new(), Arc::new(Mutex::new(Vec::new())));
    let start = clock.now();
    tasks.spawn("ticker", {
        let (clock, seen) = (clock.clone(), seen.clone());
        async move {
            let mut interval = clock.interval(Duration::from_secs(60));
            loop {
                interval.tick().await;
                seen.lock().push(clock.now());
            }
        }
    });
    time.advance(DAY).await;
    let expected: Vec<Timestamp> = (1..=1440)
        .map(|minute| start.checked_add(Duration::from_secs(60 * minute)).unwrap())
        .collect();
    assert_eq!(*seen.lock(), expected);
    assert_eq!(clock.now().since(start), DAY);
}

#[tokio::test]
async fn sleepers_wake_in_the_order_they_are_due() {
    let (clock, time) = at_noon();
    let (tasks, diary) = (Tasks::new(), Diary::default());
    for (name, seconds) in [("c", 30), ("a", 10), ("b1", 20), ("b2", 20)] {
        let (clock, diary) = (clock.clone(), diary.clone());
        tasks.spawn("sleeper", async move {
            clock.sleep(Duration::from_secs(seconds)).await;
            diary.write(name);
        });
    }
    time.settle().await;
    time.advance(Duration::from_secs(19)).await;
    assert_eq!(diary.read(), ["a"]);
    time.advance(Duration::from_secs(100)).await;
    assert_eq!(diary.read(), ["a", "b1", "b2", "c"]);
}

#[tokio::test]
async fn a_woken_task_acts_before_time_moves_on() {
    let (clock, time) = at_noon();
    let (tasks, diary) = (Tasks::new(), Diary::default());
    let (to_second, mut from_first) = tokio::sync::mpsc::channel::<()>(1);
    let start = clock.now();
    tasks.spawn("first", {
        let clock = clock.clone();
        async move {
            clock.sleep(Duration::from_secs(1)).await;
            to_second.send(()).await.unwrap();
        }
    });
    tasks.spawn("second", {
        let (clock, diary) = (clock.clone(), diary.clone());
        async move {
            from_first.recv().await.unwrap();
            clock.sleep(Duration::from_secs(1)).await;
            diary.write(format!("{:?}", clock.now().since(start)));
        }
    });
    time.advance(DAY).await;
    assert_eq!(diary.read(), ["2s"]);
}

#[tokio::test]
async fn a_wall_clock_set_back_lengthens_waits_for_wall_time_only() {
    let (clock, time) = at_noon();
    let (tasks, diary) = (Tasks::new(), Diary::default());
    let (noon, instant) = (clock.now(), clock.instant());
    let hour = Duration::from_secs(3600);
    tasks.spawn("wall", {
        let (clock, diary) = (clock.clone(), diary.clone());
        async move {
            clock.sleep_until(noon.checked_add(hour).unwrap()).await;
            diary.write("wall");
        }
    });
    tasks.spawn("monotonic", {
        let (clock, diary) = (clock.clone(), diary.clone());
        async move {
            clock.sleep(hour).await;
            diary.write("monotonic");
        }
    });
    time.settle().await;
    time.set_wall(noon.checked_sub(hour).unwrap()).await;
    assert!(clock.now() < noon);
    time.advance(hour).await;
    assert_eq!((diary.read(), clock.now()), (vec!["monotonic".to_owned()], noon));
    time.set_wall(noon.checked_add(hour).unwrap()).await;
    assert_eq!(diary.read(), ["monotonic", "wall"]);
    assert_eq!(clock.instant().since(instant), hour);
}

#[tokio::test]
async fn time_waits_for_a_hold_on_another_thread() {
    let (clock, time) = at_noon();
    let (hold, start) = (clock.hold(), clock.now());
    let worker = std::thread::spawn({
        let clock = clock.clone();
        move || {
            let seen = clock.now();
            drop(hold);
            seen
        }
    });
    time.advance(DAY).await;
    assert_eq!(worker.join().unwrap(), start);
    assert_eq!(clock.now().since(start), DAY);
}

#[tokio::test]
async fn a_wait_that_is_not_polled_does_not_stop_time() {
    let (clock, time) = at_noon();
    let tasks = Tasks::new();
    tasks.spawn("distracted", {
        let clock = clock.clone();
        async move {
            let mut forgotten = std::pin::pin!(clock.sleep(Duration::from_secs(1)));
            tokio::select! {
                () = &mut forgotten => {}
                () = std::future::ready(()) => clock.sleep(DAY).await,
            }
        }
    });
    time.advance(DAY).await;
    assert!(tasks.leftover().is_empty());
}

#[tokio::test]
async fn a_timeout_ends_slow_work_and_nothing_else() {
    let (clock, time) = at_noon();
    let second = Duration::from_secs(1);
    assert_eq!(clock.timeout(second, async { 7 }).await, Ok(7));
    let slow = clock.timeout(second, clock.sleep(2 * second));
    let (slow, ()) = tokio::join!(slow, time.advance(DAY));
    assert_eq!(slow, Err(Error::Elapsed(second)));
}

#[tokio::test]
async fn missed_ticks_are_skipped() {
    let (clock, time) = at_noon();
    let mut interval = clock.interval(Duration::from_secs(10));
    let start = clock.instant();
    time.advance(Duration::from_secs(35)).await;
    interval.tick().await;
    tokio::join!(interval.tick(), time.advance(Duration::from_secs(5)));
    assert_eq!(clock.instant().since(start), Duration::from_secs(40));
    tokio::join!(interval.tick(), time.advance(Duration::from_secs(10)));
}

#[tokio::test]
async fn real_time_passes_while_sleeping() {
    let clock = Clock::real();
    let (wall, instant) = (clock.now(), clock.instant());
    let wait = Duration::from_millis(20);
    clock.sleep(wait).await;
    assert!(clock.instant().since(instant) >= wait);
    let due = wall.checked_add(3 * wait).unwrap();
    clock.sleep_until(due).await;
    assert!(clock.now() >= due);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flowing_clock_runs_along_with_real_time() {
    let (real, begun) = (Clock::real(), Clock::real().instant());
    let (clock, flow) = Clock::flowing();
    let wait = Duration::from_millis(20);
    assert!(clock.now().since(real.now()) < wait && real.now().since(clock.now()) < DAY);
    let instant = clock.instant();
    clock.sleep(wait).await;
    clock.sleep_until(clock.now().checked_add(wait).unwrap()).await;
    assert!(clock.instant().since(instant) >= 2 * wait);
    assert!(clock.instant().since(instant) <= real.instant().since(begun));
    drop(flow);
    // The driver may be in its last move.
    real.sleep(wait).await;
    let still = clock.instant();
    real.sleep(wait).await;
    assert_eq!(clock.instant(), still, "the clock has stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flowing_clock_that_is_moved_ahead_wakes_all_sleepers_in_order_and_on_time() {
    let (clock, flow) = Clock::flowing();
    let (tasks, diary, ticks) = (Tasks::new(), Diary::default(), Arc::new(Mutex::new(0_u64)));
    for (name, seconds) in [("c", 30), ("a", 10), ("b", 20)] {
        let (clock, diary) = (clock.clone(), diary.clone());
        tasks.spawn("sleeper", async move {
            let (begun, mut left) = (clock.instant(), seconds);
            // A sleeper that sleeps again is woken again.
            while left > 0 {
                clock.sleep(Duration::from_secs(5)).await;
                left -= 5;
            }
            diary.write(format!("{name} after {}", clock.instant().since(begun).as_secs()));
        });
    }
    tasks.spawn("ticker", {
        let (clock, ticks) = (clock.clone(), ticks.clone());
        async move {
            let mut interval = clock.interval(Duration::from_secs(1));
            loop {
                interval.tick().await;
                *ticks.lock() += 1;
            }
        }
    });
    let (begun, real) = (clock.now(), Clock::real().instant());
    flow.advance(Duration::from_secs(120)).await;
    let (passed, took) = (clock.now().since(begun), Clock::real().instant().since(real));
    assert_eq!(diary.read(), ["a after 10", "b after 20", "c after 30"]);
    assert!((120..=121).contains(&*ticks.lock()), "{} ticks", ticks.lock());
    assert!(passed >= Duration::from_secs(120) && passed < Duration::from_secs(120) + took);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_hour_ahead_takes_seconds_and_no_lease_ends_on_the_way() {
    const LEASE: Duration = Duration::from_secs(15);
    let (clock, flow) = Clock::flowing();
    let (tasks, ended) = (Tasks::new(), Arc::new(Mutex::new(None)));
    let until = Arc::new(Mutex::new(clock.instant().after(LEASE)));
    for (name, period) in [("keeper", LEASE / 3), ("judge", Duration::from_secs(1))] {
        let (clock, until, ended) = (clock.clone(), until.clone(), ended.clone());
        tasks.spawn(name, async move {
            loop {
                clock.sleep(period).await;
                let now = clock.instant();
                match name {
                    "keeper" => *until.lock() = now.after(LEASE),
                    _ if *until.lock() < now => *ended.lock() = Some(now),
                    _ => {}
                }
            }
        });
    }
    let real = Clock::real().instant();
    flow.advance(Duration::from_secs(3_600)).await;
    assert_eq!(*ended.lock(), None);
    let took = Clock::real().instant().since(real);
    assert!(took < Duration::from_secs(60), "an hour took {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flowing_clock_waits_for_work_on_other_threads_and_for_responses() {
    let (clock, flow) = Clock::flowing();
    let (held, answer) = (clock.hold(), clock.hold_for_answer());
    let (give, given) = tokio::sync::oneshot::channel();
    let (tasks, diary) = (Tasks::new(), Diary::default());
    tasks.spawn("client", {
        let (clock, diary) = (clock.clone(), diary.clone());
        async move {
            let given = clock.timeout(Duration::from_secs(1), given).await;
            diary.write(format!("{given:?}"));
        }
    });
    let working = std::thread::spawn({
        let clock = clock.clone();
        move || {
            let seen = clock.now();
            give.send(7).unwrap();
            drop((held, answer));
            seen
        }
    });
    let begun = clock.now();
    flow.advance(DAY).await;
    assert!(working.join().unwrap().since(begun) < Duration::from_secs(1));
    assert_eq!(diary.read(), ["Ok(Ok(7))"]);
    // The clock waits for a response that never comes, but not for long.
    let _never = clock.hold_for_answer();
    let real = Clock::real().instant();
    flow.advance(Duration::from_secs(1)).await;
    let waited = Clock::real().instant().since(real);
    assert!(waited >= Duration::from_millis(200) && waited < Duration::from_secs(60), "{waited:?}");
}

#[tokio::test]
async fn a_wait_in_the_moving_task_does_not_stop_the_clock() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let tasks = Tasks::new();
    let mut ticks = tasks.ticks(&clock, Duration::from_secs(1));
    tasks.spawn("ticking", async move { while ticks.next().await {} });
    let mut turns = 0;
    let counting = std::future::poll_fn(|_| {
        turns += 1;
        std::task::Poll::<()>::Pending
    });
    let wait = Duration::from_secs(100);
    tokio::select! {
        biased;
        () = counting => {}
        ((), ()) = async { tokio::join!(clock.sleep(wait), time.advance(wait)) } => {}
    }
    assert!(turns < 100 * 50, "{turns} turns for 100 ticks");
}
