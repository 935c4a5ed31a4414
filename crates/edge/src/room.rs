//! What a room gives to the house: its routes, what it says about them, and who may call them from
//! elsewhere. Here the rooms come together, behind everything that a request passes.

use axum::{Router, middleware};
use base::{Clock, Ids};
use utoipa::openapi::OpenApi;

use crate::cors::Cors;
use crate::traces::Traces;
use crate::{Options, bounds, client, compression, openapi, watch};

/// One room of the house.
pub struct Room {
    pub(crate) name: &'static str,
    routes: Router,
    pub(crate) api: OpenApi,
    cors: Cors,
}

impl Room {
    /// A room by the first word of its paths. Routes carry whole paths: `/mesh/graphql`.
    pub fn new(name: &'static str, routes: Router) -> Room {
        Room { name, routes, api: OpenApi::default(), cors: Cors::default() }
    }

    /// With a description of its routes, shown at `/{name}/openapi.json` and on `/openapi`. Failures
    /// need no body there: they are problems.
    #[must_use]
    pub fn with_api(self, api: OpenApi) -> Room {
        Room { api: openapi::with_problems(api), ..self }
    }

    /// With a policy of its own for pages of other origins.
    #[must_use]
    pub fn with_cors(self, cors: Cors) -> Room {
        Room { cors, ..self }
    }
}

/// All rooms as one. A request passes, from the outside: the question who asks, the watch,
/// compression, the room's policy for other origins, the bounds, its route.
pub(crate) fn assemble(
    mut rooms: Vec<Room>,
    options: &Options,
    clock: &Clock,
    traces: Traces,
    ids: Ids,
) -> Router {
    let described = openapi::routes(&rooms);
    rooms.push(Room::new("openapi", described).with_cors(Cors::Anyone));
    let mut house = Router::new().fallback(bounds::not_found);
    for room in rooms {
        let guarded = bounds::guarded(room.routes, options, clock);
        house = house.merge(room.cors.apply(guarded, &options.cors_origins));
    }
    // As one layer: each that is applied alone would box and copy what lies behind it.
    house.layer((
        middleware::from_fn_with_state(client::trust(options), client::identify),
        middleware::from_fn_with_state(watch::start(clock, traces, ids), watch::see),
        middleware::map_response(compression::weaken),
        compression::layer(),
    ))
}
