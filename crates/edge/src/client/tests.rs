//! Callers behind proxies, honest and not.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base::options::Value;
use proptest::prelude::{any, prop_assert_eq, proptest};

use super::{Client, Networks, Peer, ProxyHeader, Trust};

fn networks(text: &str) -> Networks {
    let mut networks = Networks::default();
    assert!(networks.read(text), "{text}");
    networks
}

fn ask(proxies: &str, header: ProxyHeader, peer: &str, lines: &[(&str, &str)]) -> Client {
    let trust = Trust { proxies: networks(proxies), header };
    let peer = Peer { address: SocketAddr::new(ip(peer), 1234), connection: 7, tls: false };
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value);
    }
    trust.client(peer, &headers)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

const X: ProxyHeader = ProxyHeader::XForwardedFor;
const F: ProxyHeader = ProxyHeader::Forwarded;

#[test]
fn a_stranger_cannot_say_who_it_is() {
    let lines = [
        ("x-forwarded-for", "1.2.3.4"),
        ("forwarded", "for=1.2.3.4;proto=https"),
        ("x-forwarded-proto", "https"),
    ];
    for (proxies, header) in [("", X), ("", F), ("10.0.0.0/8", X), ("10.0.0.0/8", F)] {
        let client = ask(proxies, header, "192.0.2.7", &lines);
        assert_eq!((client.address(), client.is_secure()), (ip("192.0.2.7"), false));
    }
}

#[test]
fn what_a_caller_writes_left_of_the_proxy_is_never_reached() {
    let lines = [("x-forwarded-for", "9.9.9.9, 203.0.113.5, 10.0.0.2")];
    assert_eq!(ask("10.0.0.0/8", X, "10.0.0.1", &lines).address(), ip("203.0.113.5"));
    let lines = [("x-forwarded-for", "9.9.9.9"), ("x-forwarded-for", "203.0.113.5")];
    assert_eq!(ask("10.0.0.0/8", X, "10.0.0.1", &lines).address(), ip("203.0.113.5"));
}

#[test]
fn the_header_that_the_proxy_does_not_write_is_not_read() {
    let lines = [("forwarded", "for=9.9.9.9;proto=https"), ("x-forwarded-for", "203.0.113.5")];
    let client = ask("10.0.0.1", X, "10.0.0.1", &lines);
    assert_eq!((client.address(), client.is_secure()), (ip("203.0.113.5"), false));
    let lines = [("forwarded", "for=203.0.113.5"), ("x-forwarded-for", "9.9.9.9")];
    assert_eq!(ask("10.0.0.1", F, "10.0.0.1", &lines).address(), ip("203.0.113.5"));
}

#[test]
fn every_form_of_an_address_is_understood() {
    for (written, address) in [
        ("203.0.113.5", "203.0.113.5"),
        (" 203.0.113.5:4711 ", "203.0.113.5"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("::ffff:203.0.113.5", "203.0.113.5"),
    ] {
        let client = ask("::1", X, "::1", &[("x-forwarded-for", written)]);
        assert_eq!(client.address(), ip(address), "{written}");
        let quoted = format!("proto=HTTPS; For=\"{}\";by=_x", written.trim());
        let client = ask("::1", F, "::1", &[("forwarded", &quoted)]);
        assert_eq!((client.address(), client.is_secure()), (ip(address), true), "{quoted}");
    }
}

#[test]
fn what_is_no_address_ends_the_search_at_the_last_proxy() {
    for word in ["unknown", "_hidden", "", "999.1.1.1", "1.2.3.4.5", "\u{ff}", "[::1", "a,b"] {
        let line = format!("203.0.113.5, {word}, 10.0.0.2");
        let client = ask("10.0.0.0/8", X, "10.0.0.1", &[("x-forwarded-for", &line)]);
        assert!(matches!(client.address(), IpAddr::V4(v4) if v4.octets()[0] == 10), "{word}");
    }
    for line in ["", ";;;", "for", "for=", "for=\"", "for=\"1.2.3.4", "for=\"1.2.3.4\\\"", "=,="] {
        let client = ask("10.0.0.0/8", F, "10.0.0.1", &[("forwarded", line)]);
        assert_eq!(client.address(), ip("10.0.0.1"), "{line}");
    }
}

#[test]
fn a_comma_in_quotes_parts_nothing() {
    let line = "for=203.0.113.5;secret=\"a\\\",for=9.9.9.9\"";
    assert_eq!(ask("::1", F, "::1", &[("forwarded", line)]).address(), ip("203.0.113.5"));
}

#[test]
fn an_endless_row_of_proxies_is_walked_only_so_far() {
    let line = format!("203.0.113.5{}", ", 10.0.0.1".repeat(2_000));
    let client = ask("10.0.0.0/8", X, "10.0.0.1", &[("x-forwarded-for", &line)]);
    assert_eq!(client.address(), ip("10.0.0.1"));
}

#[test]
fn an_ipv6_caller_is_its_network() {
    let network =
        |text: &str| Client { address: ip(text), secure: false, connection: None }.network();
    assert_eq!(network("2001:db8:1:2:3:4:5:6"), ip("2001:db8:1:2::"));
    assert_eq!(network("2001:db8:1:2::ffff"), network("2001:db8:1:2:9::"));
    assert_ne!(network("2001:db8:1:3::1"), network("2001:db8:1:2::1"));
    assert_eq!(network("203.0.113.5"), ip("203.0.113.5"));
}

#[test]
fn a_caller_behind_a_trusted_proxy_has_no_connection_of_its_own() {
    let line = [("x-forwarded-for", "203.0.113.5")];
    assert_eq!(ask("", X, "10.0.0.1", &line).connection, Some(7));
    assert_eq!(ask("10.0.0.0/8", X, "10.0.0.1", &line).connection, None);
    assert_eq!(ask("10.0.0.0/8", X, "10.0.0.1", &[]).connection, None);
}

#[test]
fn networks_are_read_whole_or_not_at_all() {
    assert_eq!(networks(" 10.0.0.0/8 ,::1").write(), "10.0.0.0/8, ::1/128");
    assert_eq!(networks("").write(), "");
    for bad in ["10.0.0.0/33", "10.0.0.0/8,", "localhost", "10.0.0.0/8;::1", ","] {
        assert!(!Networks::default().read(bad), "{bad}");
    }
}

proptest! {
    #![proptest_config(testkit::depth::cases(256))]

    #[test]
    fn no_header_moves_an_untrusted_peer_and_none_panics(
        line in any::<Vec<u8>>(),
        proto in any::<Vec<u8>>(),
        peer in any::<[u8; 4]>(),
        trusted in any::<bool>(),
    ) {
        let proxies = networks(if trusted { "0.0.0.0/0" } else { "" });
        let address = IpAddr::from(peer);
        let peer = Peer { address: SocketAddr::new(address, 1), connection: 7, tls: false };
        for header in [X, F] {
            let mut headers = HeaderMap::new();
            for (name, bytes) in
                [("x-forwarded-for", &line), ("forwarded", &line), ("x-forwarded-proto", &proto)]
            {
                if let Ok(value) = HeaderValue::from_bytes(bytes) {
                    headers.append(HeaderName::from_static(name), value);
                }
            }
            let client = Trust { proxies: proxies.clone(), header }.client(peer, &headers);
            if !trusted {
                prop_assert_eq!(client, Client { address, secure: false, connection: Some(7) });
            }
        }
    }
}
