//! For tests: asks routes without a socket, and stores without a disk.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use base::{Clock, Tasks};
use http_body_util::BodyExt;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use table::{Embedded, Tables};

use crate::ensure_tables;

/// The whole answer: status, headers, body.
pub(crate) async fn call(routes: &Router, request: Request) -> (StatusCode, HeaderMap, String) {
    let Ok(response) = TowerToHyperService::new(routes.clone()).call(request).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
}

/// A store in memory, with the tables of the edge.
pub(crate) async fn store(clock: &Clock, tasks: &Tasks) -> Arc<dyn Tables> {
    let store = Embedded::in_memory(clock.clone(), tasks).await.unwrap();
    ensure_tables(&store).await.unwrap();
    Arc::new(store)
}
