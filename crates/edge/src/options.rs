//! How the house listens, and what it takes from a caller.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::cors::OriginList;

use crate::client::{Networks, ProxyHeader};
use crate::hosts::HostList;
use crate::house::MetricsAccess;
use crate::reach::PublicUrl;

base::options! {
    /// Where the house listens, and what it takes from a caller.
    pub struct Options in "http" {
        /// Address and port to listen on. `:8080` is port 8080 of every IPv4 interface, so that the
        /// local network reaches it; `localhost:8080` is this machine alone. Port 0 takes any free
        /// one, which is printed at the start.
        pub listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080));
        /// Where people find the house, such as `https://nagaya.example.org`, if that is not the
        /// address that it listens on: behind a proxy, in a container, under a name. Join cards, QR
        /// codes and set-up links begin with it. Without it they show an address of the local
        /// network.
        pub public_url: PublicUrl = PublicUrl::default();
        /// A file with the certificate in PEM, the house's own first and then those above it. With
        /// it and its key the house speaks TLS, and reads both again when they change.
        pub tls_certificate: Option<PathBuf> = None;
        /// A file with the certificate's private key in PEM.
        pub tls_key: Option<PathBuf> = None;
        /// Origins whose pages may call the rooms, such as `https://example.org`, with commas
        /// between them. Rooms that are open to all or to none say so themselves.
        pub cors_origins: OriginList = OriginList::default();
        /// Names under which browsers reach the house on a loopback address, such as `box.local`,
        /// with commas between them. Under other names the operator's pages and a DynamoDB endpoint
        /// without keys are refused there, against DNS rebinding. `localhost`, loopback addresses
        /// and, for the pages, the hosts of `http.public_url` and `operator.url` need not be listed.
        pub hosts: HostList = HostList::default();
        /// Connections open at once. On a few more, only health checks and the operator's pages are
        /// answered, and 503 to everything else.
        pub connections_max: usize = 16_384, 1..=1_000_000;
        /// Connections open at once from one address (IPv6: from one /64). 0 is half of
        /// `connections_max`. Trusted proxies are exempt.
        pub connections_per_address_max: usize = 0, 0..=1_000_000;
        /// Requests open at once from one address (IPv6: from one /64), streams and sockets
        /// included. 0 is half of `connections_max`. Callers behind a trusted proxy are counted by
        /// the address that it forwards.
        pub requests_per_address_max: usize = 0, 0..=1_000_000;
        /// Bytes of a request's head: its line and its headers.
        pub header_bytes_max: usize = 16_384, 8_192..=1_048_576;
        /// Seconds in which a request's head must arrive. An idle connection is closed after them.
        pub header_timeout_seconds: u64 = 30, 1..=3_600;
        /// Seconds in which a peer must take something of what is sent to it.
        pub write_timeout_seconds: u64 = 30, 1..=3_600;
        /// Bytes of a request's body, where a route does not say otherwise.
        pub body_bytes_max: usize = 1_048_576, 1_024..=1_073_741_824;
        /// Bytes of request bodies held at once for all callers without a verified key, token or
        /// session. Half of them is for the first 4 KiB of each body, and one address has at most
        /// half of each half.
        pub stranger_bytes_max: usize = 67_108_864, 65_536..=1_099_511_627_776;
        /// Bytes of request bodies held at once for all other callers.
        pub known_bytes_max: usize = 268_435_456, 65_536..=1_099_511_627_776;
        /// Seconds until an answer must begin, where a route does not say otherwise.
        pub request_timeout_seconds: u64 = 30, 1..=3_600;
        /// Seconds that requests under way have to finish when the house closes.
        pub drain_seconds: u64 = 30, 0..=3_600;
        /// Proxies in front of the house, such as `127.0.0.1, 10.0.0.0/8`. Only from them is it
        /// believed for whom they speak.
        pub trusted_proxies: Networks = Networks::default();
        /// The header in which these proxies tell the caller's address: `x-forwarded-for` or
        /// `forwarded`. The other one is not read.
        pub proxy_header: ProxyHeader = ProxyHeader::XForwardedFor;
        /// Who may read `/metrics`: everybody (`open`), callers on this machine (`loopback`), or
        /// nobody (`closed`). `nagaya top` reads it from this machine.
        pub metrics: MetricsAccess = MetricsAccess::Open;
    }
}
