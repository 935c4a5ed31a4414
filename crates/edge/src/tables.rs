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
//!   shared     <name>      a secret that the house tells again, such as the key of a class
//!   shared-use <name>      when that secret was last used
//!
//! edge_answers         answers to requests with an idempotency key
//!   pk                     item
//!   <digest>               who runs it until when, or the answer
//! ```
//!
//! `expires_at` is the second from which an item is gone, in both. Backends may be late with that,
//! so whoever reads an item also looks at its time.

use table::{Error, Get, Item, KeyAttribute, KeySpec, Put, Secret, TableSpec, Tables, Value, attr};

/// What nobody is shown. Answers to requests may hold tokens and keys that were made by them.
pub const SECRETS: &[Secret] = &[Secret::table(CREDENTIALS), Secret::table(ANSWERS)];

/// The table of what proves who somebody is.
pub(crate) const CREDENTIALS: &str = "edge_credentials";

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

/// Asks the store something small, to see whether it answers.
///
/// # Errors
/// It does not.
pub async fn probe_store(tables: &dyn Tables) -> Result<(), Error> {
    tables.get(Get::new(CREDENTIALS, credential("probe", "probe"))).await.map(drop)
}

/// The key of an item among the credentials.
pub(crate) fn credential(kind: &str, name: impl Into<Value>) -> Item {
    Item::new().with("pk", kind).with("sk", name)
}

/// The secret of this name that the house tells again: the one that is kept, or `made` from now on.
/// Instances that start together keep the same one.
///
/// # Errors
/// The store failed.
pub async fn keep_secret(tables: &dyn Tables, name: &str, made: &str) -> Result<String, Error> {
    let key = credential("shared", name);
    let put = Put::new(CREDENTIALS, key.clone().with("secret", made));
    match tables.put(put.when(attr("pk").not_exists())).await {
        Ok(_) => return Ok(made.to_owned()),
        Err(Error::ConditionFailed { .. }) => {}
        Err(error) => return Err(error),
    }
    let kept = tables.get(Get::new(CREDENTIALS, key)).await?;
    let kept = kept.as_ref().and_then(|item| item.get("secret")?.as_s());
    Ok(kept.unwrap_or(made).to_owned())
}
