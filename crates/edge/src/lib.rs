//! The wire: the listener and its limits, failures as problem+json, draining, health, traces and
//! metrics.
//!
//! The only crate that names the HTTP library. Start with [`Server`]; what a request passes on its
//! way in stands in `room.rs`. Rooms give their routes as a [`Room`] and answer with [`Failure`]
//! when they cannot do what was asked.

mod address;
mod addresses;
mod ask;
mod bodies;
mod bounds;
mod cache;
mod client;
mod compression;
mod cookies;
mod cors;
mod dials;
mod draining;
mod error;
mod extract;
mod failure;
mod gate;
mod ground;
mod hosts;
mod house;
mod idempotency;
mod jwt;
mod keyring;
mod keys;
mod language;
mod limits;
mod listed;
mod metrics;
mod notice;
mod openapi;
mod operator;
mod options;
mod page;
mod passwords;
mod poll;
#[cfg(test)]
mod probe;
mod rates;
mod reach;
mod readiness;
mod redact;
mod room;
mod secret;
mod server;
mod socket;
mod sse;
mod streams;
mod subject;
mod tables;
mod tagged;
mod tls;
mod traces;
mod watch;
mod watched;

pub use address::Address;
pub use ask::{Told, ask_house, reachable};
/// Routes of one room or of the whole house.
pub use axum::Router as Routes;
/// The body of an answer; a stream of bytes can be one.
pub use axum::body::Body;
pub use axum::extract::State;
/// The head of a request.
pub use axum::http::request::Parts;
pub use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Uri, header};
pub use axum::response::{IntoResponse, Redirect, Response};
pub use axum::routing::{delete, get, post, put};
pub use bounds::{Bounds, bounded, set_known};
pub use cache::{Cache, Keeping};
pub use client::{Client, Networks, ProxyHeader};
pub use cookies::find as find_cookie;
pub use cors::{Cors, OriginList, is_origin};
pub use dials::{Dials, Turned};
pub use draining::Draining;
pub use error::Error;
pub use extract::{Form, Json, Path, Query, Unread, read_json, read_object};
pub use failure::Failure;
pub use gate::gated;
pub use ground::Ground;
pub use hosts::HostList;
pub use house::{About, MetricsAccess, house_room, starting_room};
pub use idempotency::{Idempotency, IdempotencyToken};
pub use jwt::{JwtAlgorithm, JwtError, JwtIssuer, JwtKeys, JwtRules, JwtVerifier};
pub use keyring::{KeyRing, MacKey, Rotation};
pub use keys::{
    ApiKey, ApiSecret, Caller, Denied, Keys, NewSecret, SCOPES, SharedKey, check_scopes,
};
pub use language::{Language, Reader};
pub use listed::list_routes;
pub use metrics::Metrics;
pub use openapi::callers::{Credential, with_callers};
pub use openapi::graphql::GraphQl;
pub use operator::{
    Accounts, Audited, Deed, Operator, OperatorOptions, OperatorSession, SignedIn, Visitor,
};
pub use options::Options;
pub use page::{ICON, Page};
pub use passwords::{Busy, Passwords};
pub use rates::{AddressLimit, Allowance, Bucket, By, Exceeded, Policy, RateLimit, Taken};
pub use reach::{PublicUrl, Reach};
pub use readiness::Readiness;
pub use room::Room;
pub use secret::{digest as secret_digest, is_same_secret};
pub use server::{Answered, Bare, Bound, Head, Refuse, Server};
pub use socket::{Close, Message, Opening, Origins, Terms, Upgrade, Visit};
pub use streams::{StreamOptions, Streams, Want};
pub use subject::{Known, Subject, bearer, known_only, recognised};
pub use tables::{SECRETS, ensure_tables, keep_secret, probe_store};
pub use tagged::{Tagged, fingerprint};
pub use tls::Certificate;
pub use traces::{Endpoint, Finished, Trace, TraceOptions, Traces};
pub use watched::WatchedFile;
