//! Questions about the house itself: alive, ready, which version, how it does.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::bounds::not_found;
use crate::cors::Cors;
use crate::limits::STARTING_WAIT;
use crate::{Client, Credential, Failure, Metrics, Readiness, Room, with_callers};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// What is running.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct About {
    /// The program's name.
    #[schema(example = "nagaya")]
    pub name: &'static str,
    /// Its version.
    #[schema(example = "0.1.0")]
    pub version: &'static str,
    /// The commit it was built from, if the build was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<&'static str>,
}

base::choice! {
    /// Who may read the metrics.
    pub enum MetricsAccess {
        /// Everybody.
        Open = "open",
        /// Callers on this machine, without a proxy between.
        Loopback = "loopback",
        /// Nobody.
        Closed = "closed",
    }
}

#[derive(OpenApi)]
#[openapi(
    info(title = "The house", description = "Whether the house lives, works, and how well."),
    paths(get_liveness, get_readiness, get_version, get_metrics),
    components(schemas(About))
)]
struct Api;

/// `/livez`, `/readyz`, `/version` and `/metrics`.
pub fn house_room(
    about: About,
    readiness: Readiness,
    metrics: Metrics,
    access: MetricsAccess,
) -> Room {
    let labels = [("version", about.version), ("commit", about.commit.unwrap_or("unknown"))];
    metrics::gauge!("nagaya_build_info", &labels).set(1.0);
    let routes = Router::new()
        .route("/livez", get(get_liveness))
        .route("/readyz", get(get_readiness).with_state(readiness))
        .route("/version", get(get_version).with_state(about))
        .route("/metrics", get(get_metrics).with_state((metrics, access)));
    let mut api = with_callers(Api::openapi(), |_, _| &[Credential::Nothing]);
    about.version.clone_into(&mut api.info.version);
    Room::new("house", routes)
        .with_api(api)
        .in_japanese("長屋", "この長屋が生きているか、働いているか、調子はどうか。")
        .with_cors(Cors::Nobody)
        .essential()
}

/// What answers in the place of all rooms until the house is open: that it is not, and how far it
/// has come. Beside it stands [`house_room`], whose routes are found first.
pub fn starting_room(readiness: Readiness) -> Room {
    let starting = any(refuse_start).with_state(readiness);
    let routes = Router::new().route("/", starting.clone()).route("/{*path}", starting);
    Room::new("starting", routes).with_cors(Cors::Anyone)
}

async fn refuse_start(State(readiness): State<Readiness>) -> Failure {
    let reasons = readiness.find_reasons().unwrap_or_default();
    let message = format!("the server is starting, try again in a moment; {reasons}");
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "starting", message)
        .in_japanese("サーバーを起動しています。少し待ってからもう一度お試しください")
        .retry_after(STARTING_WAIT)
}

/// Whether the process is healthy enough to be left alone.
#[utoipa::path(get, path = "/livez", responses(
    (status = 200, description = "It is.", body = String, content_type = "text/plain"),
))]
async fn get_liveness() -> Response {
    answer(PLAIN, "alive\n")
}

/// Whether the house takes requests.
#[utoipa::path(get, path = "/readyz", responses(
    (status = 200, description = "It does; if something is not well all the same, it says what.", body = String, content_type = "text/plain"),
    (status = 503, description = "It does not, and says why: it is closing, or a part has failed."),
))]
async fn get_readiness(State(readiness): State<Readiness>) -> Response {
    match readiness.find_reasons() {
        None => match readiness.find_warnings() {
            None => answer(PLAIN, "ready\n"),
            Some(warnings) => answer(PLAIN, format!("ready, but {warnings}\n")),
        },
        Some(reasons) => Failure::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", reasons)
            .in_japanese("ただいまリクエストを受け付けていません")
            .into_response(),
    }
}

/// What is running.
#[utoipa::path(get, path = "/version", responses(
    (status = 200, description = "Name, version, and commit if known.", body = About),
))]
async fn get_version(State(about): State<About>) -> Response {
    answer(JSON, serde_json::to_string(&about).expect("names and versions are JSON"))
}

/// Numbers about the house, in Prometheus' text form.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, description = "All numbers.", body = String, content_type = "text/plain"),
    (status = 403, description = "The caller is on another machine, and `http.metrics` is `loopback`."),
    (status = 404, description = "`http.metrics` is `closed`."),
))]
async fn get_metrics(
    State((metrics, access)): State<(Metrics, MetricsAccess)>,
    client: Client,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Failure> {
    // A proxy on this machine that is not trusted speaks for others too.
    let is_forwarded =
        ["x-forwarded-for", "forwarded"].iter().any(|name| headers.contains_key(*name));
    let is_here = client.address().is_loopback() && !is_forwarded;
    match access {
        MetricsAccess::Closed => Err(not_found(uri).await),
        MetricsAccess::Loopback if !is_here => {
            let message = "only callers on this machine may read the metrics";
            Err(Failure::new(StatusCode::FORBIDDEN, "metrics_closed", message)
                .in_japanese("メトリクスはこのマシンからのみ読めます"))
        }
        MetricsAccess::Open | MetricsAccess::Loopback => Ok(answer(PROMETHEUS, metrics.render())),
    }
}

fn answer(content_type: HeaderValue, body: impl IntoResponse) -> Response {
    const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, NO_STORE)], body)
        .into_response()
}
