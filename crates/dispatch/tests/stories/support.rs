//! Queues of a world's instances, and processes that are killed.

use std::time::Duration;

use dispatch::{Delivery, Queue, QueueOptions};
use testkit::{Instance, World};
use tokio::runtime::Runtime;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A world that starts on a Sunday morning in spring.
pub(crate) async fn world() -> World {
    World::at("2026-03-01T00:00:00Z".parse().unwrap()).await
}

/// Lets time pass while no instance runs. The clock jumps, because nothing observes it.
pub(crate) async fn pass_unseen(world: &World, duration: Duration) {
    world.time.set_wall(world.clock.now().checked_add(duration).unwrap()).await;
}

/// The queue `things` of this instance.
pub(crate) fn things(instance: &Instance) -> Queue {
    instance.dispatch.queue("things", QueueOptions::default()).unwrap()
}

/// The bodies of deliveries, in their order.
pub(crate) fn bodies(deliveries: &[Delivery]) -> Vec<String> {
    let body = |delivery: &Delivery| String::from_utf8(delivery.message().body.to_vec()).unwrap();
    deliveries.iter().map(body).collect()
}

/// The messages that can be received now.
pub(crate) async fn received(world: &World, queue: &Queue) -> Vec<Delivery> {
    world.time.settle().await;
    queue.try_receive(100).await.unwrap()
}

/// The runtime of a second process. A process is paused while nobody drives its runtime.
pub(crate) fn process() -> Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// Kills a process.
pub(crate) fn kill(process: Runtime) {
    // A runtime must not be dropped inside another one.
    std::thread::scope(|threads| threads.spawn(|| drop(process)).join().unwrap());
}

/// Drives a second process until `work` is done; this one is paused meanwhile.
pub(crate) fn drive<T: Send>(process: &Runtime, work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|threads| threads.spawn(|| process.block_on(work)).join().unwrap())
}
