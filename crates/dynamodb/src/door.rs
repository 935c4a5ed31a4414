//! The door: the embedded engine as a DynamoDB endpoint.
//!
//! A [`Call`] contains the parts of an HTTP request, a [`Reply`] those of the response; the
//! transport is elsewhere. A call is authenticated (`door/sign.rs`), parsed straight into the types
//! of the tables (`door/read.rs`), done by the engine, and its response written as one text
//! (`door/write.rs`). The operations on items are in `door/items.rs` and `door/pages.rs`, those on
//! tables in `door/tables.rs`. `door/cors.rs` decides which pages may call from a browser.
//!
//! - **Invariant:** no call reaches the engine's own tables, the door's table, or tables with
//!   secrets of the server.
//! - **Invariant:** every response has DynamoDB's form, and failures have its types and words.

mod backups;
mod batches;
mod bounded;
mod capacity;
mod cors;
mod expressions;
mod fault;
mod items;
mod legacy;
mod measure;
mod meta;
mod names;
mod options;
mod pages;
mod partiql;
mod read;
mod settings;
mod sign;
mod streams;
mod tables;
mod tags;
#[cfg(test)]
mod tests;
mod transactions;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{Clock, Random, Tasks};
use parking_lot::{Mutex, RwLock};
use table::{Embedded, Error, Secrets};

pub use self::options::{Listen, Options, Origins, read_keys};
pub use self::sign::Guard;

use self::fault::{Fault, Kind};
use self::read::request;

/// The largest request in bytes, as in DynamoDB: a whole batch of the largest items with the text
/// around them.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Operations of several steps that must not stop halfway.
const TABLE_OPERATIONS: [&str; 11] = [
    "CreateTable",
    "UpdateTable",
    "DeleteTable",
    "UpdateTimeToLive",
    "TagResource",
    "UntagResource",
    "CreateBackup",
    "DeleteBackup",
    "UpdateContinuousBackups",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
];
/// The name of the task that runs one of them.
const TABLE_TASK: &str = "declaration at the DynamoDB door";

/// A request.
pub struct Call<'a> {
    /// `POST`.
    pub method: &'a str,
    /// The path with the query.
    pub path: &'a str,
    /// Returns the value of a header by its name in lower case.
    pub headers: &'a (dyn Fn(&str) -> Option<&'a str> + Send + Sync),
    /// The body.
    pub body: &'a [u8],
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

/// The endpoint.
pub struct Door {
    store: Embedded,
    guard: Guard,
    secrets: Secrets,
    clock: Clock,
    random: Random,
    tasks: Tasks,
    /// The name of the door's own table.
    own: String,
    /// Held during a change of tables, so that a check at the start still holds at the end.
    table_lock: tokio::sync::Mutex<()>,
    /// Held during a read of a past state: the store opens one at a time.
    past_lock: tokio::sync::Mutex<()>,
    /// Tables under restoration. They stay hidden until they are complete.
    restoring: RwLock<BTreeSet<String>>,
    /// The counted items and bytes in the indexes of each table.
    index_counts: Mutex<BTreeMap<String, measure::IndexCounts>>,
    /// The readers of streams, at the places where they stopped.
    feeds: Mutex<streams::Feeds>,
}

impl<'a> Call<'a> {
    fn header(&self, name: &str) -> Option<&'a str> {
        (self.headers)(name)
    }
}

impl Door {
    /// Opens a door to this store with this guard. Tables that contain one of the `secrets` are
    /// hidden completely: filters, conditions, streams and restores would each reveal an attribute
    /// that is merely left out of items.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn open(
        store: Embedded,
        guard: Guard,
        secrets: Secrets,
        clock: Clock,
        random: Random,
        tasks: &Tasks,
    ) -> Result<Arc<Door>, Error> {
        let own = store.ensure_hidden(meta::spec()).await?;
        let door = Door {
            store,
            guard,
            secrets,
            clock,
            random,
            tasks: tasks.clone(),
            own,
            table_lock: tokio::sync::Mutex::default(),
            past_lock: tokio::sync::Mutex::default(),
            restoring: RwLock::default(),
            index_counts: Mutex::default(),
            feeds: Mutex::default(),
        };
        door.tidy_backups().await?;
        Ok(Arc::new(door))
    }

    /// Handles a call.
    pub async fn answer(self: &Arc<Self>, call: Call<'_>) -> Reply {
        let mut reply = match self.guard.preflight(&call) {
            Some(reply) => reply,
            None => self.answer_direct(&call).await,
        };
        self.guard.let_read(&call, &mut reply);
        reply
    }

    /// The response without the headers for browsers.
    async fn answer_direct(self: &Arc<Self>, call: &Call<'_>) -> Reply {
        let path = call.path.split('?').next().unwrap_or_default();
        match (call.method, path) {
            ("POST", "/") => match self.handle(call).await {
                Ok(body) => self.reply(200, body),
                Err(fault) => self.refuse(&fault),
            },
            ("GET", "/") => Reply {
                status: 200,
                content_type: "text/plain; charset=utf-8",
                headers: Vec::new(),
                body: "healthy: a DynamoDB endpoint of Nagaya\n".to_owned(),
            },
            (_, _) => Reply {
                content_type: "application/xml",
                ..self.reply(404, "<UnknownOperationException/>\n".to_owned())
            },
        }
    }

    fn refuse(&self, fault: &Fault) -> Reply {
        self.reply(fault.status(), fault.body())
    }

    fn reply(&self, status: u16, body: String) -> Reply {
        let checksum = crc32fast::hash(body.as_bytes()).to_string();
        let id = base::hex(&self.random.bytes::<16>());
        Reply {
            status,
            content_type: "application/x-amz-json-1.0",
            headers: vec![("x-amz-crc32", checksum), ("x-amzn-requestid", id)],
            body,
        }
    }

    async fn handle(self: &Arc<Self>, call: &Call<'_>) -> Result<String, Fault> {
        if call.body.len() > BODY_BYTES_MAX {
            return Err(Fault::new(
                Kind::TooLarge,
                format!("Request size has exceeded the maximum of {BODY_BYTES_MAX} bytes"),
            ));
        }
        self.guard.check(call, &self.clock)?;
        let target = call.header("x-amz-target").unwrap_or_default();
        let (service, operation) = target.split_once('.').unwrap_or_default();
        match service {
            "DynamoDB_20120810" => self.operate(operation, call).await,
            "DynamoDBStreams_20120810" => self.stream(operation, call.body).await,
            _ => Err(unknown_operation()),
        }
    }

    async fn stream(&self, operation: &str, body: &[u8]) -> Result<String, Fault> {
        match operation {
            "ListStreams" => self.list_streams(request(body)?),
            "DescribeStream" => self.describe_stream(request(body)?).await,
            "GetShardIterator" => self.get_shard_iterator(request(body)?).await,
            "GetRecords" => self.get_records(request(body)?).await,
            _ => Err(unknown_operation()),
        }
    }

    async fn operate(self: &Arc<Self>, operation: &str, call: &Call<'_>) -> Result<String, Fault> {
        let body = call.body;
        match operation {
            "GetItem" => self.get_item(request(body)?),
            "PutItem" => self.put_item(request(body)?).await,
            "UpdateItem" => self.update_item(request(body)?).await,
            "DeleteItem" => self.delete_item(request(body)?).await,
            "Query" => self.query(request(body)?),
            "Scan" => self.scan(request(body)?),
            "DescribeTable" => self.describe_table(request(body)?).await,
            "ListTables" => self.list_tables(request(body)?).await,
            "BatchGetItem" => self.batch_get_item(request(body)?),
            "BatchWriteItem" => self.batch_write_item(request(body)?).await,
            "TransactWriteItems" => self.transact_write_items(request(body)?).await,
            "TransactGetItems" => self.transact_get_items(request(body)?),
            "DescribeTimeToLive" => self.describe_time_to_live(request(body)?),
            "ListTagsOfResource" => self.list_tags(request(body)?).await,
            "DescribeLimits" => Ok(settings::describe_limits()),
            "DescribeEndpoints" => Ok(settings::describe_endpoints(call)),
            "DescribeBackup" => self.describe_backup(request(body)?).await,
            "ListBackups" => self.list_backups(request(body)?),
            "DescribeContinuousBackups" => self.describe_continuous_backups(request(body)?).await,
            "ExecuteStatement" => self.execute_statement(request(body)?).await,
            "BatchExecuteStatement" => self.batch_execute_statement(request(body)?).await,
            "ExecuteTransaction" => self.execute_transaction(request(body)?).await,
            _ if TABLE_OPERATIONS.contains(&operation) => self.declare(operation, body).await,
            _ => Err(unknown_operation()),
        }
    }

    /// Runs one of the [`TABLE_OPERATIONS`] in a task of its own, so that a caller that disconnects
    /// leaves nothing half done.
    async fn declare(self: &Arc<Self>, operation: &str, body: &[u8]) -> Result<String, Fault> {
        let (door, operation, body) = (Arc::clone(self), operation.to_owned(), body.to_vec());
        let (answer, answered) = tokio::sync::oneshot::channel();
        self.tasks.spawn(TABLE_TASK, async move {
            let done = door.run_table_operation(&operation, &body).await;
            // The caller may have disconnected, and then needs no response.
            drop(answer.send(done));
        });
        answered.await.unwrap_or_else(|_| Err(Fault::new(Kind::Internal, "Internal server error")))
    }

    async fn run_table_operation(&self, operation: &str, body: &[u8]) -> Result<String, Fault> {
        match operation {
            "CreateTable" => self.create_table(request(body)?).await,
            "UpdateTable" => self.update_table(request(body)?).await,
            "DeleteTable" => self.delete_table(request(body)?).await,
            "UpdateTimeToLive" => self.update_time_to_live(request(body)?).await,
            "TagResource" => self.tag_resource(request(body)?).await,
            "UntagResource" => self.untag_resource(request(body)?).await,
            "CreateBackup" => self.create_backup(request(body)?).await,
            "DeleteBackup" => self.delete_backup(request(body)?).await,
            "UpdateContinuousBackups" => self.update_continuous_backups(request(body)?).await,
            "RestoreTableFromBackup" => self.restore_from_backup(request(body)?).await,
            "RestoreTableToPointInTime" => self.restore_to_point_in_time(request(body)?).await,
            _ => Err(unknown_operation()),
        }
    }
}

fn unknown_operation() -> Fault {
    Fault::new(Kind::UnknownOperation, "")
}
