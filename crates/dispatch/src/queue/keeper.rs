//! The keeper: it loads messages from the table into the ready list, and counts them.
//!
//! Messages sent by this instance enter the list at once. The keeper loads the others: older ones,
//! those of other instances, and those that did not fit into memory. It reads whole shards up to
//! the horizon every minute; the first time it also reads the shards of other instances, because
//! those may be dead. While other instances are live, or after a write whose outcome is unknown, it
//! also looks every second for messages due by then.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::Timestamp;
use table::{Query, SortCondition};

use super::QueueInner;
use super::message::{Message, MessageId, partition, read_sort_key};
use crate::error::Error;
use crate::items::{TABLE, sortable};
use crate::limits::{
    COUNTED_MAX, HORIZON, PAGE_ROWS, POLL, READY_LIST_BYTES_MAX, READY_LIST_MAX, REFRESH, SHARDS,
    TROUBLE_PAUSE,
};

/// The contents of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Messages, due or not, held or not. At most 10 000 are counted in each of the eight shards.
    pub messages: u64,
    /// The due messages among them.
    pub due: u64,
    /// The earliest due time.
    pub oldest_due: Option<Timestamp>,
    /// Dead letters; counted up to 10 000.
    pub dead: u64,
}

impl QueueInner {
    /// Runs until shutdown.
    pub(super) async fn keep(self: Arc<Self>) {
        let shutdown = self.core.tasks.shutdown();
        let mut others = self.core.instances.watch();
        let clock = &self.core.clock;
        let mut refreshed = None;
        while !shutdown.has_begun() {
            let now = clock.now();
            let shards = self.core.instances.shards(&self.name);
            let gained = shards & !self.shards.swap(shards, Ordering::AcqRel) != 0;
            let read = if refreshed.is_none() { u8::MAX } else { shards };
            others.mark_unchanged();
            let stale = refreshed.is_none_or(|at| clock.instant().since(at) >= REFRESH);
            let done = if stale {
                refreshed = Some(clock.instant());
                self.refresh_and_count(read, now).await
            } else if gained || self.lacks_messages(now) {
                self.refresh(read, now).await
            } else if self.core.instances.has_peers() || self.look_for_stray() {
                self.read_to(read, now.checked_add(POLL * 2).unwrap_or(now)).await.map(drop)
            } else {
                Ok(())
            };
            if let Err(error) = &done {
                tracing::warn!(queue = self.name, %error, "cannot read the queue");
                refreshed = None;
            }
            let pause = match (done, self.core.instances.has_peers()) {
                (Err(_), _) => TROUBLE_PAUSE,
                (Ok(()), true) => POLL,
                (Ok(()), false) if self.stray_looks.load(Ordering::Acquire) > 0 => POLL,
                (Ok(()), false) => REFRESH,
            };
            tokio::select! {
                biased;
                () = shutdown.begun() => {}
                () = self.wanted.notified() => {}
                _ = others.changed() => {}
                () = clock.sleep(pause) => {}
            }
        }
    }

    /// Whether the table may have messages that belong into memory.
    fn lacks_messages(&self, now: Timestamp) -> bool {
        let ready_list = self.ready_list.lock();
        ready_list.wants_more() || ready_list.is_overtaken(now)
    }

    /// Whether to look for an unconfirmed message; counts one look down.
    fn look_for_stray(&self) -> bool {
        let less = |looks: u8| looks.checked_sub(1);
        self.stray_looks.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    async fn refresh_and_count(&self, shards: u8, now: Timestamp) -> Result<(), Error> {
        self.refresh(shards, now).await?;
        let depth = self.count().await?;
        self.meters.set_depth(depth, now);
        Ok(())
    }

    /// Reads all messages up to the horizon.
    async fn refresh(&self, shards: u8, now: Timestamp) -> Result<(), Error> {
        let horizon = now.checked_add(HORIZON).unwrap_or(now);
        self.ready_list.lock().begin_reading(horizon);
        let read_to = self.read_to(shards, horizon).await;
        let whole = read_to.as_ref().copied().unwrap_or(MessageId::before(now));
        self.ready_list.lock().end_reading(whole);
        read_to.map(drop)
    }

    /// Reads the given shards up to `to`, as far as memory has room; returns how far that was. The
    /// rows of all shards are admitted under one lock, so that messages are delivered in order.
    async fn read_to(&self, bits: u8, to: Timestamp) -> Result<MessageId, Error> {
        let shards = (0..SHARDS).filter(|shard| bits & (1 << shard) != 0);
        let parts = usize::try_from(bits.count_ones().max(1)).unwrap_or(1);
        let (mut read_to, mut rows) = (MessageId::before(to), Vec::new());
        for shard in shards {
            read_to = read_to.min(self.read_shard(shard, to, parts, &mut rows).await?);
        }
        let mut ready_list = self.ready_list.lock();
        let is_first = rows
            .into_iter()
            .fold(false, |is_first, (message, until)| ready_list.admit(message, until) || is_first);
        drop(ready_list);
        if is_first {
            self.arrived.notify_waiters();
        }
        Ok(read_to)
    }

    /// Reads a shard as far as its part of the memory has room.
    async fn read_shard(
        &self,
        shard: u8,
        to: Timestamp,
        parts: usize,
        rows: &mut Vec<(Message, Timestamp)>,
    ) -> Result<MessageId, Error> {
        let mut query = Query::new(TABLE, "pk", partition(&self.name, shard))
            .sort("sk", SortCondition::lt(sortable(to)))
            .limit(PAGE_ROWS)
            .consistent();
        let (mut count, mut bytes) = (0, 0);
        loop {
            let page = self.core.tables.query(query.clone()).await?;
            for item in &page.items {
                let (message, until) = Message::read(item, shard)?;
                count += 1;
                bytes += message.weight();
                if count > READY_LIST_MAX / parts || bytes > READY_LIST_BYTES_MAX / parts {
                    return Ok(message.id);
                }
                rows.push((message, until));
            }
            // An embedded store answers a page without waiting, so give other tasks a turn.
            tokio::task::yield_now().await;
            match page.last_key {
                Some(last) => query = query.start_after(last),
                None => return Ok(MessageId::before(to)),
            }
        }
    }

    /// Counts the messages of all shards, including those of other instances.
    pub(super) async fn count(&self) -> Result<Depth, Error> {
        let now = self.core.clock.now();
        let mut depth = Depth::default();
        for shard in 0..SHARDS {
            for due in self.times(partition(&self.name, shard)).await? {
                depth.messages += 1;
                depth.due += u64::from(due <= now);
                depth.oldest_due = Some(depth.oldest_due.map_or(due, |oldest| oldest.min(due)));
            }
        }
        let dead = self.times(super::dead::partition(&self.name)).await?;
        depth.dead = dead.len().try_into().unwrap_or(u64::MAX);
        Ok(depth)
    }

    /// The times in the sort keys of a partition, up to the counting limit.
    async fn times(&self, partition: String) -> Result<Vec<Timestamp>, Error> {
        let mut query = Query::new(TABLE, "pk", partition).project(["sk"]).limit(PAGE_ROWS);
        let mut times = Vec::new();
        loop {
            let page = self.core.tables.query(query.clone()).await?;
            let keys = page.items.iter().filter_map(|item| item.get("sk")?.as_s());
            times.extend(keys.filter_map(read_sort_key).map(|(time, _)| time));
            tokio::task::yield_now().await;
            match page.last_key {
                Some(last) if times.len() < COUNTED_MAX => query = query.start_after(last),
                Some(_) | None => return Ok(times),
            }
        }
    }
}
