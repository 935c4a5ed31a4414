//! Group commit: one queue that writers submit to, one thread that makes it durable.
//!
//! A writer, holding the stripes of what it read, submits a change. Under the queue's lock the
//! change gets its sequence number, its versions enter the active memtable, and its record joins
//! the open batch. The committer takes the batch, writes and syncs one frame, moves the visible
//! sequence number and wakes the batch's writers. While it syncs, the next batch gathers.
//!
//! Invariants:
//! - Sequence numbers, memtable versions and log records have one order.
//! - `visible` moves only behind a completed sync; what it passes is never taken back.
//! - A sync or write that fails stops the writer for good: what the disk holds is then unknown. A
//!   full disk is known before anything is written: everything that waits is taken back and told
//!   so, and the next write tries again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use base::Clock;
use bytes::Bytes;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::Notify;

use super::keys::KeyRange;
use super::log::{FRAME_HEAD_BYTES, Op, Record, Writer};
use super::memtable::{Counts, Memtable, Version};
use super::meters::Meters;
use super::state::{Rows, State};
use crate::error::Error;

/// A batch that has grown past this is closed and a new one opened, so that one frame's memory
/// and one sync's duration stay bounded. A single transaction may still be larger.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Memtables that may wait for the settler before writers have to.
const FROZEN_MAX: usize = 3;

/// A decided change, ready to take effect.
#[derive(Default)]
pub(crate) struct Change {
    /// What the log will tell; empty when only ephemeral tables change.
    pub(crate) ops: Vec<Op>,
    /// Rows, index rows and expiry rows: key, value, and whether nothing was there before.
    pub(crate) versions: Vec<(Bytes, Option<Bytes>, bool)>,
    /// What tables gain or lose.
    pub(crate) counts: Vec<(u32, Counts)>,
    /// Ranges that nobody reads or writes any more.
    pub(crate) drops: Vec<KeyRange>,
}

/// The queue, and what it needs to know of the house.
pub(crate) struct Commits {
    rows: Arc<Rows>,
    clock: Clock,
    meters: Meters,
    memtable_bytes: usize,
    queue: Mutex<Queue>,
    work: Condvar,
    /// Signalled when `visible` moves and when memtables freeze or settle.
    progress: (Mutex<()>, Condvar),
    /// Signalled when there is room for writers again.
    room: Notify,
    /// Signalled when `visible` moves, for those who follow the log.
    pub(crate) advanced: Notify,
    /// How often waiting changes were taken back, moved under the queue's lock: a decision made
    /// on a state that was since taken back must be made again.
    rollbacks: AtomicU64,
    settling_failed: AtomicBool,
    stopped: OnceLock<String>,
    log_time_ms: AtomicU64,
    log_ordinal: AtomicU64,
}

struct Queue {
    next_seq: u64,
    /// Closed batches, then the open one.
    batches: VecDeque<Gathering>,
    in_flight: Option<InFlight>,
    committer_waits: bool,
    closing: bool,
    spare: Vec<u8>,
}

struct InFlight {
    last: u64,
    counts: Vec<(u32, Counts)>,
    batch: Arc<Batch>,
}

struct Gathering {
    frame: Vec<u8>,
    last: u64,
    records: u32,
    counts: Vec<(u32, Counts)>,
    batch: Arc<Batch>,
}

/// One group of changes that become durable together.
#[derive(Default)]
pub(crate) struct Batch {
    outcome: OnceLock<Result<(), Error>>,
    done: Notify,
}

impl Batch {
    /// Returns when the batch is durable, or why it never will be.
    pub(crate) async fn wait(&self) -> Result<(), Error> {
        loop {
            let mut done = std::pin::pin!(self.done.notified());
            done.as_mut().enable();
            if let Some(outcome) = self.outcome.get() {
                return outcome.clone();
            }
            done.await;
        }
    }

    fn finish(&self, outcome: Result<(), Error>) {
        let _ = self.outcome.set(outcome);
        self.done.notify_waiters();
    }
}

/// Whether a submitted change was taken.
pub(crate) enum Submitted {
    /// It is in order; wait for the batch, if the log carries it.
    Taken(Option<Arc<Batch>>),
    /// What it was decided on has been taken back: decide again.
    Outdated,
}

impl Commits {
    /// A queue that goes on behind change `last`.
    pub(crate) fn new(
        rows: Arc<Rows>,
        clock: Clock,
        meters: Meters,
        memtable_bytes: usize,
        last: u64,
        log_time_ms: u64,
        log_ordinal: u64,
    ) -> Commits {
        let queue = Queue {
            next_seq: last + 1,
            batches: VecDeque::new(),
            in_flight: None,
            committer_waits: false,
            closing: false,
            spare: Vec::new(),
        };
        Commits {
            rows,
            clock,
            meters,
            memtable_bytes,
            queue: Mutex::new(queue),
            work: Condvar::new(),
            progress: (Mutex::new(()), Condvar::new()),
            room: Notify::new(),
            advanced: Notify::new(),
            rollbacks: AtomicU64::new(0),
            settling_failed: AtomicBool::new(false),
            stopped: OnceLock::new(),
            log_time_ms: AtomicU64::new(log_time_ms),
            log_ordinal: AtomicU64::new(log_ordinal),
        }
    }

    /// How often waiting changes were taken back; to be read before a decision's first read.
    pub(crate) fn epoch(&self) -> u64 {
        self.rollbacks.load(Ordering::Acquire)
    }

    /// Puts a change into the order. The caller holds the stripes of everything it read since
    /// `epoch`, and may release them on return.
    pub(crate) fn submit(&self, change: Change, epoch: u64) -> Result<Submitted, Error> {
        let logged = !change.ops.is_empty();
        if logged && let Some(why) = self.stopped.get() {
            return Err(Error::Stopped(why.clone()));
        }
        let mut queue = self.queue.lock();
        if self.rollbacks.load(Ordering::Acquire) != epoch {
            return Ok(Submitted::Outdated);
        }
        if logged && queue.closing {
            return Err(Error::Stopped("the house is closing".to_owned()));
        }
        let seq = queue.next_seq;
        queue.next_seq += 1;
        let state = self.rows.state.load();
        for (key, value, fresh) in change.versions {
            state.active.add(key, seq, Version { value, fresh, logged });
        }
        for (table, counts) in &change.counts {
            state.active.count(*table, *counts);
        }
        for range in change.drops {
            state.active.drop_range(seq, range);
        }
        self.rows.assigned.store(seq, Ordering::Release);
        let full = state.active.bytes() >= self.memtable_bytes;
        drop(state);
        let batch = logged.then(|| queue.gather(seq, &change.ops, change.counts));
        if full {
            self.freeze(&mut queue, FROZEN_MAX);
        }
        if queue.committer_waits && logged {
            queue.committer_waits = false;
            drop(queue);
            self.work.notify_one();
        }
        Ok(Submitted::Taken(batch))
    }

    /// Returns when `seq` is durable; 0 always is.
    pub(crate) async fn wait_durable(&self, seq: u64) -> Result<(), Error> {
        match self.batch_of(seq) {
            Some(batch) => batch.wait().await,
            None => Ok(()),
        }
    }

    /// The batch with which `seq` becomes durable; `None` if it is.
    pub(crate) fn batch_of(&self, seq: u64) -> Option<Arc<Batch>> {
        if seq <= self.rows.visible.load(Ordering::Acquire) {
            return None;
        }
        let queue = self.queue.lock();
        let in_flight = queue.in_flight.iter().map(|batch| (batch.last, &batch.batch));
        let waiting = queue.batches.iter().map(|batch| (batch.last, &batch.batch));
        let covering = in_flight.chain(waiting).find(|(last, _)| *last >= seq);
        covering.map(|(_, batch)| Arc::clone(batch))
    }

    /// Returns when memory has room for another change. Back-pressure: writers wait here when the
    /// settler cannot keep up, and are told when it cannot go on.
    pub(crate) async fn wait_for_room(&self) -> Result<(), Error> {
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            let state = self.rows.state.load();
            let crowded =
                state.frozen.len() >= FROZEN_MAX && state.active.bytes() >= self.memtable_bytes;
            drop(state);
            if !crowded {
                return Ok(());
            }
            if self.settling_failed.load(Ordering::Acquire) {
                return Err(Error::DiskFull);
            }
            self.meters.writers_held.increment(1);
            room.await;
        }
    }

    /// Freezes the active memtable, whatever its size, so that the settler takes it.
    pub(crate) fn freeze_now(&self) {
        let mut queue = self.queue.lock();
        self.freeze(&mut queue, usize::MAX);
    }

    fn freeze(&self, _order: &mut MutexGuard<'_, Queue>, frozen_max: usize) {
        let state = self.rows.state.load_full();
        if state.active.is_empty() || state.frozen.len() >= frozen_max {
            return;
        }
        let mut next = State::clone(&state);
        let full = std::mem::replace(&mut next.active, Arc::new(Memtable::default()));
        next.frozen.insert(0, full);
        self.rows.state.store(Arc::new(next));
        self.signal_progress();
    }

    /// Replaces the state after a settling round. `edit` sees the newest state.
    pub(crate) fn edit_state(&self, edit: impl FnOnce(&mut State)) {
        let queue = self.queue.lock();
        let mut next = State::clone(&self.rows.state.load_full());
        edit(&mut next);
        self.rows.state.store(Arc::new(next));
        drop(queue);
        self.settling_failed.store(false, Ordering::Release);
        self.signal_progress();
        self.room.notify_waiters();
    }

    /// Tells writers that settling does not go on for now.
    pub(crate) fn settling_failed(&self) {
        self.settling_failed.store(true, Ordering::Release);
        self.room.notify_waiters();
    }

    /// Blocks until `ready` answers something; it is asked again whenever there was progress.
    pub(crate) fn wait_for_progress<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        let (lock, signal) = &self.progress;
        let mut held = lock.lock();
        loop {
            if let Some(answer) = ready() {
                return answer;
            }
            signal.wait(&mut held);
        }
    }

    /// Makes those in `wait_for_progress` look again.
    pub(crate) fn signal_progress(&self) {
        let (lock, signal) = &self.progress;
        drop(lock.lock());
        signal.notify_all();
    }

    /// Why the writer has stopped, if it has.
    pub(crate) fn stopped(&self) -> Option<&str> {
        self.stopped.get().map(String::as_str)
    }

    /// The time in the last synced frame.
    pub(crate) fn log_time_ms(&self) -> u64 {
        self.log_time_ms.load(Ordering::Acquire)
    }

    /// The segment that is being written; 0 before the first.
    pub(crate) fn log_ordinal(&self) -> u64 {
        self.log_ordinal.load(Ordering::Acquire)
    }

    /// Lets the committer finish what waits, seal the log and end.
    pub(crate) fn close(&self) {
        let mut queue = self.queue.lock();
        queue.closing = true;
        queue.committer_waits = false;
        drop(queue);
        self.work.notify_one();
    }

    /// Starts the committer.
    pub(crate) fn start(self: &Arc<Self>, mut writer: Writer) -> Result<JoinHandle<()>, Error> {
        let commits = Arc::clone(self);
        let work = move || {
            while let Some(batch) = commits.next_batch() {
                commits.commit(&mut writer, batch);
            }
            // After a failure the disk is left as it is: the next start looks at it anew.
            if commits.stopped().is_none()
                && let Err(error) = writer.close()
            {
                tracing::error!(%error, "the log could not be sealed");
            }
        };
        let thread = std::thread::Builder::new().name("committer".to_owned()).spawn(work);
        thread.map_err(|cause| Error::io("starting the committer", &cause))
    }

    fn next_batch(&self) -> Option<Gathering> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(mut batch) = queue.batches.pop_front() {
                let counts = std::mem::take(&mut batch.counts);
                let shared = Arc::clone(&batch.batch);
                queue.in_flight = Some(InFlight { last: batch.last, counts, batch: shared });
                return Some(batch);
            }
            if queue.closing {
                return None;
            }
            queue.committer_waits = true;
            self.work.wait(&mut queue);
        }
    }

    fn commit(&self, writer: &mut Writer, mut batch: Gathering) {
        if let Some(why) = self.stopped.get() {
            return self.take_back(&Error::Stopped(why.clone()), batch.batch);
        }
        let begun = self.clock.instant();
        let (last, records) = (batch.last, batch.records);
        let now_ms = self.clock.now().millis();
        match writer.append(&mut batch.frame, last, records, now_ms) {
            Ok(appended) => {
                self.log_time_ms.store(appended.time_ms, Ordering::Release);
                self.log_ordinal.store(appended.ordinal, Ordering::Release);
                self.rows.visible.store(last, Ordering::Release);
                {
                    let mut queue = self.queue.lock();
                    queue.in_flight = None;
                    queue.spare = std::mem::take(&mut batch.frame);
                }
                batch.batch.finish(Ok(()));
                self.advanced.notify_waiters();
                if appended.rotated || !self.rows.state.load().frozen.is_empty() {
                    self.signal_progress();
                }
            }
            Err(Error::DiskFull) => self.take_back(&Error::DiskFull, batch.batch),
            Err(error) => {
                let why = error.to_string();
                tracing::error!(%error, "the store stops writing");
                let _ = self.stopped.set(why.clone());
                self.take_back(&Error::Stopped(why), batch.batch);
                self.signal_progress();
            }
        }
        self.meters.committed(records, self.clock.instant().since(begun));
    }

    /// Takes back everything that is not durable and tells its writers why.
    fn take_back(&self, why: &Error, failed: Arc<Batch>) {
        let mut queue = self.queue.lock();
        let state = self.rows.state.load_full();
        let visible = self.rows.visible.load(Ordering::Acquire);
        for memtable in std::iter::once(&state.active).chain(&state.frozen) {
            memtable.roll_back(visible);
        }
        let waiting: Vec<Gathering> = queue.batches.drain(..).collect();
        let in_flight = queue.in_flight.take();
        let lost = in_flight
            .iter()
            .map(|batch| &batch.counts)
            .chain(waiting.iter().map(|batch| &batch.counts));
        for (table, counts) in lost.flatten() {
            state.active.count(*table, counts.negative());
        }
        self.rollbacks.fetch_add(1, Ordering::AcqRel);
        drop(queue);
        failed.finish(Err(why.clone()));
        for batch in waiting {
            batch.batch.finish(Err(why.clone()));
        }
    }
}

impl Queue {
    /// Adds a record to the open batch and answers the batch.
    fn gather(&mut self, seq: u64, ops: &[Op], counts: Vec<(u32, Counts)>) -> Arc<Batch> {
        let full = self.batches.back().is_none_or(|batch| batch.frame.len() > BATCH_BYTES_MAX);
        if full {
            let mut frame = std::mem::take(&mut self.spare);
            frame.clear();
            frame.resize(FRAME_HEAD_BYTES, 0);
            let batch = Arc::new(Batch::default());
            let counts = Vec::new();
            self.batches.push_back(Gathering { frame, last: seq, records: 0, counts, batch });
        }
        let open = self.batches.back_mut().expect("a batch was opened just now if there was none");
        Record::encode(seq, ops, &mut open.frame);
        open.last = seq;
        open.records += 1;
        open.counts.extend(counts);
        Arc::clone(&open.batch)
    }
}
