//! What can be set about the score room.

use std::path::PathBuf;

base::options! {
    /// Game rankings behind a strict edge.
    pub struct Options in "score" {
        /// A file with the games: a JSON array such as `[{"gameName": "snake", "sort": [{"by":
        /// "score", "dir": "desc"}], "topN": 100}]`. It is read again when it changes; what is
        /// broken in it is told, and the games stay as they were.
        pub games_file: Option<PathBuf> = None;
        /// The zone in which months begin and end.
        pub time_zone: String = "UTC".to_owned();
        /// What a proxy in front of the house must send as `X-Edge-Auth`. Nothing: no proxy is
        /// asked for.
        pub edge_auth: String = String::new();
        /// Submissions a second to one game from one user.
        pub submits_per_second: u32 = 2, 1..=1_000_000;
        /// Submissions to one game that a rested user may send at once.
        pub submits_at_once: u32 = 5, 1..=1_000_000;
        /// Submissions a second to one game from one address, whoever plays there, and twice as many
        /// at once. A school of a thousand behind one address shares it.
        pub address_submits_per_second: u32 = 500, 1..=10_000_000;
        /// Reads of boards a second from one address, and twice as many at once. Beginnings and ends
        /// of plays have as much for themselves. One connection has a twentieth of either.
        pub reads_per_second: u32 = 2_000, 1..=10_000_000;
        /// Rows of one board beyond which it is trimmed at once, and not only at night. Boards that
        /// show more keep what they show.
        pub board_rows_max: usize = 1_000_000, 1_000..=1_000_000_000;
        /// Seconds after which a board in memory that is asked for or watched is compared with the
        /// store again. Changes reach it at once; this is for what another instance did while nobody
        /// carried the word.
        pub board_refresh_seconds: u64 = 600, 1..=86_400;
    }
}
