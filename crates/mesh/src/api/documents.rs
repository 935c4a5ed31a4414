//! Documents that were parsed and validated before: clients send the same ten for ever.
//!
//! A document is validated by itself, without the variables of the request that brought it: those
//! differ every time, and are checked when the fields take them. So it is valid or not, whoever
//! sends it first. One schema judges documents and executes nothing, the other executes what was
//! judged and validates nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_graphql::async_trait::async_trait;
use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextValidation};
use async_graphql::parser::parse_query;
use async_graphql::parser::types::ExecutableDocument;
use async_graphql::{Request, ServerError, ValidationResult};
use parking_lot::Mutex;

use crate::api::schema::Schema;

/// Documents kept. Three generations of clients have about thirty; who sends others every time
/// makes everyone parse now and then.
const DOCUMENTS_MAX: usize = 500;
/// Bytes of a document that is kept.
const DOCUMENT_BYTES_MAX: usize = 16 * 1024;

/// Valid documents by their texts.
pub(crate) struct Documents {
    judge: Schema,
    known: Mutex<HashMap<String, Arc<ExecutableDocument>>>,
}

impl Documents {
    /// None yet; `judge` is a schema with [`OnlyJudge`].
    pub(crate) fn new(judge: Schema) -> Documents {
        Documents { judge, known: Mutex::default() }
    }

    /// The document, parsed and validated now or before.
    pub(crate) async fn find(
        &self,
        text: &str,
    ) -> Result<Arc<ExecutableDocument>, Vec<ServerError>> {
        if let Some(document) = self.known.lock().get(text) {
            return Ok(Arc::clone(document));
        }
        let document = parse_query(text).map_err(|error| vec![error.into()])?;
        self.validate(&document).await?;
        let document = Arc::new(document);
        if text.len() <= DOCUMENT_BYTES_MAX {
            let mut known = self.known.lock();
            if known.len() >= DOCUMENTS_MAX {
                known.clear();
            }
            known.insert(text.to_owned(), Arc::clone(&document));
        }
        Ok(document)
    }

    async fn validate(&self, document: &ExecutableDocument) -> Result<(), Vec<ServerError>> {
        let verdict = Verdict::default();
        let mut request = Request::new("").data(Arc::clone(&verdict));
        request.set_parsed_query(document.clone());
        let errors = self.judge.execute(request).await.errors;
        if verdict.load(Ordering::Relaxed) { Ok(()) } else { Err(errors) }
    }
}

/// In a request that is validated and goes no further: whether it is valid.
type Verdict = Arc<AtomicBool>;

/// Makes a schema stop when a document is validated.
pub(crate) struct OnlyJudge;

impl ExtensionFactory for OnlyJudge {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(OnlyJudge)
    }
}

#[async_trait]
impl Extension for OnlyJudge {
    async fn validation(
        &self,
        ctx: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        next.run(ctx).await?;
        if let Some(verdict) = ctx.data_opt::<Verdict>() {
            verdict.store(true, Ordering::Relaxed);
        }
        Err(Vec::new())
    }
}
