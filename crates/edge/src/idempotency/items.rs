//! Marks and answers as they lie in the table.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Ids, Timestamp};
use table::{Condition, Delete, Get, Item, Put, Tables, Value, attr};

use super::answer::{Answer, Kept};
use crate::Error;
use crate::limits::guard::{ANSWER_KEPT, REQUEST_LEASE};
use crate::tables::{ANSWERS, EXPIRES_AT};

/// What the table says to who wants to begin.
pub(super) enum Begun {
    /// Go on; the mark is this owner's.
    Ours(String),
    /// Another one is at it.
    Running,
    /// The key belongs to another payload.
    Other,
    /// It was done.
    Done(Kept),
}

/// The marks of all requests with a key.
#[derive(Clone)]
pub(super) struct Marks {
    tables: Arc<dyn Tables>,
    clock: Clock,
    ids: Ids,
    kept: Duration,
}

impl Marks {
    pub(super) fn new(tables: Arc<dyn Tables>, clock: Clock, ids: Ids) -> Marks {
        Marks { tables, clock, ids, kept: ANSWER_KEPT }
    }

    /// The same, with answers that are kept so long.
    pub(super) fn keeping(self, kept: Duration) -> Marks {
        Marks { kept, ..self }
    }

    /// What is known of a request. None if it may begin.
    pub(super) async fn find(&self, id: &str, payload: &str) -> Result<Option<Begun>, Error> {
        let found = self.tables.get(Get::new(ANSWERS, Item::new().with("pk", id))).await?;
        let now = self.clock.now();
        let is_kept = |item: &Item| number(item, EXPIRES_AT) > Some(now.seconds());
        let Some(found) = found.filter(is_kept) else { return Ok(None) };
        let begun = read(&found, payload);
        let is_dead = number(&found, "leased_until_ms") <= Some(now.millis());
        Ok(Some(begun).filter(|begun| !(is_dead && matches!(begun, Begun::Running))))
    }

    /// Marks the request as running, if it is not marked yet.
    pub(super) async fn begin(&self, id: &str, payload: &str) -> Result<Begun, Error> {
        let (now, owner) = (self.clock.now(), self.ids.random().to_string());
        let item = Item::new()
            .with("pk", id)
            .with("owner", owner.as_str())
            .with("payload", payload)
            .with("leased_until_ms", later(now, REQUEST_LEASE).millis())
            // However short its answer is kept: what runs is not taken for gone.
            .with(EXPIRES_AT, later(now, self.kept.max(REQUEST_LEASE)).seconds());
        let is_gone = attr("pk").not_exists().or(attr(EXPIRES_AT).le(now.seconds()));
        let is_dead = attr("status")
            .not_exists()
            .and(attr("leased_until_ms").le(now.millis()))
            .and(attr("payload").eq(payload));
        let put = Put::new(ANSWERS, item).when(is_gone.or(is_dead)).telling();
        match self.tables.put(put).await {
            Ok(_) => Ok(Begun::Ours(owner)),
            // Without the item it was removed in this moment: who asks again will get further.
            Err(table::Error::ConditionFailed { item: None }) => Ok(Begun::Running),
            Err(table::Error::ConditionFailed { item: Some(found) }) => Ok(read(&found, payload)),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps the answer; false if the mark is another one's by now.
    pub(super) async fn finish(
        &self,
        id: &str,
        owner: &str,
        answer: &Answer,
    ) -> Result<bool, Error> {
        let Kept { status, headers, body } = answer.kept();
        let headers: Vec<Value> = headers
            .into_iter()
            .map(|(name, value)| Value::L(vec![Value::from(name), Value::from(value)]))
            .collect();
        let expires = later(self.clock.now(), self.kept).seconds();
        let update = table::Update::new(ANSWERS, Item::new().with("pk", id))
            .set("status", u32::from(status))
            .set("headers", Value::L(headers))
            .set(attr(EXPIRES_AT), expires);
        let update = match body {
            Some(body) => update.set("body", Value::B(body)),
            None => update,
        };
        done(self.tables.update(update.when(own(owner))).await)
    }

    /// Takes the mark away; false if it is another one's by now.
    pub(super) async fn release(&self, id: &str, owner: &str) -> Result<bool, Error> {
        let delete = Delete::new(ANSWERS, Item::new().with("pk", id)).when(own(owner));
        done(self.tables.delete(delete).await)
    }
}

fn own(owner: &str) -> Condition {
    attr("owner").eq(owner).and(attr("status").not_exists())
}

fn done(written: Result<Option<Item>, table::Error>) -> Result<bool, Error> {
    match written {
        Ok(_) => Ok(true),
        Err(table::Error::ConditionFailed { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn read(item: &Item, payload: &str) -> Begun {
    if item.get("payload") != Some(&Value::from(payload)) {
        return Begun::Other;
    }
    let Some(Value::N(status)) = item.get("status") else { return Begun::Running };
    let headers = match item.get("headers") {
        Some(Value::L(lines)) => lines.iter().filter_map(header).collect(),
        Some(_) | None => Vec::new(),
    };
    let body = match item.get("body") {
        Some(Value::B(body)) => Some(body.clone()),
        Some(_) | None => None,
    };
    let status = status.to_string().parse().unwrap_or_default();
    Begun::Done(Kept { status, headers, body })
}

fn header(line: &Value) -> Option<(String, String)> {
    match line {
        Value::L(pair) => match pair.as_slice() {
            [Value::S(name), Value::S(value)] => {
                Some((name.as_ref().to_owned(), value.as_ref().to_owned()))
            }
            [..] => None,
        },
        _ => None,
    }
}

fn number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n()?.floor_u64()
}

fn later(now: Timestamp, duration: Duration) -> Timestamp {
    now.checked_add(duration).unwrap_or(now)
}
