//! Writes of concurrent callers share transactions.
//!
//! A caller submits a [`WriteGroup`] and waits. A batch task takes the pending groups, up to one
//! transaction, and commits them; meanwhile further groups queue up. There is no timer: a lone
//! group is written at once.
//!
//! Invariants:
//! - A group is written as a whole and gets its own outcome. A failed condition cancels the
//!   transaction, so the task writes the other groups again without the failed one.
//! - No two groups of one transaction touch the same subject, because the store refuses two writes
//!   to one key.
//! - Groups of one subject are written in the order of submission, if each is awaited.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use base::{Tasks, Uuid};
use parking_lot::{Mutex, MutexGuard};
use table::limits::TRANSACT_MAX;
use table::{CancelReason, Item, Tables, TransactItem, TransactWrite};
use tokio::sync::oneshot;

use crate::error::Error;
use crate::limits::{TRANSACTION_BYTES_MAX, TRANSACTIONS_FEW, TRANSACTIONS_MAX};

/// Writes that are committed together.
pub(crate) struct WriteGroup {
    /// The message that they are about.
    pub(crate) subject: Uuid,
    /// Their number.
    pub(crate) count: usize,
    /// Their approximate size in bytes.
    pub(crate) weight: usize,
    /// Builds the writes. Runs again if another group cancels the transaction.
    pub(crate) render: Render,
}

type Render = Box<dyn Fn(&mut Vec<TransactItem>) + Send + Sync>;

/// Why a group was not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// A condition failed. Holds the item, if the write returns it and it exists.
    Condition(Option<Box<Item>>),
    /// The store failed.
    Peer(Error),
}

/// The pending outcome of a group.
pub(crate) struct WriteOutcome(oneshot::Receiver<Result<(), WriteError>>);

impl WriteOutcome {
    pub(crate) async fn wait(self) -> Result<(), WriteError> {
        // The sender is gone only if the runtime dropped the batch task.
        self.0.await.unwrap_or(Err(WriteError::Peer(Error::Closing)))
    }
}

/// Batches writes. Clones share the queue.
#[derive(Clone)]
pub(crate) struct WriteBatcher {
    inner: Arc<BatcherInner>,
}

struct BatcherInner {
    tables: Arc<dyn Tables>,
    tasks: Tasks,
    state: Mutex<BatcherState>,
}

#[derive(Default)]
struct BatcherState {
    waiting: VecDeque<PendingGroup>,
    tasks_running: usize,
}

struct PendingGroup {
    group: WriteGroup,
    done: oneshot::Sender<Result<(), WriteError>>,
}

impl WriteBatcher {
    pub(crate) fn new(tables: Arc<dyn Tables>, tasks: Tasks) -> WriteBatcher {
        WriteBatcher { inner: Arc::new(BatcherInner { tables, tasks, state: Mutex::default() }) }
    }

    /// Writes one group.
    pub(crate) async fn write(&self, group: WriteGroup) -> Result<(), WriteError> {
        self.submit_one(group).wait().await
    }

    /// Submits one group.
    pub(crate) fn submit_one(&self, group: WriteGroup) -> WriteOutcome {
        let mut state = self.inner.state.lock();
        let outcome = state.add(group);
        self.start(state);
        outcome
    }

    /// Submits groups; the outcomes are in the same order.
    pub(crate) fn submit(&self, groups: impl IntoIterator<Item = WriteGroup>) -> Vec<WriteOutcome> {
        let mut state = self.inner.state.lock();
        let outcomes = groups.into_iter().map(|group| state.add(group)).collect();
        self.start(state);
        outcomes
    }

    /// Starts a batch task if too few run. Spawns after the lock is released.
    fn start(&self, mut state: MutexGuard<'_, BatcherState>) {
        let starts = match state.waiting.len() {
            0 => false,
            1..TRANSACT_MAX => state.tasks_running < TRANSACTIONS_FEW,
            _ => state.tasks_running < TRANSACTIONS_MAX,
        };
        if starts {
            state.tasks_running += 1;
        }
        drop(state);
        if starts {
            self.inner.tasks.spawn("dispatch writes", Arc::clone(&self.inner).run());
        }
    }
}

impl BatcherInner {
    async fn run(self: Arc<Self>) {
        let mut task = BatchTask { inner: &self, under_way: true };
        while let Some(batch) = task.next() {
            self.write(batch).await;
        }
    }

    /// Writes a batch, and again without the groups whose conditions failed, until nothing is left.
    async fn write(&self, mut batch: Vec<PendingGroup>) {
        while !batch.is_empty() {
            let mut writes = Vec::with_capacity(batch.iter().map(|each| each.group.count).sum());
            batch.iter().for_each(|each| (each.group.render)(&mut writes));
            match self.tables.transact_write(TransactWrite::new(writes)).await {
                Ok(()) => {
                    return batch.into_iter().for_each(|each| {
                        let _ = each.done.send(Ok(()));
                    });
                }
                Err(table::Error::TransactionCanceled { reasons }) => {
                    batch = without_refused(batch, reasons);
                }
                Err(error) => {
                    return batch.into_iter().for_each(|each| {
                        let _ = each.done.send(Err(WriteError::Peer(error.clone().into())));
                    });
                }
            }
        }
    }
}

/// Reports failed conditions to their groups, and returns the other groups.
fn without_refused(batch: Vec<PendingGroup>, reasons: Vec<CancelReason>) -> Vec<PendingGroup> {
    let mut reasons = reasons.into_iter();
    let mut rest = Vec::with_capacity(batch.len());
    let before = batch.len();
    for each in batch {
        let refused = reasons.by_ref().take(each.group.count).filter_map(refusal).last();
        match refused {
            Some(refused) => {
                let _ = each.done.send(Err(refused));
            }
            None => rest.push(each),
        }
    }
    if rest.len() == before {
        // No group is to blame, so a retry might never end.
        let error = table::Error::Throttled("a transaction was cancelled for no reason".to_owned());
        rest.drain(..).for_each(|each| {
            let _ = each.done.send(Err(WriteError::Peer(error.clone().into())));
        });
    }
    rest
}

fn refusal(reason: CancelReason) -> Option<WriteError> {
    match reason {
        CancelReason::None => None,
        CancelReason::ConditionFailed { item } => Some(WriteError::Condition(item)),
        CancelReason::Invalid(why) => {
            Some(WriteError::Peer(Error::Table(table::Error::Invalid(why))))
        }
    }
}

impl BatcherState {
    fn add(&mut self, group: WriteGroup) -> WriteOutcome {
        let (done, wait) = oneshot::channel();
        self.waiting.push_back(PendingGroup { group, done });
        WriteOutcome(wait)
    }

    /// Takes the groups that fit into one transaction, in order. Stops at a group whose subject is
    /// already in the batch.
    fn take(&mut self) -> Vec<PendingGroup> {
        let room = self.waiting.len().min(TRANSACT_MAX);
        let mut batch = Vec::with_capacity(room);
        let mut subjects = HashSet::with_capacity(room);
        let (mut count, mut weight) = (0, 0);
        while let Some(first) = self.waiting.front() {
            count += first.group.count;
            weight += first.group.weight;
            let fits = count <= TRANSACT_MAX && weight <= TRANSACTION_BYTES_MAX;
            if !(batch.is_empty() || fits) || !subjects.insert(first.group.subject) {
                break;
            }
            batch.extend(self.waiting.pop_front());
        }
        batch
    }
}

/// One running batch task. Dropping it lowers the count, also when the runtime drops the task.
struct BatchTask<'a> {
    inner: &'a BatcherInner,
    under_way: bool,
}

impl BatchTask<'_> {
    /// The next batch. The check for an empty queue and the end of the task happen under one lock,
    /// so a later submission sees that it has to start a task.
    fn next(&mut self) -> Option<Vec<PendingGroup>> {
        let mut state = self.inner.state.lock();
        let batch = state.take();
        if batch.is_empty() {
            state.tasks_running -= 1;
            self.under_way = false;
            return None;
        }
        Some(batch)
    }
}

impl Drop for BatchTask<'_> {
    fn drop(&mut self) {
        if self.under_way {
            self.inner.state.lock().tasks_running -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::{Clock, Tasks, Timestamp, Uuid};
    use table::{Embedded, Item, Put, Tables, attr};

    use super::{WriteBatcher, WriteError, WriteGroup};
    use crate::items::{TABLE, key, spec};

    async fn batcher() -> (WriteBatcher, Arc<dyn Tables>) {
        let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
        let tasks = Tasks::new();
        let store: Arc<dyn Tables> = Arc::new(Embedded::in_memory(clock, &tasks).await.unwrap());
        store.ensure_table(spec()).await.unwrap();
        (WriteBatcher::new(Arc::clone(&store), tasks), store)
    }

    fn group(subject: u128, put: Put) -> WriteGroup {
        WriteGroup {
            subject: Uuid::from_u128(subject),
            count: 1,
            weight: 100,
            render: Box::new(move |writes| writes.push(put.clone().into())),
        }
    }

    fn row(sk: &str) -> Put {
        Put::new(TABLE, key("T", sk))
    }

    async fn rows(store: &Arc<dyn Tables>) -> Vec<Item> {
        store.query(table::Query::new(TABLE, "pk", "T")).await.unwrap().items
    }

    #[tokio::test]
    async fn a_refused_group_does_not_stop_its_neighbours() {
        let (batcher, store) = batcher().await;
        let mut groups: Vec<WriteGroup> =
            (0..150).map(|number| group(number, row(&format!("{number:03}")))).collect();
        groups.insert(70, group(1_000, row("none").when(attr("pk").exists()).telling()));
        groups.insert(20, group(1_001, Put::new(TABLE, Item::new().with("pk", "T"))));
        let mut refused = Vec::new();
        for (at, outcome) in batcher.submit(groups).into_iter().enumerate() {
            if let Err(why) = outcome.wait().await {
                refused.push((at, why));
            }
        }
        let [(20, WriteError::Peer(_)), (71, WriteError::Condition(None))] = &refused[..] else {
            panic!("{refused:?}")
        };
        assert_eq!(rows(&store).await.len(), 150);
    }

    #[tokio::test]
    async fn groups_of_one_subject_are_written_one_after_the_other() {
        let (batcher, store) = batcher().await;
        let step = |number: u64| {
            let item = key("T", "one").with("step", number);
            let put = Put::new(TABLE, item);
            match number {
                0 => put.when(attr("pk").not_exists()),
                _ => put.when(attr("step").eq(number - 1)),
            }
        };
        for number in 0..20 {
            let groups = [group(7, step(number)), group(8, row("other"))];
            for outcome in batcher.submit(groups) {
                outcome.wait().await.unwrap();
            }
        }
        // In one transaction the store would refuse them.
        let both = batcher.submit([group(7, step(20)), group(7, row("two"))]);
        for outcome in both {
            outcome.wait().await.unwrap();
        }
        assert_eq!(rows(&store).await.len(), 3);
    }
}
