//! Documents that were parsed and validated before: clients send the same ten for ever.
//!
//! A document is validated by itself, without the variables of the request that brought it: those
//! differ every time, and are checked when the fields take them. So it is valid or not, whoever
//! sends it first.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use async_graphql::async_trait::async_trait;
use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextValidation};
use async_graphql::parser::parse_query;
use async_graphql::parser::types::ExecutableDocument;
use async_graphql::{CacheControl, Request, ServerError, ValidationResult};
use parking_lot::Mutex;

use crate::api::schema::Schema;

/// Documents kept. Three generations of clients have about thirty; who sends others every time
/// makes everyone parse now and then.
const DOCUMENTS_MAX: usize = 500;
/// Bytes of a document that is kept.
const DOCUMENT_BYTES_MAX: usize = 16 * 1024;

/// A valid document.
pub(crate) struct Document {
    pub(crate) parsed: ExecutableDocument,
    valid: Valid,
}

impl Document {
    /// Lets a request have this document.
    pub(crate) fn set_in(&self, request: Request) -> Request {
        let mut request = request.data(self.valid);
        request.set_parsed_query(self.parsed.clone());
        request
    }
}

/// Valid documents by their texts.
#[derive(Default)]
pub(crate) struct Documents {
    known: Mutex<HashMap<String, Arc<Document>>>,
}

impl Documents {
    /// The document, parsed and validated now or before.
    pub(crate) async fn find(
        &self,
        text: &str,
        schema: &Schema,
    ) -> Result<Arc<Document>, Vec<ServerError>> {
        if let Some(document) = self.known.lock().get(text) {
            return Ok(Arc::clone(document));
        }
        let parsed = parse_query(text).map_err(|error| vec![error.into()])?;
        let valid = validate(&parsed, schema).await?;
        let document = Arc::new(Document { parsed, valid });
        if text.len() <= DOCUMENT_BYTES_MAX {
            let mut known = self.known.lock();
            if known.len() >= DOCUMENTS_MAX {
                known.clear();
            }
            known.insert(text.to_owned(), Arc::clone(&document));
        }
        Ok(document)
    }
}

/// What validation says of a valid document.
#[derive(Clone, Copy)]
struct Valid {
    cache_control: CacheControl,
    complexity: usize,
    depth: usize,
}

/// In a request that is validated and goes no further: what came out.
type Trial = Arc<OnceLock<Valid>>;

async fn validate(
    document: &ExecutableDocument,
    schema: &Schema,
) -> Result<Valid, Vec<ServerError>> {
    let trial = Trial::default();
    let mut request = Request::new("").data(Arc::clone(&trial));
    request.set_parsed_query(document.clone());
    let errors = schema.execute(request).await.errors;
    trial.get().copied().ok_or(errors)
}

/// Makes the library skip what was done before.
pub(crate) struct ValidateOnce;

impl ExtensionFactory for ValidateOnce {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(ValidateOnce)
    }
}

#[async_trait]
impl Extension for ValidateOnce {
    async fn validation(
        &self,
        ctx: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        if let Some(Valid { cache_control, complexity, depth }) = ctx.data_opt::<Valid>().copied() {
            return Ok(ValidationResult { cache_control, complexity, depth });
        }
        let ValidationResult { cache_control, complexity, depth } = next.run(ctx).await?;
        let Some(trial) = ctx.data_opt::<Trial>() else {
            return Ok(ValidationResult { cache_control, complexity, depth });
        };
        let _ = trial.set(Valid { cache_control, complexity, depth });
        Err(Vec::new())
    }
}
