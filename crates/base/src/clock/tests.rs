//! Stories of virtual time, and one of real time.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::{Clock, Error, Tasks, Timestamp, VirtualTime};

const DAY: Duration = Duration::from_secs(86_400);

fn at_noon() -> (Clock, VirtualTime) {
    Clock::virtual_at("2026-04-01T12:00:00Z".parse().unwrap())
}

/// A shared list that tasks write what happened into.
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
async fn a_wait_that_nobody_polls_does_not_stop_time() {
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
async fn a_timeout_ends_what_takes_too_long_and_nothing_else() {
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
