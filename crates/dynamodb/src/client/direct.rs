//! A door in this process, asked without a wire between: requests are written, signed and read as
//! on one.

use std::sync::Arc;

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::error::ConnectorError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::http::StatusCode;

use crate::door::{Call, Door};

/// Carries requests to a door by calling it.
#[derive(Clone)]
struct Direct(Arc<Door>);

pub(super) fn http_client(door: Arc<Door>) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(Direct(door));
    http_client_fn(move |_, _| connector.clone())
}

impl std::fmt::Debug for Direct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Direct")
    }
}

impl HttpConnector for Direct {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let door = Arc::clone(&self.0);
        HttpConnectorFuture::new(async move { ask(&door, &request).await })
    }
}

async fn ask(door: &Arc<Door>, request: &HttpRequest) -> Result<HttpResponse, ConnectorError> {
    let headers = |name: &str| request.headers().get(name);
    // A request of DynamoDB lies in memory as a whole.
    let body = request.body().bytes().unwrap_or_default();
    let call = Call { method: request.method(), path: "/", headers: &headers, body };
    let reply = door.answer(call).await;
    let status = StatusCode::try_from(reply.status);
    let status = status.map_err(|error| ConnectorError::other(error.into(), None))?;
    let mut response = HttpResponse::new(status, reply.body.into());
    for (name, value) in reply.headers {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}
