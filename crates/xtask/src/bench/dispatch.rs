//! The delay queue, in process, on the real disk.
//!
//! - cycles: producers send messages that are due at once, consumers lease and delete them; each
//!   step is durable before it is acknowledged. The comparison is single durable puts of rows of
//!   the same size into the same store, with as many writers: a cycle is three row writes.
//! - lateness: messages come due at a steady rate, each some time after it was sent; how late does
//!   a consumer get a message?

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base::{Clock, Random, Tasks};
use dispatch::{Dispatch, NewMessage, Queue, QueueOptions};
use parking_lot::Mutex;
use table::{Embedded, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::report::{Bar, Report};
use super::stats::Latencies;
use super::{BenchResult, Options, data_folder, usage};

/// Tasks that send; each waits for its acknowledgement.
const PRODUCERS: u64 = 128;
/// Tasks that receive; each takes up to a hundred messages at a time.
const CONSUMERS: u64 = 4;
/// The size of a body.
const BODY_BYTES: usize = 100;
/// The bar for the rate.
const CYCLES_BAR: f64 = 20_000.0;
/// Messages that come due per second.
const DUE_RATE: u64 = 2_000;
/// The bar for the 99th percentile of lateness, in milliseconds.
const LATENESS_BAR_MS: f64 = 20.0;

/// Runs the bench.
pub(super) fn run(options: Options, report: &mut Report) -> BenchResult {
    let folder = data_folder()?;
    let bench = DispatchBench::open(folder.path())?;
    let time = options.measure_for();
    let (puts, put_micros) = with_cpu(|| bench.puts(time), |puts| puts * time.as_secs_f64());
    let ((cycles, lateness), cycle_micros) =
        with_cpu(|| bench.cycles(time), |(cycles, _)| cycles * time.as_secs_f64());
    let ms = |latencies: &Latencies, percent| latencies.percentile(percent).as_secs_f64() * 1e3;
    let what = "enqueue + lease + delete cycles/s, 128 producers, beside";
    report.compare(format!("{what} the bar"), cycles, CYCLES_BAR, Bar::AtLeast(1.0));
    report.compare(format!("{what} single durable puts/s"), cycles, puts, Bar::Open);
    let what = "CPU time of a cycle in µs, beside a put";
    report.compare(what, cycle_micros, put_micros, Bar::Open);
    let what = "at that load, lateness p99 in ms, beside p50";
    report.compare(what, ms(&lateness, 99.0), ms(&lateness, 50.0), Bar::Open);
    let minute = if options.quick { time } else { Duration::from_secs(60) };
    let lateness = bench.lateness(minute);
    let what = "2 000 due messages/s, lateness p99 in ms, beside the bar";
    report.compare(what, ms(&lateness, 99.0), LATENESS_BAR_MS, Bar::AtMost(1.0));
    let what = "2 000 due messages/s, lateness p50 in ms, beside the most";
    report.compare(what, ms(&lateness, 50.0), ms(&lateness, 100.0), Bar::Open);
    bench.close()
}

/// Runs `work`; returns its result, and the microseconds of CPU time, on all cores, for each unit
/// of work.
fn with_cpu<T>(work: impl FnOnce() -> T, count: impl FnOnce(&T) -> f64) -> (T, f64) {
    let before = usage::cpu_time().unwrap_or_default();
    let done = work();
    let used = usage::cpu_time().unwrap_or_default().saturating_sub(before);
    let count = count(&done);
    (done, used.as_secs_f64() * 1e6 / count)
}

struct DispatchBench {
    runtime: Runtime,
    store: Embedded,
    tasks: Tasks,
    dispatch: Dispatch,
}

impl DispatchBench {
    fn open(path: &Path) -> Result<DispatchBench, Box<dyn std::error::Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let tasks = Tasks::new();
        let (store, dispatch) = runtime.block_on(async {
            let options = table::Options { path: path.to_owned(), ..Default::default() };
            let store = Embedded::open(options, Clock::real(), &tasks).await?;
            let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("sk"));
            store.ensure_table(TableSpec::new("rows", key)).await?;
            let tables = Arc::new(store.clone());
            let dispatch = Dispatch::open(tables, Clock::real(), Random::from_os(), &tasks).await?;
            Ok::<_, dispatch::Error>((store, dispatch))
        })?;
        Ok(DispatchBench { runtime, store, tasks, dispatch })
    }

    fn close(self) -> BenchResult {
        let finished = self.runtime.block_on(self.tasks.finish(&Clock::real(), CLOSING));
        finished.map_err(|tasks| format!("still running: {tasks:?}"))?;
        Ok(self.store.close()?)
    }

    /// Single durable puts per second.
    fn puts(&self, time: Duration) -> f64 {
        let next = AtomicU64::new(0);
        let store = self.store.clone();
        self.repeat(PRODUCERS, time, move || {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let item = Item::new()
                .with("body", bytes::Bytes::from(vec![7; BODY_BYTES]))
                .with("pk", format!("Q#rows#{}", number % 8))
                .with("receives", 0)
                .with("sent", 1_800_000_000_000_u64)
                .with("sk", format!("{number:015}#{number:032}"))
                .with("until", 0);
            let store = store.clone();
            async move {
                store.put(Put::new("rows", item)).await.expect("the store takes a put");
                1
            }
        })
    }

    /// Cycles per second, and the lateness of each message.
    fn cycles(&self, time: Duration) -> (f64, Latencies) {
        let queue = self.dispatch.queue("cycles", QueueOptions::default()).expect("a new queue");
        let consumers = Consumers::start(self, &queue);
        let rate = self.repeat(PRODUCERS, time, move || {
            let queue = queue.clone();
            async move {
                let message = NewMessage::new(vec![7; BODY_BYTES]);
                queue.enqueue(message).await.expect("the queue takes a message");
                1
            }
        });
        let (done, lateness) = consumers.stop(self);
        println!("{rate:.0} messages/s sent while they were deleted\n");
        (done as f64 / time.as_secs_f64(), lateness)
    }

    /// The lateness of messages that come due at a steady rate.
    fn lateness(&self, time: Duration) -> Latencies {
        const STEP: Duration = Duration::from_millis(10);
        let queue = self.dispatch.queue("lateness", QueueOptions::default()).expect("a new queue");
        let consumers = Consumers::start(self, &queue);
        self.runtime.block_on(async {
            let (clock, random) = (Clock::real(), Random::seeded(1));
            let mut steps = clock.interval(STEP);
            let begun = clock.instant();
            let mut sent = 0;
            while clock.instant().since(begun) < time {
                steps.tick().await;
                let wanted = clock.instant().since(begun).as_micros() as u64 * DUE_RATE / 1_000_000;
                let delays =
                    (sent..wanted).map(|_| Duration::from_millis(500 + random.below(2_000)));
                let messages =
                    delays.map(|delay| NewMessage::new(vec![7; BODY_BYTES]).delay(delay));
                queue.enqueue_all(messages).await.expect("the queue takes messages");
                sent = wanted;
            }
            clock.sleep(Duration::from_secs(3)).await;
        });
        let (done, lateness) = consumers.stop(self);
        println!("{done} messages came due in {time:?}\n");
        lateness
    }

    /// Repeats `work` on `tasks` tasks for `time`; returns the counted units per second.
    fn repeat<F>(
        &self,
        tasks: u64,
        time: Duration,
        work: impl Fn() -> F + Send + Sync + 'static,
    ) -> f64
    where
        F: Future<Output = u64> + Send,
    {
        let (work, stop, clock) = (Arc::new(work), Arc::new(AtomicBool::new(false)), Clock::real());
        let begun = clock.instant();
        let count = self.runtime.block_on(async {
            let mut running = JoinSet::new();
            for _ in 0..tasks {
                let (work, stop) = (Arc::clone(&work), Arc::clone(&stop));
                running.spawn(async move {
                    let mut count = 0;
                    while !stop.load(Ordering::Relaxed) {
                        count += work().await;
                    }
                    count
                });
            }
            clock.sleep(time).await;
            stop.store(true, Ordering::Relaxed);
            let mut count = 0;
            while let Some(more) = running.join_next().await {
                count += more.expect("the work is done or the bench is over");
            }
            count
        });
        count as f64 / clock.instant().since(begun).as_secs_f64()
    }
}

/// How long background tasks have to stop.
const CLOSING: Duration = Duration::from_secs(10);

/// Tasks that receive and delete until they are stopped.
struct Consumers {
    running: JoinSet<()>,
    log: Arc<Mutex<Vec<Duration>>>,
}

impl Consumers {
    fn start(bench: &DispatchBench, queue: &Queue) -> Consumers {
        let (mut running, log) = (JoinSet::new(), Arc::new(Mutex::new(Vec::new())));
        let _guard = bench.runtime.enter();
        for _ in 0..CONSUMERS {
            running.spawn(consume(queue.clone(), Arc::clone(&log)));
        }
        Consumers { running, log }
    }

    /// The number of deleted messages, and the lateness of each.
    fn stop(mut self, bench: &DispatchBench) -> (usize, Latencies) {
        bench.runtime.block_on(self.running.shutdown());
        let log = std::mem::take(&mut *self.log.lock());
        (log.len(), Latencies::new(log))
    }
}

async fn consume(queue: Queue, log: Arc<Mutex<Vec<Duration>>>) {
    let clock = Clock::real();
    loop {
        let deliveries = queue.receive(100).await.expect("the queue gives messages");
        let now = clock.now();
        let late: Vec<_> =
            deliveries.iter().map(|delivery| now.since(delivery.message().due())).collect();
        queue.delete_all(deliveries).await.expect("the queue deletes messages");
        log.lock().extend(late);
    }
}
