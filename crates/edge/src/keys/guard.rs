//! Routes that demand a key.

use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use super::{Caller, Keys};
use crate::{Error, Failure, Subject, set_known};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Why a caller is not let in.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// It presented nothing.
    #[error("an API key is needed, in `x-api-key` or as `authorization: Bearer`")]
    Missing,
    /// What it presented is no key, or none any more. Which of these is not said.
    #[error("the API key is not valid")]
    Wrong,
    /// Its key may not do this.
    #[error("the API key does not have the scope `{0}`")]
    Scope(&'static str),
    /// Nobody knows, because the store failed.
    #[error("API keys cannot be checked at the moment")]
    Unavailable(Error),
}

impl Keys {
    /// The routes, for callers whose key has `scope`. Handlers may ask for the [`Caller`].
    pub fn guard(&self, routes: Router, scope: &'static str) -> Router {
        routes.layer(middleware::from_fn_with_state((self.clone(), scope), demand))
    }

    /// Who presents this text, if it may do what `scope` stands for. For keys that come in a
    /// message instead of a header.
    ///
    /// # Errors
    /// It may not.
    pub async fn demand(&self, presented: &str, scope: &'static str) -> Result<Caller, Denied> {
        let caller = self.verify(presented).await?;
        if caller.may(scope) { Ok(caller) } else { Err(Denied::Scope(scope)) }
    }
}

pub(crate) async fn demand(
    State((keys, scope)): State<(Keys, &'static str)>,
    mut request: Request,
    next: Next,
) -> Response {
    let demanded = match presented(request.headers()) {
        Some(presented) => keys.demand(presented, scope).await,
        None => Err(Denied::Missing),
    };
    match demanded {
        Ok(caller) => {
            let subject = Subject(format!("key:{}", caller.name()).into());
            request.extensions_mut().insert(subject);
            request.extensions_mut().insert(caller);
            set_known(request.extensions());
            next.run(request).await
        }
        Err(denied) => denied.into_response(),
    }
}

/// What the caller presents. What is not text can be no key.
pub(crate) fn presented(headers: &HeaderMap) -> Option<&str> {
    if let Some(value) = headers.get(X_API_KEY) {
        return Some(value.to_str().unwrap_or_default().trim());
    }
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(rest.trim())
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, Denied> {
        parts.extensions.get().cloned().ok_or(Denied::Missing)
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let message = self.to_string();
        let (status, code, japanese, challenge) = match self {
            Denied::Missing => (
                StatusCode::UNAUTHORIZED,
                "key_missing",
                "API キーが必要です".to_owned(),
                "Bearer realm=\"nagaya\"",
            ),
            Denied::Wrong => (
                StatusCode::UNAUTHORIZED,
                "key_wrong",
                "API キーが正しくありません".to_owned(),
                "Bearer realm=\"nagaya\", error=\"invalid_token\"",
            ),
            Denied::Scope(scope) => (
                StatusCode::FORBIDDEN,
                "scope_missing",
                format!("API キーにスコープ「{scope}」がありません"),
                "Bearer realm=\"nagaya\", error=\"insufficient_scope\"",
            ),
            Denied::Unavailable(error) => {
                return Failure::unavailable(message, error).into_response();
            }
        };
        let challenge = [(header::WWW_AUTHENTICATE, challenge)];
        (challenge, Failure::new(status, code, message).in_japanese(japanese)).into_response()
    }
}
