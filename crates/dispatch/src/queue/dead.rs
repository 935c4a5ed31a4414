//! Dead letters: messages that were given up, kept until somebody decides.

use base::{Timestamp, Uuid};
use table::{Delete, Item, Put, Query, Value, attr};

use super::message::{Message, NewMessage, read_sort_key, sort_key};
use super::{Inner, Queue};
use crate::error::Error;
use crate::gather::{Refused, Work};
use crate::items::{TABLE, key, misfit, number, text, time};
use crate::limits::PAGE_ROWS;

/// A message that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its name among the dead letters.
    pub id: String,
    /// What it says.
    pub body: bytes::Bytes,
    /// When it was sent first.
    pub sent: Timestamp,
    /// When it was given up.
    pub died: Timestamp,
    /// How often it was handed out.
    pub receives: u32,
    /// Why it was given up.
    pub reason: String,
}

/// A part of the dead letters, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetters {
    /// The letters.
    pub letters: Vec<DeadLetter>,
    /// What to ask for the next part with; none at the end.
    pub next: Option<String>,
}

/// The text that a dead letter keeps of its reason: enough for a line of a page.
const REASON_BYTES_MAX: usize = 1_000;

impl Queue {
    /// The dead letters behind `after`, which is the `next` of the part before.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn list_dead(&self, after: Option<&str>, limit: u32) -> Result<DeadLetters, Error> {
        let partition = partition(self.name());
        let mut query = Query::new(TABLE, "pk", partition.as_str());
        query = query.limit(limit.clamp(1, PAGE_ROWS)).consistent();
        if let Some(after) = after {
            query = query.start_after(key(partition, after));
        }
        let page = self.inner.shared.tables.query(query).await?;
        let letters = page.items.iter().map(DeadLetter::read).collect::<Result<_, _>>()?;
        let next = page.last_key.and_then(|last| Some(last.get("sk")?.as_s()?.to_owned()));
        Ok(DeadLetters { letters, next })
    }

    /// Sends a dead letter again, as if it had never been handed out; false if it is not there.
    ///
    /// # Errors
    /// The store refused.
    pub async fn replay(&self, id: &str) -> Result<bool, Error> {
        let get = table::Get::new(TABLE, key(partition(self.name()), id));
        match self.inner.shared.tables.get(get).await? {
            Some(item) => self.inner.replay(DeadLetter::read(&item)?).await,
            None => Ok(false),
        }
    }

    /// Sends all dead letters again that are there now; answers how many.
    ///
    /// # Errors
    /// The store refused; some may be sent.
    pub async fn replay_all(&self) -> Result<u64, Error> {
        self.replay_if(|_| true).await
    }

    /// Sends those of them again that are wanted; answers how many.
    ///
    /// # Errors
    /// The store refused; some may be sent.
    pub async fn replay_if(&self, wanted: impl Fn(&DeadLetter) -> bool) -> Result<u64, Error> {
        let now = self.inner.shared.clock.now();
        let (mut count, mut after) = (0, None);
        loop {
            let part = self.list_dead(after.as_deref(), PAGE_ROWS).await?;
            for letter in part.letters {
                // What died since has come back from this very replay.
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

    /// Gives up a message that was never sent: what a consumer could not do of a message that
    /// stood for many things.
    ///
    /// # Errors
    /// The body is too large, or the store refused.
    pub async fn bury(&self, message: NewMessage, reason: &str) -> Result<(), Error> {
        let message = self.inner.send(message)?;
        let letter = put(self.name(), &message, message.sent, reason);
        self.inner.shared.tables.put(letter).await?;
        self.inner.buried(&message, reason);
        Ok(())
    }

    /// Removes all dead letters that are there now; answers how many.
    ///
    /// # Errors
    /// The store refused; some may be removed.
    pub async fn purge(&self) -> Result<u64, Error> {
        self.purge_if(|_| true).await
    }

    /// Removes those of them that are not wanted any more; answers how many.
    ///
    /// # Errors
    /// The store refused; some may be removed.
    pub async fn purge_if(&self, unwanted: impl Fn(&DeadLetter) -> bool) -> Result<u64, Error> {
        let (mut count, mut after) = (0, None);
        loop {
            let part = self.list_dead(after.as_deref(), PAGE_ROWS).await?;
            let letters = part.letters.iter().filter(|letter| unwanted(letter));
            let works = letters.map(|letter| {
                let key = key(partition(self.name()), letter.id.as_str());
                let delete = Delete::new(TABLE, key).when(attr("sk").exists());
                Work {
                    subject: self.inner.shared.ids.random(),
                    count: 1,
                    weight: 0,
                    render: Box::new(move |writes| writes.push(delete.clone().into())),
                }
            });
            for outcome in self.inner.shared.gather.submit(works) {
                match outcome.wait().await {
                    Ok(()) => count += 1,
                    // Somebody else removed or replayed it.
                    Err(Refused::Condition(_)) => {}
                    Err(Refused::Other(error)) => return Err(error),
                }
            }
            after = part.next;
            if after.is_none() {
                return Ok(count);
            }
        }
    }
}

impl Inner {
    /// Puts a message among the dead letters, in one step with its leaving by `delete`.
    pub(super) async fn bury(
        &self,
        message: &Message,
        delete: Delete,
        reason: &str,
    ) -> Result<(), Refused> {
        let died = self.shared.clock.now();
        let letter = put(&self.name, message, died, reason);
        let work = Work {
            subject: message.id.uuid(),
            count: 2,
            weight: message.weight() + REASON_BYTES_MAX,
            render: Box::new(move |writes| {
                writes.push(delete.clone().into());
                writes.push(letter.clone().into());
            }),
        };
        let buried = self.shared.gather.write(work).await;
        if buried.is_ok() {
            self.buried(message, reason);
        }
        buried
    }

    fn buried(&self, message: &Message, reason: &str) {
        self.meters.buried.increment(1);
        // It waits for a decision, and nobody but the operator can take it.
        tracing::error!(queue = self.name, message = %message.id, reason, "a message was given up");
    }

    async fn replay(&self, letter: DeadLetter) -> Result<bool, Error> {
        let old = key(partition(&self.name), letter.id.as_str());
        let delete = Delete::new(TABLE, old).when(attr("sk").exists());
        let uuid = letter.uuid().unwrap_or_else(|| self.shared.ids.ordered());
        let message = NewMessage::new(letter.body);
        let mut message = message.send(uuid, self.pick_shard(uuid), self.shared.clock.now())?;
        message.sent = letter.sent;
        let put = message.put(&self.name);
        let work = Work {
            subject: uuid,
            count: 2,
            weight: message.weight(),
            render: Box::new(move |writes| {
                writes.push(delete.clone().into());
                writes.push(put.clone().into());
            }),
        };
        match self.shared.gather.write(work).await {
            Ok(()) => {
                self.admit(message, Timestamp::EPOCH);
                Ok(true)
            }
            Err(Refused::Condition(_)) => Ok(false),
            Err(Refused::Other(error)) => Err(error),
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
