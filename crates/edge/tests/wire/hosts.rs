//! Which host a request names, and who may read the metrics.

use axum::Router;
use base::options::Value;
use edge::{MetricsAccess, Networks, Options, Room};
use testkit::World;

use crate::support::{Site, options, uncollected};

#[testkit::test]
async fn a_request_that_does_not_name_one_host_is_refused() {
    let site = Site::open(Router::new()).await;
    let ask = |target: &str, lines: &str| {
        site.ask(format!("GET {target} HTTP/1.1\r\n{lines}connection: close\r\n\r\n"))
    };
    for (target, lines, detail) in [
        ("/livez", "host: a\r\nhost: b\r\n", "the request has 2 `host` headers"),
        ("/livez", "host: a\r\nhost: a\r\n", "the request has 2 `host` headers"),
        ("/nothing", "host: a\r\nhost: b\r\n", "the request has 2 `host` headers"),
        ("/livez", "", "the request has no `host` header"),
        ("/livez", "host: a b\r\n", "the `host` header names no host"),
        ("/livez", "host: u@a\r\n", "the `host` header names no host"),
        (
            "http://a/livez",
            "host: b\r\n",
            "the request's target names the host `a`, its `host` header `b`",
        ),
    ] {
        let refused = ask(target, lines).await;
        refused.is_problem_of(400, "invalid_host", detail);
    }
    for (target, lines) in [
        ("/livez", "host: a:8080\r\n"),
        ("http://a/livez", "host: A:80\r\n"),
        ("http://a/livez", ""),
    ] {
        assert_eq!(ask(target, lines).await.status, 200, "{target} {lines}");
    }
    let old = site.ask("GET /livez HTTP/1.0\r\n\r\n").await;
    assert_eq!(old.status, 200);
    site.still_serves().await;
}

#[testkit::test]
async fn the_operators_pages_on_loopback_are_shown_under_names_of_this_machine_alone() {
    let world = World::new().await;
    let instance = world.instance().await;
    let operator = instance.operator();
    let inside = operator.guard(Router::new().route("/desk", axum::routing::get(async || "desk")));
    let rooms = vec![Room::new("operator", operator.routes()), Room::new("desk", inside)];
    let site = Site::on(&world, instance, rooms, options(), uncollected).await;
    let ask = |path: &str, host: &str| {
        site.ask(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"))
    };
    for path in ["/console/sign-in", "/console/setup?token=x", "/desk", "/console/sign-out"] {
        let refused = ask(path, "evil.example:8080").await;
        let detail = "`evil.example:8080` is not a name of this machine; `http.hosts` lists the \
                      names under which its loopback address is reached";
        refused.is_problem_of(403, "foreign_host", detail);
    }
    for host in ["localhost", "127.0.0.1:8080", "[::1]:8080", "app.localhost", "HOUSE:8080"] {
        assert_eq!(ask("/console/sign-in", host).await.status, 200, "{host}");
        assert_eq!(ask("/desk", host).await.status, 401, "{host}");
    }
    // What everybody may read anyway is no secret of this machine.
    assert_eq!(ask("/livez", "evil.example").await.status, 200);
    site.still_serves().await;
}

#[testkit::test]
async fn a_trusted_proxy_names_the_host_as_its_callers_did() {
    let world = World::new().await;
    let instance = world.instance().await;
    let rooms = vec![Room::new("operator", instance.operator().routes())];
    let mut trusted_proxies = Networks::default();
    assert!(trusted_proxies.read("127.0.0.1"));
    let options = Options { trusted_proxies, ..options() };
    let site = Site::on(&world, instance, rooms, options, uncollected).await;
    let request = "GET /console/sign-in HTTP/1.1\r\nhost: nagaya.example.org\r\nconnection: \
                   close\r\nx-forwarded-for: 203.0.113.5\r\n\r\n";
    assert_eq!(site.ask(request).await.status, 200);
    site.still_serves().await;
}

#[testkit::test]
async fn metrics_are_open_or_for_this_machine_or_closed() {
    let with = |metrics| Options { metrics, ..options() };
    let forwarded = "x-forwarded-for: 203.0.113.5\r\n";
    let open = Site::with(Router::new(), with(MetricsAccess::Open)).await;
    assert_eq!(open.get_with("/metrics", forwarded).await.status, 200);
    open.still_serves().await;

    let here = Site::with(Router::new(), with(MetricsAccess::Loopback)).await;
    assert_eq!(here.get("/metrics").await.status, 200);
    let detail = "only callers on this machine may read the metrics";
    let refused = here.get_with("/metrics", forwarded).await;
    refused.is_problem_of(403, "metrics_closed", detail);
    here.still_serves().await;

    let closed = Site::with(Router::new(), with(MetricsAccess::Closed)).await;
    let detail = "there is nothing at `/metrics`";
    closed.get("/metrics").await.is_problem_of(404, "not_found", detail);
    closed.still_serves().await;
}
