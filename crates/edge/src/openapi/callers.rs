//! What the rooms' descriptions say of callers: who may call an operation, and by which credential.
//!
//! A room says it by method and path, in one place, so that no operation can be left out: one that
//! says nothing itself gets what the room answers.

use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};

/// What a caller of an operation presents. Of several, one is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credential {
    /// Nothing: the operation is open to everyone.
    Nothing,
    /// An API key of the house, as `x-api-key`.
    Key,
    /// The cookie of the operator's browser.
    Operator,
    /// A room's host, by its id as a bearer token.
    Host,
    /// A participant, as `X-Participant`.
    Participant,
}

impl Credential {
    /// The name of its scheme.
    fn name(self) -> Option<&'static str> {
        match self {
            Credential::Nothing => None,
            Credential::Key => Some("key"),
            Credential::Operator => Some("operator"),
            Credential::Host => Some("host"),
            Credential::Participant => Some("participant"),
        }
    }

    fn scheme(self) -> Option<SecurityScheme> {
        let scheme = match self {
            Credential::Nothing => return None,
            Credential::Key => {
                SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(
                    "x-api-key",
                    "An API key of this server. `Authorization: Bearer` does as well.",
                )))
            }
            Credential::Operator => {
                SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::with_description(
                    "nagaya-operator",
                    "The operator's browser, signed in at `/console`. Over TLS the cookie is \
                     called `__Host-nagaya-operator`.",
                )))
            }
            Credential::Host => SecurityScheme::Http(
                HttpBuilder::new()
                    .scheme(HttpAuthScheme::Bearer)
                    .description(Some("The `hostId` that opened the room."))
                    .build(),
            ),
            Credential::Participant => {
                SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(
                    "X-Participant",
                    "A participant that the server has issued, or a name of the client's own.",
                )))
            }
        };
        Some(scheme)
    }

    fn requirement(self) -> SecurityRequirement {
        match self.name() {
            Some(name) => SecurityRequirement::new(name, [] as [&str; 0]),
            // An empty requirement is met by everyone.
            None => SecurityRequirement::default(),
        }
    }
}

/// The description, in which every operation says who may call it. `who` is asked for method and path
/// of those that say nothing.
#[must_use]
pub fn with_callers(
    mut api: OpenApi,
    who: impl Fn(&str, &str) -> &'static [Credential],
) -> OpenApi {
    let mut named = Vec::new();
    for (path, item) in &mut api.paths.paths {
        for (method, operation) in operations(item) {
            if operation.security.is_none() {
                let credentials = who(method, path);
                named.extend_from_slice(credentials);
                let needed = credentials.iter().map(|credential| credential.requirement());
                operation.security = Some(needed.collect());
            }
        }
    }
    let components = api.components.get_or_insert_default();
    for credential in named {
        if let (Some(name), Some(scheme)) = (credential.name(), credential.scheme()) {
            components.security_schemes.insert(name.to_owned(), scheme.into());
        }
    }
    api
}

/// The operations at a path, each with its method.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, delete, options, head, patch, .. } = item;
    let named = [
        ("get", get),
        ("put", put),
        ("post", post),
        ("delete", delete),
        ("options", options),
        ("head", head),
        ("patch", patch),
    ];
    named.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}
