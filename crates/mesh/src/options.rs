//! What can be set about the mesh.

base::choice! {
    /// How long groups and their members live.
    pub enum Profile {
        /// Heartbeats of 30 s and 120 s, groups of 50 min.
        Production = "production",
        /// Heartbeats of 15 s, groups of 10 min.
        Development = "development",
    }
}

base::choice! {
    /// Who may speak in a group.
    pub enum Membership {
        /// Its host, and who has joined it.
        Members = "members",
        /// Everyone who knows it.
        Open = "open",
    }
}

base::choice! {
    /// What a caller's domain looks like.
    pub enum DomainForm {
        /// The public address, of IPv6 the first 64 bits.
        Address = "address",
        /// A checksum of the secret and that address, or of the secret and the site.
        Hashed = "hashed",
    }
}

base::options! {
    /// The mesh: groups of Scratch and Smalruby projects.
    pub struct Options in "mesh" {
        /// The key that clients send as `x-api-key`. Nothing: one is made at the first start.
        pub api_key: String = String::new();
        /// Heartbeats and the longest life of a group: `production` (30 s, 120 s, 50 min) or
        /// `development` (15 s, 15 s, 10 min).
        pub profile: Profile = Profile::Production;
        /// Who may report and fire: `members`, or `open` for everyone who knows the group.
        pub membership: Membership = Membership::Members;
        /// What a caller's domain is: its public `address`, of IPv6 the first 64 bits, or that
        /// address `hashed`, and the site of private callers too.
        pub domain: DomainForm = DomainForm::Address;
        /// The domain of all callers with a private address: one classroom.
        pub site: String = "local".to_owned();
        /// Goes into hashed domains, so that nobody can tell the address from them.
        pub domain_secret: String = String::new();
        /// Nodes in one group, the host not counted unless it joined. A class is forty; a report
        /// goes to every member, so the cost of a lesson grows with the square of this number.
        pub nodes_per_group: u32 = 40, 1..=1_000;
        /// Requests a second from one address, and twice as many at once. A school of a thousand
        /// behind one address reports fifteen times a second from each; this is a third more. One
        /// connection has a twentieth of it.
        pub requests_per_second: u32 = 20_000, 1..=10_000_000;
        /// Calls a second of one node in its group, and ten times as many at once. A node reports
        /// fifteen times a second, and fires events and heartbeats beside that.
        pub node_requests_per_second: u32 = 30, 1..=1_000_000;
        /// Seconds that events can be polled.
        pub event_retention_seconds: u64 = 60, 1..=86_400;
        /// Whether clients may ask for the schema.
        pub introspection: bool = true;
    }
}
