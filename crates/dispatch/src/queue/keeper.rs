//! Keeps what is known of a queue in step with the table, and counts what is in it.
//!
//! What is sent here is known at once. The keeper reads the rest: what was there before, what
//! other instances sent, what did not fit into memory. It reads whole shards up to the horizon
//! every minute, at first also those that others watch, because they may be dead; while other instances live, or after a write whose end it was not told, it
//! also looks every second at what is due by then.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::Timestamp;
use table::{Query, SortCondition};

use super::Inner;
use super::message::{Message, MessageId, partition, read_sort_key};
use crate::error::Error;
use crate::items::{TABLE, sortable};
use crate::limits::{
    COUNTED_MAX, HORIZON, KNOWN_BYTES_MAX, KNOWN_MAX, PAGE_ROWS, POLL, REFRESH, SHARDS,
    TROUBLE_PAUSE,
};

/// What a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Messages, due or not, held or not. At most 10 000 are counted in each of the eight parts
    /// of a queue.
    pub messages: u64,
    /// Of these, those that are due.
    pub due: u64,
    /// When the first of them is or was due.
    pub oldest_due: Option<Timestamp>,
    /// Dead letters; counted up to 10 000.
    pub dead: u64,
}

impl Inner {
    /// Works until the house closes.
    pub(super) async fn keep(self: Arc<Self>) {
        let shutdown = self.shared.tasks.shutdown();
        let mut others = self.shared.instances.watch();
        let clock = &self.shared.clock;
        let mut refreshed = None;
        while !shutdown.has_begun() {
            let now = clock.now();
            let shards = self.shared.instances.shards(&self.name);
            let gained = shards & !self.shards.swap(shards, Ordering::AcqRel) != 0;
            let read = if refreshed.is_none() { u8::MAX } else { shards };
            others.mark_unchanged();
            let stale = refreshed.is_none_or(|at| clock.instant().since(at) >= REFRESH);
            let done = if stale {
                refreshed = Some(clock.instant());
                self.refresh_and_count(read, now).await
            } else if gained || self.lacks_messages(now) {
                self.refresh(read, now).await
            } else if self.shared.instances.has_others() || self.look_for_stray() {
                self.read_to(read, now.checked_add(POLL * 2).unwrap_or(now)).await.map(drop)
            } else {
                Ok(())
            };
            if let Err(error) = &done {
                tracing::warn!(queue = self.name, %error, "cannot read the queue");
                refreshed = None;
            }
            let pause = match (done, self.shared.instances.has_others()) {
                (Err(_), _) => TROUBLE_PAUSE,
                (Ok(()), true) => POLL,
                (Ok(()), false) if self.strays.load(Ordering::Acquire) > 0 => POLL,
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

    /// Whether the table has messages that memory should have.
    fn lacks_messages(&self, now: Timestamp) -> bool {
        let known = self.known.lock();
        known.wants_more() || known.is_overtaken(now)
    }

    /// Whether a message may be in the table of which nobody said so; counts the looks down.
    fn look_for_stray(&self) -> bool {
        let less = |looks: u8| looks.checked_sub(1);
        self.strays.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    async fn refresh_and_count(&self, shards: u8, now: Timestamp) -> Result<(), Error> {
        self.refresh(shards, now).await?;
        let depth = self.count().await?;
        self.meters.tell(depth, now);
        Ok(())
    }

    /// Reads everything up to the horizon.
    async fn refresh(&self, shards: u8, now: Timestamp) -> Result<(), Error> {
        let horizon = now.checked_add(HORIZON).unwrap_or(now);
        self.known.lock().begin_reading(horizon);
        let read_to = self.read_to(shards, horizon).await;
        let whole = read_to.as_ref().copied().unwrap_or(MessageId::before(now));
        self.known.lock().end_reading(whole);
        read_to.map(drop)
    }

    /// Reads shards, given as bits, up to `to`, as far as memory has room; answers how far that
    /// was. All is taken in together, because it is to be handed out in order.
    async fn read_to(&self, bits: u8, to: Timestamp) -> Result<MessageId, Error> {
        let shards = (0..SHARDS).filter(|shard| bits & (1 << shard) != 0);
        let parts = usize::try_from(bits.count_ones().max(1)).unwrap_or(1);
        let (mut read_to, mut rows) = (MessageId::before(to), Vec::new());
        for shard in shards {
            read_to = read_to.min(self.read_shard(shard, to, parts, &mut rows).await?);
        }
        let mut known = self.known.lock();
        let is_first = rows
            .into_iter()
            .fold(false, |is_first, (message, until)| known.admit(message, until) || is_first);
        drop(known);
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
            let page = self.shared.tables.query(query.clone()).await?;
            for item in &page.items {
                let (message, until) = Message::read(item, shard)?;
                count += 1;
                bytes += message.weight();
                if count > KNOWN_MAX / parts || bytes > KNOWN_BYTES_MAX / parts {
                    return Ok(message.id);
                }
                rows.push((message, until));
            }
            // A page of an embedded store is read at once; others want to run too.
            tokio::task::yield_now().await;
            match page.last_key {
                Some(last) => query = query.start_after(last),
                None => return Ok(MessageId::before(to)),
            }
        }
    }

    /// Counts what is in the queue, whoever watches it.
    pub(super) async fn count(&self) -> Result<Depth, Error> {
        let now = self.shared.clock.now();
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

    /// The times in the sort keys of a partition, as many as are counted.
    async fn times(&self, partition: String) -> Result<Vec<Timestamp>, Error> {
        let mut query = Query::new(TABLE, "pk", partition).project(["sk"]).limit(PAGE_ROWS);
        let mut times = Vec::new();
        loop {
            let page = self.shared.tables.query(query.clone()).await?;
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
