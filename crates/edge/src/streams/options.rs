//! What bounds a stream.

base::options! {
    /// What bounds WebSockets, event streams and polls.
    pub struct StreamOptions in "stream" {
        /// Bytes of one message that a client sends over a WebSocket.
        pub message_bytes_max: usize = 131_072, 1_024..=16_777_216;
        /// Pushes that wait for one slow reader; what comes after is left to history.
        pub queue_pushes_max: usize = 1_024, 16..=1_000_000;
        /// Bytes that wait for one slow reader.
        pub queue_bytes_max: usize = 1_048_576, 65_536..=1_073_741_824;
        /// Bytes that the system keeps for one slow reader beside the queue.
        pub send_buffer_bytes: usize = 65_536, 4_096..=16_777_216;
        /// Seconds between signs of life that the house sends.
        pub ping_seconds: u64 = 25, 1..=3_600;
        /// Seconds of silence after which a WebSocket is taken for dead.
        pub idle_seconds: u64 = 60, 2..=86_400;
        /// Seconds over which streams are told to go when the house closes, so that not all come
        /// back at once.
        pub close_spread_seconds: u64 = 5, 0..=3_600;
    }
}
