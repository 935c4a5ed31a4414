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
//!   full disk or a want of file descriptors is known before anything is written: everything that
//!   waits is taken back and told so, and the next write tries again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use base::{Clock, Monotonic};
use bytes::Bytes;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::Notify;

use super::arena::{Arena, is_shared};
use super::catalog::Catalog;
use super::kernel::{Pace, set_pace};
use super::keys::KeyRange;
use super::log::{FRAME_HEAD_BYTES, Op, Record, Writer};
use super::memtable::{Counts, Memtable, Tail, Version};
use super::meters::Meters;
use super::reminder::Reminders;
use super::state::{Rows, State};
use crate::error::Error;
use crate::options::Options;

/// A batch that has grown past this is closed and a new one opened, so that one frame's memory
/// and one sync's duration stay bounded. A single transaction may still be larger.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Memtables that may wait for the settler before writers have to.
const FROZEN_MAX: usize = Options::MEMTABLES - 1;

/// A decided change, ready to take effect.
#[derive(Default)]
pub(crate) struct Change {
    /// Memory for the rows that are written.
    pub(crate) arena: Arena,
    /// What the log will tell; empty when only ephemeral tables change.
    pub(crate) ops: Vec<Op>,
    /// Rows and index rows: key, value, and whether nothing was there before.
    pub(crate) versions: Vec<(Bytes, Option<Bytes>, bool)>,
    /// Of rows that expire.
    pub(crate) reminders: Reminders,
    /// What tables gain or lose.
    pub(crate) counts: Vec<(u32, Counts)>,
    /// The stamps of all partitions, also of indexes, in which something is another than before.
    pub(crate) stamps: Vec<u32>,
    /// Ranges that nobody reads or writes any more.
    pub(crate) drops: Vec<KeyRange>,
    /// The declarations from now on, if they change.
    pub(crate) catalog: Option<Arc<Catalog>>,
    /// The last change that was seen when this one was decided, as far as the disk matters for
    /// it: this change may not outlive that one.
    pub(crate) rests_on: u64,
    /// What the new items weigh as DynamoDB counts.
    pub(crate) weight: usize,
}

impl Change {
    /// With memory for so many rows.
    pub(crate) fn of_rows(count: usize) -> Change {
        Change { arena: Arena::of_rows(count), ..Change::default() }
    }

    /// Counts what a table gains or loses.
    pub(crate) fn count(&mut self, table: u32, counts: Counts) {
        match self.counts.last_mut() {
            Some((last, sum)) if *last == table => *sum = sum.plus(counts),
            _ => self.counts.push((table, counts)),
        }
    }

    /// Puts what changes into a memtable, as change `seq`.
    pub(crate) fn enter(self, memtable: &Memtable, seq: u64, logged: bool) {
        let (mut last, mut tail) = (Bytes::new(), Tail::default());
        for (key, value, fresh) in self.versions {
            let own = value.as_ref().filter(|value| !is_shared(value, &last));
            let weight = own.map_or(0, Bytes::len);
            last = own.cloned().unwrap_or(last);
            memtable.add(&key, seq, Version { value, fresh, logged }, weight, &mut tail);
        }
        for (key, value) in self.reminders.into_rows(seq) {
            let weight = value.len();
            let version = Version { value: Some(value), fresh: true, logged };
            memtable.add(&key, seq, version, weight, &mut tail);
        }
        for (table, counts) in self.counts {
            memtable.count(table, counts);
        }
        for range in self.drops {
            memtable.drop_range(seq, range);
        }
    }
}

/// Where a queue goes on.
pub(crate) struct Origin {
    /// The rows.
    pub(crate) rows: Arc<Rows>,
    /// The declarations; they change in the order of the log, and are taken back with it.
    pub(crate) catalog: Arc<ArcSwap<Catalog>>,
    /// The last change.
    pub(crate) last: u64,
    /// When it was made.
    pub(crate) time_ms: u64,
    /// The segment that holds it; 0 if there is none.
    pub(crate) ordinal: u64,
}

/// The queue, and what it needs to know of the house.
pub(crate) struct Commits {
    rows: Arc<Rows>,
    catalog: Arc<ArcSwap<Catalog>>,
    clock: Clock,
    meters: Meters,
    memtable_bytes: usize,
    queue: Mutex<Queue>,
    work: Condvar,
    /// Signalled when memtables freeze or settle or cannot, and when `visible` moves, if that
    /// matters to anybody.
    progress: (Mutex<()>, Condvar),
    /// Signalled when there is room for writers again.
    room: Notify,
    /// Signalled when `visible` moves, for those who follow the log.
    pub(crate) advanced: Notify,
    /// How often waiting changes were taken back, moved under the queue's lock: a decision made
    /// on a state that was since taken back must be made again.
    rollbacks: AtomicU64,
    /// How many wait until nothing waits for the disk.
    draining: AtomicU64,
    /// Why the last settling round failed, or why it is not durable, until that has changed.
    settling_failed: Mutex<Option<Error>>,
    stopped: OnceLock<String>,
    /// Whether there was no room for a segment when one was needed. What is left of the last one may
    /// still take small changes.
    full: AtomicBool,
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
    /// Whether the next batch begins a segment, to see whether there is room for one.
    probing: bool,
    spare: Vec<u8>,
}

struct InFlight {
    last: u64,
    since: Monotonic,
    undo: Undo,
    batch: Arc<Batch>,
}

struct Gathering {
    frame: Vec<u8>,
    last: u64,
    records: u32,
    stamps: Moved,
    undo: Undo,
    batch: Arc<Batch>,
}

/// A batch that the committer writes.
struct Ready {
    frame: Vec<u8>,
    last: u64,
    records: u32,
    stamps: Moved,
    probes: bool,
    batch: Arc<Batch>,
}

/// The stamps that a batch moves.
#[derive(Default)]
struct Moved {
    some: Vec<u32>,
    /// All of them, because a declaration has changed.
    all: bool,
}

/// What it takes to take back a batch, besides its versions.
struct Undo {
    /// Holds all versions of the batch, and its counts.
    memtable: Arc<Memtable>,
    counts: Vec<(u32, Counts)>,
    /// The declarations before the batch, if it changed them.
    catalog: Option<Arc<Catalog>>,
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
    /// It is in order; wait for the batch, if there is one to wait for.
    Taken(Option<Arc<Batch>>),
    /// What it was decided on has been taken back: decide again.
    Outdated,
}

impl Commits {
    /// A queue that goes on behind `origin`.
    pub(crate) fn new(
        origin: Origin,
        clock: Clock,
        meters: Meters,
        memtable_bytes: usize,
    ) -> Commits {
        let queue = Queue {
            next_seq: origin.last + 1,
            batches: VecDeque::new(),
            in_flight: None,
            committer_waits: false,
            closing: false,
            probing: false,
            spare: Vec::new(),
        };
        Commits {
            rows: origin.rows,
            catalog: origin.catalog,
            clock,
            meters,
            memtable_bytes,
            queue: Mutex::new(queue),
            work: Condvar::new(),
            progress: (Mutex::new(()), Condvar::new()),
            room: Notify::new(),
            advanced: Notify::new(),
            rollbacks: AtomicU64::new(0),
            draining: AtomicU64::new(0),
            settling_failed: Mutex::new(None),
            stopped: OnceLock::new(),
            full: AtomicBool::new(false),
            log_time_ms: AtomicU64::new(origin.time_ms),
            log_ordinal: AtomicU64::new(origin.ordinal),
        }
    }

    /// How often waiting changes were taken back; to be read before a decision's first read.
    pub(crate) fn epoch(&self) -> u64 {
        self.rollbacks.load(Ordering::Acquire)
    }

    /// Puts a change into the order. The caller holds the stripes of everything it read since
    /// `epoch`, and may release them on return.
    pub(crate) fn submit(&self, mut change: Change, epoch: u64) -> Result<Submitted, Error> {
        // A change of ephemeral tables alone needs the log only to share the fate of what it
        // was decided on: its record is empty then. So is that of a reminder alone, which keeps
        // its number from being given again.
        let logged = !change.ops.is_empty()
            || change.reminders.has_durable()
            || change.rests_on > self.rows.visible.load(Ordering::Acquire);
        if logged && let Some(why) = self.stopped.get() {
            return Err(Error::Stopped(why.clone()));
        }
        // What takes its time is done before the others have to wait for it.
        let ops = std::mem::take(&mut change.ops);
        let record = if logged { Record::encode(&ops) } else { Vec::new() };
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
        let before = change.catalog.take().map(|next| self.catalog.swap(next));
        let stamps = std::mem::take(&mut change.stamps);
        let batch = logged.then(|| {
            let open = queue.open_batch(&state.active, seq);
            Record::append(seq, &record, &mut open.frame);
            open.records += 1;
            open.stamps.some.extend_from_slice(&stamps);
            open.stamps.all |= before.is_some();
            open.undo.counts.extend_from_slice(&change.counts);
            open.undo.catalog = open.undo.catalog.take().or(before);
            Arc::clone(&open.batch)
        });
        change.enter(&state.active, seq, logged);
        self.rows.assigned.store(seq, Ordering::Release);
        if !logged {
            self.rows.stamps.shift(&stamps, seq);
        }
        let full = state.active.bytes() >= self.memtable_bytes;
        drop(state);
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

    /// What a decision made since `epoch` that rests on change `seq` has to wait for; 0 is durable
    /// always.
    pub(crate) fn batch_of(&self, seq: u64, epoch: u64) -> Submitted {
        // Under the queue's lock no rollback is half done: one that removed what was read before
        // `seq` was looked up has been counted by now.
        let queue = self.queue.lock();
        if self.epoch() != epoch {
            return Submitted::Outdated;
        }
        if seq <= self.rows.visible.load(Ordering::Acquire) {
            return Submitted::Taken(None);
        }
        let in_flight = queue.in_flight.iter().map(|batch| (batch.last, &batch.batch));
        let waiting = queue.batches.iter().map(|batch| (batch.last, &batch.batch));
        let covering = in_flight.chain(waiting).find(|(last, _)| *last >= seq);
        Submitted::Taken(covering.map(|(_, batch)| Arc::clone(batch)))
    }

    /// Blocks until nothing waits for the disk. The caller holds all stripes, so that nothing new
    /// comes.
    pub(crate) fn wait_until_durable(&self) {
        self.draining.fetch_add(1, Ordering::AcqRel);
        let epoch = self.epoch();
        let last = {
            let queue = self.queue.lock();
            let waiting = queue.batches.back().map(|batch| batch.last);
            waiting.or(queue.in_flight.as_ref().map(|batch| batch.last)).unwrap_or(0)
        };
        self.wait_for_progress(|| {
            let durable = self.rows.visible.load(Ordering::Acquire) >= last;
            (durable || self.epoch() != epoch).then_some(())
        });
        self.draining.fetch_sub(1, Ordering::AcqRel);
    }

    /// Returns when memory has room for another change. Back-pressure: writers wait here when the
    /// settler cannot keep up, and are told when it cannot go on.
    pub(crate) async fn wait_for_room(&self) -> Result<(), Error> {
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            if !self.is_crowded() {
                return Ok(());
            }
            if let Some(error) = self.cannot_settle() {
                return Err(error);
            }
            self.meters.writers_held.increment(1);
            // A virtual clock does not see the settler's thread: it stays until there is room.
            let _hold = self.clock.hold();
            room.await;
        }
    }

    /// Whether memory has no room for another change.
    pub(crate) fn is_crowded(&self) -> bool {
        let state = self.rows.state.load();
        state.frozen.len() >= FROZEN_MAX && state.active.bytes() >= self.memtable_bytes
    }

    /// Memory for changes that are not settled.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memtable_bytes * Options::MEMTABLES
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
        let full =
            std::mem::replace(&mut next.active, Arc::new(Memtable::new(self.memtable_bytes)));
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
        *self.settling_failed.lock() = None;
        self.signal_progress();
        self.room.notify_waiters();
    }

    /// Tells writers, and those who wait for a flush, that settling does not go on for now.
    pub(crate) fn settling_failed(&self, error: Error) {
        *self.settling_failed.lock() = Some(error);
        self.signal_progress();
        self.room.notify_waiters();
    }

    /// The last round is durable: nothing is known any more that would keep the next from settling.
    pub(crate) fn settling_goes_on(&self) {
        *self.settling_failed.lock() = None;
    }

    /// Why memtables do not settle, if they do not.
    pub(crate) fn cannot_settle(&self) -> Option<Error> {
        let stopped = self.stopped.get().map(|why| Error::Stopped(why.clone()));
        stopped.or_else(|| self.settling_failed.lock().clone())
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

    /// Whether the disk is full: for the log, or for the tree.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Acquire)
            || matches!(*self.settling_failed.lock(), Some(Error::DiskFull))
    }

    /// Lets the next batch begin a segment.
    pub(crate) fn probe(&self) {
        self.queue.lock().probing = true;
    }

    /// How long the batch that is being written has been under way.
    pub(crate) fn writing_for(&self) -> Option<Duration> {
        let queue = self.queue.lock();
        Some(self.clock.instant().since(queue.in_flight.as_ref()?.since))
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
            set_pace(Pace::Prompt);
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

    fn next_batch(&self) -> Option<Ready> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(next) = queue.batches.pop_front() {
                let Gathering { frame, last, records, stamps, undo, batch } = next;
                let (since, batch_of) = (self.clock.instant(), Arc::clone(&batch));
                queue.in_flight = Some(InFlight { last, since, undo, batch: batch_of });
                let probes = std::mem::take(&mut queue.probing);
                return Some(Ready { frame, last, records, stamps, probes, batch });
            }
            if queue.closing {
                return None;
            }
            queue.committer_waits = true;
            self.work.wait(&mut queue);
        }
    }

    fn commit(&self, writer: &mut Writer, mut batch: Ready) {
        if let Some(why) = self.stopped.get() {
            return self.take_back(&Error::Stopped(why.clone()), batch.batch);
        }
        let begun = self.clock.instant();
        let (last, records) = (batch.last, batch.records);
        let now_ms = self.clock.now().millis();
        let room = if batch.probes { writer.begin_segment() } else { Ok(()) };
        match room.and_then(|()| writer.append(&mut batch.frame, last, records, now_ms)) {
            Ok(appended) => {
                self.log_time_ms.store(appended.time_ms, Ordering::Release);
                if self.log_ordinal.swap(appended.ordinal, Ordering::AcqRel) != appended.ordinal {
                    self.full.store(false, Ordering::Release);
                }
                self.rows.visible.store(last, Ordering::Release);
                match batch.stamps {
                    Moved { all: true, .. } => self.rows.stamps.shift_all(last),
                    Moved { all: false, some } => self.rows.stamps.shift(&some, last),
                }
                {
                    let mut queue = self.queue.lock();
                    queue.in_flight = None;
                    queue.spare = std::mem::take(&mut batch.frame);
                }
                batch.batch.finish(Ok(()));
                self.advanced.notify_waiters();
                let awaited = self.draining.load(Ordering::Acquire) > 0
                    || !self.rows.state.load().frozen.is_empty();
                if awaited {
                    self.signal_progress();
                }
            }
            Err(passing @ (Error::DiskFull | Error::Throttled(_))) => {
                if matches!(passing, Error::DiskFull) {
                    self.full.store(true, Ordering::Release);
                }
                self.take_back(&passing, batch.batch);
            }
            Err(error) => {
                let why = match error {
                    Error::Stopped(why) => why,
                    other => other.to_string(),
                };
                self.stop(&why);
                self.take_back(&Error::Stopped(why), batch.batch);
            }
        }
        self.meters.committed(records, self.clock.instant().since(begun));
    }

    /// Stops writing for good: what the disk holds is unknown.
    pub(crate) fn stop(&self, why: &str) {
        tracing::error!(why, "the store stops writing");
        self.meters.writable.set(0.0);
        let _ = self.stopped.set(why.to_owned());
        self.signal_progress();
        self.room.notify_waiters();
        self.advanced.notify_waiters();
    }

    /// Takes back everything that is not durable and tells its writers why.
    fn take_back(&self, why: &Error, failed: Arc<Batch>) {
        let mut queue = self.queue.lock();
        let state = self.rows.state.load_full();
        let visible = self.rows.visible.load(Ordering::Acquire);
        let memtables = || std::iter::once(&state.active).chain(&state.frozen);
        memtables().for_each(|memtable| memtable.roll_back(visible));
        let mut lost: Vec<Undo> =
            queue.in_flight.take().map(|batch| batch.undo).into_iter().collect();
        let mut told = vec![failed];
        for batch in queue.batches.drain(..) {
            lost.push(batch.undo);
            told.push(batch.batch);
        }
        for undo in &lost {
            for (table, counts) in &undo.counts {
                undo.memtable.count(*table, counts.negative());
            }
        }
        if let Some(before) = lost.into_iter().find_map(|undo| undo.catalog) {
            self.catalog.store(before);
        }
        // Last: from here on the settler may take the frozen ones.
        memtables().for_each(|memtable| memtable.end_at(visible));
        self.rollbacks.fetch_add(1, Ordering::AcqRel);
        drop(queue);
        for batch in told {
            batch.finish(Err(why.clone()));
        }
        self.signal_progress();
    }
}

impl Queue {
    /// The batch that change `seq`, whose versions are in `memtable`, joins.
    fn open_batch(&mut self, memtable: &Arc<Memtable>, seq: u64) -> &mut Gathering {
        let closed = self.batches.back().is_none_or(|batch| {
            let full = batch.frame.len() > BATCH_BYTES_MAX;
            full || !Arc::ptr_eq(&batch.undo.memtable, memtable)
        });
        if closed {
            let mut frame = std::mem::take(&mut self.spare);
            frame.clear();
            frame.resize(FRAME_HEAD_BYTES, 0);
            let memtable = Arc::clone(memtable);
            let undo = Undo { memtable, counts: Vec::new(), catalog: None };
            let batch = Arc::new(Batch::default());
            let stamps = Moved::default();
            self.batches.push_back(Gathering { frame, last: seq, records: 0, stamps, undo, batch });
        }
        let open = self.batches.back_mut().expect("a batch was opened just now if there was none");
        open.last = seq;
        open
    }
}
