//! The delay queue: it delivers messages at their due time, at least once.
//!
//! A message is one row whose key begins with its due time. A conditional write puts the lease into
//! the row (`message.rs`). Each instance keeps a list of the messages that it has sent or read
//! (`ready_list.rs`, `keeper.rs`), so it delivers a due message within milliseconds and without
//! polling. Writes of all callers share transactions (`batcher.rs`). `delivery.rs` is a received
//! message, `work.rs` the loop for most consumers, `dead.rs` holds the dead letters.
//!
//! Invariants:
//! - A message is in the table from the acknowledgement of its sending until it is deleted or
//!   becomes a dead letter; a retry moves it in one transaction.
//! - At most one consumer holds a message at a time. A lease needs a free row that is unchanged
//!   since it was read; the count of receives grows with each lease and serves as its token.
//! - No message is delivered before it is due.

mod dead;
mod delivery;
mod keeper;
pub(crate) mod message;
mod meters;
mod ready_list;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use base::{Random, Timestamp, Uuid};
use parking_lot::Mutex;
use table::{Delete, TransactItem, attr};
use tokio::sync::Notify;

pub use self::dead::{DeadLetter, DeadLetters};
pub use self::delivery::Delivery;
pub use self::keeper::Depth;
pub use self::message::{Message, MessageId, NewMessage};
use self::meters::Meters;
use self::ready_list::ReadyList;
use crate::Core;
use crate::batcher::{WriteError, WriteGroup};
use crate::error::Error;
use crate::items::TABLE;
use crate::limits::{RECEIVE_MAX, SHARDS};

/// How a queue treats its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// How long a consumer holds a received message, before the message is free again.
    pub visibility: Duration,
    /// Deliveries of one message before it becomes a dead letter.
    pub max_receives: u32,
    /// The pause before the first retry. Each pause is twice the one before.
    pub retry_first: Duration,
    /// The longest pause.
    pub retry_longest: Duration,
}

impl Default for QueueOptions {
    fn default() -> QueueOptions {
        QueueOptions {
            visibility: Duration::from_secs(30),
            max_receives: 10,
            retry_first: Duration::from_secs(1),
            retry_longest: Duration::from_secs(300),
        }
    }
}

impl QueueOptions {
    /// The pause after the given number of receives: doubled each time, with a random value from
    /// its upper half, so that messages that failed together do not return together.
    pub fn pause(&self, receives: u32, random: &Random) -> Duration {
        let doublings = receives.saturating_sub(1).min(31);
        let pause = self.retry_first.saturating_mul(1 << doublings).min(self.retry_longest);
        pause / 2 + random.jitter(pause / 2)
    }
}

/// A durable delay queue. Cheap to clone; from [`Dispatch::queue`](crate::Dispatch::queue).
#[derive(Clone)]
pub struct Queue {
    inner: Arc<QueueInner>,
}

pub(crate) struct QueueInner {
    name: String,
    options: QueueOptions,
    core: Arc<Core>,
    ready_list: Mutex<ReadyList>,
    /// Wakes receivers: the first message of the list may have changed.
    arrived: Notify,
    /// Wakes the keeper to read the table.
    wanted: Notify,
    keeper_runs: AtomicBool,
    /// The shards that this instance reads, as bits.
    shards: AtomicU8,
    /// How many more times the keeper looks for messages whose senders did not confirm the commit.
    stray_looks: AtomicU8,
    meters: Meters,
}

impl Queue {
    pub(crate) fn new(name: &str, options: QueueOptions, core: Arc<Core>) -> Queue {
        let inner = QueueInner {
            name: name.to_owned(),
            options,
            core,
            ready_list: Mutex::default(),
            arrived: Notify::new(),
            wanted: Notify::new(),
            keeper_runs: AtomicBool::new(false),
            shards: AtomicU8::new(u8::MAX),
            stray_looks: AtomicU8::new(0),
            meters: Meters::register(name),
        };
        Queue { inner: Arc::new(inner) }
    }

    pub(crate) fn from_inner(inner: Arc<QueueInner>) -> Queue {
        Queue { inner }
    }

    pub(crate) fn inner(&self) -> &Arc<QueueInner> {
        &self.inner
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The options.
    pub fn options(&self) -> &QueueOptions {
        &self.inner.options
    }

    /// Sends a message. The message is durable when this returns.
    ///
    /// # Errors
    /// The body is too large, the time too far in the future, or the store failed.
    pub async fn enqueue(&self, message: NewMessage) -> Result<MessageId, Error> {
        let mut sent = self.enqueue_all([message]).await?;
        sent.pop().ok_or(Error::Closing)
    }

    /// Sends messages, each by its own write. All are durable when this returns.
    ///
    /// # Errors
    /// As for one message; some messages may have been sent.
    pub async fn enqueue_all(
        &self,
        messages: impl IntoIterator<Item = NewMessage>,
    ) -> Result<Vec<MessageId>, Error> {
        let inner = &self.inner;
        let messages = messages.into_iter().map(|message| inner.send(message));
        let messages = messages.collect::<Result<Vec<Message>, _>>()?;
        let groups = messages.iter().map(|message| {
            let (inner, message) = (Arc::clone(inner), message.clone());
            WriteGroup {
                subject: message.id.uuid(),
                count: 1,
                weight: message.weight(),
                render: Box::new(move |writes| writes.push(message.put(&inner.name).into())),
            }
        });
        let outcomes = inner.core.batcher.submit(groups);
        let mut sent = Vec::with_capacity(messages.len());
        for (message, outcome) in messages.into_iter().zip(outcomes) {
            outcome.wait().await.map_err(|refused| refused.into_error(inner, &message))?;
            sent.push(message.id);
            inner.meters.sent.increment(1);
            inner.admit(message, Timestamp::EPOCH);
        }
        Ok(sent)
    }

    /// Prepares a message that a transaction of the caller sends. See [`Prepared`].
    ///
    /// # Errors
    /// The body is too large or the time too far in the future.
    pub fn prepare(&self, message: NewMessage) -> Result<Prepared, Error> {
        let message = self.inner.send(message)?;
        Ok(Prepared { queue: self.clone(), message: Some(message) })
    }

    /// Deletes handled messages, each by its own write.
    ///
    /// # Errors
    /// The last error. All other messages are deleted.
    pub async fn delete_all(
        &self,
        deliveries: impl IntoIterator<Item = Delivery>,
    ) -> Result<(), Error> {
        let deliveries: Vec<Delivery> = deliveries.into_iter().collect();
        let groups = deliveries.iter().map(Delivery::delete_group);
        let outcomes = self.inner.core.batcher.submit(groups);
        let mut trouble = Ok(());
        for (delivery, outcome) in deliveries.into_iter().zip(outcomes) {
            match outcome.wait().await {
                Ok(()) => delivery.deleted(),
                Err(refused) => {
                    trouble = Err(refused.into_error(&self.inner, delivery.message()));
                }
            }
        }
        trouble
    }

    /// Cancels a message that no consumer holds; false if a consumer holds it or it is gone.
    ///
    /// # Errors
    /// The store failed.
    pub async fn cancel(&self, id: MessageId) -> Result<bool, Error> {
        let now = self.inner.core.clock.now();
        let delete = Delete::new(TABLE, id.key(self.name())).when(attr("until").le(now.millis()));
        match self.inner.core.tables.delete(delete).await {
            Ok(_) => {
                self.inner.ready_list.lock().forget(id);
                Ok(true)
            }
            Err(table::Error::ConditionFailed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The number of messages and dead letters.
    ///
    /// # Errors
    /// The store failed.
    pub async fn depth(&self) -> Result<Depth, Error> {
        self.inner.count().await
    }

    /// Waits for due messages and takes up to `max` of them, at most 100, in the order of their due
    /// times. Dropping the future loses nothing: a message that it was taking is free again after
    /// the visibility timeout at the latest.
    ///
    /// # Errors
    /// The store failed, or the server is shutting down.
    pub async fn receive(&self, max: usize) -> Result<Vec<Delivery>, Error> {
        let inner = &self.inner;
        let shutdown = inner.core.tasks.shutdown();
        loop {
            // Registers before the look at the list, so that an arrival in between wakes this loop.
            let mut arrived = std::pin::pin!(inner.arrived.notified());
            arrived.as_mut().enable();
            if shutdown.has_begun() {
                return Err(Error::Closing);
            }
            let deliveries = self.try_receive(max).await?;
            if !deliveries.is_empty() {
                return Ok(deliveries);
            }
            let next = inner.ready_list.lock().next_ready();
            let ready = async {
                match next {
                    Some(time) => inner.core.clock.sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = arrived => {}
                () = ready => {}
                () = shutdown.begun() => {}
            }
        }
    }

    /// Takes up to `max` messages that are due now, at most 100. Messages from other instances
    /// appear a little later; [`receive`](Queue::receive) waits for them.
    ///
    /// # Errors
    /// The store failed.
    pub async fn try_receive(&self, max: usize) -> Result<Vec<Delivery>, Error> {
        let inner = &self.inner;
        inner.start_keeper();
        let now = inner.core.clock.now();
        let taken = {
            let mut ready_list = inner.ready_list.lock();
            let taken = ready_list.take(now, max.min(RECEIVE_MAX));
            if ready_list.wants_more() {
                inner.wanted.notify_one();
            }
            taken
        };
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        LeaseAttempt { inner, now, left: taken.iter().map(|message| message.id).collect() }
            .lease(taken)
            .await
    }
}

impl QueueInner {
    fn send(&self, message: NewMessage) -> Result<Message, Error> {
        let uuid = self.core.ids.ordered();
        message.send(uuid, self.pick_shard(uuid), self.core.clock.now())
    }

    /// A shard that this instance reads, so that no other instance has to find the message.
    fn pick_shard(&self, uuid: Uuid) -> u8 {
        let bits = self.shards.load(Ordering::Acquire);
        let [.., draw] = uuid.as_u128().to_be_bytes();
        let mine = u32::from(draw) % bits.count_ones().max(1);
        let mut watched = (0..SHARDS).filter(|shard| bits & (1 << shard) != 0);
        let nth = usize::try_from(mine).unwrap_or_default();
        watched.nth(nth).unwrap_or(draw % SHARDS)
    }

    /// Adds a message of the table to the ready list. The lock is released before anybody is woken.
    fn admit(&self, message: Message, until: Timestamp) {
        let now = self.core.clock.now();
        let mut ready_list = self.ready_list.lock();
        let (is_first, is_overtaken) =
            (ready_list.admit(message, until), ready_list.is_overtaken(now));
        drop(ready_list);
        if is_first {
            self.arrived.notify_waiters();
        }
        if is_overtaken {
            self.wanted.notify_one();
        }
    }

    fn start_keeper(self: &Arc<Self>) {
        if !self.keeper_runs.swap(true, Ordering::AcqRel) {
            self.core.instances.consume(&self.name);
            self.core.tasks.spawn("queue keeper", Arc::clone(self).keep());
        }
    }
}

impl WriteError {
    /// The error for the caller.
    fn into_error(self, queue: &QueueInner, message: &Message) -> Error {
        match self {
            WriteError::Condition(_) => Error::Lost(format!("{} of {}", message.id, queue.name)),
            WriteError::Peer(error) => error,
        }
    }
}

/// A message that a transaction of the caller sends.
///
/// Put [`write`](Prepared::write) into the transaction and call [`committed`](Prepared::committed)
/// after the commit: the message is then delivered on time. Without that call it is delivered too,
/// a second or more later.
#[must_use = "the message is sent by the transaction that holds its write"]
pub struct Prepared {
    queue: Queue,
    message: Option<Message>,
}

impl Prepared {
    /// The write that sends the message.
    pub fn write(&self) -> TransactItem {
        let message =
            self.message.as_ref().expect("only `committed` takes it, which consumes `self`");
        message.put(self.queue.name()).into()
    }

    /// The id of the message.
    pub fn id(&self) -> MessageId {
        self.message.as_ref().expect("only `committed` takes it, which consumes `self`").id
    }

    /// Confirms that the transaction was committed.
    pub fn committed(mut self) {
        if let Some(message) = self.message.take() {
            self.queue.inner.meters.sent.increment(1);
            self.queue.inner.admit(message, Timestamp::EPOCH);
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        /// One look at once, and one after a transaction that is still running.
        const LOOKS: u8 = 2;
        if self.message.is_some() {
            self.queue.inner.stray_looks.store(LOOKS, Ordering::Release);
            self.queue.inner.wanted.notify_one();
        }
    }
}

/// Messages that are being leased. A drop puts the remaining ones back into the ready list.
struct LeaseAttempt<'a> {
    inner: &'a Arc<QueueInner>,
    now: Timestamp,
    left: Vec<MessageId>,
}

impl LeaseAttempt<'_> {
    async fn lease(mut self, taken: Vec<Message>) -> Result<Vec<Delivery>, Error> {
        let (inner, now) = (self.inner, self.now);
        let until = now.checked_add(inner.options.visibility).unwrap_or(now);
        let used_up = |message: &Message| message.receives >= inner.options.max_receives;
        let (dead, alive): (Vec<_>, Vec<_>) = taken.into_iter().partition(used_up);
        let groups = alive.iter().map(|message| {
            let (inner, message) = (Arc::clone(inner), message.clone());
            WriteGroup {
                subject: message.id.uuid(),
                count: 1,
                weight: message.weight(),
                render: Box::new(move |writes| {
                    writes.push(message.lease(&inner.name, now, until).into());
                }),
            }
        });
        let outcomes = inner.core.batcher.submit(groups);
        let mut deliveries = Vec::with_capacity(alive.len());
        let mut trouble = None;
        for (mut message, outcome) in alive.into_iter().zip(outcomes) {
            match outcome.wait().await {
                Ok(()) => {
                    message.receives += 1;
                    inner.ready_list.lock().leased(message.id, message.receives, until);
                    deliveries.push(Delivery::new(Queue::from_inner(Arc::clone(inner)), message));
                }
                Err(refused) => trouble = self.refused(&message, refused)?.or(trouble),
            }
        }
        for message in dead {
            let delete = message.delete(&inner.name).when(attr("until").le(now.millis()));
            let reason = format!("received {} times", message.receives);
            match inner.bury(&message, delete, &reason).await {
                Ok(()) => inner.ready_list.lock().forget(message.id),
                Err(refused) => trouble = self.refused(&message, refused)?.or(trouble),
            }
        }
        self.left.clear();
        inner.meters.received(&deliveries, inner.core.clock.now());
        match trouble {
            Some(error) if deliveries.is_empty() => Err(error),
            Some(_) | None => Ok(deliveries),
        }
    }

    /// Another consumer was faster, or the store failed; only the latter is an error.
    fn refused(&self, message: &Message, refused: WriteError) -> Result<Option<Error>, Error> {
        let mut ready_list = self.inner.ready_list.lock();
        match refused {
            WriteError::Condition(Some(item)) => {
                let (seen, until) = Message::read(&item, message.id.shard())?;
                ready_list.leased(message.id, seen.receives, until.max(self.now));
                Ok(None)
            }
            WriteError::Condition(None) => {
                ready_list.forget(message.id);
                Ok(None)
            }
            WriteError::Peer(error) => {
                ready_list.give_back(message.id, self.now);
                Ok(Some(error))
            }
        }
    }
}

impl Drop for LeaseAttempt<'_> {
    fn drop(&mut self) {
        if !self.left.is_empty() {
            let mut ready_list = self.inner.ready_list.lock();
            self.left.iter().for_each(|id| ready_list.give_back(*id, self.now));
            drop(ready_list);
            self.inner.arrived.notify_waiters();
        }
    }
}
