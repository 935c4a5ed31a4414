//! A message: its id, its body, and its row in the table.

use std::fmt::{self, Write};
use std::str::FromStr;
use std::time::Duration;

use base::{Timestamp, Uuid};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use table::{Delete, Item, Put, Update, Value, attr};

use crate::error::Error;
use crate::items::{TABLE, key, misfit, number, text, time};
use crate::limits::{BODY_BYTES_MAX, DUE_MS_MAX, SHARDS};

/// The place of a message: enough to find its row. As a text it is `<due ms>.<shard>.<uuid>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    // Ids sort by due time, so it comes first.
    due_ms: u64,
    uuid: Uuid,
    shard: u8,
}

/// A message that was not sent yet.
#[derive(Clone, Debug)]
pub struct NewMessage {
    body: Bytes,
    when: DueTime,
}

#[derive(Clone, Copy, Debug)]
enum DueTime {
    After(Duration),
    At(Timestamp),
}

/// A message as a consumer gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id, which changes with every retry.
    pub id: MessageId,
    /// The body.
    pub body: Bytes,
    /// When it was first sent.
    pub sent: Timestamp,
    /// How often it was delivered, including this time.
    pub receives: u32,
}

impl NewMessage {
    /// A message that is due now.
    pub fn new(body: impl Into<Bytes>) -> NewMessage {
        NewMessage { body: body.into(), when: DueTime::After(Duration::ZERO) }
    }

    /// A message that is due now, with `content` as JSON.
    ///
    /// # Errors
    /// The content cannot be encoded as JSON.
    pub fn json<T: Serialize>(content: &T) -> Result<NewMessage, Error> {
        let body = serde_json::to_vec(content).map_err(|cause| Error::Misfit(cause.to_string()))?;
        Ok(NewMessage::new(body))
    }

    /// Makes it due after `delay`, counted from its sending.
    #[must_use]
    pub fn delay(self, delay: Duration) -> NewMessage {
        NewMessage { when: DueTime::After(delay), ..self }
    }

    /// Makes it due at `time`; a past time means now.
    #[must_use]
    pub fn due(self, time: Timestamp) -> NewMessage {
        NewMessage { when: DueTime::At(time), ..self }
    }

    /// The message as sent now.
    pub(crate) fn send(self, uuid: Uuid, shard: u8, now: Timestamp) -> Result<Message, Error> {
        if self.body.len() > BODY_BYTES_MAX {
            return Err(Error::BodyTooLarge(self.body.len()));
        }
        let far = Timestamp::from_millis(u64::MAX);
        let due = match self.when {
            DueTime::After(delay) => now.checked_add(delay).unwrap_or(far),
            DueTime::At(time) => time.max(now),
        };
        Ok(Message {
            id: MessageId::new(due, shard, uuid)?,
            body: self.body,
            sent: now,
            receives: 0,
        })
    }
}

impl Message {
    /// The time at which the message is due.
    pub fn due(&self) -> Timestamp {
        self.id.due()
    }

    /// Decodes the body from JSON.
    ///
    /// # Errors
    /// The body is not JSON of this type.
    pub fn read_json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|cause| Error::Misfit(cause.to_string()))
    }

    /// The same message with another due time.
    pub(crate) fn moved_to(&self, due: Timestamp) -> Result<Message, Error> {
        Ok(Message { id: MessageId::new(due, self.id.shard, self.id.uuid)?, ..self.clone() })
    }

    /// The approximate size of its row.
    pub(crate) fn weight(&self) -> usize {
        // Keys, numbers and attribute names.
        self.body.len() + 200
    }

    /// The write of the row, without a lease.
    pub(crate) fn put(&self, queue: &str) -> Put {
        // In the order of the attribute names.
        let item = Item::with_capacity(6)
            .with("body", self.body.clone())
            .with("pk", partition(queue, self.id.shard))
            .with("receives", self.receives)
            .with("sent", self.sent.millis())
            .with("sk", self.id.sort_key())
            .with("until", 0);
        Put::new(TABLE, item)
    }

    /// Leases the message, if the row is free and unchanged. The count of receives is the version
    /// of the row and the token of its lease: it grows with every lease.
    pub(crate) fn lease(&self, queue: &str, now: Timestamp, until: Timestamp) -> Update {
        Update::new(TABLE, self.id.key(queue))
            .set("receives", self.receives + 1)
            .set("until", until.millis())
            .when(attr("receives").eq(self.receives).and(attr("until").le(now.millis())))
            .telling()
    }

    /// Extends the lease, if it is still held.
    pub(crate) fn extend(&self, queue: &str, until: Timestamp) -> Update {
        Update::new(TABLE, self.id.key(queue))
            .set("until", until.millis())
            .when(attr("receives").eq(self.receives))
    }

    /// Deletes the message, if the lease is still held.
    pub(crate) fn delete(&self, queue: &str) -> Delete {
        Delete::new(TABLE, self.id.key(queue)).when(attr("receives").eq(self.receives))
    }

    /// The message of a row, and the end of its lease.
    pub(crate) fn read(item: &Item, shard: u8) -> Result<(Message, Timestamp), Error> {
        let (due, uuid) = read_sort_key(text(item, "sk")?).ok_or_else(|| misfit(item, "sk"))?;
        let id = MessageId::new(due, shard, uuid)?;
        let Some(Value::B(body)) = item.get("body") else { return Err(misfit(item, "body")) };
        let receives = number(item, "receives")?;
        let receives = u32::try_from(receives).map_err(|_| misfit(item, "receives"))?;
        let message = Message { id, body: body.clone(), sent: time(item, "sent")?, receives };
        Ok((message, time(item, "until")?))
    }
}

impl MessageId {
    fn new(due: Timestamp, shard: u8, uuid: Uuid) -> Result<MessageId, Error> {
        if due.millis() > DUE_MS_MAX {
            return Err(Error::DueTooFar(due));
        }
        Ok(MessageId { due_ms: due.millis(), uuid, shard })
    }

    /// When the message is due.
    pub fn due(&self) -> Timestamp {
        Timestamp::from_millis(self.due_ms)
    }

    /// The message's own id, which no retry changes.
    pub fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// An id that sorts before all messages due at `time` or later.
    pub(crate) fn before(time: Timestamp) -> MessageId {
        MessageId { due_ms: time.millis(), uuid: Uuid::nil(), shard: 0 }
    }

    pub(crate) fn shard(&self) -> u8 {
        self.shard
    }

    pub(crate) fn sort_key(&self) -> String {
        sort_key(self.due(), self.uuid)
    }

    pub(crate) fn key(&self, queue: &str) -> Item {
        key(partition(queue, self.shard), self.sort_key())
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.due_ms, self.shard, self.uuid)
    }
}

impl FromStr for MessageId {
    type Err = Error;

    fn from_str(text: &str) -> Result<MessageId, Error> {
        let read = || {
            let (due, rest) = text.split_once('.')?;
            let (shard, uuid) = rest.split_once('.')?;
            let shard = shard.parse().ok().filter(|shard| *shard < SHARDS)?;
            let due = Timestamp::from_millis(due.parse().ok()?);
            MessageId::new(due, shard, uuid.parse().ok()?).ok()
        };
        read().ok_or_else(|| Error::BadId(text.to_owned()))
    }
}

/// The partition of a shard.
pub(crate) fn partition(queue: &str, shard: u8) -> String {
    format!("Q#{queue}#{shard}")
}

/// A sort key from a time and an id.
pub(crate) fn sort_key(time: Timestamp, uuid: Uuid) -> String {
    /// Fifteen digits, the mark, and 32 digits of the id.
    const BYTES: usize = 48;
    let mut key = String::with_capacity(BYTES);
    let _ = write!(key, "{:015}#", time.millis());
    key.push_str(uuid.simple().encode_lower(&mut [0; 32]));
    key
}

/// The time and id of a sort key.
pub(crate) fn read_sort_key(text: &str) -> Option<(Timestamp, Uuid)> {
    let (time, uuid) = text.split_once('#')?;
    Some((Timestamp::from_millis(time.parse().ok()?), uuid.parse().ok()?))
}
