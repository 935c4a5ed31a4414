//! Dead letters: messages that failed for good and wait for an operator.

use base::{Timestamp, Uuid};
use table::{Delete, Item, Put, Query, Value, attr};

use super::message::{Message, NewMessage, read_sort_key, sort_key};
use super::{Queue, QueueInner};
use crate::batcher::{WriteError, WriteGroup};
use crate::error::Error;
use crate::items::{TABLE, key, misfit, number, text, time};
use crate::limits::PAGE_ROWS;

/// A message that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its id among the dead letters.
    pub id: String,
    /// The body of the message.
    pub body: bytes::Bytes,
    /// When it was first sent.
    pub sent: Timestamp,
    /// When it was given up.
    pub died: Timestamp,
    /// How often it was delivered.
    pub receives: u32,
    /// Why it was given up.
    pub reason: String,
}

/// A page of dead letters, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetters {
    /// The letters.
    pub letters: Vec<DeadLetter>,
    /// The start of the next page; none on the last page.
    pub next: Option<String>,
}

/// The stored part of a reason: enough for a line of a page.
const REASON_BYTES_MAX: usize = 1_000;

impl Queue {
    /// The dead letters that follow `after`, which is the `next` of the page before.
    ///
    /// # Errors
    /// The store failed.
    pub async fn list_dead(&self, after: Option<&str>, limit: u32) -> Result<DeadLetters, Error> {
        let partition = partition(self.name());
        let mut query = Query::new(TABLE, "pk", partition.as_str());
        query = query.limit(limit.clamp(1, PAGE_ROWS)).consistent();
        if let Some(after) = after {
            query = query.start_after(key(partition, after));
        }
        let page = self.inner.core.tables.query(query).await?;
        let letters = page.items.iter().map(DeadLetter::read).collect::<Result<_, _>>()?;
        let next = page.last_key.and_then(|last| Some(last.get("sk")?.as_s()?.to_owned()));
        Ok(DeadLetters { letters, next })
    }

    /// Sends a dead letter again with a fresh count of receives; false if it does not exist.
    ///
    /// # Errors
    /// The store failed.
    pub async fn replay(&self, id: &str) -> Result<bool, Error> {
        let get = table::Get::new(TABLE, key(partition(self.name()), id));
        match self.inner.core.tables.get(get).await? {
            Some(item) => self.inner.replay(DeadLetter::read(&item)?).await,
            None => Ok(false),
        }
    }

    /// Sends all current dead letters again; returns their number.
    ///
    /// # Errors
    /// The store failed; some may have been sent.
    pub async fn replay_all(&self) -> Result<u64, Error> {
        self.replay_if(|_| true).await
    }

    /// Sends all current dead letters again for which `wanted` is true; returns their number.
    ///
    /// # Errors
    /// The store failed; some may have been sent.
    pub async fn replay_if(&self, wanted: impl Fn(&DeadLetter) -> bool) -> Result<u64, Error> {
        let now = self.inner.core.clock.now();
        let (mut count, mut after) = (0, None);
        loop {
            let part = self.list_dead(after.as_deref(), PAGE_ROWS).await?;
            for letter in part.letters {
                // A letter that died later came back from this replay.
                if letter.died <= now && wanted(&letter) {
                    count += u64::from(self.inner.replay(letter).await?);
                }
            }
            after = part.next;
            if after.is_none() {
                return Ok(count);
            }
        }
    }

    /// Makes a dead letter of a message that was never sent: the failed part of a message that
    /// stood for many things.
    ///
    /// # Errors
    /// The body is too large, or the store failed.
    pub async fn bury(&self, message: NewMessage, reason: &str) -> Result<(), Error> {
        let message = self.inner.send(message)?;
        let letter = put(self.name(), &message, message.sent, reason);
        self.inner.core.tables.put(letter).await?;
        self.inner.buried(&message, reason);
        Ok(())
    }

    /// Deletes all current dead letters; returns their number.
    ///
    /// # Errors
    /// The store failed; some may have been deleted.
    pub async fn purge(&self) -> Result<u64, Error> {
        self.purge_if(|_| true).await
    }

    /// Deletes all current dead letters for which `unwanted` is true; returns their number.
    ///
    /// # Errors
    /// The store failed; some may have been deleted.
    pub async fn purge_if(&self, unwanted: impl Fn(&DeadLetter) -> bool) -> Result<u64, Error> {
        let (mut count, mut after) = (0, None);
        loop {
            let part = self.list_dead(after.as_deref(), PAGE_ROWS).await?;
            let letters = part.letters.iter().filter(|letter| unwanted(letter));
            let groups = letters.map(|letter| {
                let key = key(partition(self.name()), letter.id.as_str());
                let delete = Delete::new(TABLE, key).when(attr("sk").exists());
                WriteGroup {
                    subject: self.inner.core.ids.random(),
                    count: 1,
                    weight: 0,
                    render: Box::new(move |writes| writes.push(delete.clone().into())),
                }
            });
            for outcome in self.inner.core.batcher.submit(groups) {
                match outcome.wait().await {
                    Ok(()) => count += 1,
                    // Another request deleted or replayed it.
                    Err(WriteError::Condition(_)) => {}
                    Err(WriteError::Peer(error)) => return Err(error),
                }
            }
            after = part.next;
            if after.is_none() {
                return Ok(count);
            }
        }
    }
}

impl QueueInner {
    /// Makes a message a dead letter, in one transaction with `delete`.
    pub(super) async fn bury(
        &self,
        message: &Message,
        delete: Delete,
        reason: &str,
    ) -> Result<(), WriteError> {
        let died = self.core.clock.now();
        let letter = put(&self.name, message, died, reason);
        let work = WriteGroup {
            subject: message.id.uuid(),
            count: 2,
            weight: message.weight() + REASON_BYTES_MAX,
            render: Box::new(move |writes| {
                writes.push(delete.clone().into());
                writes.push(letter.clone().into());
            }),
        };
        let buried = self.core.batcher.write(work).await;
        if buried.is_ok() {
            self.buried(message, reason);
        }
        buried
    }

    fn buried(&self, message: &Message, reason: &str) {
        self.meters.buried.increment(1);
        // Only an operator can decide about it, so it is an error.
        tracing::error!(queue = self.name, message = %message.id, reason, "a message was given up");
    }

    async fn replay(&self, letter: DeadLetter) -> Result<bool, Error> {
        let old = key(partition(&self.name), letter.id.as_str());
        let delete = Delete::new(TABLE, old).when(attr("sk").exists());
        let uuid = letter.uuid().unwrap_or_else(|| self.core.ids.ordered());
        let message = NewMessage::new(letter.body);
        let mut message = message.send(uuid, self.pick_shard(uuid), self.core.clock.now())?;
        message.sent = letter.sent;
        let put = message.put(&self.name);
        let work = WriteGroup {
            subject: uuid,
            count: 2,
            weight: message.weight(),
            render: Box::new(move |writes| {
                writes.push(delete.clone().into());
                writes.push(put.clone().into());
            }),
        };
        match self.core.batcher.write(work).await {
            Ok(()) => {
                self.admit(message, Timestamp::EPOCH);
                Ok(true)
            }
            Err(WriteError::Condition(_)) => Ok(false),
            Err(WriteError::Peer(error)) => Err(error),
        }
    }
}

impl DeadLetter {
    /// Whether `text` can be the id of a dead letter.
    pub fn is_id(text: &str) -> bool {
        read_sort_key(text).is_some()
    }

    fn read(item: &Item) -> Result<DeadLetter, Error> {
        let id = text(item, "sk")?;
        let (died, _) = read_sort_key(id).ok_or_else(|| misfit(item, "sk"))?;
        let Some(Value::B(body)) = item.get("body") else { return Err(misfit(item, "body")) };
        let receives = u32::try_from(number(item, "receives")?).unwrap_or(u32::MAX);
        Ok(DeadLetter {
            id: id.to_owned(),
            body: body.clone(),
            sent: time(item, "sent")?,
            died,
            receives,
            reason: text(item, "reason")?.to_owned(),
        })
    }

    fn uuid(&self) -> Option<Uuid> {
        read_sort_key(&self.id).map(|(_, uuid)| uuid)
    }
}

/// The partition of a queue's dead letters.
pub(super) fn partition(queue: &str) -> String {
    format!("D#{queue}")
}

fn put(queue: &str, message: &Message, died: Timestamp, reason: &str) -> Put {
    let end = reason.floor_char_boundary(REASON_BYTES_MAX);
    let item = key(partition(queue), sort_key(died, message.id.uuid()))
        .with("body", message.body.clone())
        .with("receives", message.receives)
        .with("sent", message.sent.millis())
        .with("reason", reason.get(..end).unwrap_or_default());
    Put::new(TABLE, item)
}
