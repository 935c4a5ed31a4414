//! The check at the end of a world. Runs when the test has ended and all of its values are dropped:
//! lets the server finish its work, closes it, and complains about the rest.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Tasks, VirtualTime};
use dispatch::Dispatch;
use edge::{Ground, Server};
use hub::Hub;
use parking_lot::Mutex;

use crate::{Left, run, wait};

/// How long the program waits for requests and tasks when it closes.
const CLOSING: Duration = Duration::from_secs(60);

/// The checked parts of a world.
pub(super) struct Premises {
    clock: Clock,
    time: VirtualTime,
    /// Those of the store, and of each instance.
    tasks: Mutex<Vec<Tasks>>,
    instances: Mutex<Vec<(Hub, Dispatch)>>,
    servers: Mutex<Vec<Server>>,
    allowed: Mutex<BTreeSet<Left>>,
}

impl Premises {
    /// Registers a world for the check at the end.
    pub(super) fn register(clock: Clock, time: VirtualTime, store: Tasks) -> Arc<Premises> {
        let premises = Arc::new(Premises {
            clock,
            time,
            tasks: Mutex::new(vec![store]),
            instances: Mutex::default(),
            servers: Mutex::default(),
            allowed: Mutex::default(),
        });
        let checked = Arc::clone(&premises);
        run::check_at_end(async move { checked.check().await });
        premises
    }

    pub(super) fn add_instance(&self, ground: &Ground, dispatch: &Dispatch) {
        self.instances.lock().push((ground.hub.clone(), dispatch.clone()));
        self.tasks.lock().push(ground.tasks.clone());
    }

    pub(super) fn add_server(&self, server: Server) {
        self.servers.lock().push(server);
    }

    pub(super) fn allow(&self, left: Left) {
        self.allowed.lock().insert(left);
    }

    /// The things that are left, in words.
    async fn check(&self) -> Vec<String> {
        let mut found = self.queues_at_rest().await;
        found.extend(self.close().await);
        let allowed = self.allowed.lock();
        found.retain(|(left, _)| !allowed.contains(left));
        found.into_iter().map(|(_, what)| what).collect()
    }

    /// The contents of the queues when all tasks wait. On several threads that moment is unknown,
    /// so there a job gets real time to end.
    async fn queues_at_rest(&self) -> Vec<(Left, String)> {
        let look = async || {
            self.time.settle().await;
            self.queues().await
        };
        let found = look().await;
        if wait::is_exact() || self.allowed.lock().contains(&Left::Jobs) {
            return found;
        }
        let rest = async {
            loop {
                let found = look().await;
                if found.iter().all(|(left, _)| *left != Left::Jobs) {
                    return found;
                }
            }
        };
        wait::patiently(rest).await.unwrap_or(found)
    }

    async fn queues(&self) -> Vec<(Left, String)> {
        let instances = self.instances.lock().clone();
        let mut found = Vec::new();
        // Instances share their queues: each queue is reported once.
        let mut seen = BTreeSet::new();
        for (_, dispatch) in &instances {
            for queue in dispatch.queues() {
                if !seen.insert(queue.name().to_owned()) {
                    continue;
                }
                let Ok(depth) = queue.depth().await else { continue };
                if depth.due > 0 {
                    let what = format!("{} unfinished jobs in `{}`", depth.due, queue.name());
                    found.push((Left::Jobs, what));
                }
                if depth.dead > 0 {
                    let what = format!("{} dead letters of `{}`", depth.dead, queue.name());
                    found.push((Left::DeadLetters, what));
                }
            }
        }
        found
    }

    /// Closes servers, then tasks, then counts subscriptions. Only the necessary time passes.
    async fn close(&self) -> Vec<(Left, String)> {
        let (mut found, _) = wait::while_time_passes(&self.time, self.close_all()).await;
        for (hub, _) in self.instances.lock().iter() {
            let open = hub.subscriptions();
            if open > 0 {
                found.push((Left::Subscribers, format!("{open} leaked subscriptions")));
            }
        }
        found
    }

    async fn close_all(&self) -> Vec<(Left, String)> {
        let (mut found, servers) = (Vec::new(), std::mem::take(&mut *self.servers.lock()));
        for server in servers {
            if let Err(error) = server.drain().await {
                found.push((Left::Tasks, error.to_string()));
            }
        }
        let tasks = self.tasks.lock().clone();
        // The tasks of the store are first in the list and end last.
        for tasks in tasks.iter().rev() {
            let left = tasks.finish(&self.clock, CLOSING).await.err().unwrap_or_default();
            let left = left.into_iter().map(|name| format!("task `{name}` does not end"));
            let lost = tasks.panicked().into_iter().map(|name| format!("task `{name}` panicked"));
            found.extend(left.chain(lost).map(|what| (Left::Tasks, what)));
        }
        found
    }
}
