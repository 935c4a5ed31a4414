//! Answers within their bound: every field takes from the request's [`Budget`] what it adds to the
//! answer, and nothing is resolved any more once that is used up.

use std::sync::Arc;

use async_graphql::async_trait::async_trait;
use async_graphql::extensions::{
    Extension, ExtensionContext, ExtensionFactory, NextResolve, ResolveInfo,
};
use async_graphql::{ServerError, ServerResult, Value};

use crate::error::Error;
use crate::model::Budget;

/// What a field takes besides its name and its value: quotes, a colon, a comma.
const FIELD_BYTES: usize = 4;

/// Makes a schema count what it answers.
pub(crate) struct Bounded;

impl ExtensionFactory for Bounded {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Bounded)
    }
}

#[async_trait]
impl Extension for Bounded {
    async fn resolve(
        &self,
        ctx: &ExtensionContext<'_>,
        info: ResolveInfo<'_>,
        next: NextResolve<'_>,
    ) -> ServerResult<Option<Value>> {
        let Some(budget) = ctx.data_opt::<Arc<Budget>>() else { return next.run(ctx, info).await };
        budget.check().map_err(|error| refused(&error))?;
        let name = info.alias.unwrap_or(info.name).len() + FIELD_BYTES;
        let value = next.run(ctx, info).await?;
        budget
            .write(name + value.as_ref().map_or(0, leaf_bytes))
            .map_err(|error| refused(&error))?;
        Ok(value)
    }
}

/// Bytes of a value, as far as its own fields have not counted them.
fn leaf_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        _ => FIELD_BYTES,
    }
}

/// It is told once for the whole answer, whatever field was the last.
fn refused(error: &Error) -> ServerError {
    ServerError::new(error.to_string(), None)
}
