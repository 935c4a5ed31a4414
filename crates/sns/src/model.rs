//! What the room's things are, and what is decided about them.
//!
//! Four services, one file each: `account.rs` (users and their sessions; `names.rs` says which names
//! can be had), `post.rs`, `social.rs` (follows, likes, blocks, mutes) and `timeline.rs`.

pub(crate) mod account;
pub(crate) mod names;
pub(crate) mod post;
pub(crate) mod social;
pub(crate) mod timeline;

use std::fmt;
use std::str::FromStr;

use base::Uuid;

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub(crate) Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = ();

            /// Reads the one spelling that ids have.
            fn from_str(text: &str) -> Result<$name, ()> {
                let id = Uuid::try_parse(text).map_err(drop)?;
                let is_plain = text.len() == 36 && !text.bytes().any(|b| b.is_ascii_uppercase());
                is_plain.then_some($name(id)).ok_or(())
            }
        }
    )+};
}

ids! {
    /// Names a user for all time.
    UserId;
    /// Names a post for all time; those made later are greater.
    PostId;
}

impl UserId {
    /// Its one spelling, in memory that the caller has: a post goes to many users.
    pub(crate) fn spell<'b>(&self, buffer: &'b mut [u8; 36]) -> &'b str {
        self.0.hyphenated().encode_lower(buffer)
    }
}
