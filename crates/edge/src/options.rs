//! How the house listens, and what it takes from a caller.

use std::net::SocketAddr;

base::options! {
    /// Where the house listens, and what it takes from a caller.
    pub struct Options in "http" {
        /// Address and port to listen on. Port 0 takes any free one, which is printed at the start.
        pub listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080));
        /// Connections open at once. One more waits until another closes.
        pub connections_max: usize = 10_000, 1..=1_000_000;
        /// Bytes of a request's head: its line and its headers.
        pub header_bytes_max: usize = 16_384, 8_192..=1_048_576;
        /// Seconds in which a request's head must arrive. An idle connection is closed after them.
        pub header_timeout_seconds: u64 = 30, 1..=3_600;
        /// Bytes of a request's body.
        pub body_bytes_max: usize = 1_048_576, 1_024..=1_073_741_824;
        /// Seconds until an answer must begin.
        pub request_timeout_seconds: u64 = 30, 1..=3_600;
        /// Seconds that requests under way have to finish when the house closes.
        pub drain_seconds: u64 = 30, 0..=3_600;
    }
}
