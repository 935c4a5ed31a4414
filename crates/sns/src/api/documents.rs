//! What others need to believe the room's tokens: its public keys, and where they are.

use std::sync::Arc;

use edge::{Address, Json, Routes, State, get};
use serde_json::{Value, json};

use super::Door;

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/sns/.well-known/jwks.json", get(key_set))
        .route("/sns/.well-known/openid-configuration", get(discovery))
        .with_state(Arc::clone(door))
}

/// The public keys of the room's tokens (RFC 7517).
#[utoipa::path(get, path = "/sns/.well-known/jwks.json", security(()), responses(
    (status = 200, description = "The keys.", body = Object),
))]
pub(super) async fn key_set(State(door): State<Arc<Door>>) -> Json<Value> {
    Json(door.sns.tokens.key_set())
}

/// Where all of it is.
#[utoipa::path(get, path = "/sns/.well-known/openid-configuration", security(()), responses(
    (status = 200, description = "The document.", body = Object),
))]
pub(super) async fn discovery(
    State(door): State<Arc<Door>>,
    Address(base): Address,
) -> Json<Value> {
    Json(json!({
        "issuer": door.sns.options.issuer,
        "jwks_uri": format!("{base}/sns/.well-known/jwks.json"),
        "token_endpoint": format!("{base}/sns/v1/auth/login"),
        "end_session_endpoint": format!("{base}/sns/v1/auth/logout"),
        "registration_endpoint": format!("{base}/sns/v1/auth/register"),
        "response_types_supported": ["token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
    }))
}
