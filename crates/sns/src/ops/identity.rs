//! Who somebody is: registering, logging in and out, sessions, tickets.
//!
//! Invariants: a session has one refresh token that is good; one that is not ends the session,
//! because somebody else has it. Whether an account exists is told neither by the answer nor by the
//! work of a log-in. A ticket and an invitation are used once.

use base::Timestamp;
use table::{Error as StoreError, TransactItem};

use super::guesses::{Guesser, account, is_device_token};
use super::{Tries, is_lost};
use crate::Sns;
use crate::error::Error;
use crate::items::facts::{OfUser, Told};
use crate::items::session::{self, Place, Ticket};
use crate::items::{digest, user};
use crate::limits::{ACCESS_LIFE, INVITE_LIFE, SECRET_LETTERS, SESSIONS_MAX, TICKET_LIFE};
use crate::model::UserId;
use crate::model::account::{Session, User, check_email, check_password, later};
use crate::model::names::{Hold, check_new_username};
use crate::options::Registration;

/// Somebody who wants to register.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) email: String,
    pub(crate) username: String,
    pub(crate) proof: Proof,
    pub(crate) invite: Option<String>,
    /// The token of its device, if that has one.
    pub(crate) device: Option<String>,
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
    /// The token of the device, after a log-in.
    pub(crate) device: Option<String>,
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
        let invite = self.check_invite(command.invite.as_deref()).await?;
        let email = check_email(&command.email)?;
        let username = check_new_username(&command.username)?;
        if self.find_by_email(&email).await?.is_some() {
            return Err(Error::EmailTaken);
        }
        self.check_name_free(&username).await?;
        let (now, id) = (self.clock.now(), UserId(self.ids.random()));
        let users = &self.layout.users;
        let proof = match &command.proof {
            Proof::Password(password) => {
                check_password(password)?;
                let hash = self.hash_of_new(password).await?;
                vec![users.put_credential(id, &hash)]
            }
            Proof::Identity { issuer, subject } => users.put_identity(issuer, subject, id),
        };
        let (display_name, bio) = (String::new(), String::new());
        let user = User { id, email, username, display_name, bio, created: now, updated: now };
        let (session, refresh_token) = self.new_session(id, now);
        let device = self.device_token(command.device.as_deref());
        let mut writes = users.put_new(&user).to_vec();
        writes.extend(proof);
        writes.push(self.layout.sessions.put(&session));
        let known = self.knowing(&account(&user.email), address, &device);
        writes.extend(known.map(TransactItem::from));
        let (max, counted_at) = (self.options.accounts_max, writes.len());
        writes.push(users.count_account(max));
        writes.extend(self.layout.sessions.release_name(&user.username, id, now));
        writes.extend(invite.map(|invite| self.layout.sessions.use_invite(&invite, now)));
        let is_held =
            |lost: &[bool]| is_lost(lost, counted_at + 1) || is_lost(lost, counted_at + 2);
        match self.commit(writes, &[Told::UserRegistered(OfUser::new(&user))]).await? {
            Ok(()) => Ok(Opened { user, session, refresh_token, device: Some(device) }),
            Err(lost) if is_lost(&lost, counted_at) => Err(Error::AccountsFull(max)),
            Err(lost) if is_lost(&lost, 1) => Err(Error::EmailTaken),
            Err(lost) if is_lost(&lost, 2) || is_lost(&lost, 3) => {
                Err(Error::UsernameTaken(user.username))
            }
            Err(lost) if is_held(&lost) => Err(Error::UsernameHeld(user.username)),
            Err(lost) if is_lost(&lost, 4) => Err(Error::IdentityTaken),
            Err(_) => Err(Error::InviteInvalid),
        }
    }

    /// The digest of the invitation with which somebody registers, where one is needed. It is looked
    /// at first, so that nobody without one costs a hash or learns who is here.
    async fn check_invite(&self, invite: Option<&str>) -> Result<Option<String>, Error> {
        match self.options.registration {
            Registration::Open => return Ok(None),
            Registration::Invite => {}
            Registration::Closed => return Err(Error::RegistrationClosed),
        }
        let invite = digest(invite.ok_or(Error::InviteInvalid)?);
        let found = self.tables.get(self.layout.sessions.get_invite(&invite)).await?;
        match found.is_some_and(|found| self.clock.now() < session::read_until(&found)) {
            true => Ok(Some(invite)),
            false => Err(Error::InviteInvalid),
        }
    }

    /// Begins a session for who knows the password. `address` is where the log-in comes from, and
    /// `device` the token of a device that may have logged in before.
    pub(crate) async fn log_in(
        &self,
        email: &str,
        password: &str,
        address: &str,
        device: Option<&str>,
    ) -> Result<Opened, Error> {
        let account = account(email);
        let own = match device.filter(|token| is_device_token(token)).map(digest) {
            Some(digest) => {
                let is_known = self.is_known(&account, &Place::Device(digest.clone())).await?;
                is_known.then_some(digest)
            }
            None => None,
        };
        let user = match check_email(email) {
            Ok(email) => self.find_by_email(&email).await?,
            Err(_) => None,
        };
        let hash = match &user {
            Some(user) => self.find_hash(user.id).await?,
            None => None,
        };
        let guesser = Guesser { account, address, own };
        let is_right = self.guess(&guesser, password, hash.as_deref()).await?;
        let user = user.filter(|_| is_right).ok_or(Error::LoginFailed)?;
        let device = self.device_token(device);
        self.know(&guesser.account, address, &device).await?;
        let opened = self.begin_session(user).await?;
        Ok(Opened { device: Some(device), ..opened })
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
                Ok(_) => return Ok(Opened { user, session, refresh_token, device: None }),
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

    /// Changes a password; all other sessions end. Guesses at the present one count by session: who
    /// holds its token guesses no faster than at a log-in, and hinders no other session.
    pub(crate) async fn change_password(
        &self,
        caller: &Caller,
        address: &str,
        present: &str,
        new: &str,
    ) -> Result<(), Error> {
        check_password(new)?;
        let account = account(&self.get_user(caller.user).await?.email);
        let hash = self.find_hash(caller.user).await?.ok_or(Error::PasswordWrong)?;
        let guesser = Guesser { account, address, own: Some(caller.session.clone()) };
        if !self.guess(&guesser, present, Some(&hash)).await? {
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
            let has_look = self.has_look(&user).await?;
            let mut writes = users.delete(&user, credential.as_ref(), has_look);
            let hold = Hold::new(user.id, self.clock.now());
            writes.extend(self.layout.sessions.hold_name(&user.username, hold, None));
            let ended = sessions
                .iter()
                .map(|session| self.layout.sessions.delete(session.user, &session.id).into());
            writes.extend(ended);
            writes.push(users.discount_account());
            if self.commit(writes, &[Told::UserDeleted(OfUser::new(&user))]).await?.is_ok() {
                sessions.iter().for_each(|session| self.tell_end(&session.id));
                self.tell_card(user.id);
                return self.forget_places(&account(&user.email)).await;
            }
        }
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
            Ok(()) => Ok(Opened { user, session, refresh_token, device: None }),
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

    async fn hash(&self, password: &str) -> Result<String, Error> {
        self.passwords.hash(password).await.map_err(|busy| Error::Busy { wait: busy.wait() })
    }

    /// The hash of the password of somebody who registers, made in a queue of its own.
    async fn hash_of_new(&self, password: &str) -> Result<String, Error> {
        self.registering.hash(password).await.map_err(|busy| Error::Busy { wait: busy.wait() })
    }
}
