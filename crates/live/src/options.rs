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
        /// Comments a second of all signed participants of one address, and four times as many at
        /// once. A venue of a thousand behind one address shares it. All other callers of the
        /// address have as much, apart from these; of that, callers without any name have a fifth.
        pub address_comments_per_second: u32 = 500, 1..=1_000_000;
        /// Participants that the server signs for one address in an hour, and as many at once.
        /// Renewing one is not counted. One connection has a twentieth of it.
        pub address_participants_per_hour: u32 = 4_000, 1..=10_000_000;
        /// Rooms that all signed participants of one address join in a second, by socket or stream,
        /// and forty times as many at once. All other callers of the address have as much.
        pub address_joins_per_second: u32 = 500, 1..=1_000_000;
        /// What one host says and does in its room in a second, and ten times as much at once. All
        /// hosts of one address with a signed participant together have ten times as much, and so
        /// have all others.
        pub host_requests_per_second: u32 = 100, 1..=1_000_000;
        /// Rooms that all signed participants of one address open in an hour, and as many at once.
        /// All other callers of the address have as much.
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
