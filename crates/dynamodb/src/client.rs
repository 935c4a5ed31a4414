//! DynamoDB as an implementation of the `Tables` port.
//!
//! The client sends each call of the port as it is, and DynamoDB judges it: its rules are the rules
//! of the port. The client adds the work that DynamoDB leaves to its callers: retries
//! (`attempts.rs`), hiding expired items (`expiry.rs`), creating declared tables (`declare.rs`),
//! and the prefix of table names.
//!
//! Invariants: no call takes effect twice (`attempts.rs`); table names on our side never have the
//! prefix, also in responses and errors.

mod attempts;
mod batches;
mod declare;
mod direct;
mod expiry;
mod expressions;
mod limits;
mod options;
mod reads;
mod shape;
mod templates;
mod transactions;
mod values;
mod writes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Config, Credentials, Region, SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_smithy_async::time::TimeSource;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use base::{Clock, Random};
use metrics::Counter;
pub use options::Options;
use parking_lot::Mutex;
use table::{
    Answer, BatchGot, BatchWrite, Delete, Error, Get, Item, Page, Put, Query, Scan,
    TableDescription, TableSpec, Tables, TransactWrite, Update,
};
pub use templates::{cloudformation, terraform};

use crate::door::Door;

/// DynamoDB as a store. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Client {
    sdk: aws_sdk_dynamodb::Client,
    prefix: Arc<str>,
    clock: Clock,
    random: Random,
    /// Table declarations by our name: as declared, or as found by a command that declares none. A
    /// declaration changes only with the version of the server, so this cache stays valid while it
    /// runs.
    specs: Arc<Mutex<BTreeMap<String, Arc<TableSpec>>>>,
    retried: Counter,
}

impl Client {
    /// A client of the DynamoDB in the options. Sends no request yet.
    ///
    /// # Errors
    /// There is no key to sign with.
    pub fn new(options: &Options, clock: Clock, random: Random) -> Result<Client, Error> {
        options.check()?;
        Ok(Client::over(http_client(&options.endpoint), options, clock, random))
    }

    /// A client of a door in this process, without a network. For tests of several instances that
    /// share a store.
    pub fn through(door: Arc<Door>, clock: Clock, random: Random) -> Client {
        let options = Options {
            endpoint: "http://door".to_owned(),
            prefix: String::new(),
            access_key_id: "nagaya".to_owned(),
            secret_access_key: "nagaya".to_owned(),
            ..Options::default()
        };
        Client::over(direct::http_client(door), &options, clock, random)
    }

    fn over(http: SharedHttpClient, options: &Options, clock: Clock, random: Random) -> Client {
        metrics::describe_counter!(
            "nagaya_dynamodb_retries_total",
            "calls to DynamoDB that were sent again"
        );
        let token = Some(options.session_token.clone()).filter(|token| !token.is_empty());
        let (id, secret) = (&options.access_key_id, &options.secret_access_key);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(limits::CONNECT_WITHIN)
            .operation_attempt_timeout(limits::ANSWER_WITHIN);
        let mut config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(options.region.clone()))
            .credentials_provider(Credentials::new(id, secret, token, None, "nagaya"))
            .http_client(http)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts.build())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .time_source(ClockTimeSource(clock.clone()));
        config.set_endpoint_url(Some(options.endpoint.clone()).filter(|url| !url.is_empty()));
        Client {
            sdk: aws_sdk_dynamodb::Client::from_conf(config.build()),
            prefix: options.prefix.as_str().into(),
            clock,
            random,
            specs: Arc::default(),
            retried: metrics::counter!("nagaya_dynamodb_retries_total"),
        }
    }

    /// DynamoDB's name of a table.
    fn full(&self, table: &str) -> String {
        format!("{}{table}", self.prefix)
    }

    /// Our name of a table, if it has the prefix.
    fn short<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(&*self.prefix)
    }

    fn now_s(&self) -> u64 {
        self.clock.now().seconds()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Tables for Client {
    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(self.get_item(get))
    }

    fn batch_get(&self, gets: Vec<Get>) -> Answer<'_, BatchGot> {
        Box::pin(self.get_items(gets))
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        Box::pin(self.put_item(put))
    }

    fn update(&self, update: Update) -> Answer<'_, Option<Item>> {
        Box::pin(self.update_item(update))
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        Box::pin(self.delete_item(delete))
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(self.query_page(query))
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(self.scan_page(scan))
    }

    fn batch_write(&self, writes: Vec<BatchWrite>) -> Answer<'_, Vec<BatchWrite>> {
        Box::pin(self.write_items(writes))
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        Box::pin(self.write_together(transaction))
    }

    fn transact_get(&self, gets: Vec<Get>) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(self.get_together(gets))
    }

    fn ensure_table(&self, spec: TableSpec) -> Answer<'_, ()> {
        Box::pin(self.declare(spec))
    }

    fn describe_table(&self, name: &str) -> Answer<'_, TableDescription> {
        let name = name.to_owned();
        Box::pin(async move { self.describe(&name).await })
    }

    fn list_tables(&self) -> Answer<'_, Vec<String>> {
        Box::pin(self.list())
    }

    fn delete_table(&self, name: &str) -> Answer<'_, ()> {
        let name = name.to_owned();
        Box::pin(async move { self.remove(&name).await })
    }
}

/// TLS with rustls and ring, as in all other crates, with the certificates that the system trusts;
/// no TLS for an endpoint without it.
fn http_client(endpoint: &str) -> SharedHttpClient {
    let builder = Builder::new().pool_max_idle_per_host(limits::IDLE_CONNECTIONS_MAX);
    if endpoint.starts_with("http://") {
        builder.build_http()
    } else {
        builder.tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https()
    }
}

/// The clock that signs requests.
#[derive(Debug)]
struct ClockTimeSource(Clock);

impl TimeSource for ClockTimeSource {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.now().millis())
    }
}
