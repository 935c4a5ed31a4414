//! The DynamoDB endpoint on a listener of its own: the door answers, the wire carries.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{Clock, Random, Tasks};
use bytes::Bytes;
use dynamodb::door::{BODY_BYTES_MAX, Call, Door, Guard, Options, Reply, read_keys};
use edge::{
    Answered, Bare, Bound, Failure, Head, HeaderValue, HostList, Parts, PublicUrl, Readiness,
    Request, Response, Server, StatusCode, WatchedFile, header,
};
use table::Embedded;

use crate::{Error, Settings, store};

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
        return Ok(Guard::keys(keys.map_err(refused)?).allowing(options.cors_origins.clone()));
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
    Ok(Guard::open().allowing(options.cors_origins.clone()))
}

/// Opens the endpoint.
///
/// # Errors
/// The settings let nobody in, or the store cannot be written.
pub(crate) async fn start(
    engine: Embedded,
    settings: &Settings,
    endpoint: Bound,
    clock: Clock,
    readiness: Readiness,
    tasks: &Tasks,
) -> Result<Server, Error> {
    let http = &settings.http;
    let guard = guard(&settings.dynamodb, endpoint.address())?;
    let (secrets, random) = (store::SECRETS.clone(), Random::from_os());
    let is_open = guard.is_open();
    let door = Door::open(engine, guard, secrets, clock.clone(), random, tasks).await?;
    let hosts = is_open.then(|| http.hosts.clone());
    let at_head = Arc::clone(&door);
    let admit = move |head: &Parts| admit(&at_head, hosts.as_ref(), head);
    let answer = move |request| -> Answered { Box::pin(answer(Arc::clone(&door), request)) };
    let bare = Bare { admit: Arc::new(admit), answer: Arc::new(answer), refuse: Arc::new(refuse) };
    // The public URL is that of the house; the endpoint has its own port.
    let options = edge::Options { public_url: PublicUrl::default(), ..http.clone() };
    Ok(Server::start_bare(&options, endpoint, bare, clock, readiness).await?)
}

/// What is to be done with a request, by its head. `hosts` are its names, if the endpoint is open
/// and must see to it that it is not reached under others.
fn admit(door: &Door, hosts: Option<&HostList>, head: &Parts) -> Head {
    let headers = |name: &str| header_of(head, name);
    if let Some(hosts) = hosts {
        let host = headers("host").unwrap_or_default();
        if !hosts.is_own(host) {
            return Head::Answer(respond(door.refuse_host(host)));
        }
    }
    // Nothing else is an operation, and needs neither a body nor a signature to be refused.
    if head.method != "POST" || head.uri.path() != "/" {
        return Head::Ignore;
    }
    match door.admit(&call(head, &headers, &[])) {
        Some(refusal) => Head::Answer(respond(refusal)),
        None => Head::Read(BODY_BYTES_MAX),
    }
}

async fn answer(door: Arc<Door>, request: Request<Bytes>) -> Response<Bytes> {
    let (head, body) = request.into_parts();
    let headers = |name: &str| header_of(&head, name);
    respond(door.answer(call(&head, &headers, &body)).await)
}

fn call<'a>(
    head: &'a Parts,
    headers: &'a (dyn Fn(&str) -> Option<&'a str> + Send + Sync),
    body: &'a [u8],
) -> Call<'a> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    Call { method: head.method.as_str(), path, headers, body }
}

fn header_of<'a>(head: &'a Parts, name: &str) -> Option<&'a str> {
    match head.headers.get(name) {
        Some(value) => value.to_str().ok(),
        // HTTP/2 tells the host with the address of the request.
        None if name == "host" => head.uri.authority().map(|host| host.as_str()),
        None => None,
    }
}

/// What the wire refuses by itself, in the form in which DynamoDB's clients read failures. They try
/// again after a status of 500 and more.
fn refuse(failure: &Failure) -> Response<Bytes> {
    let kind = match failure.status() {
        StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLargeException",
        StatusCode::REQUEST_TIMEOUT => "RequestTimeoutException",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailableException",
        _ => "ValidationException",
    };
    let body = serde_json::json!({
        "__type": format!("com.amazon.coral.service#{kind}"),
        "code": failure.code(),
        "message": failure.message(),
    });
    respond(Reply {
        status: failure.status().as_u16(),
        content_type: "application/x-amz-json-1.0",
        headers: Vec::new(),
        body: body.to_string(),
    })
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
