//! Group commit for the peers: many tasks hand over, one thread writes what has gathered. The
//! same way of batching as the engine's, so that only what is written differs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::Clock;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::house::runtime;

struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    work: Condvar,
}

struct Waiting<T> {
    things: Vec<(T, oneshot::Sender<()>)>,
    closed: bool,
}

/// Held by the thread that writes: when it ends, also by a panic, nobody waits for it any more.
struct AtWork<T>(Arc<Queue<T>>);

impl<T> Drop for AtWork<T> {
    fn drop(&mut self) {
        let mut held = self.0.waiting.lock();
        held.closed = true;
        held.things.clear();
    }
}

/// Runs `writers` tasks that each hand over one thing of `make` after the other to `write`, for
/// `time`; answers things a second.
pub(super) fn throughput<T: Send + 'static>(
    writers: u64,
    time: Duration,
    make: impl Fn(u64) -> T + Send + Sync + 'static,
    mut write: impl FnMut(Vec<T>) + Send + 'static,
) -> std::io::Result<f64> {
    let queue = Arc::new(Queue {
        waiting: Mutex::new(Waiting { things: Vec::new(), closed: false }),
        work: Condvar::new(),
    });
    let at_work = AtWork(Arc::clone(&queue));
    let committer = std::thread::spawn(move || {
        let AtWork(queue) = &at_work;
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
    // It panics when it cannot write, and says why.
    committer.join().map_err(|_| std::io::Error::other("what was handed over was not written"))?;
    Ok(count as f64 / seconds)
}
