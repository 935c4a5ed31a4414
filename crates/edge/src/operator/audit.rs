//! What the operator did: every request that changes something, in an order that nobody can change
//! afterwards without it being seen.
//!
//! Invariants: an entry holds the digest of the one before it, and is written in one transaction
//! with the chain's head, so of two at once one follows the other. What is kept names the request,
//! never what was in it. It lies among the credentials, which no console and no command writes.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use base::{Clock, Timestamp};
use serde::{Deserialize, Serialize};
use table::{Get, Put, Query, SortCondition, Tables, TransactWrite, attr};

use crate::limits::guard::{AUDIT_KEPT, AUDIT_SHOWN, WRITE_TRIES_MAX};
use crate::tables::{CREDENTIALS, credential};
use crate::{Error, secret};

const KIND: &str = "audit";
/// Behind every number.
const HEAD: &str = "head";

/// Something that was done, as the audit knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// Its place in the chain, from 1 on.
    pub number: u64,
    at_ms: u64,
    /// The request: `POST /console/access`.
    pub request: String,
    /// What it was answered with; 4xx and 5xx changed nothing.
    pub status: u16,
    /// The address it came from.
    pub from: String,
    previous: String,
    hash: String,
}

impl Deed {
    /// When it was.
    pub fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.at_ms)
    }

    fn seal(&self) -> String {
        let Deed { number, at_ms, request, status, from, previous, hash: _ } = self;
        secret::digest(format!("{previous}\n{number}\n{at_ms}\n{request}\n{status}\n{from}"))
    }
}

/// The end of the audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// The newest first.
    pub deeds: Vec<Deed>,
    /// Whether each of them is what it was, and none is missing between them or at the end.
    pub is_whole: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct Head {
    number: u64,
    hash: String,
}

/// The chain. One entry at a time in this process; others are met as lost races.
pub(super) struct Audit {
    tables: Arc<dyn Tables>,
    clock: Clock,
    turn: tokio::sync::Mutex<()>,
}

impl Audit {
    pub(super) fn new(tables: Arc<dyn Tables>, clock: Clock) -> Audit {
        Audit { tables, clock, turn: tokio::sync::Mutex::default() }
    }

    /// Adds a request that changed something, or was refused. It has happened by then: a store that
    /// cannot tell of it is told of in the log.
    pub(super) async fn record(
        &self,
        method: &Method,
        path: &str,
        status: StatusCode,
        from: IpAddr,
    ) {
        if method.is_safe() {
            return;
        }
        let _turn = self.turn.lock().await;
        let request = format!("{method} {path}");
        for _ in 0..WRITE_TRIES_MAX {
            match self.append(&request, status, from).await {
                Ok(()) => return,
                Err(Error::Store(table::Error::TransactionCanceled { .. })) => {}
                Err(error) => {
                    tracing::error!(%error, request, "the audit lacks a request");
                    return;
                }
            }
        }
        tracing::error!(request, "the audit lacks a request: too many others were written");
    }

    async fn append(&self, request: &str, status: StatusCode, from: IpAddr) -> Result<(), Error> {
        let head = self.find_head().await?;
        let (number, previous) = head.map(|head| (head.number, head.hash)).unwrap_or_default();
        let now = self.clock.now();
        let mut deed = Deed {
            number: number + 1,
            at_ms: now.millis(),
            request: request.to_owned(),
            status: status.as_u16(),
            from: from.to_string(),
            previous: previous.clone(),
            hash: String::new(),
        };
        deed.hash = deed.seal();
        let unchanged = match number {
            0 => attr("pk").not_exists(),
            number => attr("number").eq(number).and(attr("hash").eq(previous.as_str())),
        };
        let ends = now.checked_add(AUDIT_KEPT).unwrap_or(now).seconds();
        let item = table::to_item(&deed)?.with("expires_at", ends);
        let item = item.with("pk", KIND).with("sk", place(deed.number));
        let end = credential(KIND, HEAD);
        let end = end.with("number", deed.number).with("hash", deed.hash.as_str());
        let writes = vec![
            Put::new(CREDENTIALS, end).when(unchanged).into(),
            Put::new(CREDENTIALS, item).when(attr("pk").not_exists()).into(),
        ];
        Ok(self.tables.transact_write(TransactWrite::new(writes)).await?)
    }

    /// The end of the chain, looked through.
    pub(super) async fn list(&self) -> Result<Audited, Error> {
        let head = self.find_head().await?;
        let stretch = SortCondition::between("0", "9".repeat(20));
        let query = Query::new(CREDENTIALS, "pk", KIND).sort("sk", stretch).limit(AUDIT_SHOWN);
        let page = self.tables.query(query.descending().consistent()).await?;
        let deeds = page.items.into_iter().map(table::from_item::<Deed>);
        let deeds: Vec<Deed> = deeds.collect::<Result<_, _>>()?;
        let is_sealed = deeds.iter().all(|deed| deed.seal() == deed.hash);
        let follow = |pair: &[Deed]| match pair {
            [newer, older] => newer.previous == older.hash && newer.number == older.number + 1,
            _ => true,
        };
        // One that was written since the head was read is none too many.
        let ends = head.is_none_or(|head| {
            deeds.iter().any(|deed| deed.number == head.number && deed.hash == head.hash)
        });
        let is_whole = is_sealed && deeds.windows(2).all(follow) && ends;
        Ok(Audited { deeds, is_whole })
    }

    async fn find_head(&self) -> Result<Option<Head>, Error> {
        let get = Get::new(CREDENTIALS, credential(KIND, HEAD));
        Ok(self.tables.get(get).await?.map(table::from_item).transpose()?)
    }
}

fn place(number: u64) -> String {
    format!("{number:020}")
}
