//! Expired items, which DynamoDB removes only days later.
//!
//! The port lets no item be seen from the second of its expiry, so the client looks away:
//!
//! - Reads leave expired items out. When a projection cuts the expiry off, the client asks for it
//!   and takes it out again. Indexes that do not hold it are declared with it (`declare.rs`).
//! - Conditional writes and updates carry one condition more: the item has not expired. When that
//!   is what failed, the expired item is removed, if it still is expired, and the write is tried
//!   again; so an expired item counts as absent, at no cost to a write that meets none.
//! - Puts and deletes without condition replace or remove what is there, expired or not.

use table::limits::EXPIRY_AGE_SECONDS_MAX;
use table::{Condition, Item, Path, Projected, TableSpec, attr, project};

use super::values::{Attributes, from_attributes};

/// What of a read may be seen.
pub(super) struct Shown<'a> {
    spec: &'a TableSpec,
    /// The expiry came along only for us.
    strips: bool,
    /// What is wanted of an expiry that came along whole, because a part of it would not tell
    /// whether the item has expired.
    parts: Vec<Path>,
    /// What to ask for; empty for all.
    pub(super) projection: Vec<Path>,
}

impl<'a> Shown<'a> {
    /// A read of a table or of an index of it.
    pub(super) fn new(spec: &'a TableSpec, index: Option<&str>, projection: &[Path]) -> Shown<'a> {
        let mut projection = projection.to_vec();
        let mut parts = Vec::new();
        let Some(ttl) = &spec.ttl else { return Shown { spec, strips: false, parts, projection } };
        let strips = if projection.is_empty() {
            let index = index.and_then(|name| spec.find_index(name));
            index.is_some_and(|(_, index)| {
                let mut keys = spec.key.attributes().chain(index.key.attributes());
                let cut = match &index.projection {
                    Projected::All => false,
                    Projected::KeysOnly => true,
                    Projected::Include(names) => !names.contains(ttl),
                };
                cut && !keys.any(|key| key.name == *ttl)
            })
        } else if projection.iter().any(|path| path.root == *ttl && path.steps.is_empty()) {
            false
        } else {
            parts = projection.extract_if(.., |path| path.root == *ttl).collect();
            projection.push(attr(ttl.as_str()));
            parts.is_empty()
        };
        Shown { spec, strips, parts, projection }
    }

    /// The item, if it may be seen.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn take(
        &self,
        attributes: Attributes,
        now_s: u64,
    ) -> Result<Option<Item>, table::Error> {
        let mut item = from_attributes(attributes)?;
        if self.spec.has_expired(&item, now_s) {
            return Ok(None);
        }
        if let (true, Some(ttl)) = (self.strips, &self.spec.ttl) {
            item.remove(ttl);
        }
        if let (false, Some(ttl)) = (self.parts.is_empty(), &self.spec.ttl) {
            let whole: Item =
                item.remove(ttl).map(|value| (ttl.clone(), value)).into_iter().collect();
            for (name, value) in project(&self.parts, &whole) {
                item.insert(name, value);
            }
        }
        Ok(Some(item))
    }
}

/// `condition`, and that the item has not expired.
pub(super) fn living(
    spec: &TableSpec,
    condition: Option<&Condition>,
    now_s: u64,
) -> Option<Condition> {
    let Some(ttl) = &spec.ttl else { return condition.cloned() };
    let alive = !expired(ttl, now_s);
    Some(match condition {
        Some(condition) => condition.clone().and(alive),
        None => alive,
    })
}

/// Holds of an item that is gone at `now_s`, by the rule of [`TableSpec::has_expired`].
pub(super) fn expired(ttl: &str, now_s: u64) -> Condition {
    // A comparison with an attribute that is absent or no number holds in neither direction.
    let oldest = now_s.saturating_sub(EXPIRY_AGE_SECONDS_MAX - 1).max(1);
    attr(ttl).ge(oldest).and(attr(ttl).lt(now_s + 1))
}
