//! What others need to believe the room's tokens: its public keys, and where they are.

use std::sync::Arc;

use edge::{Address, Json, Routes, State, get};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Door;

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/sns/.well-known/jwks.json", get(key_set))
        .route("/sns/.well-known/openid-configuration", get(discovery))
        .with_state(Arc::clone(door))
}

/// Public keys.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the issuer writes the document; this describes it")]
struct KeySet {
    keys: Vec<PublicKey>,
}

/// A public key (RFC 7517, RFC 8037).
#[derive(ToSchema)]
#[expect(dead_code, reason = "the issuer writes the document; this describes it")]
struct PublicKey {
    #[schema(example = "OKP")]
    kty: String,
    #[schema(example = "Ed25519")]
    crv: String,
    #[schema(example = "sig")]
    r#use: String,
    #[schema(example = "EdDSA")]
    alg: String,
    /// Names the key in the heads of tokens.
    kid: String,
    /// The key, in base64url.
    x: String,
}

/// The public keys of the room's tokens (RFC 7517).
#[utoipa::path(get, path = "/sns/.well-known/jwks.json", security(()), responses(
    (status = 200, description = "The keys.", body = KeySet),
))]
pub(super) async fn key_set(State(door): State<Arc<Door>>) -> Json<Value> {
    Json(door.sns.tokens.key_set())
}

/// Who issues tokens, and where that is done.
#[derive(Serialize, ToSchema)]
pub(super) struct Discovery {
    issuer: String,
    jwks_uri: String,
    token_endpoint: String,
    end_session_endpoint: String,
    registration_endpoint: String,
    response_types_supported: [&'static str; 1],
    subject_types_supported: [&'static str; 1],
    id_token_signing_alg_values_supported: [&'static str; 1],
}

/// Where all of it is.
#[utoipa::path(get, path = "/sns/.well-known/openid-configuration", security(()), responses(
    (status = 200, description = "The document.", body = Discovery),
))]
pub(super) async fn discovery(
    State(door): State<Arc<Door>>,
    Address(base): Address,
) -> Json<Discovery> {
    Json(Discovery {
        issuer: door.sns.options.issuer.clone(),
        jwks_uri: format!("{base}/sns/.well-known/jwks.json"),
        token_endpoint: format!("{base}/sns/v1/auth/login"),
        end_session_endpoint: format!("{base}/sns/v1/auth/logout"),
        registration_endpoint: format!("{base}/sns/v1/auth/register"),
        response_types_supported: ["token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["EdDSA"],
    })
}
