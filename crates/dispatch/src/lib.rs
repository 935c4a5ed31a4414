//! Delayed and distributed work on the `Tables` port alone, so that it runs on every backend.
//!
//! Start with [`Dispatch`], which opens the rest: [`Queue`] is a durable delay queue, [`Bus`]
//! delivers facts to subscribers, [`Scheduler`] runs jobs at their times, [`Leases`] gives one
//! instance an exclusive right. Everything is delivered at least once, works with several instances
//! on one store, and uses the server's clock.
//!
//! ```no_run
//! # async fn example(dispatch: dispatch::Dispatch) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use dispatch::{Job, NewMessage, QueueOptions, Schedule};
//!
//! let mails = dispatch.queue("mails", QueueOptions::default())?;
//! mails.work(8, |message| async move {
//!     let address: String = message.read_json()?;
//!     println!("to {address}");
//!     Ok(())
//! });
//! let hour = Duration::from_secs(3600);
//! mails.enqueue(NewMessage::json(&"ada@example.com")?.delay(hour)).await?;
//!
//! let nightly = Job::new("tidy-up", Schedule::cron("0 3 * * *", "Asia/Tokyo")?);
//! dispatch.scheduler().start(nightly, |_run| async { Ok(vec![]) }).await?;
//! # Ok(())
//! # }
//! ```

mod batcher;
mod bus;
mod error;
mod instances;
mod items;
mod lease;
pub mod limits;
mod queue;
mod schedule;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use base::{Clock, Ids, Random, Tasks};
use parking_lot::Mutex;
use table::Tables;
use tokio::sync::watch;

pub use bus::{
    Applied, Bus, Effect, Fact, FactDelivery, FactStep, FactStepKind, NewFact, Subscription,
};
pub use error::{Error, Failed};
pub use lease::{Lease, Leases};
pub use queue::{
    DeadLetter, DeadLetters, Delivery, Depth, Message, MessageId, NewMessage, Prepared, Queue,
    QueueOptions,
};
pub use schedule::{Job, JobState, Misfire, Run, RunRecord, Schedule, Scheduler};

use crate::batcher::WriteBatcher;
use crate::error::check_name;
use crate::instances::Instances;

/// The state that all parts of one instance use.
pub(crate) struct Core {
    tables: Arc<dyn Tables>,
    clock: Clock,
    random: Random,
    ids: Ids,
    tasks: Tasks,
    batcher: WriteBatcher,
    instances: Arc<Instances>,
    /// Whether workers take messages and jobs run on this instance.
    is_running: watch::Sender<bool>,
    /// Open queues. Each is open once, so that its ready list gets every message of this instance.
    queues: Mutex<HashMap<String, Weak<queue::QueueInner>>>,
}

/// One instance of the dispatcher: a process that works on a store. Cheap to clone.
#[derive(Clone)]
pub struct Dispatch {
    core: Arc<Core>,
    bus: Bus,
    scheduler: Scheduler,
}

impl Dispatch {
    /// Opens the dispatcher on a store; creates its table if it is missing. Its tasks end with
    /// `tasks`.
    ///
    /// # Errors
    /// The store failed.
    pub async fn open(
        tables: Arc<dyn Tables>,
        clock: Clock,
        random: Random,
        tasks: &Tasks,
    ) -> Result<Dispatch, Error> {
        tables.ensure_table(items::spec()).await?;
        let ids = Ids::new(clock.clone(), random.fork("dispatch ids"));
        let id = ids.random();
        let instances = Instances::start(id, Arc::clone(&tables), clock.clone(), tasks).await?;
        let core = Core {
            batcher: WriteBatcher::new(Arc::clone(&tables), tasks.clone()),
            tables,
            clock,
            random: random.fork("dispatch pauses"),
            ids,
            tasks: tasks.clone(),
            instances,
            is_running: watch::Sender::new(true),
            queues: Mutex::default(),
        };
        let core = Arc::new(core);
        let bus = Bus::open(&core)?;
        let scheduler = Scheduler::new(Arc::clone(&core));
        Ok(Dispatch { core, bus, scheduler })
    }

    /// Stops all workers and jobs of this instance until the returned value is dropped. A start
    /// uses it: a job would call rooms that are not open yet.
    #[must_use]
    pub fn pause(&self) -> DispatchPause {
        self.core.is_running.send_replace(false);
        DispatchPause { core: Arc::clone(&self.core) }
    }

    /// The queue of that name. Two calls with one name return the same queue.
    ///
    /// # Errors
    /// The name is invalid, or the queue is open with other options.
    pub fn queue(&self, name: &str, options: QueueOptions) -> Result<Queue, Error> {
        check_name(name)?;
        if name.starts_with("bus.") {
            return Err(Error::ReservedName(name.to_owned()));
        }
        self.core.open_queue(name, options)
    }

    /// The open queues of this instance, including those of the bus, in no order.
    pub fn queues(&self) -> Vec<Queue> {
        let queues = self.core.queues.lock();
        queues.values().filter_map(Weak::upgrade).map(Queue::from_inner).collect()
    }

    /// The fact bus.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// The scheduler, which runs jobs at their times.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Hands out leases to this instance.
    pub fn leases(&self) -> Leases {
        self.core.leases()
    }
}

/// Workers and jobs wait until it is dropped.
pub struct DispatchPause {
    core: Arc<Core>,
}

impl Drop for DispatchPause {
    fn drop(&mut self) {
        self.core.is_running.send_replace(true);
    }
}

impl Core {
    /// Waits until workers and jobs may run. False if the shutdown begins first.
    async fn wait_until_running(&self) -> bool {
        let (shutdown, mut running) = (self.tasks.shutdown(), self.is_running.subscribe());
        tokio::select! {
            biased;
            () = shutdown.begun() => false,
            running = running.wait_for(|is_running| *is_running) => running.is_ok(),
        }
    }

    fn leases(&self) -> Leases {
        Leases::new(Arc::clone(&self.tables), self.clock.clone(), self.instances.id)
    }

    /// The queue of that name. The name must be valid.
    fn open_queue(self: &Arc<Self>, name: &str, options: QueueOptions) -> Result<Queue, Error> {
        let mut queues = self.queues.lock();
        if let Some(inner) = queues.get(name).and_then(Weak::upgrade) {
            let queue = Queue::from_inner(inner);
            if *queue.options() != options {
                return Err(Error::QueueDiffers(name.to_owned()));
            }
            return Ok(queue);
        }
        let queue = Queue::new(name, options, Arc::clone(self));
        queues.insert(name.to_owned(), Arc::downgrade(queue.inner()));
        Ok(queue)
    }
}
