//! AppSync's forms of a GraphQL request and answer, as text.

use async_graphql::{PathSegment, Request, Response, ServerError, Value, Variables};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::api::documents::Document;

/// A request as clients send it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked {
    pub(crate) query: String,
    #[serde(default)]
    pub(crate) variables: Option<Json>,
    #[serde(default)]
    pub(crate) operation_name: Option<String>,
    #[serde(default)]
    pub(crate) extensions: Option<Json>,
}

impl Asked {
    /// The request for the library, with the document that its text is.
    ///
    /// # Errors
    /// Its variables are too large for the document.
    pub(crate) fn request(self, document: &Document) -> Result<Request, Vec<ServerError>> {
        document.check_variables(self.variables.as_ref())?;
        let mut request = Request::new(self.query);
        request.set_parsed_query(document.parsed.clone());
        request.operation_name = self.operation_name;
        if let Some(variables) = self.variables {
            request.variables = Variables::from_json(variables);
        }
        Ok(request)
    }
}

/// The answer in AppSync's form.
pub(crate) fn answer(response: &Response) -> String {
    let data = serde_json::to_string(&response.data).unwrap_or_else(|_| "null".to_owned());
    if response.errors.is_empty() {
        return format!("{{\"data\":{data}}}");
    }
    let errors: Vec<Json> = response.errors.iter().map(error).collect();
    format!("{{\"data\":{data},\"errors\":{}}}", Json::from(errors))
}

/// One error in AppSync's form: the type stands beside the message.
pub(crate) fn error(error: &ServerError) -> Json {
    let path: Vec<Json> = error
        .path
        .iter()
        .map(|segment| match segment {
            PathSegment::Field(name) => json!(name),
            PathSegment::Index(index) => json!(index),
        })
        .collect();
    let locations = error.locations.iter();
    let locations = locations
        .map(|place| json!({ "line": place.line, "column": place.column, "sourceName": null }));
    json!({
        "path": if path.is_empty() { Json::Null } else { Json::from(path) },
        "data": null,
        "errorType": error_type(error),
        "errorInfo": null,
        "locations": locations.collect::<Vec<_>>(),
        "message": error.message,
    })
}

/// The word that clients match. What the library refuses is a document that is not valid.
pub(crate) fn error_type(error: &ServerError) -> String {
    let set = error.extensions.as_ref().and_then(|extensions| extensions.get("errorType"));
    match set {
        Some(Value::String(word)) => word.clone(),
        _ => "ValidationError".to_owned(),
    }
}
