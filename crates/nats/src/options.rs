//! The settings of the carrier.

use std::path::PathBuf;

base::choice! {
    /// The carrier of pushes.
    pub enum Carrier {
        /// The process itself: there is a single instance.
        Process = "process",
        /// A NATS server with JetStream.
        Nats = "nats",
    }
}

base::options! {
    /// How pushes reach the other instances on the same store.
    pub struct Options in "hub" {
        /// `process` for a single instance, `nats` for one of several instances.
        pub carrier: Carrier = Carrier::Process;
        /// The NATS servers, separated by commas. They need JetStream. `tls://` uses TLS.
        pub nats_url: String = "nats://127.0.0.1:4222".to_owned();
        /// The user name at NATS, if NATS requires one.
        pub nats_user: Option<String> = None;
        /// The password of this user.
        pub nats_password: Option<String> = None;
        /// A PEM file with certificates to trust for NATS, in addition to those of the system.
        pub nats_ca_file: Option<PathBuf> = None;
        /// The name of the stream and the start of its subject: a different one for each Nagaya
        /// server that uses the same NATS. Letters, digits, `-` and `_`.
        pub nats_prefix: String = "nagaya".to_owned();
    }
}
