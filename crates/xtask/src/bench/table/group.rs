//! Group commit for the peers: many tasks hand over writes, one thread writes the collected batch.
//! This is the engine's way of batching, so that only the writing differs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::Clock;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::house::runtime;

struct Queue<T> {
    waiting: Mutex<PendingWrite<T>>,
    work: Condvar,
}

struct PendingWrite<T> {
    things: Vec<(T, oneshot::Sender<()>)>,
    closed: bool,
}

/// Held by the thread that writes: when it ends, even by a panic, all waiting tasks are released.
struct WriterGuard<T>(Arc<Queue<T>>);

impl<T> Drop for WriterGuard<T> {
    fn drop(&mut self) {
        let mut held = self.0.waiting.lock();
        held.closed = true;
        held.things.clear();
    }
}

/// Runs `writers` tasks for `time`; each passes one result of `make` after the other to `write`.
/// Returns the writes per second.
pub(super) fn throughput<T: Send + 'static>(
    writers: u64,
    time: Duration,
    make: impl Fn(u64) -> T + Send + Sync + 'static,
    mut write: impl FnMut(Vec<T>) + Send + 'static,
) -> std::io::Result<f64> {
    let queue = Arc::new(Queue {
        waiting: Mutex::new(PendingWrite { things: Vec::new(), closed: false }),
        work: Condvar::new(),
    });
    let at_work = WriterGuard(Arc::clone(&queue));
    let committer = std::thread::spawn(move || {
        let WriterGuard(queue) = &at_work;
        loop {
            let batch = {
                let mut held = queue.waiting.lock();
                while held.things.is_empty() && !held.closed {
                    queue.work.wait(&mut held);
                }
                std::mem::take(&mut held.things)
            };
            if batch.is_empty() {
                return;
            }
            let (things, done): (Vec<T>, Vec<_>) = batch.into_iter().unzip();
            write(things);
            for done in done {
                let _ = done.send(());
            }
        }
    });
    let (make, stop, clock) = (Arc::new(make), Arc::new(AtomicBool::new(false)), Clock::real());
    let begun = clock.instant();
    let count = runtime()?.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..writers {
            let (queue, make, stop) = (Arc::clone(&queue), Arc::clone(&make), Arc::clone(&stop));
            tasks.spawn(async move {
                let mut count = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    let (done, wait) = oneshot::channel();
                    let thing = make(task + writers * count);
                    {
                        let mut held = queue.waiting.lock();
                        if held.closed {
                            break;
                        }
                        held.things.push((thing, done));
                    }
                    queue.work.notify_one();
                    if wait.await.is_err() {
                        break;
                    }
                    count += 1;
                }
                count
            });
        }
        clock.sleep(time).await;
        stop.store(true, Ordering::Relaxed);
        let mut count = 0;
        while let Some(Ok(more)) = tasks.join_next().await {
            count += more;
        }
        count
    });
    let seconds = clock.instant().since(begun).as_secs_f64();
    queue.waiting.lock().closed = true;
    queue.work.notify_one();
    // It panics with the reason when it cannot write.
    committer.join().map_err(|_| std::io::Error::other("what was handed over was not written"))?;
    Ok(count as f64 / seconds)
}
