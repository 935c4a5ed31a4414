//! Tracked tasks: every task has a name, and shutdown waits for all of them.
//!
//! A task watches [`Shutdown`] and returns when it begins. [`Tasks::finish`] waits for all tasks
//! and names those that did not end. A panic ends only its own task; it is logged and counted.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::{Clock, Interval};

/// The tasks of one server. Clones share them.
#[derive(Clone, Debug)]
pub struct Tasks {
    state: Arc<TaskState>,
}

#[derive(Debug)]
struct TaskState {
    shutdown: watch::Sender<bool>,
    counts: Mutex<TaskCounts>,
    idle: Notify,
}

#[derive(Debug, Default)]
struct TaskCounts {
    running: BTreeMap<&'static str, usize>,
    panicked: BTreeMap<&'static str, usize>,
}

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks::new()
    }
}

impl Tasks {
    /// Without any task.
    pub fn new() -> Tasks {
        let (shutdown, _) = watch::channel(false);
        Tasks {
            state: Arc::new(TaskState { shutdown, counts: Mutex::default(), idle: Notify::new() }),
        }
    }

    /// Starts a task on the current runtime. The name says what it does, for logs and reports;
    /// several tasks may share one.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the runtime's tasks")]
    pub fn spawn(&self, name: &'static str, future: impl Future<Output = ()> + Send + 'static) {
        let running = RunningTask::new(self.state.clone(), name);
        // Boxed here: otherwise the task would also reserve space for the future that it moves into
        // a box.
        let future = Box::pin(future);
        tokio::spawn(async move {
            if let Err(panic) = catch_panic(future).await {
                running.report(panic.as_ref());
            }
            drop(running);
        });
    }

    /// Ticks every `period` until shutdown, for a task with periodic work.
    ///
    /// # Panics
    /// If `period` is zero.
    pub fn ticks(&self, clock: &Clock, period: Duration) -> Ticks {
        Ticks { interval: clock.interval(period), shutdown: self.shutdown() }
    }

    /// The signal that tasks watch.
    pub fn shutdown(&self) -> Shutdown {
        Shutdown { sender: self.state.shutdown.clone() }
    }

    /// Begins the shutdown and waits for all tasks, but not longer than `within`.
    ///
    /// # Errors
    /// The names of the tasks that still run, as [`Tasks::leftover`] returns them.
    pub async fn finish(&self, clock: &Clock, within: Duration) -> Result<(), Vec<String>> {
        self.shutdown().begin();
        clock.timeout(within, self.idle()).await.map_err(|_| self.leftover())
    }

    /// The names of the running tasks; `name (3)` for three tasks of a name.
    pub fn leftover(&self) -> Vec<String> {
        list_names(&self.state.counts.lock().running)
    }

    /// The names of the tasks that panicked since the start; `name (3)` for three of a name.
    pub fn panicked(&self) -> Vec<String> {
        list_names(&self.state.counts.lock().panicked)
    }

    async fn idle(&self) {
        loop {
            let idle = self.state.idle.notified();
            if self.state.counts.lock().running.is_empty() {
                return;
            }
            idle.await;
        }
    }
}

/// The ticks of a task with periodic work.
#[derive(Debug)]
pub struct Ticks {
    interval: Interval,
    shutdown: Shutdown,
}

impl Ticks {
    /// Waits for the next tick, the first after one period; `false` when the shutdown has begun.
    /// Ticks that passed while no task waited are skipped.
    pub async fn next(&mut self) -> bool {
        tokio::select! {
            biased;
            () = self.shutdown.begun() => false,
            () = self.interval.tick() => true,
        }
    }
}

/// The shutdown signal.
#[derive(Clone, Debug)]
pub struct Shutdown {
    sender: watch::Sender<bool>,
}

impl Shutdown {
    /// Begins the shutdown. A second call changes nothing.
    pub fn begin(&self) {
        self.sender.send_replace(true);
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        *self.sender.borrow()
    }

    /// Waits until the shutdown begins; returns at once if it has.
    pub fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut receiver = self.sender.subscribe();
        let sender = self.sender.clone();
        async move {
            let waited = receiver.wait_for(|begun| *begun).await;
            drop(waited.expect("the sender lives in this future"));
            drop(sender);
        }
    }
}

/// Counts a task for as long as it lives, also when the runtime drops it.
struct RunningTask {
    state: Arc<TaskState>,
    name: &'static str,
}

impl RunningTask {
    fn new(state: Arc<TaskState>, name: &'static str) -> RunningTask {
        *state.counts.lock().running.entry(name).or_default() += 1;
        RunningTask { state, name }
    }

    fn report(&self, panic: &(dyn Any + Send)) {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        tracing::error!(task = self.name, panic = message, "a task panicked");
        metrics::counter!("nagaya_task_panics_total", "task" => self.name).increment(1);
        *self.state.counts.lock().panicked.entry(self.name).or_default() += 1;
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let mut counts = self.state.counts.lock();
        if let Some(count) = counts.running.get_mut(self.name) {
            *count -= 1;
            if *count == 0 {
                counts.running.remove(self.name);
            }
        }
        if counts.running.is_empty() {
            self.state.idle.notify_waiters();
        }
    }
}

async fn catch_panic(
    mut future: Pin<Box<impl Future<Output = ()> + Send>>,
) -> Result<(), Box<dyn Any + Send>> {
    // The future is not polled again after a panic, so its broken state is never seen.
    std::future::poll_fn(move |context| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

fn list_names(counts: &BTreeMap<&'static str, usize>) -> Vec<String> {
    let list = counts.iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        _ => format!("{name} ({count})"),
    });
    list.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::Tasks;
    use crate::{Clock, Timestamp};

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn tasks_that_watch_the_shutdown_finish() {
        let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
        let tasks = Tasks::new();
        for _ in 0..2 {
            tasks.spawn("watcher", tasks.shutdown().begun());
        }
        assert_eq!(tasks.leftover(), ["watcher (2)"]);
        assert_eq!(tasks.finish(&clock, MINUTE).await, Ok(()));
        tasks.shutdown().begun().await;
        assert!(tasks.shutdown().has_begun() && tasks.leftover().is_empty());
    }

    #[tokio::test]
    async fn a_task_that_does_not_stop_is_named_at_the_deadline() {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let tasks = Tasks::new();
        tasks.spawn("stubborn", std::future::pending());
        tasks.spawn("prompt", tasks.shutdown().begun());
        let (finished, ()) = tokio::join!(tasks.finish(&clock, MINUTE), time.advance(MINUTE));
        assert_eq!(finished, Err(vec!["stubborn".to_owned()]));
    }

    #[tokio::test]
    async fn a_panic_ends_one_task_and_is_counted() {
        let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
        let tasks = Tasks::new();
        tasks.spawn("clumsy", async { panic!("on purpose") });
        tasks.spawn("careful", tasks.shutdown().begun());
        assert_eq!(tasks.finish(&clock, MINUTE).await, Ok(()));
        assert_eq!(tasks.panicked(), ["clumsy"]);
    }

    #[test]
    fn a_task_that_its_runtime_dropped_is_not_left_over() {
        let tasks = Tasks::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { tasks.spawn("orphan", std::future::pending()) });
        assert_eq!(tasks.leftover(), ["orphan"]);
        drop(runtime);
        assert!(tasks.leftover().is_empty());
    }

    #[tokio::test]
    async fn ticks_come_every_period_until_the_shutdown() {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let tasks = Tasks::new();
        let (counted, seen) = (Arc::new(AtomicUsize::new(0)), Duration::from_secs(10));
        let (count, mut ticks) = (counted.clone(), tasks.ticks(&clock, Duration::from_secs(3)));
        tasks.spawn("ticking", async move {
            while ticks.next().await {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        time.advance(seen).await;
        assert_eq!(counted.load(Ordering::Relaxed), 3);
        tasks.finish(&clock, seen).await.unwrap();
        time.advance(seen).await;
        assert_eq!(counted.load(Ordering::Relaxed), 3);
    }
}
