//! What is remembered of the operator: the password's hash, the set-up link, the sessions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Ids, Timestamp};
use serde::{Deserialize, Serialize};
use table::{Delete, Get, Item, Put, Query, Tables, TransactWrite, Update, Value, attr};

use super::OperatorOptions;
use crate::limits::guard::{
    SESSION_ID_CHARS, SESSION_LOOK, SESSION_SEEN_STEP, SESSIONS_SHOWN, STARTED_TOGETHER,
};
use crate::tables::{CREDENTIALS, credential};
use crate::{Error, secret};

/// The operator's account, links and sessions. Clones are the same.
#[derive(Clone)]
pub struct Accounts {
    tables: Arc<dyn Tables>,
    clock: Clock,
    ids: Ids,
    session_time: Duration,
    idle_time: Duration,
    link_time: Duration,
}

#[derive(Clone, Deserialize)]
pub(super) struct Account {
    /// The hash, as a PHC string.
    pub(super) password: String,
    /// Grows when all sessions end.
    generation: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Link {
    pk: String,
    sk: String,
    digest: String,
    expires_ms: u64,
    expires_at: u64,
}

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// Its name in lists and in the audit, by which it can be ended. No secret.
    pub id: String,
    /// When it signed in.
    pub since: Timestamp,
    /// When it was last seen, to some minutes.
    pub seen: Timestamp,
    /// What it is, in a few words, if it is a known browser.
    pub browser: Option<String>,
    /// The address from which it signed in.
    pub from: Option<String>,
}

/// Where a session begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Whence {
    pub(super) browser: Option<String>,
    pub(super) from: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Session {
    pk: String,
    /// The digest of what the browser holds.
    sk: String,
    generation: u64,
    created_ms: u64,
    seen_ms: u64,
    expires_at: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    browser: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    from: Option<String>,
}

impl Session {
    /// The beginning of the digest's digest: tells a handful apart, and tells nothing of the key.
    fn id(&self) -> String {
        id_of(&self.sk)
    }
}

fn id_of(digest: &str) -> String {
    secret::digest(digest).chars().take(SESSION_ID_CHARS).collect()
}

impl Accounts {
    /// The account in these tables.
    pub fn new(
        tables: Arc<dyn Tables>,
        options: &OperatorOptions,
        clock: Clock,
        ids: Ids,
    ) -> Accounts {
        Accounts {
            tables,
            clock,
            ids,
            session_time: Duration::from_secs(options.session_hours * 3_600),
            idle_time: Duration::from_secs(options.idle_minutes * 60),
            link_time: Duration::from_secs(options.link_hours * 3_600),
        }
    }

    /// Whether there is a password.
    ///
    /// # Errors
    /// The store failed.
    pub async fn is_set_up(&self) -> Result<bool, Error> {
        Ok(self.find_account().await?.is_some())
    }

    /// The path of a new set-up link. Earlier ones are worth nothing from now on.
    ///
    /// # Errors
    /// The store failed.
    pub async fn make_link(&self) -> Result<String, Error> {
        let token = secret::make(&self.ids);
        let link = self.link(&token);
        self.tables.put(Put::new(CREDENTIALS, table::to_item(&link)?)).await?;
        Ok(path(&token))
    }

    /// The same, unless somebody else has made one within [`STARTED_TOGETHER`].
    pub(super) async fn claim_link(&self) -> Result<Option<String>, Error> {
        let token = secret::make(&self.ids);
        let recent = self.after(self.link_time.saturating_sub(STARTED_TOGETHER)).millis();
        let is_older = attr("pk").not_exists().or(attr("expires_ms").le(recent));
        let link = table::to_item(&self.link(&token))?;
        match self.tables.put(Put::new(CREDENTIALS, link).when(is_older)).await {
            Ok(_) => Ok(Some(path(&token))),
            Err(table::Error::ConditionFailed { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn link(&self, token: &str) -> Link {
        let expires = self.after(self.link_time);
        Link {
            pk: "operator".to_owned(),
            sk: "setup".to_owned(),
            digest: secret::digest(token),
            expires_ms: expires.millis(),
            expires_at: expires.seconds() + 1,
        }
    }

    /// Ends every session.
    ///
    /// # Errors
    /// The store failed.
    pub async fn sign_out_all(&self) -> Result<(), Error> {
        let update = next_generation().when(attr("pk").exists());
        match self.tables.update(update).await {
            // Without an account there are no sessions.
            Ok(_) | Err(table::Error::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// How long a session lives at most.
    pub(super) fn session_time(&self) -> Duration {
        self.session_time
    }

    /// Whether a link would work.
    pub(super) async fn is_link(&self, token: &str) -> Result<bool, Error> {
        let item = self.tables.get(Get::new(CREDENTIALS, setup_key())).await?;
        let link: Option<Link> = item.map(table::from_item).transpose()?;
        let digest = secret::digest(token);
        Ok(link.is_some_and(|link| {
            secret::is_same_digest(&digest, &link.digest)
                && self.clock.now().millis() < link.expires_ms
        }))
    }

    /// Uses the link up and sets the password; false if it was used before.
    pub(super) async fn set_up(&self, token: &str, password: &str) -> Result<bool, Error> {
        let is_it = attr("digest").eq(secret::digest(token));
        let is_valid = is_it.and(attr("expires_ms").gt(self.clock.now().millis()));
        let used = Delete::new(CREDENTIALS, setup_key()).when(is_valid);
        let set = next_generation().set("password", password);
        match self.tables.transact_write(TransactWrite::new(vec![used.into(), set.into()])).await {
            Ok(()) => Ok(true),
            Err(table::Error::TransactionCanceled { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets the first password; false if there is one.
    pub(super) async fn set_first(&self, password: &str) -> Result<bool, Error> {
        let set = next_generation().set("password", password);
        match self.tables.update(set.when(attr("password").not_exists())).await {
            Ok(_) => Ok(true),
            Err(table::Error::ConditionFailed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn find_account(&self) -> Result<Option<Account>, Error> {
        let item = self.tables.get(Get::new(CREDENTIALS, account_key())).await?;
        Ok(item.map(table::from_item).transpose()?)
    }

    /// Begins a session; what the browser is to hold.
    pub(super) async fn sign_in(&self, whence: Whence) -> Result<Option<String>, Error> {
        let Some(account) = self.find_account().await? else { return Ok(None) };
        let (token, now) = (secret::make(&self.ids), self.clock.now());
        let session = Session {
            pk: "session".to_owned(),
            sk: secret::digest(&token),
            generation: account.generation,
            created_ms: now.millis(),
            seen_ms: now.millis(),
            expires_at: self.after(self.session_time).seconds() + 1,
            browser: whence.browser,
            from: whence.from,
        };
        self.tables.put(Put::new(CREDENTIALS, table::to_item(&session)?)).await?;
        Ok(Some(token))
    }

    /// Whether a browser is signed in, which counts as a use.
    pub(super) async fn is_signed_in(&self, token: &str) -> Result<bool, Error> {
        if !secret::has_form(token) {
            return Ok(false);
        }
        let key = credential("session", secret::digest(token));
        let Some(item) = self.tables.get(Get::new(CREDENTIALS, key.clone())).await? else {
            return Ok(false);
        };
        let (session, now): (Session, _) = (table::from_item(item)?, self.clock.now());
        let age = |millis| now.since(Timestamp::from_millis(millis));
        let account = self.find_account().await?;
        let is_valid = account.is_some_and(|account| account.generation == session.generation)
            && age(session.created_ms) < self.session_time
            && age(session.seen_ms) < self.idle_time;
        if is_valid && age(session.seen_ms) >= SESSION_SEEN_STEP.min(self.idle_time / 2) {
            let seen = Update::new(CREDENTIALS, key).set("seen_ms", now.millis());
            // One that was signed out meanwhile must not come back.
            match self.tables.update(seen.when(attr("pk").exists())).await {
                Ok(_) => {}
                Err(table::Error::ConditionFailed { .. }) => return Ok(false),
                Err(error) if error.is_outage() => {}
                Err(error) => tracing::warn!(%error, "cannot note that a session was used"),
            }
        }
        Ok(is_valid)
    }

    /// Waits until a session has ended. Meanwhile it is in use.
    pub(super) async fn ended(self, token: String) {
        loop {
            self.clock.sleep(SESSION_LOOK).await;
            // A store that fails says nothing about the session; the next look may.
            if let Ok(false) = self.is_signed_in(&token).await {
                return;
            }
        }
    }

    /// The browsers that are signed in, the newest first.
    pub(super) async fn list_sessions(&self) -> Result<Vec<SignedIn>, Error> {
        let Some(account) = self.find_account().await? else { return Ok(Vec::new()) };
        let sessions = self.load_sessions().await?;
        let now = self.clock.now();
        let age = |millis| now.since(Timestamp::from_millis(millis));
        let is_valid = |session: &Session| {
            account.generation == session.generation
                && age(session.created_ms) < self.session_time
                && age(session.seen_ms) < self.idle_time
        };
        let mut signed_in: Vec<SignedIn> = sessions
            .into_iter()
            .filter(is_valid)
            .map(|session| SignedIn {
                id: session.id(),
                since: Timestamp::from_millis(session.created_ms),
                seen: Timestamp::from_millis(session.seen_ms),
                browser: session.browser,
                from: session.from,
            })
            .collect();
        signed_in.sort_by_key(|session| std::cmp::Reverse(session.since));
        Ok(signed_in)
    }

    /// Ends the session of one browser.
    pub(super) async fn sign_out(&self, token: &str) -> Result<(), Error> {
        let key = credential("session", secret::digest(token));
        self.tables.delete(Delete::new(CREDENTIALS, key)).await?;
        Ok(())
    }

    /// Ends the session of that id, if it is listed.
    pub(super) async fn end_session(&self, id: &str) -> Result<(), Error> {
        for session in self.load_sessions().await?.iter().filter(|session| session.id() == id) {
            let key = credential("session", session.sk.as_str());
            self.tables.delete(Delete::new(CREDENTIALS, key)).await?;
        }
        Ok(())
    }

    async fn load_sessions(&self) -> Result<Vec<Session>, Error> {
        let query = Query::new(CREDENTIALS, "pk", "session").limit(SESSIONS_SHOWN).consistent();
        let page = self.tables.query(query).await?;
        Ok(page.items.into_iter().map(table::from_item).collect::<Result<_, _>>()?)
    }

    fn after(&self, duration: Duration) -> Timestamp {
        let now = self.clock.now();
        now.checked_add(duration).unwrap_or(now)
    }
}

/// The id of the session whose browser holds this.
pub(super) fn session_id(token: &str) -> String {
    id_of(&secret::digest(token))
}

fn path(token: &str) -> String {
    format!("/console/setup?token={token}")
}

fn account_key() -> Item {
    credential("operator", "account")
}

fn setup_key() -> Item {
    credential("operator", "setup")
}

fn next_generation() -> Update {
    let generation = attr("generation").or(Value::from(0)).plus(1);
    Update::new(CREDENTIALS, account_key()).set("generation", generation)
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}
