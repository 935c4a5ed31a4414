//! API keys: made by the operator, presented by programs.
//!
//! A key has a name, scopes and one or two secrets. Two are valid at once, so that a program can be
//! given the new one before the old one is revoked. What is presented is `nk_<name>_<secret>`, in
//! `x-api-key` or as `Authorization: Bearer`.
//!
//! Invariants: a secret is shown once, when it is made, and kept as its digest (see `secret.rs`).
//! Digests are compared in constant time. A key has at most [`KEY_SECRETS_MAX`] secrets that have not
//! expired, also when several instances make them at once. The table is asked for every request,
//! so a revoked secret opens nothing from then on. No secret is logged; names may be. A request
//! never waits for a write: when a key was last used is written by a task (`uses.rs`).

pub(crate) mod guard;
mod items;
mod uses;

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Clock, Ids, Timestamp};
pub use guard::Denied;
use items::{KeyItem, SecretItem};
use table::{Delete, Put, Query, Tables, attr};
pub use uses::SharedKey;
use uses::Uses;

use crate::limits::guard::{
    KEY_NAME_LETTERS_MAX, KEY_SCOPE_LETTERS_MAX, KEY_SCOPES_MAX, KEY_SECRETS_MAX, WRITE_TRIES_MAX,
};
use crate::tables::{CREDENTIALS, credential};
use crate::{Error, secret};

const PREFIX: &str = "nk_";

/// The scopes that the rooms ask for, and those that cover several. Whoever makes a key for people
/// checks against them ([`check_scopes`]): a key with another scope would open nothing. A test of the
/// binary compares the list with the rooms.
pub const SCOPES: [&str; 8] = [
    "mesh",
    "sns",
    "sns:operate",
    "collect",
    "collect:read",
    "collect:operate",
    "score",
    "score:operate",
];

/// Refuses scopes that no room asks for.
///
/// # Errors
/// One of them is unknown; the error lists those that are known.
pub fn check_scopes(scopes: &[String]) -> Result<(), Error> {
    match scopes.iter().find(|scope| !SCOPES.contains(&scope.as_str())) {
        Some(scope) => Err(Error::UnknownScope { scope: scope.clone() }),
        None => Ok(()),
    }
}

/// The API keys of a house. Clones are the same keys.
#[derive(Clone)]
pub struct Keys {
    tables: Arc<dyn Tables>,
    clock: Clock,
    ids: Ids,
    uses: Arc<Uses>,
}

/// A secret that was just made, and is never shown again.
#[derive(Clone, PartialEq, Eq)]
pub struct NewSecret {
    /// By which it is revoked.
    pub id: String,
    /// What a program presents.
    pub text: String,
}

/// A key as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// Its secrets, oldest first.
    pub secrets: Vec<ApiSecret>,
}

/// A secret of a key, as far as anybody knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiSecret {
    /// By which it is revoked.
    pub id: String,
    /// When it was made.
    pub created: Timestamp,
    /// From when on it is worth nothing.
    pub expires: Option<Timestamp>,
    /// When it was last used; on other instances than this, up to a minute ago more.
    pub last_used: Option<Timestamp>,
}

/// A program that has proven itself by a key. An extractor behind [`Keys::guard`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    name: Arc<str>,
    scopes: Arc<[String]>,
}

impl Caller {
    /// The key's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether it may do what `scope` stands for. `collect` covers `collect:write`.
    pub fn may(&self, scope: &str) -> bool {
        self.scopes.iter().any(|own| {
            scope
                .strip_prefix(own.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    }
}

impl Keys {
    /// The keys in these tables.
    pub fn new(tables: Arc<dyn Tables>, clock: Clock, ids: Ids) -> Keys {
        Keys { tables, clock, ids, uses: Arc::default() }
    }

    /// Makes a key, or a second secret of one that is there, whose scopes may be left out then.
    ///
    /// # Errors
    /// The name or a scope is none, the key has two secrets, or the store failed.
    pub async fn create(
        &self,
        name: &str,
        scopes: &[String],
        expires: Option<Timestamp>,
    ) -> Result<NewSecret, Error> {
        if !is_name(name) {
            return Err(Error::KeyName(name.to_owned()));
        }
        if let Some(scope) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(Error::KeyScope(scope.clone()));
        }
        if let Some(expires) = expires.filter(|expires| *expires <= self.clock.now()) {
            return Err(Error::KeyExpired(expires));
        }
        let scopes: BTreeSet<&String> = scopes.iter().collect();
        let secret = secret::make(&self.ids);
        let made = SecretItem {
            id: self.ids.alphanumeric(6).to_ascii_lowercase(),
            digest: secret::digest(&secret),
            created_ms: self.clock.now().millis(),
            expires_ms: expires.map(Timestamp::millis),
            last_used_ms: None,
        };
        for _ in 0..WRITE_TRIES_MAX {
            let before = self.find(name).await?;
            let after = self.with(name, before.clone(), &scopes, made.clone())?;
            if self.write(after, before.as_ref()).await? {
                let text = format!("{PREFIX}{name}_{secret}");
                return Ok(NewSecret { id: made.id, text });
            }
        }
        Err(contended(name))
    }

    /// All keys by name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn list(&self) -> Result<Vec<ApiKey>, Error> {
        let mut keys = Vec::new();
        let mut query = Query::new(CREDENTIALS, "pk", items::KIND).consistent();
        loop {
            let page = self.tables.query(query.clone()).await?;
            for item in page.items {
                let mut key = table::from_item::<KeyItem>(item)?.listed();
                for secret in &mut key.secrets {
                    secret.last_used = self.uses.newest(&key.name, &secret.id, secret.last_used);
                }
                keys.push(key);
            }
            match page.last_key {
                Some(last) => query = query.start_after(last),
                None => return Ok(keys),
            }
        }
    }

    /// Takes one secret of a key away, or the whole key; answers how many secrets that were.
    ///
    /// # Errors
    /// There is none, or the store failed.
    pub async fn revoke(&self, name: &str, id: Option<&str>) -> Result<usize, Error> {
        let called = || match id {
            Some(id) => format!("{name}/{id}"),
            None => name.to_owned(),
        };
        for _ in 0..WRITE_TRIES_MAX {
            let Some(before) = self.find(name).await? else {
                return Err(Error::NoSuchKey(called()));
            };
            let mut after = before.clone();
            after.secrets.retain(|secret| id.is_some_and(|id| secret.id != id));
            let gone = before.secrets.len() - after.secrets.len();
            if gone == 0 {
                return Err(Error::NoSuchKey(called()));
            }
            if self.write(after, Some(&before)).await? {
                return Ok(gone);
            }
        }
        Err(contended(name))
    }

    /// Who presents this text.
    ///
    /// # Errors
    /// Nobody we know, or the store failed.
    pub async fn verify(&self, presented: &str) -> Result<Caller, Denied> {
        let (name, secret) = parse(presented).ok_or(Denied::Wrong)?;
        let item = self.find(name).await.map_err(Denied::Unavailable)?.ok_or(Denied::Wrong)?;
        let (digest, now) = (secret::digest(secret), self.clock.now());
        // Every secret is compared, whatever the first comparison gave.
        let matches = |kept: &&SecretItem| secret::is_same_digest(&digest, &kept.digest);
        let same: Vec<&SecretItem> = item.secrets.iter().filter(matches).collect();
        let Some(found) = same.into_iter().find(|kept| kept.is_valid(now)) else {
            return Err(Denied::Wrong);
        };
        self.uses.note(name, &found.id, now);
        Ok(Caller { name: Arc::from(name), scopes: Arc::from(item.scopes) })
    }

    /// The key with one more secret, if that can be.
    fn with(
        &self,
        name: &str,
        before: Option<KeyItem>,
        scopes: &BTreeSet<&String>,
        made: SecretItem,
    ) -> Result<KeyItem, Error> {
        let Some(mut key) = before else {
            if scopes.is_empty() || scopes.len() > KEY_SCOPES_MAX {
                return Err(Error::KeyScopes { count: scopes.len(), max: KEY_SCOPES_MAX });
            }
            let scopes = scopes.iter().map(|scope| (*scope).clone()).collect();
            return Ok(KeyItem::new(name, scopes, made));
        };
        if !scopes.is_empty() && !scopes.iter().copied().eq(key.scopes.iter()) {
            return Err(Error::KeyDiffers { name: name.to_owned(), scopes: key.scopes });
        }
        let now = self.clock.now();
        key.secrets.retain(|secret| secret.is_valid(now));
        if key.secrets.len() >= KEY_SECRETS_MAX {
            return Err(Error::KeyFull { name: name.to_owned(), max: KEY_SECRETS_MAX });
        }
        key.secrets.push(made);
        Ok(key)
    }

    async fn find(&self, name: &str) -> Result<Option<KeyItem>, Error> {
        let get = table::Get::new(CREDENTIALS, credential(items::KIND, name));
        Ok(self.tables.get(get).await?.map(table::from_item).transpose()?)
    }

    /// Writes the key, or removes it when no secret is left; false if it was changed meanwhile.
    async fn write(&self, mut after: KeyItem, before: Option<&KeyItem>) -> Result<bool, Error> {
        let unchanged = match before {
            None => attr("pk").not_exists(),
            Some(before) => attr("version").eq(before.version),
        };
        let written = if after.secrets.is_empty() {
            let key = credential(items::KIND, after.sk);
            self.tables.delete(Delete::new(CREDENTIALS, key).when(unchanged)).await
        } else {
            // A key that was removed and made again must not look like the old one.
            after.version = self.clock.now().millis().max(after.version + 1);
            let put = Put::new(CREDENTIALS, table::to_item(&after)?).when(unchanged);
            self.tables.put(put).await
        };
        match written {
            Ok(_) => Ok(true),
            Err(table::Error::ConditionFailed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn contended(name: &str) -> Error {
    Error::Contended { what: format!("key `{name}`"), tries: WRITE_TRIES_MAX }
}

/// Name and secret of a presented text, if it has the form.
pub(crate) fn parse(presented: &str) -> Option<(&str, &str)> {
    let (name, secret) = presented.strip_prefix(PREFIX)?.split_once('_')?;
    (is_name(name) && secret::has_form(secret)).then_some((name, secret))
}

fn is_name(name: &str) -> bool {
    let in_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=KEY_NAME_LETTERS_MAX).contains(&name.len())
        && name.bytes().all(in_name)
        && !name.starts_with('-')
}

fn is_scope(scope: &str) -> bool {
    scope.len() <= KEY_SCOPE_LETTERS_MAX && scope.split(':').all(is_name)
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for NewSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewSecret").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
