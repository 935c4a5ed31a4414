//! Who somebody is: registering, logging in and out, sessions, tickets.
//!
//! Invariants: a session has one refresh token that is good; one that is not ends the session,
//! because somebody else has it. Whether an account exists is told neither by the answer nor by the
//! work of a log-in. A ticket and an invitation are used once.

use base::Timestamp;
use table::{Error as StoreError, Put, write_all};

use super::{Tries, is_lost};
use crate::Sns;
use crate::error::Error;
use crate::items::facts::{OfUser, Told};
use crate::items::session::{self, Ticket};
use crate::items::{digest, user};
use crate::limits::{
    ACCESS_LIFE, ACCOUNT_FAILURES, ADDRESS_FAILURES, ADDRESS_KNOWN, INVITE_LIFE, SECRET_LETTERS,
    SESSIONS_MAX, TICKET_LIFE,
};
use crate::model::UserId;
use crate::model::account::{
    Failures, Session, User, check_email, check_password, check_username, fold, later,
};
use crate::options::Registration;

/// Somebody who wants to register.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) email: String,
    pub(crate) username: String,
    pub(crate) proof: Proof,
    pub(crate) invite: Option<String>,
}

/// By what a new user will be known again.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    /// By this password.
    Password(String),
    /// By this identity, which a token of another issuer has proved.
    Identity { issuer: String, subject: String },
}

/// A session that has begun or goes on, with the secret that carries it on once more.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) user: User,
    pub(crate) session: Session,
    pub(crate) refresh_token: String,
}

/// For whom a request acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) user: UserId,
    pub(crate) session: String,
    /// When its token is over.
    pub(crate) ends: Timestamp,
}

impl Sns {
    /// Makes a user and begins its first session. `address` is where the registration comes from.
    pub(crate) async fn register(&self, command: Register, address: &str) -> Result<Opened, Error> {
        let email = check_email(&command.email)?;
        let username = check_username(&command.username)?;
        let invite = match self.options.registration {
            Registration::Open => None,
            Registration::Invite => Some(command.invite.ok_or(Error::InviteInvalid)?),
            Registration::Closed => return Err(Error::RegistrationClosed),
        };
        if self.find_by_email(&email).await?.is_some() {
            return Err(Error::EmailTaken);
        }
        if self.find_by_name(&username).await?.is_some() {
            return Err(Error::UsernameTaken(username));
        }
        let (now, id) = (self.clock.now(), UserId(self.ids.random()));
        let users = &self.layout.users;
        let proof = match &command.proof {
            Proof::Password(password) => {
                check_password(password)?;
                vec![users.put_credential(id, &self.hash(password).await?)]
            }
            Proof::Identity { issuer, subject } => users.put_identity(issuer, subject, id),
        };
        let (display_name, bio) = (String::new(), String::new());
        let user = User { id, email, username, display_name, bio, created: now, updated: now };
        let (session, refresh_token) = self.new_session(id, now);
        let mut writes = users.put_new(&user).to_vec();
        writes.extend(proof);
        writes.push(self.layout.sessions.put(&session));
        writes.push(self.known(&account(&user.email), address).into());
        let (max, counted_at) = (self.options.accounts_max, writes.len());
        writes.push(users.count_account(max));
        writes.extend(invite.map(|invite| self.layout.sessions.use_invite(&digest(&invite), now)));
        match self.commit(writes, &[Told::UserRegistered(OfUser::new(&user))]).await? {
            Ok(()) => Ok(Opened { user, session, refresh_token }),
            Err(lost) if is_lost(&lost, counted_at) => Err(Error::AccountsFull(max)),
            Err(lost) if is_lost(&lost, 1) => Err(Error::EmailTaken),
            Err(lost) if is_lost(&lost, 2) => Err(Error::UsernameTaken(user.username)),
            Err(lost) if is_lost(&lost, 3) => Err(Error::IdentityTaken),
            Err(_) => Err(Error::InviteInvalid),
        }
    }

    /// Begins a session for who knows the password. `address` is where the log-in comes from.
    ///
    /// Failures count by account and address first. Those of an account from everywhere, and those
    /// of an address to all accounts, refuse only where the account has never logged in: so neither
    /// somebody elsewhere nor somebody of the same school keeps its owner out.
    pub(crate) async fn log_in(
        &self,
        email: &str,
        password: &str,
        address: &str,
    ) -> Result<Opened, Error> {
        let account = account(email);
        let of_pair = format!("P#{account}#{address}");
        let (of_address, of_account) = (format!("A#{address}"), format!("E#{account}"));
        let max = self.options.login_failures_max;
        self.check_failures(&of_pair, max).await?;
        if !self.is_known_at(&account, address).await? {
            self.check_failures(&of_account, max.saturating_mul(ACCOUNT_FAILURES)).await?;
            self.check_failures(&of_address, max.saturating_mul(ADDRESS_FAILURES)).await?;
        }
        let user = match check_email(email) {
            Ok(email) => self.find_by_email(&email).await?,
            Err(_) => None,
        };
        let hash = match &user {
            Some(user) => self.find_hash(user.id).await?,
            None => None,
        };
        let is_right = match &hash {
            Some(hash) => self.verify(password, hash).await?,
            // An account that is not there, or has no password, costs as much as a wrong password.
            None => self.hash(password).await.map(|_| false)?,
        };
        match user.filter(|_| is_right) {
            Some(user) => {
                for of in [&of_pair, &of_account] {
                    self.tables.delete(self.layout.sessions.delete_failures(of)).await?;
                }
                self.tables.put(self.known(&account, address)).await?;
                self.begin_session(user).await
            }
            None => {
                for of in [&of_pair, &of_account] {
                    self.count_failure(of, Failures::and_one).await?;
                }
                self.count_failure(&of_address, Failures::and_one_of_many).await?;
                Err(Error::LoginFailed)
            }
        }
    }

    /// Begins a session for who has proved an identity of another issuer, if it has an account.
    pub(crate) async fn find_identity(
        &self,
        issuer: &str,
        subject: &str,
    ) -> Result<Option<Opened>, Error> {
        let claim = self.tables.get(self.layout.users.get_identity(issuer, subject)).await?;
        let Some(id) = claim.as_ref().and_then(user::read_id) else { return Ok(None) };
        match self.find_user(id).await? {
            Some(user) => self.begin_session(user).await.map(Some),
            None => Ok(None),
        }
    }

    /// Goes on with a session, under a new refresh token.
    pub(crate) async fn refresh(&self, token: &str) -> Result<Opened, Error> {
        let parts: Vec<&str> = token.split('.').collect();
        let [id, name, _] = parts.as_slice() else { return Err(Error::TokenInvalid) };
        let id: UserId = id.parse().map_err(|()| Error::TokenInvalid)?;
        if name.len() != SECRET_LETTERS {
            return Err(Error::TokenInvalid);
        }
        let before = self.find_session(id, name).await?.ok_or(Error::TokenInvalid)?;
        let (user, now) = (self.find_user(id).await?.ok_or(Error::TokenInvalid)?, self.clock.now());
        let (refresh_token, refresh) = self.new_refresh(id, &before.id);
        let session = Session { refresh, used: now, ..before.clone() };
        if before.refresh == digest(token) {
            match self.tables.put(self.layout.sessions.rotate(&before, &session)).await {
                Ok(_) => return Ok(Opened { user, session, refresh_token }),
                Err(StoreError::ConditionFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // A token that was used before: either its thief or its owner holds the newer one.
        self.end_session(user.id, &before.id).await?;
        Err(Error::TokenInvalid)
    }

    /// The session of that name, if it is good.
    pub(crate) async fn find_session(
        &self,
        user: UserId,
        name: &str,
    ) -> Result<Option<Session>, Error> {
        let item = self.tables.get(self.layout.sessions.get(user, name)).await?;
        let session = item.as_ref().and_then(session::read);
        Ok(session.filter(|session| session.is_good(self.clock.now())))
    }

    /// Ends a session; its tokens and streams are over.
    pub(crate) async fn end_session(&self, user: UserId, name: &str) -> Result<(), Error> {
        self.tables.delete(self.layout.sessions.delete(user, name)).await?;
        self.tell_end(name);
        Ok(())
    }

    /// Ends all sessions of a user but one.
    pub(crate) async fn end_sessions(&self, user: UserId, but: Option<&str>) -> Result<(), Error> {
        for session in self.list_sessions(user).await? {
            if Some(session.id.as_str()) != but {
                self.end_session(user, &session.id).await?;
            }
        }
        Ok(())
    }

    /// Changes a password; all other sessions end.
    pub(crate) async fn change_password(
        &self,
        caller: &Caller,
        present: &str,
        new: &str,
    ) -> Result<(), Error> {
        check_password(new)?;
        let hash = self.find_hash(caller.user).await?.ok_or(Error::PasswordWrong)?;
        if !self.verify(present, &hash).await? {
            return Err(Error::PasswordWrong);
        }
        let new = self.hash(new).await?;
        let write = self.layout.users.change_credential(caller.user, &hash, &new);
        if self.commit(vec![write], &[]).await?.is_err() {
            return Err(Error::Contended);
        }
        self.end_sessions(caller.user, Some(&caller.session)).await
    }

    /// Removes the caller's account. What others see of it follows, by the fact; and so does the end
    /// of a session that begins in this very moment.
    pub(crate) async fn delete_account(&self, caller: &Caller) -> Result<(), Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let user = self.get_user(caller.user).await?;
            let sessions = self.list_sessions(user.id).await?;
            let users = &self.layout.users;
            let credential = self.tables.get(users.get_credential(user.id)).await?;
            let mut writes = users.delete(&user, credential.as_ref());
            let ended = sessions
                .iter()
                .map(|session| self.layout.sessions.delete(session.user, &session.id).into());
            writes.extend(ended);
            writes.push(users.discount_account());
            if self.commit(writes, &[Told::UserDeleted(OfUser::new(&user))]).await?.is_ok() {
                sessions.iter().for_each(|session| self.tell_end(&session.id));
                self.tell_card(user.id);
                return self.forget_addresses(&account(&user.email)).await;
            }
        }
    }

    /// Forgets from where an account has logged in.
    async fn forget_addresses(&self, account: &str) -> Result<(), Error> {
        let known = self.layout.sessions.query_known(account);
        let known = table::query_all(&*self.tables, known).await?;
        let removals = known.iter().map(|item| self.layout.sessions.remove(item)).collect();
        Ok(write_all(&*self.tables, &self.clock, removals).await?)
    }

    /// A ticket that opens one stream in the caller's name.
    pub(crate) async fn make_ticket(&self, caller: &Caller) -> Result<String, Error> {
        let secret = self.ids.alphanumeric(SECRET_LETTERS);
        let until = later(self.clock.now(), TICKET_LIFE);
        let (user, session) = (caller.user, caller.session.clone());
        let ticket = Ticket { user, session, ends: caller.ends, until };
        self.tables.put(self.layout.sessions.put_ticket(&digest(&secret), &ticket)).await?;
        Ok(secret)
    }

    /// In whose name a ticket opens a stream; it is used up.
    pub(crate) async fn take_ticket(&self, ticket: &str) -> Result<Caller, Error> {
        let taken = self.tables.delete(self.layout.sessions.take_ticket(&digest(ticket))).await?;
        let ticket = taken.as_ref().and_then(session::read_ticket);
        let ticket = ticket.filter(|ticket| self.clock.now() < ticket.until);
        let Ticket { user, session, ends, .. } = ticket.ok_or(Error::TokenInvalid)?;
        self.find_session(user, &session).await?.ok_or(Error::TokenInvalid)?;
        Ok(Caller { user, session, ends })
    }

    /// A code with which one may register.
    pub(crate) async fn make_invite(&self) -> Result<(String, Timestamp), Error> {
        let secret = self.ids.alphanumeric(SECRET_LETTERS);
        let until = later(self.clock.now(), INVITE_LIFE);
        self.tables.put(self.layout.sessions.put_invite(&digest(&secret), until)).await?;
        Ok((secret, until))
    }

    /// When a token that is made now is over: never later than its session.
    pub(crate) fn token_ends(&self, session: &Session) -> Timestamp {
        later(self.clock.now(), ACCESS_LIFE).min(session.ends())
    }

    async fn begin_session(&self, user: User) -> Result<Opened, Error> {
        let mut sessions = self.list_sessions(user.id).await?;
        sessions.sort_by_key(|session| session.used);
        let too_many = sessions.len().saturating_sub(SESSIONS_MAX - 1);
        for session in sessions.iter().take(too_many) {
            self.end_session(user.id, &session.id).await?;
        }
        let (session, refresh_token) = self.new_session(user.id, self.clock.now());
        // A user who is deleted meanwhile begins nothing.
        let writes = vec![self.layout.sessions.put(&session), self.layout.users.exists(user.id)];
        match self.commit(writes, &[]).await? {
            Ok(()) => Ok(Opened { user, session, refresh_token }),
            Err(_) => Err(Error::LoginFailed),
        }
    }

    fn new_session(&self, user: UserId, now: Timestamp) -> (Session, String) {
        let id = self.ids.alphanumeric(SECRET_LETTERS);
        let (token, refresh) = self.new_refresh(user, &id);
        (Session { user, id, refresh, created: now, used: now }, token)
    }

    /// A refresh token and its digest. It names its session, so that its misuse can end it.
    fn new_refresh(&self, user: UserId, session: &str) -> (String, String) {
        let token = format!("{user}.{session}.{}", self.ids.alphanumeric(SECRET_LETTERS));
        let digest = digest(&token);
        (token, digest)
    }

    async fn list_sessions(&self, user: UserId) -> Result<Vec<Session>, Error> {
        let items = table::query_all(&*self.tables, self.layout.sessions.query(user)).await?;
        Ok(items.iter().filter_map(session::read).collect())
    }

    async fn find_hash(&self, user: UserId) -> Result<Option<String>, Error> {
        let item = self.tables.get(self.layout.users.get_credential(user)).await?;
        Ok(item.as_ref().and_then(user::read_hash))
    }

    /// An error if there were so many failures.
    async fn check_failures(&self, of: &str, max: u64) -> Result<(), Error> {
        let failures = self.tables.get(self.layout.sessions.get_failures(of)).await?;
        let failures = failures.as_ref().map(session::read_failures);
        match failures.and_then(|failures| failures.refusal(max, self.clock.now())) {
            Some(wait) => Err(Error::TooManyFailures { wait }),
            None => Ok(()),
        }
    }

    /// Whether an account has logged in from an address before.
    async fn is_known_at(&self, account: &str, address: &str) -> Result<bool, Error> {
        let known = self.tables.get(self.layout.sessions.get_known(account, address)).await?;
        Ok(known.is_some_and(|known| self.clock.now() < session::read_known(&known)))
    }

    /// Remembers that an account has logged in from an address.
    fn known(&self, account: &str, address: &str) -> Put {
        let until = later(self.clock.now(), ADDRESS_KNOWN);
        self.layout.sessions.put_known(account, address, until)
    }

    async fn count_failure(
        &self,
        of: &str,
        and_one: fn(Option<Failures>, Timestamp) -> Failures,
    ) -> Result<(), Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let item = self.tables.get(self.layout.sessions.get_failures(of)).await?;
            let before = item.as_ref().map(session::read_failures);
            let after = and_one(before, self.clock.now());
            let update = self.layout.sessions.put_failures(of, before, after);
            match self.tables.update(update).await {
                Ok(_) => return Ok(()),
                Err(StoreError::ConditionFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn hash(&self, password: &str) -> Result<String, Error> {
        self.passwords.hash(password).await.map_err(|busy| Error::Busy { wait: busy.wait() })
    }

    async fn verify(&self, password: &str, hash: &str) -> Result<bool, Error> {
        let verified = self.passwords.verify(password, hash).await;
        verified.map_err(|busy| Error::Busy { wait: busy.wait() })
    }
}

/// By what log-ins to an account are counted, whether or not there is one.
fn account(email: &str) -> String {
    digest(&fold(email))
}
