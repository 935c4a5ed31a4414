//! What a room gives to the house: its routes, what it says about them, and who may call them from
//! elsewhere. Here the rooms come together, behind everything that a request passes.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use base::{Clock, Ids};
use tower::util::MapResponseLayer;
use utoipa::openapi::OpenApi;

use crate::bounds::{self, Guarded};
use crate::cors::Cors;
use crate::openapi::graphql::GraphQl;
use crate::traces::Traces;
use crate::watch::Watched;
use crate::{Options, compression, notice, openapi};

/// One room of the house.
pub struct Room {
    pub(crate) name: &'static str,
    pub(crate) routes: Router,
    pub(crate) api: OpenApi,
    /// Title and purpose in Japanese, for the page of all descriptions.
    pub(crate) japanese: Option<(&'static str, &'static str)>,
    /// Its GraphQL interface, if it has one.
    pub(crate) graphql: Option<GraphQl>,
    cors: Cors,
    is_essential: bool,
}

impl Room {
    /// A room by the first word of its paths. Routes carry whole paths: `/mesh/graphql`.
    pub fn new(name: &'static str, routes: Router) -> Room {
        // Routes that lack nothing more are built now; else each request would build its own.
        let routes = routes.with_state(());
        let (api, cors) = (OpenApi::default(), Cors::default());
        Room { name, routes, api, japanese: None, graphql: None, cors, is_essential: false }
    }

    /// With a description of its routes, shown at `/{name}/openapi.json` and on `/openapi`. Failures
    /// need no body there: they are problems.
    #[must_use]
    pub fn with_api(self, api: OpenApi) -> Room {
        Room { api: openapi::with_customs(api), ..self }
    }

    /// With a GraphQL interface, shown on `/openapi`.
    #[must_use]
    pub fn with_graphql(self, graphql: GraphQl) -> Room {
        Room { graphql: Some(graphql), ..self }
    }

    /// With the description's title and purpose in Japanese.
    #[must_use]
    pub fn in_japanese(self, title: &'static str, purpose: &'static str) -> Room {
        Room { japanese: Some((title, purpose)), ..self }
    }

    /// With a policy of its own for pages of other origins.
    #[must_use]
    pub fn with_cors(self, cors: Cors) -> Room {
        Room { cors, ..self }
    }

    /// Answers also when callers hold all connections: for health checks and the operator's pages.
    #[must_use]
    pub fn essential(self) -> Room {
        Room { is_essential: true, ..self }
    }
}

/// All rooms as one. A request passes, from the outside: the watch, compression, the room's policy
/// for other origins, the bounds, its route.
pub(crate) fn assemble(
    mut rooms: Vec<Room>,
    options: &Options,
    clock: &Clock,
    traces: Traces,
    ids: Ids,
) -> Router {
    let described = openapi::routes(&rooms);
    rooms.push(Room::new("openapi", described).with_cors(Cors::Anyone));
    // The sign-in page has its style from here.
    rooms.push(Room::new("notice", notice::routes()).with_cors(Cors::Anyone).essential());
    let outer = (
        Watched::new(clock, traces, ids),
        MapResponseLayer::new(compression::weaken),
        compression::layer(),
    );
    // The library's own limit of a body would be a second bound beside ours.
    let guarded = Guarded::new(options, clock);
    let inner = |is_essential| (guarded.essential(is_essential), DefaultBodyLimit::disable());
    let house = Router::new().fallback(bounds::not_found).layer((outer.clone(), inner(false)));
    rooms.into_iter().fold(house, |house, room| {
        let routes = room.routes.method_not_allowed_fallback(bounds::method_not_allowed);
        let (outer, inner) = (outer.clone(), inner(room.is_essential));
        // At one stroke: layers that are applied one by one box and copy what lies behind each.
        house.merge(match room.cors.layer(&options.cors_origins) {
            Some(cors) => routes.layer((outer, cors, inner)),
            None => routes.layer((outer, inner)),
        })
    })
}
