//! Participants: who a caller is among the others of its address.
//!
//! The server signs participants and issues them at a rate for each address, so inventing one costs
//! something. A signed participant has allowances of its own, and shares the ceilings of its address
//! with other signed ones alone. A caller without one gives itself a name, as any client may, or
//! none, and shares the ceilings of all such callers of its address. Nothing is stored: a
//! participant is an id with a signature and an end.

use std::net::IpAddr;
use std::sync::Arc;

use base::Uuid;
use edge::{Client, Failure, HeaderMap, IntoResponse, Json, Response, State, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use crate::error::Error;
use crate::limits::PARTICIPANT_LIFE;
use crate::model::check_participant;

/// The header by which a participant is told apart from others behind the same address.
const PARTICIPANT: &str = "x-participant";

/// What signatures of participants are for: no other text of the ring passes for one.
const PURPOSE: &str = "live participant";

/// A caller, as far as it can be told apart from others of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// What it is known by.
    pub(crate) participant: String,
    pub(crate) standing: Standing,
}

/// How a caller is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// By an id that the server has signed.
    Signed,
    /// By a name that it gave itself: another one costs nothing.
    Named,
    /// By its address alone.
    Nameless,
}

/// A participant that the server has signed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IssuedParticipant {
    /// To be sent as `X-Participant`, or as `participant` of `joinRoom`. Keep it secret.
    pub(crate) participant: String,
    /// Until when it is good. Renew it before: ask again, with it in `X-Participant`.
    expires_at: String,
}

/// Issues a participant, or renews the one that the caller has.
#[utoipa::path(post, path = "/live/participants", params(
    ("X-Participant" = Option<String>, Header, description = "A signed participant, to be renewed: it stays the same participant, and no place in the rate is used"),
), responses(
    (status = 201, description = "The participant with its end.", body = IssuedParticipant),
    (status = 400, description = "The header breaks its bound."),
    (status = 413, description = "The body is too large."),
    (status = 429, description = "Too many new ones for this address; `Retry-After` says when."),
))]
pub(super) async fn issue_participant(
    State(api): State<Arc<Api>>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let issued = api.issue(client, participant_header(&headers)).await?;
    Ok((StatusCode::CREATED, Json(issued)).into_response())
}

impl Api {
    /// The caller who presents this participant and says this nickname. Without a participant a
    /// nickname parts the audience behind an address as well as it can.
    pub(crate) async fn caller(
        &self,
        address: IpAddr,
        presented: Option<&str>,
        nickname: Option<&str>,
    ) -> Result<Caller, Error> {
        let Some(presented) = presented else {
            let nickname = nickname.unwrap_or_default().trim();
            let standing = if nickname.is_empty() { Standing::Nameless } else { Standing::Named };
            return Ok(Caller { participant: format!("address {address} {nickname}"), standing });
        };
        // What is signed by nobody, or no more, is a name as any other.
        Ok(match self.signed_id(presented).await? {
            Some(id) => Caller { participant: format!("signed {id}"), standing: Standing::Signed },
            None => Caller { participant: format!("name {presented}"), standing: Standing::Named },
        })
    }

    /// A new participant for a caller, or the one that it presents with a new end.
    pub(crate) async fn issue(
        &self,
        client: Client,
        presented: Option<&str>,
    ) -> Result<IssuedParticipant, Failure> {
        let known = match presented {
            Some(presented) => self.signed_id(presented).await?,
            None => None,
        };
        let id = match known {
            Some(id) => id,
            None => {
                self.pace.issue(client)?;
                self.live.ids.random()
            }
        };
        let now = self.live.clock.now();
        // At the end of time it ends at once.
        let expires = now.checked_add(PARTICIPANT_LIFE).unwrap_or(now);
        let participant = self.live.ring.seal(PURPOSE, id.as_bytes(), expires);
        Ok(IssuedParticipant { participant, expires_at: expires.to_string() })
    }

    /// The id in a participant that the server has signed and that has not ended.
    async fn signed_id(&self, presented: &str) -> Result<Option<Uuid>, Error> {
        check_participant(presented)?;
        let payload = self.live.ring.unseal(PURPOSE, presented).await;
        let payload = payload.map_err(|error| match error {
            edge::Error::Store(error) => Error::Store(error),
            error => Error::Keys(error.to_string()),
        })?;
        Ok(payload.and_then(|payload| Uuid::from_slice(&payload).ok()))
    }
}

/// The participant in a request's header.
pub(super) fn participant_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(PARTICIPANT).map(|name| name.to_str().unwrap_or_default())
}
