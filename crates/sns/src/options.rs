//! What can be set about the sns room.

use std::path::PathBuf;

base::choice! {
    /// Who may register.
    pub enum Registration {
        /// Everybody.
        Open = "open",
        /// Who has a code that the operator made.
        Invite = "invite",
        /// Nobody.
        Closed = "closed",
    }
}

base::options! {
    /// A small social network.
    pub struct Options in "sns" {
        /// Part of the tables' names, so that trials and the real thing share a store: lower-case
        /// letters, digits and hyphens.
        pub environment: String = "prod".to_owned();
        /// Who may register: `open`, `invite` (with a code that the operator made) or `closed`.
        pub registration: Registration = Registration::Open;
        /// Who issues the room's tokens: the `iss` of each of them, best the address of the room
        /// as clients see it.
        pub issuer: String = "nagaya-sns".to_owned();
        /// A file with other issuers whose tokens open an account here: a JSON array such as
        /// `[{"issuer": "https://id.example", "audience": "nagaya", "jwks": {"keys": []}}]`. It is
        /// read again when it changes.
        pub issuers_file: Option<PathBuf> = None;
        /// Followers from which on an author's posts are not written into every follower's
        /// timeline, but merged in when one is read.
        pub push_threshold: u64 = 10_000, 1..=1_000_000_000;
        /// Requests a second of one user, and twice as many at once.
        pub requests_per_second: u32 = 100, 1..=10_000_000;
        /// Requests a second from one address that act for no user yet: log-ins, registrations,
        /// tokens that are new to the house, and streams that open. Twice as many at once. A school
        /// of a thousand behind one address shares it; one connection has a twentieth.
        pub address_requests_per_second: u32 = 1_000, 1..=10_000_000;
        /// Accounts that callers of one address register in an hour, and as many at once. One
        /// connection has a twentieth of it.
        pub address_registrations_per_hour: u32 = 1_000, 1..=10_000_000;
        /// Accounts of the whole house. The next registration is refused (507 `accounts_full`).
        pub accounts_max: u64 = 100_000, 1..=1_000_000_000_000;
        /// Posts a minute of one user.
        pub posts_per_minute: u32 = 10, 1..=10_000_000;
        /// Follows a minute of one user.
        pub follows_per_minute: u32 = 10, 1..=10_000_000;
        /// Failed log-ins to one account from one address after which the next is delayed by five
        /// seconds; each further failure doubles the delay, up to fifteen minutes. An account bears
        /// four times as many from all addresses before log-ins are delayed where it has never
        /// logged in, by up to a minute; an address a hundred times as many to all accounts in ten
        /// minutes. The same holds for wrong present passwords when one is changed.
        pub login_failures_max: u64 = 5, 1..=1_000_000;
    }
}
