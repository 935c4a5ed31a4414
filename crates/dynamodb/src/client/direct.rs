//! Calls a door in this process without a network. Requests are built, signed and parsed as on a
//! real wire.

use std::sync::Arc;

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::error::ConnectorError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::http::StatusCode;

use crate::door::{Call, Door};

/// Passes requests to a door by calling it.
#[derive(Clone)]
struct DoorConnector(Arc<Door>);

pub(super) fn http_client(door: Arc<Door>) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(DoorConnector(door));
    http_client_fn(move |_, _| connector.clone())
}

impl std::fmt::Debug for DoorConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DoorConnector")
    }
}

impl HttpConnector for DoorConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let door = Arc::clone(&self.0);
        HttpConnectorFuture::new(async move { call_door(&door, &request).await })
    }
}

async fn call_door(
    door: &Arc<Door>,
    request: &HttpRequest,
) -> Result<HttpResponse, ConnectorError> {
    let headers = |name: &str| request.headers().get(name);
    // The SDK keeps the whole body of a DynamoDB request in memory.
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
