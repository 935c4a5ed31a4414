//! What a table holds, in a number that does not depend on the order of its items.

use ring::digest;
use table::{Item, Number, Tables, Value, item_to_json};

use super::page_behind;
use crate::Error;

/// How many items, and the sum of their digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) items: u64,
    pub(crate) sum: u128,
}

/// The checksum of a table, without what expires before a second of Unix time.
///
/// # Errors
/// The store cannot be read.
pub(super) async fn of(
    store: &dyn Tables,
    table: &str,
    ttl: Option<&str>,
    from_s: u64,
) -> Result<Checksum, Error> {
    let (mut checksum, mut last_key) = (Checksum::default(), None);
    loop {
        let page = page_behind(store, table, last_key).await?;
        for item in page.items.iter().filter(|item| stays(item, ttl, from_s)) {
            checksum.items += 1;
            checksum.sum = checksum.sum.wrapping_add(digest_of(item));
        }
        last_key = page.last_key;
        if last_key.is_none() {
            return Ok(checksum);
        }
    }
}

fn stays(item: &Item, ttl: Option<&str>, from_s: u64) -> bool {
    match ttl.and_then(|ttl| item.get(ttl)) {
        Some(Value::N(second)) => *second >= Number::from(from_s),
        Some(_) | None => true,
    }
}

/// The first half of the SHA-256 of the item as DynamoDB writes it, attributes by name.
fn digest_of(item: &Item) -> u128 {
    let text = item_to_json(item).to_string();
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    let half = digest.as_ref().first_chunk().copied().unwrap_or_default();
    u128::from_be_bytes(half)
}
