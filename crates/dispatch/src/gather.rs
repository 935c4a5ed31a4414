//! Durable writes that wait at the same time share transactions.
//!
//! Who writes hands over a [`Work`] and waits. A flight takes what waits, up to one transaction,
//! and writes it; meanwhile the next gathers. There is no timer: a lone write leaves at once.
//!
//! Invariants:
//! - A work is written as a whole, and told its own outcome: a condition that fails cancels the
//!   transaction, so the others of the flight are written again without it.
//! - No two works of one flight touch the same subject, since a transaction refuses that.
//! - Works of one subject are written in the order in which they came, if each is awaited.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use base::{Tasks, Uuid};
use parking_lot::{Mutex, MutexGuard};
use table::limits::TRANSACT_MAX;
use table::{CancelReason, Item, Tables, TransactItem, TransactWrite};
use tokio::sync::oneshot;

use crate::error::Error;
use crate::limits::{FLIGHT_BYTES_MAX, FLIGHTS_FEW, FLIGHTS_MAX};

/// Writes that belong together.
pub(crate) struct Work {
    /// What they are about: a message.
    pub(crate) subject: Uuid,
    /// How many they are.
    pub(crate) count: usize,
    /// About what they weigh.
    pub(crate) weight: usize,
    /// Makes them; more than once if the flight is cancelled by another work.
    pub(crate) render: Render,
}

type Render = Box<dyn Fn(&mut Vec<TransactItem>) + Send + Sync>;

/// Why a work was not written.
#[derive(Debug)]
pub(crate) enum Refused {
    /// A condition did not hold; the item, if the write tells it and it is there.
    Condition(Option<Box<Item>>),
    /// The store refused.
    Other(Error),
}

/// The outcome of a work, later.
pub(crate) struct Outcome(oneshot::Receiver<Result<(), Refused>>);

impl Outcome {
    pub(crate) async fn wait(self) -> Result<(), Refused> {
        // A flight that is gone was dropped with its runtime.
        self.0.await.unwrap_or(Err(Refused::Other(Error::Closing)))
    }
}

/// Gathers works. Clones share them.
#[derive(Clone)]
pub(crate) struct Gather {
    shared: Arc<Shared>,
}

struct Shared {
    tables: Arc<dyn Tables>,
    tasks: Tasks,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    flights: usize,
}

struct Waiting {
    work: Work,
    done: oneshot::Sender<Result<(), Refused>>,
}

impl Gather {
    pub(crate) fn new(tables: Arc<dyn Tables>, tasks: Tasks) -> Gather {
        Gather { shared: Arc::new(Shared { tables, tasks, state: Mutex::default() }) }
    }

    /// Writes one work.
    pub(crate) async fn write(&self, work: Work) -> Result<(), Refused> {
        self.submit_one(work).wait().await
    }

    /// Hands over one work.
    pub(crate) fn submit_one(&self, work: Work) -> Outcome {
        let mut state = self.shared.state.lock();
        let outcome = state.add(work);
        self.start(state);
        outcome
    }

    /// Hands over works; their outcomes come in the same order.
    pub(crate) fn submit(&self, works: impl IntoIterator<Item = Work>) -> Vec<Outcome> {
        let mut state = self.shared.state.lock();
        let outcomes = works.into_iter().map(|work| state.add(work)).collect();
        self.start(state);
        outcomes
    }

    /// Starts a flight if there is one too few.
    fn start(&self, mut state: MutexGuard<'_, State>) {
        let starts = match state.waiting.len() {
            0 => false,
            1..TRANSACT_MAX => state.flights < FLIGHTS_FEW,
            _ => state.flights < FLIGHTS_MAX,
        };
        if starts {
            state.flights += 1;
        }
        drop(state);
        if starts {
            self.shared.tasks.spawn("dispatch writes", Arc::clone(&self.shared).fly());
        }
    }
}

impl Shared {
    async fn fly(self: Arc<Self>) {
        let mut flight = Flight { shared: &self, under_way: true };
        while let Some(batch) = flight.next() {
            self.write(batch).await;
        }
    }

    async fn write(&self, mut batch: Vec<Waiting>) {
        while !batch.is_empty() {
            let mut writes = Vec::with_capacity(batch.iter().map(|each| each.work.count).sum());
            batch.iter().for_each(|each| (each.work.render)(&mut writes));
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
                        let _ = each.done.send(Err(Refused::Other(error.clone().into())));
                    });
                }
            }
        }
    }
}

/// Tells those whose writes stood in the way, and answers the others.
fn without_refused(batch: Vec<Waiting>, reasons: Vec<CancelReason>) -> Vec<Waiting> {
    let mut reasons = reasons.into_iter();
    let mut rest = Vec::with_capacity(batch.len());
    let before = batch.len();
    for each in batch {
        let refused = reasons.by_ref().take(each.work.count).filter_map(refusal).last();
        match refused {
            Some(refused) => {
                let _ = each.done.send(Err(refused));
            }
            None => rest.push(each),
        }
    }
    if rest.len() == before {
        // A cancellation that blames nobody would be tried for ever.
        let error = table::Error::Throttled("a transaction was cancelled for no reason".to_owned());
        rest.drain(..).for_each(|each| {
            let _ = each.done.send(Err(Refused::Other(error.clone().into())));
        });
    }
    rest
}

fn refusal(reason: CancelReason) -> Option<Refused> {
    match reason {
        CancelReason::None => None,
        CancelReason::ConditionFailed { item } => Some(Refused::Condition(item)),
        CancelReason::Invalid(why) => {
            Some(Refused::Other(Error::Table(table::Error::Invalid(why))))
        }
    }
}

impl State {
    fn add(&mut self, work: Work) -> Outcome {
        let (done, wait) = oneshot::channel();
        self.waiting.push_back(Waiting { work, done });
        Outcome(wait)
    }

    /// What fits into one transaction, in order; a subject that comes twice waits.
    fn take(&mut self) -> Vec<Waiting> {
        let room = self.waiting.len().min(TRANSACT_MAX);
        let mut batch = Vec::with_capacity(room);
        let mut subjects = HashSet::with_capacity(room);
        let (mut count, mut weight) = (0, 0);
        while let Some(first) = self.waiting.front() {
            count += first.work.count;
            weight += first.work.weight;
            let fits = count <= TRANSACT_MAX && weight <= FLIGHT_BYTES_MAX;
            if !(batch.is_empty() || fits) || !subjects.insert(first.work.subject) {
                break;
            }
            batch.extend(self.waiting.pop_front());
        }
        batch
    }
}

/// Counts itself out, also when its runtime drops it.
struct Flight<'a> {
    shared: &'a Shared,
    under_way: bool,
}

impl Flight<'_> {
    /// What it takes along next. The look at an empty queue and the landing are one step: whoever
    /// hands over something later sees that a flight is missing.
    fn next(&mut self) -> Option<Vec<Waiting>> {
        let mut state = self.shared.state.lock();
        let batch = state.take();
        if batch.is_empty() {
            state.flights -= 1;
            self.under_way = false;
            return None;
        }
        Some(batch)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.under_way {
            self.shared.state.lock().flights -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::{Clock, Tasks, Timestamp, Uuid};
    use table::{Embedded, Item, Put, Tables, attr};

    use super::{Gather, Refused, Work};
    use crate::items::{TABLE, key, spec};

    async fn gather() -> (Gather, Arc<dyn Tables>) {
        let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
        let tasks = Tasks::new();
        let store: Arc<dyn Tables> = Arc::new(Embedded::in_memory(clock, &tasks).await.unwrap());
        store.ensure_table(spec()).await.unwrap();
        (Gather::new(Arc::clone(&store), tasks), store)
    }

    fn work(subject: u128, put: Put) -> Work {
        Work {
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
    async fn a_work_that_is_refused_does_not_stop_its_neighbours() {
        let (gather, store) = gather().await;
        let mut works: Vec<Work> =
            (0..150).map(|number| work(number, row(&format!("{number:03}")))).collect();
        works.insert(70, work(1_000, row("none").when(attr("pk").exists()).telling()));
        works.insert(20, work(1_001, Put::new(TABLE, Item::new().with("pk", "T"))));
        let mut refused = Vec::new();
        for (at, outcome) in gather.submit(works).into_iter().enumerate() {
            if let Err(why) = outcome.wait().await {
                refused.push((at, why));
            }
        }
        let [(20, Refused::Other(_)), (71, Refused::Condition(None))] = &refused[..] else {
            panic!("{refused:?}")
        };
        assert_eq!(rows(&store).await.len(), 150);
    }

    #[tokio::test]
    async fn works_of_one_subject_go_one_after_the_other() {
        let (gather, store) = gather().await;
        let step = |number: u64| {
            let item = key("T", "one").with("step", number);
            let put = Put::new(TABLE, item);
            match number {
                0 => put.when(attr("pk").not_exists()),
                _ => put.when(attr("step").eq(number - 1)),
            }
        };
        for number in 0..20 {
            let works = [work(7, step(number)), work(8, row("other"))];
            for outcome in gather.submit(works) {
                outcome.wait().await.unwrap();
            }
        }
        // Both at once: one transaction would refuse them.
        let both = gather.submit([work(7, step(20)), work(7, row("two"))]);
        for outcome in both {
            outcome.wait().await.unwrap();
        }
        assert_eq!(rows(&store).await.len(), 3);
    }
}
