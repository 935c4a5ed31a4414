//! Which host a request names, and whether that is a name of this house.
//!
//! Every request names one host, in `Host` or in its target; two that differ would let a proxy and
//! the house see different requests. Beyond that, an address that only this machine reaches is
//! reached by browsers of this machine under any name that somebody's DNS gives to it (rebinding).
//! So on a loopback address the operator's pages and an endpoint without keys are answered only
//! under the names of this machine and those that `http.hosts` lists. A trusted proxy has chosen
//! the name itself.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, Version, header};
use base::options::{Form, Value};

use crate::Failure;

/// Names of hosts, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostList(Vec<String>);

impl HostList {
    /// The same with another name, if there is one.
    #[must_use]
    pub(crate) fn with(mut self, host: Option<&str>) -> HostList {
        self.0.extend(host.map(str::to_ascii_lowercase));
        self
    }

    /// Whether a browser of this machine may reach an address of this machine alone by `host`, a
    /// name with or without a port: as `localhost`, as a loopback address, or under a listed name.
    pub fn is_own(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name == "localhost"
            || name.ends_with(".localhost")
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
            || self.0.contains(&name)
    }
}

impl Value for HostList {
    fn read(&mut self, text: &str) -> bool {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let name = |part: &str| {
            let authority: Authority = part.parse().ok()?;
            (authority.host() == part).then(|| part.to_ascii_lowercase())
        };
        let names: Option<Vec<String>> = parts.map(name).collect();
        names.map(|names| self.0 = names).is_some()
    }

    fn write(&self) -> String {
        self.0.join(", ")
    }

    fn expected(&self) -> String {
        "names of hosts without ports, such as `nagaya.example.org, box.local`, or nothing"
            .to_owned()
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

/// The names under which a request must come that came to an address of this machine alone. An
/// extension of such requests.
#[derive(Clone, Debug)]
pub(crate) struct OwnNames(pub(crate) Arc<HostList>);

/// Lets a request pass that came under a name of this machine, or under that of `url`.
///
/// # Errors
/// It came to this machine alone, under another name.
pub(crate) fn check_own(request: &Request, url: Option<&Uri>) -> Result<(), Failure> {
    let Some(OwnNames(hosts)) = request.extensions().get() else { return Ok(()) };
    let host = find(request.uri(), request.headers()).unwrap_or_default();
    let name = |authority: &Authority| authority.host().to_ascii_lowercase();
    let is_of_url = || {
        let asked = host.parse().ok().map(|asked| name(&asked));
        asked.is_some() && asked == url.and_then(Uri::authority).map(name)
    };
    if hosts.is_own(host) || is_of_url() {
        return Ok(());
    }
    let message = format!(
        "`{host}` is not a name of this machine; `http.hosts` lists the names under which its \
         loopback address is reached"
    );
    Err(Failure::new(StatusCode::FORBIDDEN, "foreign_host", message)
        .in_japanese(format!("「{host}」はこのサーバーの名前ではありません（設定 `http.hosts`）")))
}

/// The host that a request names. HTTP/2 names it in the target.
fn find<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    match headers.get(header::HOST) {
        Some(host) => host.to_str().ok(),
        None => uri.authority().map(Authority::as_str),
    }
}

/// Whether a request names one host.
///
/// # Errors
/// It names none, two, or what can be no host.
pub(crate) fn check(version: Version, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
    let count = headers.get_all(header::HOST).iter().count();
    if count > 1 {
        return Err(invalid(format!("the request has {count} `host` headers")));
    }
    let Some(host) = headers.get(header::HOST) else {
        if version == Version::HTTP_11 && uri.authority().is_none() {
            return Err(invalid("the request has no `host` header".to_owned()));
        }
        return Ok(());
    };
    let text = String::from_utf8_lossy(host.as_bytes());
    let is_host =
        |authority: &Authority| !authority.host().is_empty() && !authority.as_str().contains('@');
    let Some(named) = text.parse::<Authority>().ok().filter(is_host) else {
        // It is not repeated: what is no host may be anything.
        return Err(invalid("the `host` header names no host".to_owned()));
    };
    match uri.authority() {
        Some(target) if !is_same(target, &named, uri.scheme_str()) => Err(invalid(format!(
            "the request's target names the host `{target}`, its `host` header `{named}`"
        ))),
        Some(_) | None => Ok(()),
    }
}

fn is_same(one: &Authority, other: &Authority, scheme: Option<&str>) -> bool {
    let usual = if scheme == Some("https") { 443 } else { 80 };
    let port = |authority: &Authority| authority.port_u16().unwrap_or(usual);
    one.host().eq_ignore_ascii_case(other.host()) && port(one) == port(other)
}

fn invalid(message: String) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "invalid_host", message)
        .in_japanese("リクエストのホスト名（`host`）が正しくありません")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::{HeaderMap, HeaderValue, Uri, Version, header};
    use base::options::Value;

    use super::{HostList, OwnNames, check, check_own};

    #[test]
    fn names_of_this_machine_and_listed_ones_are_its_own() {
        let mut hosts = HostList::default();
        assert!(!hosts.read("box.local:8080") && !hosts.read("a b") && !hosts.read("a@b"));
        assert!(hosts.read("Box.local, nagaya.example.org"));
        assert_eq!(hosts.write(), "box.local, nagaya.example.org");
        for own in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "app.localhost:1",
            "127.0.0.1:8080",
            "127.8.9.1",
            "[::1]:8080",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "box.local:8080",
            "BOX.local",
        ] {
            assert!(hosts.is_own(own), "{own}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example",
            "evil-localhost",
            "127.0.0.1.evil.example",
            "192.0.2.1",
            "0.0.0.0",
            "box.local.evil.example",
        ] {
            assert!(!hosts.is_own(foreign), "{foreign}");
        }
    }

    #[test]
    fn the_address_of_the_operators_pages_is_one_of_its_names() {
        let judge = |host: &str, is_local: bool, url: Option<&Uri>| {
            let mut request = Request::get("/console").header(header::HOST, host);
            if is_local {
                request = request.extension(OwnNames(Arc::default()));
            }
            check_own(&request.body(Body::empty()).unwrap(), url).is_ok()
        };
        let url = Uri::from_static("https://Nagaya.example.org/");
        assert!(judge("nagaya.example.org", true, Some(&url)));
        assert!(judge("nagaya.example.org:8443", true, Some(&url)));
        assert!(judge("localhost:8080", true, Some(&url)));
        assert!(!judge("evil.example", true, Some(&url)));
        assert!(!judge("nagaya.example.org", true, None));
        assert!(judge("evil.example", false, None), "who asks from elsewhere is not rebound");
    }

    #[test]
    fn a_request_names_one_host() {
        let judge = |target: &str, hosts: &[&[u8]], version| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, HeaderValue::from_bytes(host).unwrap());
            }
            let uri: Uri = target.parse().unwrap();
            check(version, &uri, &headers).map_err(|failure| failure.message().to_owned())
        };
        let (old, new) = (Version::HTTP_11, Version::HTTP_2);
        for (target, hosts, version) in [
            ("/", &[&b"a:8080"[..]] as &[&[u8]], old),
            ("/", &[b"[::1]:80"], old),
            ("http://a/", &[b"A:80"], old),
            ("https://a:443/", &[b"a"], new),
            ("http://a/", &[], new),
            ("http://a/", &[], old),
            ("*", &[b"a"], old),
            ("/", &[], Version::HTTP_10),
        ] {
            assert_eq!(judge(target, hosts, version), Ok(()), "{target} {hosts:?}");
        }
        for (target, hosts, version, message) in [
            ("/", &[] as &[&[u8]], old, "the request has no `host` header"),
            ("/", &[b"a", b"a"], old, "the request has 2 `host` headers"),
            ("/", &[b""], old, "the `host` header names no host"),
            ("/", &[b"a b"], old, "the `host` header names no host"),
            ("/", &[b"a/b"], old, "the `host` header names no host"),
            ("/", &[b"u@a"], old, "the `host` header names no host"),
            (
                "http://a/",
                &[b"b"],
                old,
                "the request's target names the host `a`, its `host` header `b`",
            ),
            (
                "http://a/",
                &[b"a:81"],
                new,
                "the request's target names the host `a`, its `host` header `a:81`",
            ),
        ] {
            assert_eq!(judge(target, hosts, version), Err(message.to_owned()), "{target}");
        }
    }
}
