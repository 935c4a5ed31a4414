//! The delay queue: what shall happen later, at least once.
//!
//! A message is one row whose key begins with its due time; a lease is written into the row by a
//! condition (`message.rs`). Each instance knows what it has sent and what it has read
//! (`known.rs`, `keeper.rs`), so that a due message is taken within milliseconds and without
//! polling. Writes of all callers share transactions (`gather.rs`). `delivery.rs` is a message
//! in a consumer's hands, `work.rs` the loop that most consumers want, `dead.rs` what was given
//! up.
//!
//! Invariants:
//! - A message is in the table from the acknowledgement of its sending until it is deleted or
//!   buried; trying again moves it in one transaction.
//! - At most one consumer holds a message at a time: a lease is taken on a row that is free and
//!   as it was seen, and the count of receives, which grows with each lease, is its token.
//! - Nothing is handed out before it is due.

mod dead;
mod delivery;
mod keeper;
mod known;
pub(crate) mod message;
mod meters;
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
use self::known::Known;
pub use self::message::{Message, MessageId, NewMessage};
use self::meters::Meters;
use crate::Shared;
use crate::error::Error;
use crate::gather::{Refused, Work};
use crate::items::TABLE;
use crate::limits::{RECEIVE_MAX, SHARDS};

/// How a queue treats its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// How long a message is held by who received it, before it is free again.
    pub visibility: Duration,
    /// How often a message is handed out before it is given up.
    pub max_receives: u32,
    /// The pause before the second try. Each pause is twice the one before.
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
    /// The pause after a message was received so often: doubled each time, and anywhere in the
    /// upper half of that, so that what failed together does not come back together.
    pub fn pause(&self, receives: u32, random: &Random) -> Duration {
        let doublings = receives.saturating_sub(1).min(31);
        let pause = self.retry_first.saturating_mul(1 << doublings).min(self.retry_longest);
        pause / 2 + random.jitter(pause / 2)
    }
}

/// A durable delay queue. Cheap to clone; from [`Dispatch::queue`](crate::Dispatch::queue).
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    name: String,
    options: QueueOptions,
    shared: Arc<Shared>,
    known: Mutex<Known>,
    /// Somebody may have become first in line.
    arrived: Notify,
    /// Asks the keeper to look at the table.
    wanted: Notify,
    keeper_runs: AtomicBool,
    /// The shards that this instance watches, as bits.
    shards: AtomicU8,
    /// How often the keeper should still look for messages of which nobody said that they are
    /// there.
    strays: AtomicU8,
    meters: Meters,
}

impl Queue {
    pub(crate) fn new(name: &str, options: QueueOptions, shared: Arc<Shared>) -> Queue {
        let inner = Inner {
            name: name.to_owned(),
            options,
            shared,
            known: Mutex::default(),
            arrived: Notify::new(),
            wanted: Notify::new(),
            keeper_runs: AtomicBool::new(false),
            shards: AtomicU8::new(u8::MAX),
            strays: AtomicU8::new(0),
            meters: Meters::register(name),
        };
        Queue { inner: Arc::new(inner) }
    }

    pub(crate) fn from_inner(inner: Arc<Inner>) -> Queue {
        Queue { inner }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// How it treats its messages.
    pub fn options(&self) -> &QueueOptions {
        &self.inner.options
    }

    /// Sends a message. It is durable when this returns.
    ///
    /// # Errors
    /// The body is too large, the time too far, or the store refused.
    pub async fn enqueue(&self, message: NewMessage) -> Result<MessageId, Error> {
        let mut sent = self.enqueue_all([message]).await?;
        sent.pop().ok_or(Error::Closing)
    }

    /// Sends messages, each on its own, not all or none. All are durable when this returns.
    ///
    /// # Errors
    /// As for one; some may be sent.
    pub async fn enqueue_all(
        &self,
        messages: impl IntoIterator<Item = NewMessage>,
    ) -> Result<Vec<MessageId>, Error> {
        let inner = &self.inner;
        let messages = messages.into_iter().map(|message| inner.send(message));
        let messages = messages.collect::<Result<Vec<Message>, _>>()?;
        let works = messages.iter().map(|message| {
            let (inner, message) = (Arc::clone(inner), message.clone());
            Work {
                subject: message.id.uuid(),
                count: 1,
                weight: message.weight(),
                render: Box::new(move |writes| writes.push(message.put(&inner.name).into())),
            }
        });
        let outcomes = inner.shared.gather.submit(works);
        let mut sent = Vec::with_capacity(messages.len());
        for (message, outcome) in messages.into_iter().zip(outcomes) {
            outcome.wait().await.map_err(|refused| refused.into_error(inner, &message))?;
            sent.push(message.id);
            inner.meters.sent.increment(1);
            inner.admit(message, Timestamp::EPOCH);
        }
        Ok(sent)
    }

    /// A message that is sent by a transaction of the caller's own. See [`Prepared`].
    ///
    /// # Errors
    /// The body is too large or the time too far.
    pub fn prepare(&self, message: NewMessage) -> Result<Prepared, Error> {
        let message = self.inner.send(message)?;
        Ok(Prepared { queue: self.clone(), message: Some(message) })
    }

    /// Deletes messages that are done, each on its own, not all or none.
    ///
    /// # Errors
    /// As for one, of the last that could not be deleted; the others are.
    pub async fn delete_all(
        &self,
        deliveries: impl IntoIterator<Item = Delivery>,
    ) -> Result<(), Error> {
        let deliveries: Vec<Delivery> = deliveries.into_iter().collect();
        let works = deliveries.iter().map(Delivery::delete_work);
        let outcomes = self.inner.shared.gather.submit(works);
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

    /// Takes back a message that nobody holds; false if it is held or gone.
    ///
    /// # Errors
    /// The store refused.
    pub async fn cancel(&self, id: MessageId) -> Result<bool, Error> {
        let now = self.inner.shared.clock.now();
        let delete = Delete::new(TABLE, id.key(self.name())).when(attr("until").le(now.millis()));
        match self.inner.shared.tables.delete(delete).await {
            Ok(_) => {
                self.inner.known.lock().forget(id);
                Ok(true)
            }
            Err(table::Error::ConditionFailed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What it holds.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn depth(&self) -> Result<Depth, Error> {
        self.inner.count().await
    }

    /// Waits until messages are due and takes up to `max` of them, at most 100, in the order in
    /// which they are due. Dropping the wait loses nothing; what it was about to take is free
    /// again after the visibility timeout at the latest.
    ///
    /// # Errors
    /// The store refused, or the house is closing.
    pub async fn receive(&self, max: usize) -> Result<Vec<Delivery>, Error> {
        let inner = &self.inner;
        let shutdown = inner.shared.tasks.shutdown();
        loop {
            let mut arrived = std::pin::pin!(inner.arrived.notified());
            arrived.as_mut().enable();
            if shutdown.has_begun() {
                return Err(Error::Closing);
            }
            let deliveries = self.try_receive(max).await?;
            if !deliveries.is_empty() {
                return Ok(deliveries);
            }
            let next = inner.known.lock().next_ready();
            let ready = async {
                match next {
                    Some(time) => inner.shared.clock.sleep_until(time).await,
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

    /// Takes up to `max` messages that are due now, at most 100. What other instances sent is
    /// found a little later; [`receive`](Queue::receive) waits for it.
    ///
    /// # Errors
    /// The store refused.
    pub async fn try_receive(&self, max: usize) -> Result<Vec<Delivery>, Error> {
        let inner = &self.inner;
        inner.start_keeper();
        let now = inner.shared.clock.now();
        let taken = {
            let mut known = inner.known.lock();
            let taken = known.take(now, max.min(RECEIVE_MAX));
            if known.wants_more() {
                inner.wanted.notify_one();
            }
            taken
        };
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        Taking { inner, now, left: taken.iter().map(|message| message.id).collect() }
            .lease(taken)
            .await
    }
}

impl Inner {
    fn send(&self, message: NewMessage) -> Result<Message, Error> {
        let uuid = self.shared.ids.ordered();
        message.send(uuid, self.pick_shard(uuid), self.shared.clock.now())
    }

    /// A shard for a message: one that is watched here, so that it need not be found elsewhere.
    fn pick_shard(&self, uuid: Uuid) -> u8 {
        let bits = self.shards.load(Ordering::Acquire);
        let [.., draw] = uuid.as_u128().to_be_bytes();
        let mine = u32::from(draw) % bits.count_ones().max(1);
        let mut watched = (0..SHARDS).filter(|shard| bits & (1 << shard) != 0);
        let nth = usize::try_from(mine).unwrap_or_default();
        watched.nth(nth).unwrap_or(draw % SHARDS)
    }

    /// A message is in the table.
    fn admit(&self, message: Message, until: Timestamp) {
        let now = self.shared.clock.now();
        let mut known = self.known.lock();
        let (is_first, is_overtaken) = (known.admit(message, until), known.is_overtaken(now));
        drop(known);
        if is_first {
            self.arrived.notify_waiters();
        }
        if is_overtaken {
            self.wanted.notify_one();
        }
    }

    fn start_keeper(self: &Arc<Self>) {
        if !self.keeper_runs.swap(true, Ordering::AcqRel) {
            self.shared.instances.consume(&self.name);
            self.shared.tasks.spawn("queue keeper", Arc::clone(self).keep());
        }
    }
}

impl Refused {
    /// What a caller is told of a message.
    fn into_error(self, queue: &Inner, message: &Message) -> Error {
        match self {
            Refused::Condition(_) => Error::Lost(format!("{} of {}", message.id, queue.name)),
            Refused::Other(error) => error,
        }
    }
}

/// A message that is sent by a transaction of the caller's own.
///
/// Put [`write`](Prepared::write) into the transaction and call [`committed`](Prepared::committed)
/// when it has happened: the message is then delivered in time. Whoever does not say so has it
/// delivered too, a second or more later.
#[must_use = "the message is sent by the transaction that holds its write"]
pub struct Prepared {
    queue: Queue,
    message: Option<Message>,
}

impl Prepared {
    /// The write that sends it.
    pub fn write(&self) -> TransactItem {
        let message = self.message.as_ref().expect("it is taken only when this is used up");
        message.put(self.queue.name()).into()
    }

    /// The message's id.
    pub fn id(&self) -> MessageId {
        self.message.as_ref().expect("it is taken only when this is used up").id
    }

    /// The transaction has happened.
    pub fn committed(mut self) {
        if let Some(message) = self.message.take() {
            self.queue.inner.meters.sent.increment(1);
            self.queue.inner.admit(message, Timestamp::EPOCH);
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        /// Once at once, and once when a transaction that is still under way has ended.
        const LOOKS: u8 = 2;
        if self.message.is_some() {
            self.queue.inner.strays.store(LOOKS, Ordering::Release);
            self.queue.inner.wanted.notify_one();
        }
    }
}

/// Messages on their way into the hands of a consumer. What is left when it is dropped is tried
/// again.
struct Taking<'a> {
    inner: &'a Arc<Inner>,
    now: Timestamp,
    left: Vec<MessageId>,
}

impl Taking<'_> {
    async fn lease(mut self, taken: Vec<Message>) -> Result<Vec<Delivery>, Error> {
        let (inner, now) = (self.inner, self.now);
        let until = now.checked_add(inner.options.visibility).unwrap_or(now);
        let used_up = |message: &Message| message.receives >= inner.options.max_receives;
        let (dead, alive): (Vec<_>, Vec<_>) = taken.into_iter().partition(used_up);
        let works = alive.iter().map(|message| {
            let (inner, message) = (Arc::clone(inner), message.clone());
            Work {
                subject: message.id.uuid(),
                count: 1,
                weight: message.weight(),
                render: Box::new(move |writes| {
                    writes.push(message.lease(&inner.name, now, until).into());
                }),
            }
        });
        let outcomes = inner.shared.gather.submit(works);
        let mut deliveries = Vec::with_capacity(alive.len());
        let mut trouble = None;
        for (mut message, outcome) in alive.into_iter().zip(outcomes) {
            match outcome.wait().await {
                Ok(()) => {
                    message.receives += 1;
                    inner.known.lock().leased(message.id, message.receives, until);
                    deliveries.push(Delivery::new(Queue::from_inner(Arc::clone(inner)), message));
                }
                Err(refused) => trouble = self.refused(&message, refused)?.or(trouble),
            }
        }
        for message in dead {
            let delete = message.delete(&inner.name).when(attr("until").le(now.millis()));
            let reason = format!("received {} times", message.receives);
            match inner.bury(&message, delete, &reason).await {
                Ok(()) => inner.known.lock().forget(message.id),
                Err(refused) => trouble = self.refused(&message, refused)?.or(trouble),
            }
        }
        self.left.clear();
        inner.meters.received(&deliveries, inner.shared.clock.now());
        match trouble {
            Some(error) if deliveries.is_empty() => Err(error),
            Some(_) | None => Ok(deliveries),
        }
    }

    /// Somebody else was faster, or the store refused, which is told.
    fn refused(&self, message: &Message, refused: Refused) -> Result<Option<Error>, Error> {
        let mut known = self.inner.known.lock();
        match refused {
            Refused::Condition(Some(item)) => {
                let (seen, until) = Message::read(&item, message.id.shard())?;
                known.leased(message.id, seen.receives, until.max(self.now));
                Ok(None)
            }
            Refused::Condition(None) => {
                known.forget(message.id);
                Ok(None)
            }
            Refused::Other(error) => {
                known.give_back(message.id, self.now);
                Ok(Some(error))
            }
        }
    }
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        if !self.left.is_empty() {
            let mut known = self.inner.known.lock();
            self.left.iter().for_each(|id| known.give_back(*id, self.now));
            drop(known);
            self.inner.arrived.notify_waiters();
        }
    }
}
