//! The mesh on the wire: GraphQL over HTTP, and pushes over AppSync's protocol,
//! `graphql-transport-ws`, server-sent events and long-poll.
//!
//! `appsync.rs` and `transport.rs` are the two dialects of a socket, `session.rs` is what they
//! share: who speaks, and what it follows. `host.rs` says who is the host of a group, `guests.rs`
//! ends what must not stay open, and `bounded.rs` stops answers that become too large.

mod appsync;
mod bounded;
pub(crate) mod documents;
mod guests;
pub(crate) mod host;
pub(crate) mod key;
pub(crate) mod pace;
mod routes;
pub(crate) mod schema;
mod session;
#[cfg(test)]
mod tests;
mod transport;
pub(crate) mod wire;

use std::sync::Arc;

use async_graphql::Response;
use edge::{Client, Ground, Operator, Room};

use crate::Mesh;
use crate::api::documents::Documents;
use crate::api::guests::Guests;
use crate::api::schema::{Caller, Schema, judge, refused, schema};
use crate::api::wire::Asked;
use crate::jobs::Pulse;
use crate::live::Selected;
use crate::live::select::Selection;
use crate::model::{Budget, domain};

/// The room with what its wire needs.
pub(crate) struct Api {
    mesh: Arc<Mesh>,
    pub(crate) schema: Schema,
    /// The schema as text: it is the same every time, and anybody may ask for it.
    sdl: String,
    pub(crate) documents: Documents,
    /// Sockets that want keep-alives.
    pulse: Pulse,
    /// Sockets and streams that may have to end.
    guests: Guests,
    /// Everything of a push, for those who follow without a document.
    whole: Selected,
}

/// The routes of the room.
pub(crate) fn room(mesh: &Arc<Mesh>, ground: &Ground, operator: &Operator) -> Room {
    let api = Arc::new(Api::new(Arc::clone(mesh)));
    api.pulse.start(appsync::KEEP_ALIVE, &ground.clock, &ground.tasks);
    api.watch_guests(&ground.tasks);
    routes::room(api, ground, operator)
}

impl Api {
    /// The wire of `mesh`.
    pub(crate) fn new(mesh: Arc<Mesh>) -> Api {
        let schema = schema(Arc::clone(&mesh), mesh.options.introspection);
        let whole = mesh.selections.hold(Selection::whole());
        let documents = Documents::new(judge(mesh.options.introspection), mesh.clock.clone());
        let sdl = schema.sdl();
        Api {
            mesh,
            schema,
            sdl,
            documents,
            pulse: Pulse::default(),
            guests: Guests::default(),
            whole,
        }
    }

    /// Executes a query or a mutation.
    pub(crate) async fn execute(&self, asked: Asked, caller: Caller) -> Response {
        let request = match self.documents.find(&asked.query).await {
            Ok(document) => asked.request(&document),
            Err(errors) => Err(errors),
        };
        let budget = Arc::new(Budget::default());
        let request = match request {
            Ok(request) => request.data(caller).data(Arc::clone(&budget)),
            Err(errors) => return Response::from_errors(errors),
        };
        let response = self.schema.execute(request).await;
        match budget.check() {
            Ok(()) => response,
            Err(error) => {
                Response::from_errors(vec![refused(error.error_type(), &error.to_string())])
            }
        }
    }

    /// The caller of an operation.
    fn caller(&self, client: Client) -> Caller {
        let domain = domain::of(client.address(), &self.mesh.options);
        Caller { domain, connection: client.connection() }
    }

    /// Whether this key opens the room.
    async fn admits(&self, key: Option<&str>) -> bool {
        self.mesh.key.admits(key).await
    }
}
