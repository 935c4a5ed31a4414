//! Registering, logging in and out.

use std::sync::Arc;

use bytes::Bytes;
use edge::{
    Bucket, Client, Failure, IntoResponse, Json, Known, Response, State, StatusCode, header,
    read_json,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Door;
use super::tokens::ShownSession;
use crate::error::{Error, Flaw};
use crate::items::digest;
use crate::limits::{IDENTITY_BYTES_MAX, TICKET_LIFE};
use crate::model::account::fold;
use crate::ops::identity::{Caller, Opened, Proof, Register};

const NO_STORE: [(header::HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// Somebody who registers.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "email": "ada@example.org",
    "username": "ada",
    "password": "correct horse"
}))]
pub(super) struct NewUser {
    #[schema(example = "ada@example.org")]
    email: String,
    /// 3 to 50 letters of `A-Z a-z 0-9 _ -`.
    #[schema(min_length = 3, max_length = 50, pattern = "^[A-Za-z0-9_-]+$", example = "ada")]
    username: String,
    /// 8 to 128 letters.
    #[schema(min_length = 8, max_length = 128)]
    password: String,
    /// The operator's code, where only who has one may register.
    invite: Option<String>,
    /// The `deviceToken` of an earlier answer, if there is one.
    device_token: Option<String>,
}

/// Makes an account and logs in.
#[utoipa::path(post, path = "/sns/v1/auth/register", request_body = NewUser, security(()), responses(
    (status = 201, description = "The account and its first session.", body = ShownSession),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "A token was sent that is not good."),
    (status = 403, description = "Registration is closed, or needs an invitation."),
    (status = 409, description = "The e-mail address or the username is taken, or the username looks like one that is, is reserved, or was given up in the last 30 days."),
    (status = 429, description = "Too many at once; `Retry-After` says when to come again."),
    (status = 507, description = "The house holds as many accounts as it may."),
))]
pub(super) async fn register(
    State(door): State<Arc<Door>>,
    client: Client,
    bytes: Bytes,
) -> Result<Response, Failure> {
    let NewUser { email, username, password, invite, device_token: device } = read_json(&bytes)?;
    let command = Register { email, username, proof: Proof::Password(password), invite, device };
    let opened = door.register(client, command).await?;
    let session = Json(door.shown_session(&opened));
    Ok((StatusCode::CREATED, NO_STORE, session).into_response())
}

/// Who logs in.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "email": "ada@example.org", "password": "correct horse" }))]
pub(super) struct Login {
    email: String,
    password: String,
    /// The `deviceToken` of an earlier answer, if there is one: failures of others do not delay it.
    device_token: Option<String>,
}

/// Logs in. The answer is the same whether the account or the password is wrong. From the fifth
/// failure to one account from one address on, each doubles the delay before the next try.
#[utoipa::path(post, path = "/sns/v1/auth/login", request_body = Login, security(()), responses(
    (status = 200, description = "A new session.", body = ShownSession),
    (status = 400, description = "The body is not what is expected."),
    (status = 401, description = "Address and password do not fit."),
    (status = 429, description = "Too many wrong passwords; `Retry-After` says when to come again."),
))]
pub(super) async fn log_in(
    State(door): State<Arc<Door>>,
    client: Client,
    bytes: Bytes,
) -> Result<Response, Failure> {
    let Login { email, password, device_token } = read_json(&bytes)?;
    let address = client.network().to_string();
    let device = device_token.as_deref();
    let opened = door.sns.log_in(&email, &password, &address, device).await?;
    Ok((NO_STORE, Json(door.shown_session(&opened))).into_response())
}

/// A refresh token.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "refreshToken": "the refreshToken of an earlier answer" }))]
pub(super) struct Refresh {
    refresh_token: String,
}

/// Brings the next tokens. A refresh token is good once: one that comes twice ends its session.
#[utoipa::path(post, path = "/sns/v1/auth/refresh", request_body = Refresh, security(()), responses(
    (status = 200, description = "New tokens.", body = ShownSession),
    (status = 400, description = "The body is not what is expected."),
    (status = 401, description = "The token is not good any more."),
))]
pub(super) async fn refresh(
    State(door): State<Arc<Door>>,
    bytes: Bytes,
) -> Result<Response, Failure> {
    let Refresh { refresh_token } = read_json(&bytes)?;
    let opened = door.sns.refresh(&refresh_token).await?;
    Ok((NO_STORE, Json(door.shown_session(&opened))).into_response())
}

/// A token of another issuer, and who its owner wants to be here.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({
    "token": "a token of the other issuer",
    "email": "ada@example.org",
    "username": "ada"
}))]
pub(super) struct External {
    /// The other issuer's token.
    token: String,
    /// The first time: the account's e-mail address.
    email: Option<String>,
    /// The first time: the account's username.
    username: Option<String>,
    /// The operator's code, where only who has one may register.
    invite: Option<String>,
}

/// What a token of another issuer must say besides what is verified.
#[derive(Deserialize)]
struct Identity {
    sub: String,
}

/// Logs in with a token of another issuer. An identity is issuer and subject, never an address.
#[utoipa::path(post, path = "/sns/v1/auth/external", request_body = External, security(()), responses(
    (status = 200, description = "A new session.", body = ShownSession),
    (status = 201, description = "A new account and its first session.", body = ShownSession),
    (status = 400, description = "A value breaks its bound, or the first time lacks a name."),
    (status = 401, description = "The token is not to be believed."),
    (status = 403, description = "Registration is closed, or needs an invitation."),
    (status = 409, description = "The e-mail address or the username is taken, or the username looks like one that is, is reserved, or was given up in the last 30 days."),
    (status = 429, description = "Too many at once; `Retry-After` says when to come again."),
    (status = 507, description = "The house holds as many accounts as it may."),
))]
pub(super) async fn external(
    State(door): State<Arc<Door>>,
    client: Client,
    bytes: Bytes,
) -> Result<Response, Failure> {
    let External { token, email, username, invite } = read_json(&bytes)?;
    let (issuer, subject) = door.identify(&token)?;
    if let Some(opened) = door.sns.find_identity(&issuer, &subject).await? {
        return Ok((NO_STORE, Json(door.shown_session(&opened))).into_response());
    }
    let (Some(email), Some(username)) = (email, username) else {
        return Err(Error::from(Flaw::NamesMissing).into());
    };
    let proof = Proof::Identity { issuer, subject };
    let opened =
        door.register(client, Register { email, username, proof, invite, device: None }).await?;
    Ok((StatusCode::CREATED, NO_STORE, Json(door.shown_session(&opened))).into_response())
}

impl Door {
    /// Registers somebody, at the pace of its address. A registration that is refused uses up
    /// nothing of what others of the address need.
    async fn register(&self, client: Client, command: Register) -> Result<Opened, Failure> {
        let address = client.network();
        // By a digest: nobody has looked at the address yet, and buckets are kept.
        let own = digest(&format!("{address} {}", fold(&command.email)));
        let own = Bucket::Subject(own.into());
        let taken = self.registrations.take(&own, &self.registrations_of_address.places(client))?;
        Ok(taken.settle(self.sns.register(command, &address.to_string()).await)?)
    }

    /// Whose a token of another issuer is.
    fn identify(&self, token: &str) -> Result<(String, String), Error> {
        let issuers = self.sns.issuers.read().clone();
        let found = issuers.iter().find_map(|(issuer, verifier)| {
            let identity: Identity = verifier.verify(token).ok()?;
            Some((issuer.clone(), identity.sub))
        });
        let fits = |(issuer, subject): &(String, String)| {
            !subject.is_empty() && issuer.len() + subject.len() <= IDENTITY_BYTES_MAX
        };
        found.filter(fits).ok_or(Error::TokenInvalid)
    }
}

/// Ends this session: its tokens are refused from now on, and its streams close.
#[utoipa::path(post, path = "/sns/v1/auth/logout", responses(
    (status = 204, description = "It is over."),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn log_out(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
) -> Result<StatusCode, Failure> {
    door.sns.end_session(caller.user, &caller.session).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends all sessions of the caller.
#[utoipa::path(post, path = "/sns/v1/auth/logout-all", responses(
    (status = 204, description = "They are over."),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn log_out_all(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
) -> Result<StatusCode, Failure> {
    door.sns.end_sessions(caller.user, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Two passwords.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "currentPassword": "correct horse",
    "newPassword": "battery staple"
}))]
pub(super) struct Passwords {
    current_password: String,
    /// 8 to 128 letters.
    #[schema(min_length = 8, max_length = 128)]
    new_password: String,
}

/// Changes the caller's password. All other sessions end. A wrong present password counts like a
/// failed log-in, by session.
#[utoipa::path(put, path = "/sns/v1/auth/password", request_body = Passwords, responses(
    (status = 204, description = "It is changed."),
    (status = 400, description = "The new one breaks its bound."),
    (status = 401, description = "The token is not good."),
    (status = 403, description = "The present password is wrong."),
    (status = 429, description = "Too fast, or too many wrong passwords; `Retry-After` says when to come again."),
))]
pub(super) async fn change_password(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    client: Client,
    bytes: Bytes,
) -> Result<StatusCode, Failure> {
    let Passwords { current_password, new_password } = read_json(&bytes)?;
    let address = client.network().to_string();
    door.sns.change_password(&caller, &address, &current_password, &new_password).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A ticket.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MadeTicket {
    /// Opens one stream, as `?ticket=`.
    ticket: String,
    /// Seconds for which it does.
    expires_in: u64,
}

/// Makes a ticket for a socket or an event stream, which cannot send headers from a page.
#[utoipa::path(post, path = "/sns/v1/auth/ticket", responses(
    (status = 200, description = "The ticket.", body = MadeTicket),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn make_ticket(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
) -> Result<Response, Failure> {
    let ticket = door.sns.make_ticket(&caller).await?;
    let made = MadeTicket { ticket, expires_in: TICKET_LIFE.as_secs() };
    Ok((NO_STORE, Json(made)).into_response())
}
