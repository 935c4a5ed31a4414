//! What happens later or elsewhere, on the `Tables` port alone, so that it works on every
//! backend.
//!
//! Start with [`Dispatch`], which opens the rest: [`Queue`] is a durable delay queue, [`Bus`]
//! tells facts to whoever subscribed, [`Scheduler`] runs jobs at their times, [`Leases`] says who
//! may. All is at least once, safe over several instances on one store, and runs on the house's
//! clock.
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

mod bus;
mod error;
mod gather;
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

use crate::error::check_name;
use crate::gather::Gather;
use crate::instances::Instances;

/// What the parts of one instance have in common.
pub(crate) struct Shared {
    tables: Arc<dyn Tables>,
    clock: Clock,
    random: Random,
    ids: Ids,
    tasks: Tasks,
    gather: Gather,
    instances: Arc<Instances>,
    /// Whether messages are handled and jobs run here.
    has_begun: watch::Sender<bool>,
    /// Queues that are open: each once, so that what is sent here is known here.
    queues: Mutex<HashMap<String, Weak<queue::Inner>>>,
}

/// One instance of the dispatcher: a process that works on a store. Cheap to clone.
#[derive(Clone)]
pub struct Dispatch {
    shared: Arc<Shared>,
    bus: Bus,
    scheduler: Scheduler,
}

impl Dispatch {
    /// Opens the dispatcher on a store; makes its table if it is missing. Its tasks end with
    /// `tasks`.
    ///
    /// # Errors
    /// The store refused.
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
        let shared = Shared {
            gather: Gather::new(Arc::clone(&tables), tasks.clone()),
            tables,
            clock,
            random: random.fork("dispatch pauses"),
            ids,
            tasks: tasks.clone(),
            instances,
            has_begun: watch::Sender::new(true),
            queues: Mutex::default(),
        };
        let shared = Arc::new(shared);
        let bus = Bus::open(&shared)?;
        let scheduler = Scheduler::new(Arc::clone(&shared));
        Ok(Dispatch { shared, bus, scheduler })
    }

    /// From now on no worker takes a message and no job runs here, until the answer is dropped. A
    /// house that is starting holds them: they would call rooms that are not open yet.
    #[must_use]
    pub fn hold(&self) -> Held {
        self.shared.has_begun.send_replace(false);
        Held { shared: Arc::clone(&self.shared) }
    }

    /// The queue of that name. All of one name are one queue.
    ///
    /// # Errors
    /// It is not a name, or the queue is open with other options.
    pub fn queue(&self, name: &str, options: QueueOptions) -> Result<Queue, Error> {
        check_name(name)?;
        if name.starts_with("bus.") {
            return Err(Error::ReservedName(name.to_owned()));
        }
        self.shared.open_queue(name, options)
    }

    /// The queues that are open in this instance, the bus's own among them, in no order.
    pub fn queues(&self) -> Vec<Queue> {
        let queues = self.shared.queues.lock();
        queues.values().filter_map(Weak::upgrade).map(Queue::from_inner).collect()
    }

    /// The fact bus.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Runs jobs at their times.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Hands out leases in the name of this instance.
    pub fn leases(&self) -> Leases {
        self.shared.leases()
    }
}

/// Keeps workers and jobs waiting until it is dropped.
pub struct Held {
    shared: Arc<Shared>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.has_begun.send_replace(true);
    }
}

impl Shared {
    /// Waits until messages are handled and jobs run here; false if the house closes before.
    async fn begun(&self) -> bool {
        let (shutdown, mut begun) = (self.tasks.shutdown(), self.has_begun.subscribe());
        tokio::select! {
            biased;
            () = shutdown.begun() => false,
            begun = begun.wait_for(|begun| *begun) => begun.is_ok(),
        }
    }

    fn leases(&self) -> Leases {
        Leases::new(Arc::clone(&self.tables), self.clock.clone(), self.instances.id)
    }

    /// The queue of that name, which is fit for a key.
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
