//! Hides expired items, which DynamoDB deletes only days later.
//!
//! The port hides an item from the second of its expiry on, so the client does the same:
//!
//! - Reads leave expired items out. If a projection leaves the expiry attribute out, the client
//!   adds it to the request and removes it from the items. Indexes without it are declared with it
//!   (`declare.rs`).
//! - ConditionFailure writes and updates get one more condition: the item has not expired. If this
//!   condition fails, the client deletes the expired item, if it is still expired, and retries the
//!   write. So an expired item counts as absent, and other writes pay nothing for it.
//! - Puts and deletes without a condition replace or delete the item, expired or not.

use table::limits::EXPIRY_AGE_SECONDS_MAX;
use table::{Condition, Item, Path, Projected, TableSpec, attr, project};

use super::values::{Attributes, from_attributes};

/// The visible part of a read.
pub(super) struct ReadView<'a> {
    spec: &'a TableSpec,
    /// The expiry attribute was added to the request and must be removed.
    strips: bool,
    /// The parts of the expiry attribute that the caller wants. The request reads it whole, because
    /// a part of it would not show whether the item has expired.
    parts: Vec<Path>,
    /// The attributes to request; empty for all.
    pub(super) projection: Vec<Path>,
}

impl<'a> ReadView<'a> {
    /// A read of a table or of one of its indexes.
    pub(super) fn new(
        spec: &'a TableSpec,
        index: Option<&str>,
        projection: &[Path],
    ) -> ReadView<'a> {
        let mut projection = projection.to_vec();
        let mut parts = Vec::new();
        let Some(ttl) = &spec.ttl else {
            return ReadView { spec, strips: false, parts, projection };
        };
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
        ReadView { spec, strips, parts, projection }
    }

    /// The visible part of an item; `None` for an expired one.
    ///
    /// # Errors
    /// The item cannot be decoded.
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

/// `condition`, and the condition that the item has not expired.
pub(super) fn not_expired(
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

/// Holds for an item that is expired at `now_s`, by the rule of [`TableSpec::has_expired`].
pub(super) fn expired(ttl: &str, now_s: u64) -> Condition {
    // A comparison with an absent attribute, or with one that is not a number, is always false.
    let oldest = now_s.saturating_sub(EXPIRY_AGE_SECONDS_MAX - 1).max(1);
    attr(ttl).ge(oldest).and(attr(ttl).lt(now_s + 1))
}
