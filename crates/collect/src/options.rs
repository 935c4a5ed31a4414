//! What can be set about the collect room.

use std::path::PathBuf;

use edge::Networks;

/// The seed's table.
pub(crate) const TABLE: &str = "AiResponseMetrics";

base::options! {
    /// Polling of HTTP APIs into honest series.
    pub struct Options in "collect" {
        /// What the default source asks: `{base_url}/response_count?from=…&to=…`, every five
        /// seconds. Nothing: there is no default source. Also `AI_API_BASE_URL`. The house's own
        /// mock is `http://127.0.0.1:8080/collect`.
        pub base_url: Option<String> = None;
        /// The table of values. Also `AI_METRICS_TABLE_NAME`.
        pub table: String = TABLE.to_owned();
        /// Seconds from the beginning of a slot of the default source to its call: its five seconds
        /// and one to settle. 0 asks before the window has happened.
        pub lag_seconds: u64 = 6, 0..=172_800;
        /// Seconds behind its time in which a slot of the default source is tried again.
        pub deadline_seconds: u64 = 300, 1..=86_400;
        /// A file with more sources: a JSON array such as `[{"name": "tokyo", "baseUrl":
        /// "https://api.example.com", "intervalSeconds": 30}]`. It is read again when it changes; one
        /// that is broken then changes nothing.
        pub sources_file: Option<PathBuf> = None;
        /// Where the files with secrets for headers and URLs are.
        pub secrets_path: PathBuf = PathBuf::from("secrets");
        /// Private networks that sources of the API may ask, such as `10.0.0.0/8, ::1`. What the
        /// settings and the file of sources name may be private without this.
        pub private_networks: Networks = Networks::default();
        /// Seconds that are caught up with after a stop.
        pub catch_up_seconds: u64 = 3600, 0..=604_800;
        /// Calls a second while catching up, of all sources together.
        pub catch_up_per_second: u64 = 2000, 1..=10_000;
        /// Reads a second from one address, and twice as many at once. A school of a thousand behind
        /// one address shares it; one connection has a twentieth.
        pub reads_per_second: u32 = 2_000, 1..=10_000_000;
    }
}
