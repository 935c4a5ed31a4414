//! The operator: one person, one password, and the browsers that are signed in.
//!
//! A house without a password prints a link at its start. Whoever opens it chooses the password;
//! the link works once and for a day. A new one (`nagaya operator link`) lets a forgotten password
//! be replaced. Signing in gives a cookie that the browser sends to this house only, never for
//! another site's page, and never shows to a script.
//!
//! Invariants: links and sessions are kept as digests, the password as its argon2id hash. A link
//! is used up in the same transaction that sets the password, so of two who open it one gets in.
//! A session ends when its time is over, when nobody used it for a while, when it is signed out,
//! or when all are: those of an older generation are worth nothing. A request that changes
//! something must come from a page of this house, by `Sec-Fetch-Site` or `Origin`.
//!
//! `operator/accounts.rs` holds what is remembered, `operator/audit.rs` what was done,
//! `operator/pages.rs` what is seen.

mod accounts;
mod audit;
mod browser;
mod cut;
mod guard;
mod own;
mod pages;
mod visitor;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use accounts::{Accounts, SignedIn};
use audit::Audit;
pub use audit::{Audited, Deed};
use axum::http::Uri;
use base::{Clock, Ids, Random, Tasks};
pub use guard::OperatorSession;
use table::Tables;
pub use visitor::Visitor;

use crate::limits::guard::{
    PASSWORD_BYTES_MAX, PASSWORD_LETTERS_MIN, SIGN_IN_TRIES, STRANGERS_AUDITED,
};
use crate::{Busy, Error, Passwords, RateLimit, WatchedFile};

base::options! {
    /// Who may look after the house in a browser.
    pub struct OperatorOptions in "operator" {
        /// Where browsers find the house, such as `https://nagaya.example.org`: what the links
        /// begin with that it prints. Without it, `http.public_url` or the address that it listens
        /// on.
        pub url: Option<String> = None;
        /// Hours after which the operator signs in again, whatever happens.
        pub session_hours: u64 = 12, 1..=720;
        /// Minutes without a request after which the operator signs in again.
        pub idle_minutes: u64 = 60, 1..=43_200;
        /// Hours in which a set-up link works.
        pub link_hours: u64 = 24, 1..=168;
        /// A file with the operator's first password, for a house that nobody sets up by hand. It
        /// is read at a start as long as there is no password, and not afterwards.
        pub password_file: Option<PathBuf> = None;
    }
}

impl OperatorOptions {
    /// Where browsers find the house: as the options say, or else there.
    pub fn url_or(&self, otherwise: &str) -> String {
        self.url.as_deref().unwrap_or(otherwise).trim_end_matches('/').to_owned()
    }
}

/// The operator of a house. Clones are the same.
#[derive(Clone)]
pub struct Operator {
    shared: Arc<Shared>,
}

struct Shared {
    accounts: Accounts,
    passwords: Passwords,
    tries: RateLimit,
    /// Entries of the audit that strangers cause.
    strangers: RateLimit,
    audit: Audit,
    /// Where browsers find the house, if the options say.
    url: Option<Uri>,
    /// Where the first password is, if a file has it.
    password_file: Option<PathBuf>,
}

impl Operator {
    /// The operator whose account is in these tables.
    pub fn new(
        tables: Arc<dyn Tables>,
        options: &OperatorOptions,
        clock: &Clock,
        random: Random,
        tasks: &Tasks,
    ) -> Operator {
        let ids = Ids::new(clock.clone(), random.clone());
        let audit = Audit::new(Arc::clone(&tables), clock.clone());
        let accounts = Accounts::new(tables, options, clock.clone(), ids);
        let passwords = Passwords::new(clock.clone(), random);
        let tries = RateLimit::new(SIGN_IN_TRIES, clock, tasks);
        let strangers = RateLimit::new(STRANGERS_AUDITED, clock, tasks);
        let url = options.url.as_deref().and_then(|url| url.parse().ok());
        let password_file = options.password_file.clone();
        let shared = Shared { accounts, passwords, tries, strangers, audit, url, password_file };
        Operator { shared: Arc::new(shared) }
    }

    /// The path of a new set-up link, if nobody has set a password yet and no file has the first.
    ///
    /// # Errors
    /// The store failed, or the file holds no password.
    pub async fn find_first_link(&self) -> Result<Option<String>, Error> {
        if self.is_set_up().await? {
            return Ok(None);
        }
        self.shared.accounts.make_link().await.map(Some)
    }

    /// The same for an instance beside others on one store. Of those that start together one finds
    /// a link; one of each would end the others'.
    ///
    /// # Errors
    /// The store failed, or the file holds no password.
    pub async fn find_shared_link(&self) -> Result<Option<String>, Error> {
        if self.is_set_up().await? {
            return Ok(None);
        }
        let link = self.shared.accounts.claim_link().await?;
        if link.is_none() {
            tracing::info!(
                "another start has just printed the set-up link; `nagaya operator link` prints a \
                 new one"
            );
        }
        Ok(link)
    }

    /// Whether there is a password, after the first was taken from its file.
    async fn is_set_up(&self) -> Result<bool, Error> {
        if self.shared.accounts.is_set_up().await? {
            return Ok(true);
        }
        let Some(path) = &self.shared.password_file else { return Ok(false) };
        let password = read_password(path)?;
        let hash = self.shared.passwords.hash(&password).await;
        let busy = |busy: Busy| Error::PasswordFile { path: path.clone(), what: busy.to_string() };
        let hash = hash.map_err(busy)?;
        if self.shared.accounts.set_first(&hash).await? {
            tracing::info!(file = %path.display(), "the operator's password was set from its file");
        }
        Ok(true)
    }

    /// What was done in the operator's name, or tried.
    ///
    /// # Errors
    /// The store failed.
    pub async fn list_deeds(&self) -> Result<Audited, Error> {
        self.shared.audit.list().await
    }

    /// The browsers that are signed in, the newest first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn list_sessions(&self) -> Result<Vec<SignedIn>, Error> {
        self.shared.accounts.list_sessions().await
    }

    /// Ends one of them. One that has ended already stays so.
    ///
    /// # Errors
    /// The store failed.
    pub async fn end_session(&self, id: &str) -> Result<(), Error> {
        self.shared.accounts.end_session(id).await
    }
}

/// The password in a file: its text without the line's end.
fn read_password(path: &Path) -> Result<String, Error> {
    let refused = |what: String| Error::PasswordFile { path: path.to_owned(), what };
    // With room for the line's end.
    let mut file = WatchedFile::new(path.to_owned(), PASSWORD_BYTES_MAX as u64 + 2);
    let text = file.look().cloned().expect("the first look answers").map_err(refused)?;
    let password = text.trim_end_matches(['\r', '\n']);
    let letters = password.chars().count();
    if letters < PASSWORD_LETTERS_MIN || password.len() > PASSWORD_BYTES_MAX {
        return Err(refused(format!(
            "a password has at least {PASSWORD_LETTERS_MIN} characters and at most \
             {PASSWORD_BYTES_MAX} bytes, this one has {letters} characters"
        )));
    }
    Ok(password.to_owned())
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
