//! The keys that open the room.
//!
//! A class shares one key, which stands in every project it loads: it keeps strangers out, and is
//! no secret among pupils. It is a setting, or is made at the first start and kept as it is among
//! the house's credentials, so that the operator can read it again. Besides it, every key of the house with the scope `mesh`
//! opens the room; those are hashed and can be taken away one by one.

use base::{Clock, Ids};
use edge::{Denied, Keys, SharedKey, is_same_secret, keep_secret};
use table::Tables;

use crate::error::Error;
use crate::ops::has_old_table;
use crate::{Options, items};

/// Characters of a key that is made here, besides its prefix: more than anybody guesses.
const LETTERS: usize = 26;
/// What keys of AppSync begin with; some clients look.
const PREFIX: &str = "da2-";
/// What a key of the house may do here.
const SCOPE: &str = "mesh";

/// Who may enter.
pub(crate) struct Key {
    shared: SharedKey,
    keys: Keys,
    clock: Clock,
}

impl Key {
    /// The key that is set, or the one that is kept, made now if there is none.
    pub(crate) async fn open(
        options: &Options,
        tables: &dyn Tables,
        keys: Keys,
        ids: &Ids,
        clock: &Clock,
    ) -> Result<Key, Error> {
        let moved = move_key(tables).await?;
        let shared = match (options.api_key.as_str(), moved) {
            ("", Some(moved)) => moved,
            ("", None) => {
                let made = format!("{PREFIX}{}", ids.alphanumeric(LETTERS).to_ascii_lowercase());
                keep_secret(tables, SCOPE, &made).await?
            }
            (set, _) => set.to_owned(),
        };
        Ok(Key { shared: keys.share(SCOPE, &shared).await?, keys, clock: clock.clone() })
    }

    /// The key that a class shares.
    pub(crate) fn shared(&self) -> &str {
        self.shared.text()
    }

    /// Whether this is the key that a class shares, which never ends.
    pub(crate) fn is_shared(&self, presented: &str) -> bool {
        is_same_secret(presented.as_bytes(), self.shared.text().as_bytes())
    }

    /// Whether this opens the room.
    pub(crate) async fn admits(&self, presented: Option<&str>) -> bool {
        let Some(presented) = presented else { return false };
        if self.is_shared(presented) {
            self.shared.note_use(&self.clock);
            return true;
        }
        let caller = self.keys.verify(presented).await;
        caller.is_ok_and(|caller| caller.may(SCOPE))
    }

    /// Whether a key of the house that has opened the room does not any more. A store that does not
    /// answer takes nothing away.
    pub(crate) async fn has_ended(&self, presented: &str) -> bool {
        match self.keys.verify(presented).await {
            Ok(caller) => !caller.may(SCOPE),
            Err(Denied::Unavailable(_)) => false,
            Err(_) => true,
        }
    }
}

/// Moves the key that a class shares from where the first versions kept it.
async fn move_key(tables: &dyn Tables) -> Result<Option<String>, Error> {
    if !has_old_table(tables, items::OLD_TABLE).await? {
        return Ok(None);
    }
    let before = tables.get(items::get_key()).await?.as_ref().and_then(items::read_key);
    let Some(before) = before else { return Ok(None) };
    let kept = keep_secret(tables, SCOPE, &before).await?;
    tables.delete(items::delete_key()).await?;
    Ok(Some(kept))
}
