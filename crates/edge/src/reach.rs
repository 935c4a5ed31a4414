//! Where people find the server: the URL in the settings, or an address of this machine that other
//! machines reach. It stands in the box at the start, in set-up links, on join cards and in QR codes.
//!
//! - **Invariant:** an unspecified address (`0.0.0.0`) is shown nowhere, and a loopback address only
//!   where no other machine reaches the server.
//!
//! `lan.rs` reads the addresses of this machine, each time it is asked: a laptop that moves to
//! another network has another address from then on.

mod lan;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::uri::Authority;
use base::options::{Form, Value};

use crate::address::is_host;
use crate::ask::reachable;
use crate::cors::is_origin;
use crate::hosts::HostList;

/// The URL under which people find the server, if the settings name one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublicUrl(Option<String>);

impl PublicUrl {
    /// The URL without a slash at its end.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The host with its port.
    fn authority(&self) -> Option<&str> {
        self.get()?.split_once("://").map(|(_, authority)| authority)
    }

    /// The host.
    pub(crate) fn host(&self) -> Option<&str> {
        self.authority().and_then(host_of)
    }
}

impl Value for PublicUrl {
    fn read(&mut self, text: &str) -> bool {
        if text.is_empty() {
            self.0 = None;
            return true;
        }
        let url = text.strip_suffix('/').unwrap_or(text).to_ascii_lowercase();
        let read = PublicUrl(Some(url));
        let is_good = read.get().is_some_and(is_origin)
            && read.authority().is_some_and(is_host)
            && read.host().is_some_and(|host| !is_unspecified(host));
        if is_good {
            *self = read;
        }
        is_good
    }

    fn write(&self) -> String {
        self.0.clone().unwrap_or_default()
    }

    fn expected(&self) -> String {
        "a URL without a path, such as `https://nagaya.example.org` or \
         `http://192.168.1.7:8080`, or nothing"
            .to_owned()
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

/// Where people find one listener.
#[derive(Clone, Debug)]
pub struct Reach {
    public_url: PublicUrl,
    /// With the real port.
    listen: SocketAddr,
    is_secure: bool,
}

impl Reach {
    /// Of a listener at this address.
    pub fn new(public_url: &PublicUrl, listen: SocketAddr, is_secure: bool) -> Reach {
        Reach { public_url: public_url.clone(), listen, is_secure }
    }

    /// The URL to show to people.
    pub fn url(&self) -> String {
        self.shared_urls().into_iter().next().unwrap_or_else(|| self.local_url())
    }

    /// The URLs that other machines reach, the best first; none if only this machine reaches it.
    pub fn shared_urls(&self) -> Vec<String> {
        match self.public_url.get() {
            Some(url) => vec![url.to_owned()],
            None => lan::addresses(self.listen.ip()).into_iter().map(|ip| self.at(ip)).collect(),
        }
    }

    /// The URL for a browser on this machine.
    pub fn local_url(&self) -> String {
        self.at(reachable(self.listen).ip())
    }

    /// Whether no other machine reaches the listener itself. A proxy may still lead to it.
    pub fn is_local(&self) -> bool {
        self.listen.ip().to_canonical().is_loopback()
    }

    /// The URL to show to people on a page that was asked for under `found`, a scheme and a host:
    /// what the browser used, unless it leads nowhere from another machine.
    pub(crate) fn url_for(&self, found: &str) -> String {
        let authority = found.split_once("://").map_or(found, |(_, authority)| authority);
        if self.public_url.get().is_none() && !is_of_this_machine(authority) {
            return found.to_owned();
        }
        match self.shared_urls().into_iter().next() {
            Some(url) => url,
            None if host_of(authority).is_some_and(is_unspecified) => self.local_url(),
            None => found.to_owned(),
        }
    }

    fn at(&self, ip: IpAddr) -> String {
        let (scheme, usual) = if self.is_secure { ("https", 443) } else { ("http", 80) };
        let address = SocketAddr::new(ip, self.listen.port());
        match (address.port() == usual, ip) {
            (false, _) => format!("{scheme}://{address}"),
            (true, IpAddr::V4(ip)) => format!("{scheme}://{ip}"),
            (true, IpAddr::V6(ip)) => format!("{scheme}://[{ip}]"),
        }
    }
}

/// Whether a host means the machine of whoever uses it.
fn is_of_this_machine(authority: &str) -> bool {
    HostList::default().is_own(authority) || host_of(authority).is_some_and(is_unspecified)
}

/// The name in `host:port`, IPv6 addresses without brackets.
fn host_of(authority: &str) -> Option<&str> {
    let end = authority.parse::<Authority>().ok()?.host().len();
    Some(authority.get(..end)?.trim_start_matches('[').trim_end_matches(']'))
}

fn is_unspecified(host: &str) -> bool {
    let is_mapped = |ip: Ipv6Addr| ip.to_canonical().is_unspecified();
    host.parse::<IpAddr>().is_ok_and(|ip| match ip {
        IpAddr::V4(ip) => ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unspecified() || is_mapped(ip),
    })
}

#[cfg(test)]
mod tests {
    use base::options::Value;

    use super::{PublicUrl, Reach};

    fn public(text: &str) -> PublicUrl {
        let mut url = PublicUrl::default();
        assert!(url.read(text), "{text}");
        url
    }

    fn reach(url: &str, listen: &str) -> Reach {
        Reach::new(&public(url), listen.parse().unwrap(), false)
    }

    #[test]
    fn a_public_url_is_a_scheme_and_a_host_that_leads_somewhere() {
        for (text, written) in [
            ("https://Nagaya.example.org/", "https://nagaya.example.org"),
            ("http://192.168.1.7:8080", "http://192.168.1.7:8080"),
            ("", ""),
        ] {
            assert_eq!(public(text).write(), written);
        }
        for text in [
            "nagaya.example.org",
            "ftp://nagaya.example.org",
            "https://nagaya.example.org/school",
            "https://nagaya.example.org?x",
            "https://me:hush@nagaya.example.org",
            "http://0.0.0.0:8080",
            "http://[::]:8080",
            "https://",
        ] {
            assert!(!PublicUrl::default().read(text), "{text}");
        }
        assert_eq!(public("http://[::1]:80").host(), Some("::1"));
    }

    #[test]
    fn people_are_shown_what_they_used_unless_it_leads_nowhere() {
        let local = reach("", "127.0.0.1:8080");
        assert_eq!(local.url(), "http://127.0.0.1:8080");
        assert!(local.shared_urls().is_empty() && local.is_local());
        assert_eq!(local.url_for("http://localhost:8080"), "http://localhost:8080");
        assert_eq!(local.url_for("http://0.0.0.0:8080"), "http://127.0.0.1:8080");
        assert_eq!(local.url_for("https://proxy.example"), "https://proxy.example");

        let shared = reach("", "192.0.2.7:80");
        assert_eq!(shared.url(), "http://192.0.2.7");
        for found in ["http://localhost", "http://0.0.0.0", "http://[::1]:80", "http://a.localhost"]
        {
            assert_eq!(shared.url_for(found), "http://192.0.2.7", "{found}");
        }
        assert_eq!(shared.url_for("http://box.local"), "http://box.local");

        let public = reach("https://nagaya.example.org", "127.0.0.1:8080");
        assert_eq!(public.url(), "https://nagaya.example.org");
        for found in ["http://localhost:8080", "http://192.168.1.7:8080"] {
            assert_eq!(public.url_for(found), "https://nagaya.example.org", "{found}");
        }
    }

    #[test]
    fn a_listener_on_every_interface_never_shows_that() {
        for listen in ["0.0.0.0:8080", "[::]:8080"] {
            let everywhere = reach("", listen);
            assert!(!everywhere.is_local());
            let shown = [
                everywhere.url(),
                everywhere.local_url(),
                everywhere.url_for("http://0.0.0.0:8080"),
            ];
            for url in shown {
                assert!(!url.contains("//0.0.0.0") && !url.contains("[::]"), "{url}");
            }
        }
    }
}
