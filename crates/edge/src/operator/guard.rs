//! Routes for the operator alone, and the cookie by which a browser is known.

use std::time::Duration;

use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};

use super::accounts::session_id;
use super::cut::cut;
use super::own::is_from_here;
use super::{Operator, pages};
use crate::cookies;
use crate::keys::guard as by_key;
use crate::notice::wants_page;
use crate::{Bucket, Client, Error, Failure, Keys, Subject, hosts, set_known};

/// Over TLS the name itself makes browsers keep the cookie to this host and to TLS.
const SECURE_COOKIE: &str = "__Host-nagaya-operator";
const COOKIE: &str = "nagaya-operator";

/// A browser that is signed in. An extractor behind [`Operator::guard`].
#[derive(Clone)]
pub struct OperatorSession {
    pub(super) token: String,
}

impl OperatorSession {
    /// Its name among the browsers that are signed in.
    pub fn id(&self) -> String {
        session_id(&self.token)
    }
}

impl Operator {
    /// The routes, for the operator. Others are sent to sign in, or told to (401); requests that
    /// change something must come from the house's own pages.
    pub fn guard(&self, routes: Router) -> Router {
        routes.layer(middleware::from_fn_with_state(self.clone(), demand))
    }

    /// The routes, for the operator's browser and for programs whose key has `scope`. Who presents
    /// a key is judged by it alone.
    pub fn guard_or_key(&self, routes: Router, keys: &Keys, scope: &'static str) -> Router {
        let state = (self.clone(), keys.clone(), scope);
        routes.layer(middleware::from_fn_with_state(state, demand_either))
    }

    /// Whether a request came under a name of this house.
    pub(super) fn check_host(&self, request: &Request) -> Result<(), Failure> {
        hosts::check_own(request, self.shared.url.as_ref())
    }

    /// The session of a request, if it has one.
    pub(super) async fn session(
        &self,
        client: Client,
        headers: &HeaderMap,
    ) -> Result<Option<OperatorSession>, Error> {
        let Some(token) = cookie(client, headers) else { return Ok(None) };
        let is_valid = self.shared.accounts.is_signed_in(&token).await?;
        Ok(is_valid.then_some(OperatorSession { token }))
    }
}

async fn demand(State(operator): State<Operator>, mut request: Request, next: Next) -> Response {
    if let Err(failure) = operator.check_host(&request) {
        return failure.into_response();
    }
    if !is_from_here(request.method(), request.uri(), request.headers()) {
        return foreign().into_response();
    }
    let client = Client::of(request.extensions());
    match operator.session(client, request.headers()).await {
        Ok(Some(session)) => {
            request.extensions_mut().insert(Subject("operator".into()));
            let ended = operator.shared.accounts.clone().ended(session.token.clone());
            request.extensions_mut().insert(session);
            set_known(request.extensions());
            cut(audited(&operator, request, next, |_| true).await, ended)
        }
        Ok(None) if wants_page(request.headers()) => {
            Redirect::to(&pages::sign_in_for(&request)).into_response()
        }
        Ok(None) => session_missing().into_response(),
        Err(error) => unavailable(error).into_response(),
    }
}

/// Records sign-ins, where everybody may try: all that succeed, and a bounded number of those that
/// fail, so that strangers cannot fill the table.
pub(super) async fn audited_stranger(
    State(operator): State<Operator>,
    request: Request,
    next: Next,
) -> Response {
    let everybody = Bucket::Subject("strangers".into());
    let is_recorded = |status: StatusCode| {
        status.is_redirection() || operator.shared.strangers.check(&everybody).is_ok()
    };
    audited(&operator, request, next, is_recorded).await
}

/// Runs a request, and records it in the audit if it changes something and its status is one to
/// record.
async fn audited(
    operator: &Operator,
    request: Request,
    next: Next,
    is_recorded: impl FnOnce(StatusCode) -> bool,
) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let client = Client::of(request.extensions());
    let response = next.run(request).await;
    let status = response.status();
    if !method.is_safe() && is_recorded(status) {
        operator.shared.audit.record(&method, &path, status, client.address).await;
    }
    response
}

async fn demand_either(
    State((operator, keys, scope)): State<(Operator, Keys, &'static str)>,
    request: Request,
    next: Next,
) -> Response {
    let client = Client::of(request.extensions());
    let is_browser = cookie(client, request.headers()).is_some() || wants_page(request.headers());
    if is_browser && by_key::presented(request.headers()).is_none() {
        demand(State(operator), request, next).await
    } else {
        by_key::demand(State((keys, scope)), request, next).await
    }
}

fn session_missing() -> Failure {
    let message = "the operator must sign in";
    Failure::new(StatusCode::UNAUTHORIZED, "session_missing", message)
        .in_japanese("管理者としてログインしてください")
}

/// The request came from a page of another site.
pub(super) fn foreign() -> Failure {
    let message = "the request does not come from a page of this house";
    Failure::new(StatusCode::FORBIDDEN, "cross_site", message)
        .in_japanese("このサイトのページからのリクエストではありません")
}

pub(super) fn unavailable(error: Error) -> Failure {
    Failure::unavailable("sessions cannot be checked at the moment", error)
}

fn cookie_name(client: Client) -> &'static str {
    if client.is_secure() { SECURE_COOKIE } else { COOKIE }
}

/// What the browser holds.
fn cookie(client: Client, headers: &HeaderMap) -> Option<String> {
    cookies::find(headers, cookie_name(client)).map(str::to_owned)
}

/// What the browser is told to hold, or to forget after no time.
pub(super) fn set_cookie(client: Client, token: &str, lifetime: Duration) -> HeaderValue {
    let secure = if client.is_secure() { "; Secure" } else { "" };
    let (name, seconds) = (cookie_name(client), lifetime.as_secs());
    let cookie =
        format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(cookie).expect("letters, digits and signs can stand in a header")
}

impl<S: Sync> FromRequestParts<S> for OperatorSession {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<OperatorSession, Failure> {
        parts.extensions.get().cloned().ok_or_else(session_missing)
    }
}

impl std::fmt::Debug for OperatorSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperatorSession").finish_non_exhaustive()
    }
}
