//! Who plays: ids are claimed by a secret, and proven by it.

use std::sync::Arc;

use table::Error as StoreError;

use crate::Score;
use crate::error::Error;
use crate::items;
use crate::model::period::Period;
use crate::model::player::{Player, tried_until};

impl Score {
    /// The owner of an id, if the caller's secret has the owner's digest; none if nobody has claimed
    /// it.
    pub(crate) async fn prove_owner(
        &self,
        user: &str,
        digest: Option<&str>,
    ) -> Result<Option<String>, Error> {
        let (player, now) = (self.load_player(user).await?, self.clock.now());
        let Some(owner) = player.owner_at(now) else { return Ok(None) };
        // How far two digests agree tells nothing about the secret.
        if digest != Some(owner) {
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

    /// Claims an id that nobody has claimed, by the digest of a secret.
    pub(crate) async fn claim_player(
        self: &Arc<Self>,
        user: &str,
        digest: &str,
    ) -> Result<(), Error> {
        if self.has_played(user).await? {
            return Err(Error::PlayerTaken(user.to_owned()));
        }
        let now = self.clock.now();
        let claim = items::player::claim(user, digest, now, tried_until(now));
        match self.tables.update(claim).await {
            Ok(_) => Ok(()),
            // Two tabs of one browser claim at once: the same secret has won.
            Err(StoreError::ConditionFailed { .. }) => {
                let owner = self.prove_owner(user, Some(digest)).await?;
                owner.map(drop).ok_or_else(|| Error::NotOwner(user.to_owned()))
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
