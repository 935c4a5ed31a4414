//! For whom a request acts, as far as a layer in front has found out.

use std::sync::Arc;

/// For whom a request acts: a user, a participant, an API key. An extension of the request, put
/// there by whichever layer proved it; rates and idempotency keys count by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject(pub Arc<str>);
