//! The cache on the virtual clock: herds, staleness, failures, forgetting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use parking_lot::Mutex;

use super::{Cache, Keeping};

const SECOND: Duration = Duration::from_secs(1);
const KEEPING: Keeping =
    Keeping { fresh: Duration::from_secs(10), stale: Duration::from_secs(20), weight_max: 1_000 };

struct Setting {
    cache: Cache<&'static str, u32, &'static str>,
    clock: Clock,
    time: VirtualTime,
    tasks: Tasks,
    loads: Arc<AtomicU32>,
}

impl Setting {
    fn new() -> Setting {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let tasks = Tasks::new();
        let cache = Cache::new(KEEPING, |_, _| 1, &clock, &tasks);
        Setting { cache, clock, time, tasks, loads: Arc::default() }
    }

    /// Asks with a loader that counts its calls, takes a second and gives its number.
    async fn get(&self, key: &'static str) -> Result<u32, &'static str> {
        let (clock, loads) = (self.clock.clone(), self.loads.clone());
        let load = move || async move {
            let number = loads.fetch_add(1, Ordering::SeqCst) + 1;
            clock.sleep(SECOND).await;
            if number == 13 { Err("unlucky") } else { Ok(number) }
        };
        self.cache.get(&key, load).await
    }

    /// What [`Setting::get`] answers while time passes.
    async fn get_waiting(&self, key: &'static str) -> Result<u32, &'static str> {
        tokio::join!(self.get(key), self.time.advance(SECOND)).0
    }

    fn loads(&self) -> u32 {
        self.loads.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_herd_of_misses_loads_once() {
    let it = Arc::new(Setting::new());
    let answers = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..100 {
        let (it, answers) = (it.clone(), answers.clone());
        it.tasks.clone().spawn("asker", async move {
            let answer = it.get("a").await;
            answers.lock().push(answer);
        });
    }
    it.time.advance(SECOND).await;
    assert_eq!(*answers.lock(), vec![Ok(1); 100]);
    assert_eq!(it.loads(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_herd_on_many_threads_loads_once_for_each_key() {
    for round in 0..20 {
        let (clock, tasks, loads) = (Clock::real(), Tasks::new(), Arc::new(AtomicU32::new(0)));
        let cache: Cache<u32, u32, ()> = Cache::new(KEEPING, |_, _| 1, &clock, &tasks);
        for asker in 0..400 {
            let (cache, loads, key) = (cache.clone(), loads.clone(), asker % 4);
            tasks.spawn("asker", async move {
                let load = move || async move {
                    loads.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    Ok(key * 2)
                };
                assert_eq!(cache.get(&key, load).await, Ok(key * 2));
            });
        }
        tasks.finish(&clock, Duration::from_secs(60)).await.unwrap();
        assert_eq!(tasks.panicked(), Vec::<String>::new());
        assert_eq!(loads.load(Ordering::SeqCst), 4, "round {round}");
    }
}

#[tokio::test]
async fn a_stale_value_is_answered_while_one_load_renews_it() {
    let it = Setting::new();
    assert_eq!(it.get_waiting("a").await, Ok(1));
    it.time.advance(8 * SECOND).await;
    assert_eq!((it.get("a").await, it.loads()), (Ok(1), 1), "fresh for ten seconds");
    it.time.advance(SECOND).await;
    for _ in 0..10 {
        assert_eq!(it.get("a").await, Ok(1));
    }
    it.time.advance(SECOND).await;
    assert_eq!((it.get("a").await, it.loads()), (Ok(2), 2));
    it.time.advance(30 * SECOND).await;
    assert_eq!((it.get_waiting("a").await, it.loads()), (Ok(3), 3), "too old to be answered");
}

#[tokio::test]
async fn a_failure_reaches_all_who_wait_and_is_not_kept() {
    let it = Setting::new();
    it.loads.store(12, Ordering::SeqCst);
    let (one, other, ()) = tokio::join!(it.get("a"), it.get("a"), it.time.advance(SECOND));
    assert_eq!((one, other, it.loads()), (Err("unlucky"), Err("unlucky"), 13));
    assert_eq!(it.get_waiting("a").await, Ok(14));
}

#[tokio::test]
async fn a_failed_renewal_leaves_the_stale_value_until_its_end() {
    let it = Setting::new();
    it.loads.store(11, Ordering::SeqCst);
    assert_eq!(it.get_waiting("a").await, Ok(12));
    it.time.advance(15 * SECOND).await;
    assert_eq!(it.get("a").await, Ok(12));
    it.time.advance(SECOND).await;
    assert_eq!((it.get("a").await, it.loads()), (Ok(12), 13), "the renewal failed");
    it.time.advance(SECOND).await;
    assert_eq!((it.get("a").await, it.loads()), (Ok(14), 14), "and was tried again");
}

#[tokio::test]
async fn what_is_forgotten_during_its_load_is_not_kept() {
    let it = Setting::new();
    let asked_after = async {
        it.time.settle().await;
        it.cache.invalidate(&"a");
        it.get("a").await
    };
    let (before, after, ()) = tokio::join!(it.get("a"), asked_after, it.time.advance(2 * SECOND));
    assert_eq!((before, after), (Ok(1), Ok(2)));
    assert_eq!((it.get("a").await, it.loads()), (Ok(2), 2));
    it.cache.invalidate_all();
    assert_eq!(it.get_waiting("a").await, Ok(3));
}

#[tokio::test]
async fn a_caller_who_leaves_takes_the_load_from_nobody() {
    let it = Setting::new();
    let impatient = it.clock.timeout(SECOND / 2, it.get("a"));
    let (left, stayed, ()) = tokio::join!(impatient, it.get("a"), it.time.advance(SECOND));
    assert!(left.is_err());
    assert_eq!((stayed, it.loads()), (Ok(1), 1));
}

#[tokio::test]
async fn a_load_that_panics_blocks_nobody_after_it() {
    let it = Setting::new();
    let (asking, panicking) = (it.cache.clone(), it.tasks.clone());
    panicking.spawn("asker", async move {
        let load = || async { panic!("a bug") };
        let _never = asking.get(&"a", load).await;
    });
    it.time.settle().await;
    assert_eq!(it.tasks.panicked(), ["asker", "cache load"]);
    assert_eq!(it.get_waiting("a").await, Ok(1));
}

#[tokio::test]
async fn the_weight_of_all_values_is_bounded() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let weigh = |_: &u32, value: &Vec<u8>| u32::try_from(value.len()).unwrap();
    let cache: Cache<u32, Vec<u8>, ()> = Cache::new(KEEPING, weigh, &clock, &Tasks::new());
    let random = Random::seeded(7);
    for key in 0..500 {
        let length = usize::try_from(random.below(200)).unwrap();
        let value = cache.get(&key, || async move { Ok(vec![0; length]) }).await.unwrap();
        assert_eq!(value.len(), length);
    }
    cache.shared.entries.run_pending_tasks();
    assert!(cache.shared.entries.weighted_size() <= 1_000);
    assert!(cache.shared.entries.entry_count() > 0);
}
