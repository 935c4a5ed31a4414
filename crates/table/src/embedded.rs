//! The embedded engine: DynamoDB's promises in one process, on one directory or in memory.
//!
//! **The change log is the write-ahead log.** A write is decided under the locks of its items
//! (`write.rs`), becomes one record, is synced together with whatever else waits (`commit.rs`,
//! `log.rs`), is seen in the multi-version memtable (`memtable.rs`), and is acknowledged. The
//! settler (`settle.rs`) moves memtables into the tree (`settled.rs`) in large batches. Reads
//! merge the two (`state.rs`, `read.rs`). Opening replays the log from where the tree ends
//! (`recover.rs`).
//!
//! Ephemeral tables take the same way but skip the log, and settle into a map in memory.
//!
//! What else a house does with its log: `feed.rs` follows it, `archive.rs` keeps it with
//! checkpoints, `backup.rs` copies and restores, `check.rs` compares everything with everything.
//! `as_of.rs` reads a part of the house as it was, `item_history.rs` the versions of one item.
//! `sweep.rs` removes what has expired, `anchors.rs` notices when the directory is taken away.

mod alike;
mod anchors;
mod archive;
mod arena;
mod as_of;
mod backup;
#[cfg(feature = "bench")]
mod bare;
mod catalog;
mod check;
mod commit;
mod directory;
mod disk;
mod effects;
mod examine;
mod feed;
mod filter;
mod health;
mod item_history;
mod kernel;
mod keys;
mod log;
mod memtable;
mod meters;
mod past;
mod private;
mod progress;
mod read;
mod recover;
mod reminder;
mod row;
mod settle;
mod settled;
mod sight;
mod stamps;
mod state;
mod sweep;
mod tables;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use arc_swap::ArcSwap;
use base::{Clock, Tasks};
use parking_lot::Mutex;

use self::archive::Archive;
use self::catalog::{Catalog, tokens_spec};
use self::commit::{Commits, Origin};
use self::directory::Directory;
pub use self::directory::Turn;
use self::disk::{Disk, Files};
use self::log::{Manifest, Writer};
use self::meters::Meters;
use self::read::Wanted;
use self::settle::Settler;
use self::settled::Tree;
use self::state::Rows;
use crate::error::Error;
use crate::options::Options;
use crate::port::{
    Answer, BatchGot, BatchWrite, Delete, Get, Page, Put, Query, Scan, TableDescription, Tables,
    TransactWrite, Update,
};
use crate::spec::{TableSpec, is_expired};
use crate::value::Item;
use crate::watch::{Partition, Watch};

pub use self::as_of::{AsOf, Part, Reach};
pub use self::backup::{
    Backup, Backups, Restored, delete_backup, list_backup_names, list_backups, prune_backups,
    restore, verify,
};
#[cfg(feature = "bench")]
pub use self::bare::BareTree;
pub use self::check::Report;
pub use self::disk::{Faults, MemoryDisk};
pub use self::examine::{Ground, Space, examine, space_at};
pub use self::feed::{Change, ChangeKind, Changes, Feed};
pub use self::health::Health;
pub use self::item_history::{ItemHistory, Version};
pub use self::past::Past;
pub use self::progress::Progress;
pub(crate) use self::stamps::Stamps;
pub use self::write::Written;

/// The embedded engine. Clones are handles to one house.
#[derive(Clone)]
pub struct Embedded {
    engine: Arc<Engine>,
}

struct Engine {
    clock: Clock,
    meters: Meters,
    rows: Arc<Rows>,
    catalog: Arc<ArcSwap<Catalog>>,
    commits: Arc<Commits>,
    settler: Arc<Settler>,
    archive: Archive,
    disk: Arc<dyn Disk>,
    manifest: Arc<Manifest>,
    stripes: Vec<Mutex<()>>,
    /// Declarations change one at a time.
    declaring: tokio::sync::Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// While it is there, a thread watches that the directory stays where it is (`anchors.rs`).
    watching: Mutex<Option<Sender<()>>>,
    /// Held last, so that the lock goes when everything else is gone. None in memory.
    directory: Option<Directory>,
}

impl Embedded {
    /// Whether a house lies at `path`. Opening would make one.
    pub fn is_at(path: &std::path::Path) -> bool {
        directory::is_house(path)
    }

    /// Waits until no other command has its turn at the house in `path`, which must be there. Calls
    /// `noting` first if one has. Blocks its thread.
    pub fn take_turn(path: &std::path::Path, noting: impl FnOnce()) -> Result<Turn, Error> {
        Turn::take(path, noting)
    }

    /// Opens the house in `options.path`, making it if missing, and starts its sweeping and
    /// archiving.
    pub async fn open(options: Options, clock: Clock, tasks: &Tasks) -> Result<Embedded, Error> {
        Embedded::open_telling(options, clock, tasks, &Progress::new()).await
    }

    /// The same, and tells `progress` how far it has come. The replay runs on a thread of its own:
    /// other work of the process goes on meanwhile.
    pub async fn open_telling(
        options: Options,
        clock: Clock,
        tasks: &Tasks,
        progress: &Progress,
    ) -> Result<Embedded, Error> {
        let progress = progress.clone();
        // A virtual clock does not see that thread: it stays until the house is open.
        let _hold = clock.hold();
        let start = {
            let clock = clock.clone();
            move || {
                let directory = Directory::open(&options.path)?;
                archive::compact_if_hollow(&directory)?;
                let tree = Tree::open(&directory.settled())?;
                let log = Files::open(&directory.log())
                    .map_err(|cause| Error::io("opening the log", &cause))?
                    .followed_by(&progress);
                Engine::start(Some(directory), Some(tree), Arc::new(log), options, clock)
            }
        };
        let house = blocking(start).await?;
        anchors::watch(&house.engine)?;
        house.finish_opening(tasks).await
    }

    /// A house that lives and ends with the process.
    pub async fn in_memory(clock: Clock, tasks: &Tasks) -> Result<Embedded, Error> {
        Embedded::on_memory_disk(MemoryDisk::default(), Options::in_memory(), clock, tasks).await
    }

    /// A house on a disk in memory that a test can break.
    pub async fn on_memory_disk(
        disk: MemoryDisk,
        options: Options,
        clock: Clock,
        tasks: &Tasks,
    ) -> Result<Embedded, Error> {
        let house = Engine::start(None, None, Arc::new(disk), options, clock)?;
        house.finish_opening(tasks).await
    }

    async fn finish_opening(self, tasks: &Tasks) -> Result<Embedded, Error> {
        self.engine.ensure(tokens_spec()).await?;
        sweep::start(&self.engine, tasks);
        archive::start(&self.engine, tasks);
        Ok(self)
    }

    /// Settles everything and ends the house's threads. Writes that come later are refused.
    pub fn close(&self) -> Result<(), Error> {
        let flushed = self.engine.settler.flush();
        self.engine.stop();
        flushed
    }

    /// Why writes are refused, if they are: a write or sync of the log has failed.
    pub fn stopped(&self) -> Option<String> {
        self.engine.commits.stopped().map(str::to_owned)
    }

    /// Follows the changes behind change `after`; 0 for all there are.
    pub fn changes(&self, after: u64) -> Feed {
        Feed::new(Arc::clone(&self.engine), after)
    }

    /// The last durable change.
    pub fn last_change(&self) -> u64 {
        self.engine.rows.visible.load(Ordering::Acquire)
    }

    /// Settles everything that was written so far; returns when it is in the tree.
    pub async fn settle(&self) -> Result<(), Error> {
        let settler = Arc::clone(&self.engine.settler);
        blocking(move || settler.flush()).await
    }

    /// Compares rows, indexes, expiry, counts and log with each other.
    pub async fn check(&self) -> Result<Report, Error> {
        let engine = Arc::clone(&self.engine);
        blocking(move || engine.check()).await
    }

    /// Makes and lists backups.
    pub fn backups(&self) -> Backups {
        Backups::new(Arc::clone(&self.engine))
    }
}

/// Runs what takes long on a thread for that.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|cause| Error::Io {
        context: "a background job".to_owned(),
        cause: cause.to_string(),
    })?
}

impl Engine {
    fn start(
        directory: Option<Directory>,
        tree: Option<Tree>,
        disk: Arc<dyn Disk>,
        options: Options,
        clock: Clock,
    ) -> Result<Embedded, Error> {
        let meters = Meters::register();
        let memtable_bytes = options.memtable_bytes();
        let found = recover::recover(tree, &*disk, memtable_bytes)?;
        let (rows, last, time_ms) = (found.rows, found.last, found.time_ms);
        let catalog = Arc::new(ArcSwap::from_pointee(found.catalog));
        let origin = Origin {
            rows: Arc::clone(&rows),
            catalog: Arc::clone(&catalog),
            last,
            time_ms,
            ordinal: found.log.segments.last().map_or(0, |segment| segment.ordinal),
        };
        let commits = Arc::new(Commits::new(origin, clock.clone(), meters.clone(), memtable_bytes));
        let settler =
            Settler::new(Arc::clone(&rows), Arc::clone(&commits), clock.clone(), meters.clone());
        let settler = Arc::new(settler);
        let next_ordinal = found.log.last_ordinal + 1;
        let manifest = Arc::new(Manifest::new(Arc::clone(&disk), found.log.listed));
        let writer = Writer::open(
            Arc::clone(&disk),
            Arc::clone(&manifest),
            options.segment_bytes(),
            next_ordinal,
            last,
            time_ms,
        );
        let mut threads = vec![commits.start(writer)?];
        threads.extend(settler.start()?);
        meters.writable.set(1.0);
        let engine = Engine {
            clock,
            meters,
            rows,
            catalog,
            commits,
            settler,
            archive: Archive::new(options, found.log.segments),
            disk,
            manifest,
            stripes: (0..write::STRIPES).map(|_| Mutex::new(())).collect(),
            declaring: tokio::sync::Mutex::new(()),
            threads: Mutex::new(threads),
            watching: Mutex::default(),
            directory,
        };
        Ok(Embedded { engine: Arc::new(engine) })
    }

    fn now_s(&self) -> u64 {
        self.clock.now().seconds()
    }

    fn stop(&self) {
        self.commits.close();
        self.settler.close();
        drop(self.watching.lock().take());
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store had panicked");
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Tables for Embedded {
    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(async move { self.engine.read_get(&get) })
    }

    fn batch_get(&self, gets: Vec<Get>) -> Answer<'_, BatchGot> {
        Box::pin(async move { self.engine.read_batch_get(gets) })
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        Box::pin(self.engine.write_put(put, |written| written.answer))
    }

    fn update(&self, update: Update) -> Answer<'_, Option<Item>> {
        Box::pin(self.engine.write_update(update, |written| written.answer))
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        Box::pin(self.engine.write_delete(delete, |written| written.answer))
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move { Ok(self.engine.read_query(&query, Wanted::Named)?.0) })
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(async move { Ok(self.engine.read_scan(&scan, Wanted::Named)?.0) })
    }

    fn batch_write(&self, writes: Vec<BatchWrite>) -> Answer<'_, Vec<BatchWrite>> {
        Box::pin(self.engine.write_batch(writes))
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        Box::pin(async move { self.engine.write_transaction(transaction, |_| ()).await.map(drop) })
    }

    fn transact_get(&self, gets: Vec<Get>) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(async move {
            let found = self.engine.read_transact_get(&gets)?;
            Ok(found.into_iter().map(|found| found.map(|(item, _)| item)).collect())
        })
    }

    fn ensure_table(&self, spec: TableSpec) -> Answer<'_, ()> {
        Box::pin(async move {
            if spec.name.starts_with(catalog::OWN_PREFIX) {
                return Err(Error::invalid(format!(
                    "names with `{}` are the store's own",
                    catalog::OWN_PREFIX
                )));
            }
            self.engine.ensure(spec).await
        })
    }

    fn describe_table(&self, name: &str) -> Answer<'_, TableDescription> {
        let name = name.to_owned();
        Box::pin(async move { self.engine.describe(&name) })
    }

    fn list_tables(&self) -> Answer<'_, Vec<String>> {
        Box::pin(async move { Ok(self.engine.list()) })
    }

    fn delete_table(&self, name: &str) -> Answer<'_, ()> {
        let name = name.to_owned();
        Box::pin(async move { self.engine.drop_table(&name).await })
    }

    fn watch(&self, partition: &Partition<'_>, watch: &mut Watch) {
        match self.engine.stamp_of(partition) {
            Some(stamp) => watch.see(&self.engine.rows.stamps, stamp),
            None => watch.give_up(),
        }
    }
}
