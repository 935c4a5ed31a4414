//! For whom a request acts, as far as a layer in front has found out.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;

use crate::{Client, Failure, set_known};

/// For whom a request acts: a user, a participant, an API key. An extension of the request, put
/// there by whichever layer proved it; rates and idempotency keys count by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject(pub Arc<str>);

/// Whom a room has recognised, in its own words. An extractor behind [`recognised`]: without a
/// credential the request is refused (401).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known<T>(pub T);

/// The routes, behind a look at the credential of `Authorization: Bearer`. Whom `recognise` finds,
/// told who asks, is the request's [`Subject`] and what handlers take as [`Known`]; its failure is the answer. A
/// request without a credential passes, as nobody's.
pub fn recognised<T, F, A>(routes: Router, recognise: F) -> Router
where
    T: Clone + Send + Sync + 'static,
    F: Fn(Client, String) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Result<(Subject, T), Failure>> + Send + 'static,
{
    routes.layer(middleware::from_fn(move |mut request: Request, next: Next| {
        let client = Client::of(request.extensions());
        let presented = bearer(request.headers()).map(|credential| recognise(client, credential));
        async move {
            if let Some(recognising) = presented {
                match recognising.await {
                    Ok((subject, who)) => {
                        request.extensions_mut().insert(subject);
                        request.extensions_mut().insert(Known(who));
                        set_known(request.extensions());
                    }
                    Err(failure) => return failure.into_response(),
                }
            }
            next.run(request).await
        }
    }))
}

/// The routes, for requests whose caller [`recognised`] has found; all others are refused (401)
/// before any layer inside reads their bodies.
pub fn known_only<T: Clone + Send + Sync + 'static>(routes: Router) -> Router {
    // Not around the answers to methods that a path does not take.
    routes.route_layer(middleware::from_fn(|request: Request, next: Next| async move {
        match request.extensions().get::<Known<T>>() {
            Some(_) => next.run(request).await,
            None => token_missing().into_response(),
        }
    }))
}

/// The credential of `Authorization: Bearer`. What is not text can be none.
pub fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim().to_owned())
}

/// Behind a layer that has found out for whom a request acts; without one it is refused (401).
impl<S: Sync> FromRequestParts<S> for Subject {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Subject, Failure> {
        parts.extensions.get().cloned().ok_or_else(|| {
            let message = "nobody knows for whom the request acts";
            Failure::new(StatusCode::UNAUTHORIZED, "subject_missing", message)
        })
    }
}

impl<T: Clone + Send + Sync + 'static, S: Sync> FromRequestParts<S> for Known<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Known<T>, Failure> {
        parts.extensions.get().cloned().ok_or_else(token_missing)
    }
}

fn token_missing() -> Failure {
    let message = "a token is needed, as `authorization: Bearer`";
    let challenge = HeaderValue::from_static("Bearer realm=\"nagaya\"");
    Failure::new(StatusCode::UNAUTHORIZED, "token_missing", message)
        .in_japanese("トークンが必要です（`authorization: Bearer`）")
        .with_header(header::WWW_AUTHENTICATE, challenge)
}
