//! Queues of a world's instances, and processes that end without goodbye.

use std::time::Duration;

use dispatch::{Delivery, Queue, QueueOptions};
use testkit::{Instance, World};
use tokio::runtime::Runtime;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A world that begins on a Sunday morning in spring.
pub(crate) async fn world() -> World {
    World::at("2026-03-01T00:00:00Z".parse().unwrap()).await
}

/// Lets time pass while no instance runs: at once, for nobody sees it pass.
pub(crate) async fn pass_unseen(world: &World, duration: Duration) {
    world.time.set_wall(world.clock.now().checked_add(duration).unwrap()).await;
}

/// The queue of things, as this instance has it.
pub(crate) fn things(instance: &Instance) -> Queue {
    instance.dispatch.queue("things", QueueOptions::default()).unwrap()
}

/// The bodies of deliveries, in their order.
pub(crate) fn bodies(deliveries: &[Delivery]) -> Vec<String> {
    let body = |delivery: &Delivery| String::from_utf8(delivery.message().body.to_vec()).unwrap();
    deliveries.iter().map(body).collect()
}

/// What can be received right now.
pub(crate) async fn received(world: &World, queue: &Queue) -> Vec<Delivery> {
    world.time.settle().await;
    queue.try_receive(100).await.unwrap()
}

/// The runtime of a process beside this one. A process whose runtime nobody drives is paused.
pub(crate) fn process() -> Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// Ends a process without goodbye.
pub(crate) fn kill(process: Runtime) {
    // A runtime may not be dropped where another one runs.
    std::thread::scope(|threads| threads.spawn(|| drop(process)).join().unwrap());
}

/// Drives another process until `work` is done; this one is paused meanwhile.
pub(crate) fn drive<T: Send>(process: &Runtime, work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|threads| threads.spawn(|| process.block_on(work)).join().unwrap())
}
