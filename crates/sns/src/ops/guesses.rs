//! Guesses at passwords, and from where an account has logged in.
//!
//! Invariants: a guess is counted before it is looked at, under a condition, so that many at once
//! are no more than one after the other; one that was not looked at is taken back. At a device that
//! an account knows only guesses of that device count; at an address that it knows only those of the
//! address. Elsewhere those of all addresses count as well, each address for no more than its share:
//! so nobody keeps an account's owner out from one address.

use table::Error as StoreError;

use super::Tries;
use crate::Sns;
use crate::error::Error;
use crate::items::digest;
use crate::items::session::{self, Place};
use crate::limits::{
    ACCOUNT_DELAY_MAX, ACCOUNT_FAILURES, ADDRESS_FAILURES, DEVICES_MAX, GUESS_DELAY_MAX,
    PLACE_KNOWN, SECRET_LETTERS,
};
use crate::model::account::{Failures, fold, later};

/// Whose password is guessed at, and from where.
#[derive(Clone, Debug)]
pub(crate) struct Guesser<'g> {
    /// The account, whether or not there is one.
    pub(crate) account: String,
    /// From where the request comes.
    pub(crate) address: &'g str,
    /// What tells the guesser apart from others of its address: a device that the account knows, or
    /// a session of its own.
    pub(crate) own: Option<String>,
}

/// A guess that was counted.
struct Counted {
    /// What it was counted for.
    of: String,
    /// What is left when it is taken back.
    without: Failures,
    after: Failures,
}

impl Sns {
    /// Whether a password is the one of this hash. A guess without a hash costs as much and is wrong.
    pub(super) async fn guess(
        &self,
        guesser: &Guesser<'_>,
        password: &str,
        hash: Option<&str>,
    ) -> Result<bool, Error> {
        let counted = self.count_guess(guesser).await?;
        let is_right = match hash {
            Some(hash) => self.passwords.verify(password, hash).await,
            None => self.passwords.hash(password).await.map(|_| false),
        };
        match is_right {
            Ok(true) => {
                for Counted { of, .. } in counted {
                    self.tables.delete(self.layout.sessions.delete_failures(&of)).await?;
                }
            }
            Ok(false) => self.count_failure_of_address(guesser.address).await?,
            Err(_) => self.uncount(counted).await?,
        }
        is_right.map_err(|busy| Error::Busy { wait: busy.wait() })
    }

    /// Counts a guess wherever it counts, or nowhere.
    async fn count_guess(&self, guesser: &Guesser<'_>) -> Result<Vec<Counted>, Error> {
        let Guesser { account, address, own } = guesser;
        let max = self.options.login_failures_max;
        if let Some(own) = own {
            let of = format!("D#{account}#{own}");
            return Ok(vec![self.count(of, max, true).await?]);
        }
        let of_pair = self.count(format!("P#{account}#{address}"), max, true).await?;
        let is_among_first = of_pair.after.count <= max;
        let mut counted = vec![of_pair];
        if self.is_known(account, &Place::Address((*address).to_owned())).await? {
            return Ok(counted);
        }
        let elsewhere = async {
            self.check_address(address).await?;
            let max = max.saturating_mul(ACCOUNT_FAILURES);
            self.count(format!("E#{account}"), max, is_among_first).await
        };
        match elsewhere.await {
            Ok(of_account) => counted.push(of_account),
            Err(error) => {
                self.uncount(counted).await?;
                return Err(error);
            }
        }
        Ok(counted)
    }

    /// Counts one more, unless the last was too short a time ago.
    async fn count(&self, of: String, max: u64, is_counted: bool) -> Result<Counted, Error> {
        let longest = if of.starts_with("E#") { ACCOUNT_DELAY_MAX } else { GUESS_DELAY_MAX };
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let (found, now) = (self.find_failures(&of).await?, self.clock.now());
            let before = found.unwrap_or(Failures::NONE);
            if let Some(wait) = before.delay(max, longest, now) {
                return Err(Error::TooManyFailures { wait });
            }
            let after = before.and_guess(is_counted, now);
            if self.put_failures(&of, found, after).await? {
                let without = Failures { until: after.until, ..before.counting(now) };
                return Ok(Counted { of, without, after });
            }
        }
    }

    /// Takes back guesses that were not looked at.
    async fn uncount(&self, counted: Vec<Counted>) -> Result<(), Error> {
        for Counted { of, without, after } in counted {
            if self.put_failures(&of, Some(after), without).await? {
                continue;
            }
            // Others have guessed meanwhile.
            match self.tables.update(self.layout.sessions.discount_failure(&of)).await {
                Ok(_) | Err(StoreError::ConditionFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// An error if too many guesses of an address failed, at whichever accounts.
    async fn check_address(&self, address: &str) -> Result<(), Error> {
        let max = self.options.login_failures_max.saturating_mul(ADDRESS_FAILURES);
        let failures = self.find_failures(&of_address(address)).await?;
        match failures.and_then(|failures| failures.refusal(max, self.clock.now())) {
            Some(wait) => Err(Error::TooManyFailures { wait }),
            None => Ok(()),
        }
    }

    /// A whole school counts here, so that what is right is not counted first and taken back.
    async fn count_failure_of_address(&self, address: &str) -> Result<(), Error> {
        let of = of_address(address);
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let found = self.find_failures(&of).await?;
            let after = found.unwrap_or(Failures::NONE).and_one_of_many(self.clock.now());
            if self.put_failures(&of, found, after).await? {
                return Ok(());
            }
        }
    }

    async fn find_failures(&self, of: &str) -> Result<Option<Failures>, Error> {
        let item = self.tables.get(self.layout.sessions.get_failures(of)).await?;
        Ok(item.as_ref().map(session::read_failures))
    }

    /// Writes failures; false if others counted meanwhile.
    async fn put_failures(
        &self,
        of: &str,
        before: Option<Failures>,
        after: Failures,
    ) -> Result<bool, Error> {
        match self.tables.update(self.layout.sessions.put_failures(of, before, after)).await {
            Ok(_) => Ok(true),
            Err(StoreError::ConditionFailed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether an account has logged in from a place before.
    pub(super) async fn is_known(&self, account: &str, place: &Place) -> Result<bool, Error> {
        let known = self.tables.get(self.layout.sessions.get_known(account, place)).await?;
        Ok(known.is_some_and(|known| self.clock.now() < session::read_until(&known)))
    }

    /// The token of the device from which an account logs in: the one that it has, or a new one.
    pub(super) fn device_token(&self, given: Option<&str>) -> String {
        let given = given.filter(|token| is_device_token(token)).map(str::to_owned);
        given.unwrap_or_else(|| self.ids.alphanumeric(SECRET_LETTERS))
    }

    /// What remembers an address and a device as places from which an account has logged in.
    pub(super) fn knowing(&self, account: &str, address: &str, device: &str) -> [table::Put; 2] {
        let until = later(self.clock.now(), PLACE_KNOWN);
        let places = [Place::Address(address.to_owned()), Place::Device(digest(device))];
        places.map(|place| self.layout.sessions.put_known(account, &place, until))
    }

    /// Remembers them, and forgets the devices that are one too many.
    pub(super) async fn know(
        &self,
        account: &str,
        address: &str,
        device: &str,
    ) -> Result<(), Error> {
        for put in self.knowing(account, address, device) {
            self.tables.put(put).await?;
        }
        let query = self.layout.sessions.query_devices(account);
        let mut devices = table::query_all(&*self.tables, query).await?;
        devices.sort_by_key(session::read_until);
        let too_many = devices.len().saturating_sub(DEVICES_MAX);
        let oldest = devices.iter().take(too_many);
        let removals = oldest.map(|item| self.layout.sessions.remove(item)).collect();
        Ok(table::write_all(&*self.tables, &self.clock, removals).await?)
    }

    /// Forgets from where an account has logged in.
    pub(super) async fn forget_places(&self, account: &str) -> Result<(), Error> {
        let known = self.layout.sessions.query_known(account);
        let known = table::query_all(&*self.tables, known).await?;
        let removals = known.iter().map(|item| self.layout.sessions.remove(item)).collect();
        Ok(table::write_all(&*self.tables, &self.clock, removals).await?)
    }
}

/// By what guesses at an account are counted, whether or not there is one.
pub(super) fn account(email: &str) -> String {
    digest(&fold(email))
}

/// Whether a text has the form of a device's token.
pub(super) fn is_device_token(text: &str) -> bool {
    text.len() == SECRET_LETTERS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn of_address(address: &str) -> String {
    format!("A#{address}")
}
