//! How the house listens, and what it takes from a caller.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::cors::OriginList;

use crate::client::{Networks, ProxyHeader};

base::options! {
    /// Where the house listens, and what it takes from a caller.
    pub struct Options in "http" {
        /// Address and port to listen on. Port 0 takes any free one, which is printed at the start.
        pub listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080));
        /// A file with the certificate in PEM, the house's own first and then those above it. With
        /// it and its key the house speaks TLS, and reads both again when they change.
        pub tls_certificate: Option<PathBuf> = None;
        /// A file with the certificate's private key in PEM.
        pub tls_key: Option<PathBuf> = None;
        /// Origins whose pages may call the rooms, such as `https://example.org`, with commas
        /// between them. Rooms that are open to all or to none say so themselves.
        pub cors_origins: OriginList = OriginList::default();
        /// Connections open at once. One more waits until another closes.
        pub connections_max: usize = 10_000, 1..=1_000_000;
        /// Bytes of a request's head: its line and its headers.
        pub header_bytes_max: usize = 16_384, 8_192..=1_048_576;
        /// Seconds in which a request's head must arrive. An idle connection is closed after them.
        pub header_timeout_seconds: u64 = 30, 1..=3_600;
        /// Seconds in which a peer must take something of what is sent to it.
        pub write_timeout_seconds: u64 = 30, 1..=3_600;
        /// Bytes of a request's body, where a route does not say otherwise.
        pub body_bytes_max: usize = 1_048_576, 1_024..=1_073_741_824;
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
    }
}
