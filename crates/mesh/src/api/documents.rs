//! Documents that were parsed and validated before: clients send the same ten every time.
//!
//! A document is validated by itself, without the variables of the request that brought it: those
//! differ every time, and are checked when the fields take them. So it is valid or not, whoever
//! sends it first. One schema validates documents and executes nothing, the other executes what was
//! validated and validates nothing.
//!
//! Invariants: the library sees no document before its text (`text.rs`) and then its fragments
//! (`count.rs`) are within their bounds, so no document makes it work much longer than it is. Should
//! one do so all the same, it does it on one of few threads that serve nothing else, and its caller
//! gets an answer.

mod count;
mod text;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_graphql::async_trait::async_trait;
use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextValidation};
use async_graphql::parser::parse_query;
use async_graphql::parser::types::{BaseType, DocumentOperations, ExecutableDocument};
use async_graphql::{Request, ServerError, ValidationResult};
use async_graphql_value::ConstValue;
use base::Clock;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use self::count::Uses;
use crate::api::schema::{Schema, refused};
use crate::error::{INTERNAL, THROTTLED};
use crate::limits::{
    DOCUMENT_BYTES_KEPT_MAX, DOCUMENT_BYTES_MAX, DOCUMENTS_KEPT_MAX, ERRORS_MAX, VALIDATION_WITHIN,
    VALIDATIONS_MAX,
};

const NOT_VALIDATED: &str = "the document could not be validated";

/// A valid document.
pub(crate) struct Document {
    pub(crate) parsed: ExecutableDocument,
    uses: Uses,
}

impl Document {
    /// Checks that a request's variables are not too large where the document uses them.
    pub(crate) fn check_variables(
        &self,
        variables: Option<&serde_json::Value>,
    ) -> Result<(), Vec<ServerError>> {
        self.uses
            .check(variables)
            .map_err(|excess| vec![ServerError::new(excess.to_string(), None)])
    }
}

/// Valid documents by their texts.
pub(crate) struct Documents {
    judge: Schema,
    clock: Clock,
    known: Mutex<Known>,
    /// Places of documents that are being validated.
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct Known {
    documents: HashMap<String, Arc<Document>>,
    text_bytes: usize,
}

impl Documents {
    /// None yet; `judge` is a schema with [`OnlyJudge`].
    pub(crate) fn new(judge: Schema, clock: Clock) -> Documents {
        let places = Arc::new(Semaphore::new(VALIDATIONS_MAX));
        Documents { judge, clock, known: Mutex::default(), places }
    }

    /// The document, parsed and validated now or before.
    pub(crate) async fn find(&self, text: &str) -> Result<Arc<Document>, Vec<ServerError>> {
        if let Some(document) = self.known.lock().documents.get(text) {
            return Ok(Arc::clone(document));
        }
        match self.clock.timeout(VALIDATION_WITHIN, self.validate(text)).await {
            Ok(validated) => validated,
            Err(_) => {
                tracing::warn!(bytes = text.len(), "a document was not validated in time");
                let message = "other documents are being validated, try again";
                Err(vec![refused(THROTTLED, message)])
            }
        }
    }

    /// Validates on a thread that may block. It runs to its end also when its caller has left, and
    /// keeps its place until then.
    async fn validate(&self, text: &str) -> Result<Arc<Document>, Vec<ServerError>> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.expect("the places are never closed");
        // Many clients send the same document at once, after a restart.
        if let Some(document) = self.known.lock().documents.get(text) {
            return Ok(Arc::clone(document));
        }
        let (judge, owned, hold) = (self.judge.clone(), text.to_owned(), self.clock.hold());
        let validated = tokio::task::spawn_blocking(move || {
            let _until_done = (place, hold);
            read(&judge, &owned)
        });
        let document = match validated.await {
            Ok(read) => Arc::new(read?),
            Err(error) => {
                tracing::error!(%error, "the validation of a document failed");
                return Err(vec![refused(INTERNAL, NOT_VALIDATED)]);
            }
        };
        self.keep(text, &document);
        Ok(document)
    }

    fn keep(&self, text: &str, document: &Arc<Document>) {
        if text.len() > DOCUMENT_BYTES_MAX {
            return;
        }
        let known = &mut *self.known.lock();
        if known.documents.len() >= DOCUMENTS_KEPT_MAX
            || known.text_bytes + text.len() > DOCUMENT_BYTES_KEPT_MAX
        {
            *known = Known::default();
        }
        if known.documents.insert(text.to_owned(), Arc::clone(document)).is_none() {
            known.text_bytes += text.len();
        }
    }
}

/// Parses and validates a text that is within the bounds.
fn read(judge: &Schema, text: &str) -> Result<Document, Vec<ServerError>> {
    let invalid = |why: String| vec![ServerError::new(why, None)];
    text::check(text).map_err(|flaw| invalid(flaw.to_string()))?;
    let parsed = parse_query(text).map_err(|error| vec![error.into()])?;
    let uses = count::check(&parsed).map_err(|excess| invalid(excess.to_string()))?;
    if let Some(without) = without_lists(&parsed) {
        judged(judge, without)?;
    }
    judged(judge, parsed.clone())?;
    Ok(Document { parsed, uses })
}

fn judged(judge: &Schema, document: ExecutableDocument) -> Result<(), Vec<ServerError>> {
    let verdict = Verdict::default();
    let mut request = Request::new("").data(Arc::clone(&verdict));
    request.set_parsed_query(document);
    // Nothing in this schema waits for anything.
    let response = judge.execute(request).now_or_never();
    if verdict.load(Ordering::Relaxed) {
        return Ok(());
    }
    let errors = response.map(|response| response.errors).filter(|errors| !errors.is_empty());
    let mut errors = errors.unwrap_or_else(|| vec![refused(INTERNAL, NOT_VALIDATED)]);
    errors.truncate(ERRORS_MAX);
    Err(errors)
}

/// The document with empty lists as default values of lists, if it has such values. The library
/// panics at a value in a list of a type that it does not know, before it says that it does not
/// know the type. Without the values it says so.
fn without_lists(document: &ExecutableDocument) -> Option<ExecutableDocument> {
    let mut document = document.clone();
    let operations: Vec<_> = match &mut document.operations {
        DocumentOperations::Single(operation) => vec![operation],
        DocumentOperations::Multiple(operations) => operations.values_mut().collect(),
    };
    let definitions = operations.into_iter().flat_map(|one| &mut one.node.variable_definitions);
    let mut has_lists = false;
    for definition in definitions {
        let is_list = matches!(definition.node.var_type.node.base, BaseType::List(_));
        if let Some(value) = definition.node.default_value.as_mut().filter(|_| is_list) {
            value.node = ConstValue::List(Vec::new());
            has_lists = true;
        }
    }
    has_lists.then_some(document)
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

#[cfg(test)]
pub(crate) mod tests;
