//! The keys that open the room.
//!
//! A class shares one key, which stands in every project it loads: it keeps strangers out, and is
//! no secret among pupils. It is a setting, or is made at the first start and kept as it is, so
//! that the operator can read it again. Besides it, every key of the house with the scope `mesh`
//! opens the room; those are hashed and can be taken away one by one.

use edge::{Keys, is_same_secret};
use table::Tables;

use crate::error::Error;
use crate::{Options, items};
use base::Ids;

/// Characters of a key that is made here, besides its prefix: more than anybody guesses.
const LETTERS: usize = 26;
/// What keys of AppSync begin with; some clients look.
const PREFIX: &str = "da2-";
/// What a key of the house may do here.
const SCOPE: &str = "mesh";

/// Who may enter.
pub(crate) struct Key {
    shared: String,
    keys: Keys,
}

impl Key {
    /// The key that is set, or the one that is kept, made now if there is none.
    pub(crate) async fn open(
        options: &Options,
        tables: &dyn Tables,
        keys: Keys,
        ids: &Ids,
    ) -> Result<Key, Error> {
        if !options.api_key.is_empty() {
            return Ok(Key { shared: options.api_key.clone(), keys });
        }
        let made = format!("{PREFIX}{}", ids.alphanumeric(LETTERS).to_ascii_lowercase());
        // Two instances that start together keep the same one.
        match tables.put(items::put_key(&made)).await {
            Ok(_) => return Ok(Key { shared: made, keys }),
            Err(table::Error::ConditionFailed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let kept = tables.get(items::get_key()).await?;
        let shared = kept.as_ref().and_then(items::read_key).unwrap_or(made);
        Ok(Key { shared, keys })
    }

    /// The key that a class shares.
    pub(crate) fn shared(&self) -> &str {
        &self.shared
    }

    /// Whether this opens the room.
    pub(crate) async fn admits(&self, presented: Option<&str>) -> bool {
        let Some(presented) = presented else { return false };
        if is_same_secret(presented.as_bytes(), self.shared.as_bytes()) {
            return true;
        }
        let caller = self.keys.verify(presented).await;
        caller.is_ok_and(|caller| caller.may(SCOPE))
    }
}
