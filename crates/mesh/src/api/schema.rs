//! The GraphQL interface: the contract's tables as types, and nothing decided.
//!
//! `types.rs` holds the objects. A field that may be null answers `Option<Result<…>>`: its failure is
//! then its own null, and does not take the whole answer with it. Subscriptions are validated here and rendered elsewhere: see
//! [`subscribed`].

mod mutation;
mod query;
mod subscription;
mod types;

use std::sync::Arc;

use async_graphql::{
    ErrorExtensionValues, ErrorExtensions, SchemaBuilder, ServerError, ValidationMode,
};
use edge::Bucket;

use self::mutation::Mutation;
use self::query::Query;
use self::subscription::Subscription;
pub(crate) use self::subscription::{Refused, subscribed};
use crate::Mesh;
use crate::api::bounded::Bounded;
use crate::api::documents::OnlyJudge;
use crate::error::{Error, FULL, STOPPED};

/// The whole schema.
pub(crate) type Schema = async_graphql::Schema<Query, Mutation, Subscription>;

/// The caller of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The domain that the caller's address belongs to.
    pub(crate) domain: String,
    /// Its connection, as far as rates count by it.
    pub(crate) connection: Option<Bucket>,
}

/// Makes the schema that executes. Requests carry a [`Caller`] and a budget, and documents that [`judge`] let
/// pass: here they are not validated again.
pub(crate) fn schema(mesh: Arc<Mesh>, introspection: bool) -> Schema {
    build(introspection)
        .data(mesh)
        .extension(Bounded)
        .validation_mode(ValidationMode::Fast)
        .finish()
}

/// Makes the schema that validates and executes nothing. It has no bounds of its own: it gets only
/// documents that are within those of `documents.rs`.
pub(crate) fn judge(introspection: bool) -> Schema {
    build(introspection).extension(OnlyJudge).finish()
}

fn build(introspection: bool) -> SchemaBuilder<Query, Mutation, Subscription> {
    let builder = Schema::build(Query, Mutation, Subscription);
    if introspection { builder } else { builder.disable_introspection() }
}

/// A failure with the word that clients match.
pub(crate) fn failed(error: Error) -> async_graphql::Error {
    let message = match &error {
        // What the store says is for the operator. Readiness logs its state, once.
        Error::Store(_) | Error::Later(_) => {
            if ![FULL, STOPPED].contains(&error.error_type()) {
                tracing::error!(%error, "the mesh could not use the store");
            }
            "the server could not do this now, try again".to_owned()
        }
        _ => error.to_string(),
    };
    let error_type = error.error_type();
    async_graphql::Error::new(message)
        .extend_with(|_, extensions| extensions.set("errorType", error_type))
}

/// A refusal that belongs to no field, with the word that clients match.
pub(crate) fn refused(error_type: &'static str, message: &str) -> ServerError {
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("errorType", error_type);
    ServerError { extensions: Some(extensions), ..ServerError::new(message, None) }
}
