//! Who plays: ids are claimed by a secret, and proven by it.

use std::sync::Arc;

use edge::{is_same_secret, secret_digest};
use table::Error as StoreError;

use crate::Score;
use crate::error::Error;
use crate::items;
use crate::limits::SECRET_LETTERS;
use crate::model::period::Period;
use crate::model::player::{Player, check_secret, tried_until};

/// A claim that was made now.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    /// The digest that is kept.
    pub(crate) owner: String,
    /// The secret, which nobody is told again.
    pub(crate) secret: String,
}

impl Score {
    /// The owner of an id, if the caller has the secret; none if nobody has claimed it.
    pub(crate) async fn prove_owner(
        &self,
        user: &str,
        secret: Option<&str>,
    ) -> Result<Option<String>, Error> {
        let (player, now) = (self.load_player(user).await?, self.clock.now());
        let Some(owner) = player.owner_at(now) else { return Ok(None) };
        if !is_secret_of(secret, owner) {
            return Err(Error::NotOwner(user.to_owned()));
        }
        if let Some(until) = player.prolonged(now) {
            match self.tables.update(items::player::prolong(user, owner, until)).await {
                // Somebody else wrote meanwhile: a play was stored, or the player was banned.
                Ok(_) | Err(StoreError::ConditionFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(owner.to_owned()))
    }

    /// Claims an id that nobody has claimed, by this secret or a new one.
    pub(crate) async fn claim_player(
        self: &Arc<Self>,
        user: &str,
        secret: Option<&str>,
    ) -> Result<Claimed, Error> {
        secret.map_or(Ok(()), check_secret)?;
        if self.has_played(user).await? {
            return Err(Error::PlayerTaken(user.to_owned()));
        }
        let made = || self.ids.alphanumeric(SECRET_LETTERS);
        let secret = secret.map_or_else(made, str::to_owned);
        let (owner, now) = (secret_digest(&secret), self.clock.now());
        let claim = items::player::claim(user, &owner, now, tried_until(now));
        match self.tables.update(claim).await {
            Ok(_) => Ok(Claimed { owner, secret }),
            // Two tabs of one browser claim at once: the same secret has won.
            Err(StoreError::ConditionFailed { .. }) => {
                let owner = self.prove_owner(user, Some(&secret)).await?;
                let owner = owner.ok_or_else(|| Error::NotOwner(user.to_owned()))?;
                Ok(Claimed { owner, secret })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether somebody owns an id.
    pub(crate) async fn is_claimed(&self, user: &str) -> Result<bool, Error> {
        Ok(self.load_player(user).await?.owner_at(self.clock.now()).is_some())
    }

    /// Whether an id that nobody has claimed stands on a board of now. Its player has a client that
    /// claims nothing, and a claim by anybody else would lock this player out.
    async fn has_played(self: &Arc<Self>, user: &str) -> Result<bool, Error> {
        let periods = [Period::all(), Period::month_of(self.clock.now(), &self.zone)];
        for game in self.games.now().games.values() {
            for period in &periods {
                if self.board(game, period).await?.read(|board| board.find_row(user).is_some()) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn load_player(&self, user: &str) -> Result<Player, Error> {
        let item = self.tables.get(items::player::get_player(user)).await?;
        Ok(items::player::read_player(item.as_ref()))
    }
}

/// Whether a secret is that of an owner's digest.
pub(crate) fn is_secret_of(secret: Option<&str>, owner: &str) -> bool {
    secret.is_some_and(|secret| is_same_secret(secret_digest(secret).as_bytes(), owner.as_bytes()))
}
