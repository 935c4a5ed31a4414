//! The tables of the edge.
//!
//! ```text
//! edge_credentials     what proves who somebody is; secrets only as digests, but for the rings
//!   pk         sk          item
//!   key        <name>      an API key: its scopes, and the digests of one or two secrets
//!   ring       <name>      an HMAC key ring: the next, the current and the former keys
//!   operator   account     the password's hash, and the sessions' generation
//!   operator   setup       the digest of the set-up link
//!   session    <digest>    a browser that is signed in
//!   audit      <number>    what the operator did; `head` is where the chain ends
//!
//! edge_answers         answers to requests with an idempotency key
//!   pk                     item
//!   <digest>               who runs it until when, or the answer
//! ```
//!
//! `expires_at` is the second from which an item is gone, in both. Backends may be late with that,
//! so whoever reads an item also looks at its time.

use table::{Error, Item, KeyAttribute, KeySpec, TableSpec, Tables, Value};

/// The table of what proves who somebody is. Its items are no business of consoles and exports.
pub const CREDENTIALS: &str = "edge_credentials";

/// The table of answers to requests with an idempotency key.
pub(crate) const ANSWERS: &str = "edge_answers";

/// The TTL attribute of both.
pub(crate) const EXPIRES_AT: &str = "expires_at";

/// Makes the tables of the edge exist.
///
/// # Errors
/// The store failed.
pub async fn ensure_tables(tables: &dyn Tables) -> Result<(), Error> {
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("sk"));
    tables.ensure_table(TableSpec::new(CREDENTIALS, key).expiring_by(EXPIRES_AT)).await?;
    let key = KeySpec::simple(KeyAttribute::s("pk"));
    tables.ensure_table(TableSpec::new(ANSWERS, key).expiring_by(EXPIRES_AT)).await
}

/// The key of an item among the credentials.
pub(crate) fn credential(kind: &str, name: impl Into<Value>) -> Item {
    Item::new().with("pk", kind).with("sk", name)
}
