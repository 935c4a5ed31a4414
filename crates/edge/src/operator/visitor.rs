//! Routes for everybody that show some visitors more than others.

use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use super::Operator;
use crate::keys::guard::presented;
use crate::{Caller, Client, Denied, Failure, Keys, Subject, set_known};

/// Who visits a route that is open to all. An extractor after [`Operator::greet`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visitor {
    /// Somebody who presented nothing.
    Stranger,
    /// A program with a key.
    Program(Caller),
    /// The operator's browser.
    Operator,
}

impl Operator {
    /// The routes, open to all; handlers learn who visits. A key that is none is refused (401), so
    /// that no program takes a stranger's answer for its own.
    pub fn greet(&self, routes: Router, keys: &Keys) -> Router {
        let state = (self.clone(), keys.clone());
        routes.layer(middleware::from_fn_with_state(state, greet))
    }

    /// Who presents these headers. Under a name that is not the house's own, a browser may ask for
    /// somebody else: there its cookie counts for nothing.
    async fn recognise(
        &self,
        keys: &Keys,
        client: Client,
        headers: &HeaderMap,
        is_own_host: bool,
    ) -> Result<Visitor, Denied> {
        if let Some(presented) = presented(headers) {
            return keys.verify(presented).await.map(Visitor::Program);
        }
        let session = match is_own_host {
            true => self.session(client, headers).await.map_err(Denied::Unavailable)?,
            false => None,
        };
        Ok(session.map_or(Visitor::Stranger, |_| Visitor::Operator))
    }
}

async fn greet(
    State((operator, keys)): State<(Operator, Keys)>,
    mut request: Request,
    next: Next,
) -> Response {
    let (client, is_own_host) =
        (Client::of(request.extensions()), operator.check_host(&request).is_ok());
    let headers = request.headers().clone();
    let visitor = match operator.recognise(&keys, client, &headers, is_own_host).await {
        Ok(visitor) => visitor,
        Err(denied) => return denied.into_response(),
    };
    let subject = match &visitor {
        Visitor::Stranger => None,
        Visitor::Program(caller) => Some(format!("key:{}", caller.name())),
        Visitor::Operator => Some("operator".to_owned()),
    };
    if let Some(subject) = subject {
        request.extensions_mut().insert(Subject(subject.into()));
        set_known(request.extensions());
    }
    request.extensions_mut().insert(visitor);
    next.run(request).await
}

/// A route that nobody greets at has strangers only.
impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Visitor, Failure> {
        Ok(parts.extensions.get().cloned().unwrap_or(Visitor::Stranger))
    }
}
