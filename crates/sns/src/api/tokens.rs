//! Access tokens: what they claim, and of whom they are.
//!
//! A token is believed while its session is there: logging out ends it at once, on every instance.

use std::sync::Arc;

use base::Timestamp;
use edge::{Client, Failure, Subject};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::users::ShownUser;
use super::{AUDIENCE, Door};
use crate::error::Error;
use crate::model::UserId;
use crate::model::account::Session;
use crate::ops::identity::{Caller, Opened};

/// What a token claims.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    sid: String,
    jti: String,
    iat: u64,
    exp: u64,
}

/// A session that has begun.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownSession {
    /// Who it is.
    pub(super) user: ShownUser,
    /// The access token.
    pub(super) token: String,
    /// Brings the next access token, once.
    pub(super) refresh_token: String,
    /// Seconds for which the access token is good.
    pub(super) expires_in: u64,
    /// After a registration, or a log-in with a password: shows at the next log-in that the account has
    /// logged in from this device before. Keep it apart from the session; it is good for 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device_token: Option<String>,
}

impl Door {
    /// For whom a token acts.
    pub(super) async fn authenticate(&self, token: &str) -> Result<Caller, Error> {
        self.believe(digest(token), token).await
    }

    async fn believe(&self, digest: [u8; 32], token: &str) -> Result<Caller, Error> {
        let caller = match self.verified.get(&digest) {
            Some(caller) => caller,
            None => {
                let caller = self.verify(token).await?;
                self.verified.insert(digest, caller.clone());
                caller
            }
        };
        let is_over = self.sns.clock.now() >= caller.ends;
        let session = self.sns.find_session(caller.user, &caller.session).await?;
        if is_over || session.is_none() {
            self.verified.invalidate(&digest);
            return Err(Error::TokenInvalid);
        }
        Ok(caller)
    }

    /// Whom a token names, if it is to be believed.
    async fn verify(&self, token: &str) -> Result<Caller, Error> {
        let claims: Claims =
            self.sns.tokens.verify(token).await.map_err(|_| Error::TokenInvalid)?;
        let user: UserId = claims.sub.parse().map_err(|()| Error::TokenInvalid)?;
        let ends = Timestamp::from_seconds(claims.exp).ok_or(Error::TokenInvalid)?;
        Ok(Caller { user, session: claims.sid, ends })
    }

    /// The same, for the layer in front of the routes. A token that nobody has looked at yet is
    /// looked at on its address's account, so that guessing is no way past the rates.
    pub(super) async fn recognise(
        &self,
        client: Client,
        token: &str,
    ) -> Result<(Subject, Caller), Failure> {
        let digest = digest(token);
        let is_new = !self.verified.contains_key(&digest);
        if is_new {
            drop(self.strangers.take(client)?);
        }
        let caller = self.believe(digest, token).await?;
        if is_new {
            // A good token is no guess: its user's rate counts it.
            self.strangers.give_back(client);
        }
        Ok((Subject(Arc::from(format!("sns:{}", caller.user))), caller))
    }

    /// A session as its owner is told of it, with a fresh access token.
    pub(super) fn shown_session(&self, opened: &Opened) -> ShownSession {
        let (token, expires_in) = self.access_token(&opened.session);
        ShownSession {
            user: ShownUser::own(&opened.user),
            token,
            refresh_token: opened.refresh_token.clone(),
            expires_in,
            device_token: opened.device.clone(),
        }
    }

    /// An access token, and for how many seconds it is good.
    pub(super) fn access_token(&self, session: &Session) -> (String, u64) {
        let (now, ends) = (self.sns.clock.now(), self.sns.token_ends(session));
        let claims = Claims {
            iss: self.sns.options.issuer.clone(),
            aud: AUDIENCE.to_owned(),
            sub: session.user.to_string(),
            sid: session.id.clone(),
            jti: self.sns.ids.random().to_string(),
            iat: now.seconds(),
            exp: ends.seconds(),
        };
        (self.sns.tokens.sign(&claims), ends.since(now).as_secs())
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
