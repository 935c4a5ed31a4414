//! Where the room lives. Every table's name has the environment in it: `mini-sns-{env}-user-ddb`.
//!
//! ```text
//!   user      USER#<user>      PROFILE           a user; email-index, username-index
//!             USER#<user>      CREDENTIAL        the hash of its password, or its identity elsewhere
//!             EMAIL#<folded>   CLAIM             whose the address is
//!             NAME#<folded>    CLAIM             whose the username is
//!             LOOK#<skeleton>  CLAIM             whose a username is that looks like this
//!             ISSUER#<digest>  CLAIM             whose an identity of another issuer is
//!   session   USER#<user>      SESSION#<id>      a log-in that lasts, until `ttl`
//!             TICKET#<digest>  TICKET            opens one stream
//!             INVITE#<digest>  INVITE            lets one register
//!             FAIL#<of>        FAIL              failed guesses of an address, an account, or both
//!             KNOWN#<account>  A#, D#<digest>    an address or device that the account logged in from
//!             HELD#NAME#, HELD#LOOK#             a username that was given up, and by whom
//!             RENAMED#<user>   <time>            a change of a username
//!   post      POST#<post>      METADATA          a post; user-posts-index
//!             USER#<user>      COUNTS            how many posts
//!   social    USER#<user>      FOLLOW#<user>     a follow; reverse-index: USER#, FOLLOWER#
//!             USER#<user>      LIKE#<post>       a like; reverse-index: POST#, LIKE#
//!             USER#<user>      BLOCK#<user>      reverse-index: USER#, BLOCKER#
//!             USER#<user>      MUTE#<user>       reverse-index: USER#, MUTER#
//!             USER#<user>      COUNTS            how many of all these, and the circle's version
//!   timeline  USER#<user>      POST#<time>#<id>  an entry, until `ttl`
//!             USER#<user>      NOTE#<time>#<id>  a notification, until `ttl`
//!             USER#<user>      READ              up to where notifications are read
//!             PULLED           USER#<user>       an author who is merged in at read
//! ```
//!
//! The four tables are the seed's; what it has no place for and what must expire lies in the fifth.
//! Processed events are marked by the bus, in its own table, for longer than the seed's day.
//! Times that stand in keys have one width. One file for each service; no service reads another
//! one's table, and what it needs of another's in a transaction is a function of that one's file.

pub(crate) mod facts;
pub(crate) mod meter;
pub(crate) mod post;
pub(crate) mod session;
pub(crate) mod social;
pub(crate) mod timeline;
pub(crate) mod user;

use std::str::FromStr;

use base::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use table::{Item, KeyAttribute, KeySpec, Secret, TableSpec};

use self::post::Posts;
use self::session::Sessions;
use self::social::Social;
use self::timeline::Timelines;
use self::user::Users;
use crate::error::Error;

/// What nobody is shown, in every environment: what users are known again by, and the digests of
/// tokens, tickets and invitations.
pub const SECRETS: &[Secret] = &[
    Secret::attributes("mini-sns-*-user-ddb", &["hash", "identity"]),
    Secret::table("mini-sns-*-session-ddb"),
];

/// The tables of one environment.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) users: Users,
    pub(crate) sessions: Sessions,
    pub(crate) posts: Posts,
    pub(crate) social: Social,
    pub(crate) timelines: Timelines,
}

impl Layout {
    /// The tables of this environment.
    pub(crate) fn new(environment: &str) -> Result<Layout, Error> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !(1..=20).contains(&environment.len()) || !environment.bytes().all(fits) {
            return Err(Error::Settings(format!(
                "`sns.environment` must be 1 to 20 lower-case letters, digits and hyphens, not \
                 `{environment}`"
            )));
        }
        let name = |service: &str| format!("mini-sns-{environment}-{service}-ddb");
        Ok(Layout {
            users: Users { table: name("user") },
            sessions: Sessions { table: name("session") },
            posts: Posts { table: name("post") },
            social: Social { table: name("social") },
            timelines: Timelines { table: name("timeline") },
        })
    }

    /// The tables, for the store to make.
    pub(crate) fn tables(&self) -> [TableSpec; 5] {
        [
            self.users.spec(),
            self.sessions.spec(),
            self.posts.spec(),
            self.social.spec(),
            self.timelines.spec(),
        ]
    }
}

/// What is kept of a secret.
pub(crate) fn digest(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(secret))
}

const PK: &str = "PK";
const SK: &str = "SK";
const GSI1PK: &str = "GSI1PK";
const GSI1SK: &str = "GSI1SK";
const TTL: &str = "ttl";

fn spec(table: &str) -> TableSpec {
    TableSpec::new(table, KeySpec::composite(KeyAttribute::s(PK), KeyAttribute::s(SK)))
}

/// An index by the first pair of index attributes.
fn by_first() -> KeySpec {
    KeySpec::composite(KeyAttribute::s(GSI1PK), KeyAttribute::s(GSI1SK))
}

fn key(pk: impl Into<String>, sk: impl Into<String>) -> Item {
    Item::new().with(PK, pk.into()).with(SK, sk.into())
}

fn text<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.get(name)?.as_s()
}

fn owned(item: &Item, name: &str) -> String {
    text(item, name).unwrap_or_default().to_owned()
}

fn id<T: FromStr>(item: &Item, name: &str) -> Option<T> {
    text(item, name)?.parse().ok()
}

fn number(item: &Item, name: &str) -> u64 {
    item.get(name).and_then(|value| value.as_n()?.floor_u64()).unwrap_or_default()
}

fn time(item: &Item, name: &str) -> Option<Timestamp> {
    text(item, name)?.parse().ok()
}

/// The sort key of an item that an index or a query answered.
pub(crate) fn sort_key(item: &Item) -> &str {
    text(item, SK).unwrap_or_default()
}
