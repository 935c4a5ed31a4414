//! Routes behind a look at every request's headers, before anything else is asked.

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::middleware::{self, Next};
use axum::response::IntoResponse;

use crate::Failure;

/// The routes, for requests that `admit` lets in; its failure is the answer to all others.
pub fn gated(
    routes: Router,
    admit: impl Fn(&HeaderMap) -> Result<(), Failure> + Clone + Send + Sync + 'static,
) -> Router {
    routes.layer(middleware::from_fn(move |request: Request, next: Next| {
        let admitted = admit(request.headers());
        async move {
            match admitted {
                Ok(()) => next.run(request).await,
                Err(failure) => failure.into_response(),
            }
        }
    }))
}
