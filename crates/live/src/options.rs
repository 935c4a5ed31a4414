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
        /// once. A venue of a thousand behind one address shares it. Callers that send no name of
        /// their own have a fifth of it.
        pub address_comments_per_second: u32 = 500, 1..=1_000_000;
        /// What one host says and does in its room in a second, and ten times as much at once. All
        /// hosts of one address together have ten times as much.
        pub host_requests_per_second: u32 = 100, 1..=1_000_000;
        /// Rooms that callers of one address open in an hour, and as many at once.
        pub address_rooms_per_hour: u32 = 200, 1..=10_000_000;
        /// Rooms of the whole house, open and closed. The next one is refused (507 `rooms_full`).
        pub rooms_max: u64 = 100_000, 1..=1_000_000_000;
        /// Days after which a room is removed in which nobody ever commented and whose host changed
        /// nothing. 0: such rooms are kept too.
        pub unused_room_days: u64 = 7, 0..=36_500;
        /// Comments of one room, with the changes of its host. The next comment is refused (409
        /// `room_full`).
        pub comments_per_room_max: u64 = 200_000, 1..=1_000_000_000;
        /// Comments of all rooms of the house, counted every hour. The next one is refused (507
        /// `comments_full`).
        pub comments_max: u64 = 10_000_000, 1..=1_000_000_000_000;
    }
}
