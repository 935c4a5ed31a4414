//! Which routes a house has, for the test that compares them with `docs/security.md`.
//!
//! The router cannot be asked for its routes, but it prints them when it is debugged: paths by a
//! number, and for each number the methods that it allows. Should another version of the library
//! print something else, the list is empty, and the test fails.

use std::collections::BTreeMap;

use axum::Router;

use crate::{Room, notice, openapi};

/// Methods and paths of all routes that a server of these rooms has, in order. GET brings HEAD
/// along, which is left out.
pub fn list_routes(rooms: &[Room]) -> Vec<(String, String)> {
    let mut routes = Vec::new();
    for room in rooms {
        routes.extend(list(&room.routes));
    }
    routes.extend(list(&openapi::routes(rooms)));
    routes.extend(list(&notice::routes()));
    routes.sort_by(|(method, path), (other, next)| (path, method).cmp(&(next, other)));
    routes
}

fn list(router: &Router) -> Vec<(String, String)> {
    let text = format!("{router:?}");
    // Behind it stands what answers other paths.
    let own = text.split("fallback_router").next().unwrap_or_default();
    let (methods, paths) = own.split_once("node: Node").unwrap_or_default();
    let methods: BTreeMap<&str, &str> = numbered(methods, "allow_header: Bytes(b\"").collect();
    let routes = numbered(paths, "\"").flat_map(|(number, path)| {
        // A route without such a header takes every method.
        let methods = methods.get(number).copied().unwrap_or("ANY");
        let methods = methods.split(',').filter(|method| *method != "HEAD");
        methods.map(move |method| (method.to_owned(), path.to_owned()))
    });
    routes.collect()
}

/// The numbers of routes, each with the text that stands behind `mark` and before a quotation mark.
fn numbered<'t>(text: &'t str, mark: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    text.split("RouteId(").skip(1).filter_map(move |part| {
        let (number, rest) = part.split_once(')')?;
        let (_, rest) = rest.split_once(mark)?;
        Some((number, rest.split('"').next().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::State;
    use axum::routing::{any, get, put};
    use tower::util::MapResponseLayer;

    use super::list_routes;
    use crate::Room;

    #[test]
    fn every_method_and_path_is_listed_whatever_lies_around_it() {
        let layer = MapResponseLayer::new(|response: axum::response::Response| response);
        let inner = Router::new()
            .route("/a/{id}", get(|| async { "" }).post(|State(()): State<()>| async { "" }))
            .layer(layer);
        let routes = Router::new().route("/a/{id}", put(|| async { "" })).merge(inner);
        let routes = routes.route("/b", any(|| async { "" })).with_state(());
        let listed = list_routes(&[Room::new("a", routes)]);
        let listed: Vec<String> =
            listed.iter().map(|(method, path)| format!("{method} {path}")).collect();
        for expected in ["GET /a/{id}", "POST /a/{id}", "PUT /a/{id}", "ANY /b", "GET /openapi"] {
            assert!(listed.iter().any(|route| route == expected), "{expected}: {listed:?}");
        }
        assert!(listed.contains(&"GET /a/openapi.json".to_owned()), "{listed:?}");
    }
}
