//! What a room holds back: words and people. Changed by adding and removing, so that two desks of
//! one host lose nothing of each other; a whole list replaces only the version that was read.

use super::text;
use crate::error::Error;
use crate::limits::{BLOCKED_MAX, CLIENT_ID_BYTES_MAX};

/// The block lists of a room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Words, as their host typed them.
    pub(crate) words: Vec<String>,
    /// Authors of comments, as the host sees them.
    pub(crate) users: Vec<String>,
    /// Grows with every change of the lists.
    pub(crate) version: u64,
}

/// A change of one list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListChange {
    /// The whole list, instead of the one of the version that was read.
    pub(crate) whole: Option<Vec<String>>,
    pub(crate) add: Option<Vec<String>>,
    pub(crate) remove: Option<Vec<String>>,
}

/// A change of the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangeBlocks {
    pub(crate) words: ListChange,
    pub(crate) users: ListChange,
    /// The version that was read.
    pub(crate) version: Option<u64>,
}

impl Blocks {
    /// The lists after a change.
    pub(super) fn change(&self, change: &ChangeBlocks) -> Result<Blocks, Error> {
        let is_whole = change.words.whole.is_some() || change.users.whole.is_some();
        match change.version {
            None if is_whole => {
                return Err(Error::invalid(
                    "blockedWords and blockedUsers replace a whole list and need blockedVersion, as it \
                 was read; blockWords, unblockWords, blockUsers and unblockUsers need none",
                ));
            }
            Some(version) if version != self.version => {
                return Err(Error::VersionChanged { version, newest: self.version });
            }
            Some(_) | None => {}
        }
        let words =
            change.words.apply("blockedWords", &self.words, text::blocked_word, |word| {
                text::folded(word)
            })?;
        let users = change.users.apply("blockedUsers", &self.users, blocked_user, str::to_owned)?;
        let is_same = words == self.words && users == self.users;
        Ok(Blocks { words, users, version: self.version + u64::from(!is_same) })
    }

    /// Whether one of these texts holds a blocked word.
    pub(super) fn hold(&self, texts: [&str; 2]) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let texts = texts.map(text::folded);
        self.words.iter().any(|word| {
            let word = text::folded(word);
            // A word that was stored by an older rule may show nothing, and is in every text.
            !word.is_empty() && texts.iter().any(|text| text.contains(&word))
        })
    }
}

impl ListChange {
    /// The list after the change. `read` checks an entry; entries with the same `key` are one.
    fn apply(
        &self,
        what: &str,
        before: &[String],
        read: fn(&str) -> Result<String, Error>,
        key: fn(&str) -> String,
    ) -> Result<Vec<String>, Error> {
        let (whole, add) = (self.whole.as_deref(), self.add.as_deref().unwrap_or_default());
        let remove = self.remove.as_deref().unwrap_or_default();
        for list in [whole.unwrap_or_default(), add, remove] {
            check_count(what, list.len())?;
        }
        let mut list = Vec::new();
        let mut keys: Vec<String> = Vec::new();
        let kept = if whole.is_some() { &[] } else { before };
        let added = whole.unwrap_or_default().iter().chain(add);
        let added = added.map(|entry| read(entry)).collect::<Result<Vec<_>, _>>()?;
        let removed: Vec<String> = remove.iter().map(|entry| key(entry)).collect();
        for entry in kept.iter().chain(&added) {
            let key = key(entry);
            if !keys.contains(&key) && !removed.contains(&key) {
                keys.push(key);
                list.push(entry.clone());
            }
        }
        check_count(what, list.len())?;
        Ok(list)
    }
}

fn check_count(what: &str, count: usize) -> Result<(), Error> {
    if count > BLOCKED_MAX {
        let told = format!("{what} has {count} entries, at most {BLOCKED_MAX} allowed");
        return Err(Error::invalid(told));
    }
    Ok(())
}

fn blocked_user(author: &str) -> Result<String, Error> {
    if author.len() > CLIENT_ID_BYTES_MAX {
        let told = format!(
            "blockedUsers holds an author of {} bytes, at most {CLIENT_ID_BYTES_MAX} allowed",
            author.len()
        );
        return Err(Error::invalid(told));
    }
    Ok(author.to_owned())
}
