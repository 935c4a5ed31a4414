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
    let at_work = Arc::clone(&queue);
    let committer = std::thread::spawn(move || {
        loop {
            let batch = {
                let mut held = at_work.waiting.lock();
                while held.things.is_empty() && !held.closed {
                    at_work.work.wait(&mut held);
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
                    queue.waiting.lock().things.push((make(task + writers * count), done));
                    queue.work.notify_one();
                    let _ = wait.await;
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
    let _ = committer.join();
    Ok(count as f64 / seconds)
}
