//! Paths, credentials and limits of the room.

use std::sync::Arc;
use std::time::Duration;

use edge::{
    AddressLimit, Client, Cors, Draining, Failure, GraphQl, Ground, HeaderMap, IntoResponse,
    Operator, Origins, Policy, Query, Response, Room, Routes, State, StatusCode, Streams, Terms,
    Unread, Upgrade, Uri, Want, get, header, post,
};
use hub::Follow;
use serde::Deserialize;
use serde_json::json;

use super::Api;
use super::appsync::{AppSync, handshake_key};
use super::guests::{Guests, Hold};
use super::transport::TransportWs;
use crate::api::wire::{self, Asked};
use crate::error::{FULL, STOPPED, THROTTLED};
use crate::limits::{POLL_WAIT_MAX_SECONDS, STORE_BUSY_WAIT_SECONDS};
use crate::live::topic;
use crate::model::GroupKey;
use crate::pages;

const APPSYNC: &str = "graphql-ws";
const TRANSPORT: &str = "graphql-transport-ws";
const JSON: &str = "application/json";
const SDL: &str = "text/plain; charset=utf-8";

/// What the routes need.
struct Door {
    api: Arc<Api>,
    streams: Streams,
    rate: AddressLimit,
}

/// The room's routes.
pub(super) fn room(api: Arc<Api>, ground: &Ground, operator: &Operator) -> Room {
    let pages = pages::routes(&api.mesh, &ground.streams, operator);
    let policy = |each_second: u32| {
        let policy = Policy::new("mesh", each_second, Duration::from_secs(1));
        policy.with_burst(each_second.saturating_mul(2))
    };
    let all = policy(api.mesh.options.requests_per_second);
    let rate = AddressLimit::new(all, "mesh-connection", &ground.clock, &ground.tasks);
    let changed = rate.clone();
    ground.dials.add_rate("mesh.requests_per_second", move |rate| changed.change(policy(rate)));
    let graphql = GraphQl {
        title: "Mesh",
        about: "Groups of Scratch and Smalruby projects, which exchange values and events by GraphQL.",
        endpoint: "/mesh/graphql",
        schema: "/mesh/schema.graphql",
        sdl: api.sdl.clone(),
    };
    let door = Arc::new(Door { api, streams: ground.streams.clone(), rate });
    let routes = Routes::new()
        .route("/mesh/graphql", post(post_graphql).get(get_realtime))
        .route("/mesh/graphql/realtime", get(get_realtime))
        .route("/mesh/schema.graphql", get(get_schema))
        .route("/mesh/events", get(get_events))
        .route("/mesh/poll", get(get_poll))
        .with_state(door)
        .merge(pages);
    Room::new("mesh", routes).with_graphql(graphql).with_cors(Cors::Anyone).in_japanese(
        "メッシュ",
        "Scratch と Smalruby のプロジェクトのグループ。GraphQL で値とイベントをやり取りします。",
    )
}

async fn post_graphql(
    State(door): State<Arc<Door>>,
    client: Client,
    headers: HeaderMap,
    body: Unread,
) -> Response {
    let key = headers.get("x-api-key").and_then(|key| key.to_str().ok());
    if !door.api.admits(key).await {
        let told = "You are not authorized to make this call.";
        return refusal(StatusCode::UNAUTHORIZED, "UnauthorizedException", told);
    }
    let taken = match door.rate.take(client) {
        Ok(taken) => taken,
        Err(exceeded) => {
            let told = "Rate exceeded";
            let answer = refusal(StatusCode::TOO_MANY_REQUESTS, THROTTLED, told);
            return (exceeded.headers(), answer).into_response();
        }
    };
    let body = match body.read().await {
        Ok(body) => body,
        Err(failure) => return failure.into_response(),
    };
    let asked: Asked = match serde_json::from_slice(&body) {
        Ok(asked) => asked,
        Err(error) => {
            let told = format!("the body is not a GraphQL request in JSON: {error}");
            return refusal(StatusCode::BAD_REQUEST, "MalformedHttpRequestException", &told);
        }
    };
    let caller = door.api.caller(client);
    let response = door.api.execute(asked, caller).await;
    if is_throttled(&response) {
        // A node that is too fast uses up nothing of its school.
        taken.give_back();
    }
    respond(&response)
}

/// Whether the caller shall slow down.
fn is_throttled(response: &async_graphql::Response) -> bool {
    response.errors.iter().any(|error| wire::error_type(error) == THROTTLED)
}

fn respond(response: &async_graphql::Response) -> Response {
    let body = wire::answer(response);
    if is_throttled(response) {
        let wait = [(header::RETRY_AFTER, STORE_BUSY_WAIT_SECONDS.to_string())];
        return (wait, answer(StatusCode::TOO_MANY_REQUESTS, JSON, body)).into_response();
    }
    let has = |word| response.errors.iter().any(|error| wire::error_type(error) == word);
    let status = match (has(FULL), has(STOPPED)) {
        (true, _) => StatusCode::INSUFFICIENT_STORAGE,
        (false, true) => StatusCode::SERVICE_UNAVAILABLE,
        (false, false) => StatusCode::OK,
    };
    answer(status, JSON, body)
}

async fn get_realtime(
    State(door): State<Arc<Door>>,
    client: Client,
    uri: Uri,
    upgrade: Upgrade,
) -> Result<Response, Failure> {
    let terms = Terms { protocols: &[TRANSPORT, APPSYNC], origins: Origins::Any };
    let caller = door.api.caller(client);
    let api = Arc::clone(&door.api);
    if upgrade.offers(TRANSPORT) {
        let key = handshake_key(uri.query(), &[]);
        return door.streams.accept(upgrade, &terms, |opening| {
            TransportWs::new(api, opening.subscriber, caller, key)
        });
    }
    door.streams.accept(upgrade, &terms, |opening| {
        let key = handshake_key(uri.query(), &opening.offered);
        AppSync::new(api, opening.subscriber, caller, key)
    })
}

async fn get_schema(State(door): State<Arc<Door>>) -> Response {
    answer(StatusCode::OK, SDL, door.api.sdl.clone())
}

/// A group to follow without a socket.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Followed {
    group_id: String,
    domain: String,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    wait_seconds: Option<u64>,
    /// The key, for browsers, whose event streams send no headers of their own.
    #[serde(default, rename = "x-api-key")]
    key: Option<String>,
}

async fn get_events(
    State(door): State<Arc<Door>>,
    Query(followed): Query<Followed>,
    headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    let (wants, hold) = door.wants(&followed, &headers).await?;
    door.streams.events_until(&headers, &draining, &wants, hold.ended())
}

async fn get_poll(
    State(door): State<Arc<Door>>,
    Query(followed): Query<Followed>,
    headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    let (wants, hold) = door.wants(&followed, &headers).await?;
    let wait = Duration::from_secs(followed.wait_seconds.unwrap_or(POLL_WAIT_MAX_SECONDS));
    tokio::select! {
        biased;
        () = hold.ended() => Err(unauthorized()),
        answer = door.streams.poll(followed.after.as_deref(), wait, &draining, &wants) => answer,
    }
}

impl Door {
    /// The group that is to be followed, by someone who has a key, and a hold on that key.
    async fn wants(
        &self,
        followed: &Followed,
        headers: &HeaderMap,
    ) -> Result<([Want; 1], Hold), Failure> {
        let header = headers.get("x-api-key").and_then(|key| key.to_str().ok());
        let key = header.or(followed.key.as_deref());
        if !self.api.admits(key).await {
            return Err(unauthorized());
        }
        let hold = match key.filter(|key| !self.api.mesh.key.is_shared(key)) {
            Some(key) => self.api.guests.watch_stream(key),
            None => Guests::hold_shared(),
        };
        let group = GroupKey::new(followed.group_id.clone(), followed.domain.clone());
        let group = group.map_err(|error| {
            Failure::new(StatusCode::BAD_REQUEST, "invalid_group", error.to_string())
        })?;
        let follow = Follow { view: self.api.whole.view, ..Follow::default() };
        let want = Want { channel: self.api.mesh.groups.clone(), topic: topic(&group), follow };
        Ok(([want], hold))
    }
}

fn unauthorized() -> Failure {
    let told = "the key is missing or not valid";
    Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", told)
}

fn refusal(status: StatusCode, error_type: &str, message: &str) -> Response {
    let body = json!({ "errors": [{ "errorType": error_type, "message": message }] });
    answer(status, JSON, body.to_string())
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, content_type)], body).into_response()
}

#[cfg(test)]
mod tests {
    use edge::{StatusCode, header};

    use super::{respond, wire};
    use crate::Error;
    use crate::api::schema::failed;

    #[test]
    fn a_busy_store_asks_callers_to_slow_down() {
        let error = failed(Error::Store(table::Error::Throttled("slow".to_owned())));
        let error = error.into_server_error(async_graphql::Pos::default());
        let answer = respond(&async_graphql::Response::from_errors(vec![error]));
        assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(answer.headers()[header::RETRY_AFTER], "1");
    }

    #[test]
    fn a_store_that_is_full_or_stopped_is_told_apart() {
        let stopped = table::Error::Stopped("broken".to_owned());
        for (state, status, word) in [
            (table::Error::DiskFull, 507, "InsufficientStorageException"),
            (stopped, 503, "ServiceUnavailableException"),
        ] {
            let later = dispatch::Error::Table(state.clone());
            for error in [Error::Store(state), Error::Later(later)] {
                let error = failed(error).into_server_error(async_graphql::Pos::default());
                assert_eq!(wire::error_type(&error), word);
                let answer = respond(&async_graphql::Response::from_errors(vec![error]));
                assert_eq!(answer.status(), status);
            }
        }
    }
}
