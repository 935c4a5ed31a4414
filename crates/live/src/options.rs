//! What can be set about the live room.

base::options! {
    /// The live room: comments of an audience on the presenter's screen.
    pub struct Options in "live" {
        /// Part of the tables' names, so that trials and the real thing share a store: lower-case
        /// letters, digits and hyphens.
        pub environment: String = "prod".to_owned();
        /// Days after its last comment or change that a room is removed with everything in it.
        /// 0: rooms are kept until their host deletes them.
        pub retention_days: u64 = 0, 0..=36_500;
        /// Characters of a comment.
        pub comment_graphemes_max: usize = 200, 1..=2_000;
        /// Bytes of a comment.
        pub comment_bytes_max: usize = 2_048, 16..=16_384;
        /// Comments a second from one address, whoever sends them, and four times as many at
        /// once. An audience behind one address shares it.
        pub address_comments_per_second: u32 = 100, 1..=1_000_000;
    }
}
