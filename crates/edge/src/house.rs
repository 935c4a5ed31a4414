//! Questions about the house itself: alive, ready, which version, how it does.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;

use crate::{Failure, Metrics, Readiness};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// What is running.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct About {
    /// The program's name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The commit it was built from, if the build was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<&'static str>,
}

/// `/livez`, `/readyz`, `/version` and `/metrics`.
pub fn house_routes(about: About, readiness: Readiness, metrics: Metrics) -> Router {
    let labels = [("version", about.version), ("commit", about.commit.unwrap_or("unknown"))];
    metrics::gauge!("nagaya_build_info", &labels).set(1.0);
    Router::new()
        .route("/livez", get(|| async { answer(PLAIN, "alive\n") }))
        .route("/readyz", get(get_readiness).with_state(readiness))
        .route("/version", get(get_version).with_state(about))
        .route("/metrics", get(get_metrics).with_state(metrics))
}

async fn get_readiness(State(readiness): State<Readiness>) -> Response {
    match readiness.find_reasons() {
        None => answer(PLAIN, "ready\n"),
        Some(reasons) => {
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", reasons).into_response()
        }
    }
}

async fn get_version(State(about): State<About>) -> Response {
    answer(JSON, serde_json::to_string(&about).expect("names and versions are JSON"))
}

async fn get_metrics(State(metrics): State<Metrics>) -> Response {
    answer(PROMETHEUS, metrics.render())
}

fn answer(content_type: HeaderValue, body: impl IntoResponse) -> Response {
    const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, NO_STORE)], body)
        .into_response()
}
