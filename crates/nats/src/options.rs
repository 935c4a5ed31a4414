//! What carries pushes between the instances of a house.

use std::path::PathBuf;

base::choice! {
    /// What carries pushes.
    pub enum Carrier {
        /// Nothing: the house stands alone.
        Process = "process",
        /// A NATS server with JetStream.
        Nats = "nats",
    }
}

base::options! {
    /// What carries pushes between instances that share a store.
    pub struct Options in "hub" {
        /// `process` for a house that stands alone, `nats` for one of several instances.
        pub carrier: Carrier = Carrier::Process;
        /// The NATS servers, which must have JetStream, with commas between them. `tls://` speaks
        /// TLS.
        pub nats_url: String = "nats://127.0.0.1:4222".to_owned();
        /// The name with which the house signs in at NATS, if it must.
        pub nats_user: Option<String> = None;
        /// The password that belongs to the name.
        pub nats_password: Option<String> = None;
        /// A file with certificates in PEM that NATS may show beside those the system trusts.
        pub nats_ca_file: Option<PathBuf> = None;
        /// Names the stream and begins its subject: one for each house at a server. Letters,
        /// digits, `-` and `_`.
        pub nats_prefix: String = "nagaya".to_owned();
    }
}
