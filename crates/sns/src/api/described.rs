//! What the room's description says of many calls alike: how callers show who they are, keys of
//! requests that may come twice, rates.

use utoipa::Modify;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi, Required, ResponseBuilder};

/// Below this are the calls of users; operators have neither rates nor keys of requests.
const OF_USERS: &str = "/sns/v1/";

/// How callers show who they are.
pub(super) struct Credentials;

impl Modify for Credentials {
    fn modify(&self, api: &mut OpenApi) {
        let components = api.components.get_or_insert_default();
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        let key = ApiKey::Header(ApiKeyValue::new("x-api-key"));
        components.add_security_scheme("key", SecurityScheme::ApiKey(key));
    }
}

/// What holds for every call of users, and for every POST.
pub(super) struct Customs;

impl Modify for Customs {
    fn modify(&self, api: &mut OpenApi) {
        let of_users = |(path, _): &(&String, &mut PathItem)| path.starts_with(OF_USERS);
        for (_, item) in api.paths.paths.iter_mut().filter(of_users) {
            let PathItem { get, put, post, delete, .. } = item;
            if let Some(post) = post {
                post.parameters.get_or_insert_default().push(idempotency_key().into());
                may_answer(post, "400", "The idempotency key is none.");
                may_answer(post, "409", "A request with the same idempotency key is running.");
                may_answer(post, "422", "The idempotency key was used with another payload.");
            }
            for operation in [get, put, post, delete].into_iter().flatten() {
                may_answer(operation, "429", "Too fast; `Retry-After` says when to come again.");
            }
        }
    }
}

/// Adds an answer that the operation does not name itself.
fn may_answer(operation: &mut Operation, status: &str, description: &str) {
    let response = || ResponseBuilder::new().description(description).build().into();
    operation.responses.responses.entry(status.to_owned()).or_insert_with(response);
}

fn idempotency_key() -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String);
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Names the request: for a day, or half a minute where tokens are answered, the same \
             key brings the same answer.",
        ))
        .schema(Some(text.min_length(Some(1)).max_length(Some(128))))
        .build()
}
