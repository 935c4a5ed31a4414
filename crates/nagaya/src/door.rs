//! The DynamoDB endpoint on a listener of its own: the door answers, the wire carries.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{Clock, Random, Tasks};
use bytes::Bytes;
use dynamodb::door::{BODY_BYTES_MAX, Call, Door, Guard, Options, Reply, read_keys};
use edge::{
    Answered, Bare, HeaderValue, Readiness, Request, Response, Server, StatusCode, WatchedFile,
    header,
};
use table::Embedded;

use crate::{Error, store};

/// A file of keys: some hundreds of them.
const KEYS_BYTES_MAX: u64 = 64 * 1024;

/// Who is let in, by what the settings say.
///
/// # Errors
/// Nobody would be, or anybody from anywhere.
pub(crate) fn guard(options: &Options, listen: SocketAddr) -> Result<Guard, Error> {
    if let Some(path) = &options.keys_file {
        let mut file = WatchedFile::new(path.clone(), KEYS_BYTES_MAX);
        let text = file.look().cloned().unwrap_or_else(|| Ok(String::new()));
        let keys = text.and_then(|text| read_keys(&text));
        let refused = |why| Error::File { path: path.clone(), cause: std::io::Error::other(why) };
        return Ok(Guard::keys(keys.map_err(refused)?));
    }
    if !options.open {
        return Err(Error::Usage(
            "the DynamoDB endpoint needs keys (`dynamodb.keys_file`), or to be open on a loopback \
             address (`dynamodb.open`)"
                .to_owned(),
        ));
    }
    if !listen.ip().is_loopback() {
        return Err(Error::Usage(format!(
            "the DynamoDB endpoint is open to everybody who reaches `{listen}`: without keys it \
             must be a loopback address"
        )));
    }
    Ok(Guard::open())
}

/// Opens the endpoint.
///
/// # Errors
/// The store cannot be written, or the address cannot be had.
pub(crate) async fn start(
    engine: Embedded,
    guard: Guard,
    http: &edge::Options,
    listen: SocketAddr,
    clock: Clock,
    readiness: Readiness,
    tasks: &Tasks,
) -> Result<Server, Error> {
    let (secrets, random) = (store::SECRETS.clone(), Random::from_os());
    let door = Door::open(engine, guard, secrets, clock.clone(), random, tasks).await?;
    let answer = move |request| -> Answered { Box::pin(answer(Arc::clone(&door), request)) };
    let bare = Bare { answer: Arc::new(answer), body_bytes_max: BODY_BYTES_MAX };
    let options = edge::Options { listen, ..http.clone() };
    Ok(Server::start_bare(&options, bare, clock, readiness).await?)
}

async fn answer(door: Arc<Door>, request: Request<Bytes>) -> Response<Bytes> {
    let (head, body) = request.into_parts();
    let headers = |name: &str| match head.headers.get(name) {
        Some(value) => value.to_str().ok(),
        // HTTP/2 tells the host with the address of the request.
        None if name == "host" => head.uri.authority().map(|host| host.as_str()),
        None => None,
    };
    let call = Call {
        method: head.method.as_str(),
        path: head.uri.path_and_query().map_or("/", |path| path.as_str()),
        headers: &headers,
        body: &body,
    };
    respond(door.answer(call).await)
}

fn respond(reply: Reply) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(reply.body));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    response
}
