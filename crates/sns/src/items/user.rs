//! Users, their names and their passwords.
//!
//! Invariant: an address, a username, what it looks like and an identity of another issuer are
//! claimed by items of their own, in the transaction that writes the profile. The indexes serve
//! looking up. Of users from before looks were claimed, the first of those that look alike has the
//! claim.

use base::Timestamp;
use table::{
    Check, Delete, Get, Item, KeyAttribute, KeySpec, Partition, Put, Query, Scan, TableSpec,
    TransactItem, Update, attr,
};

use super::{GSI1PK, PK, SK, digest, id, key, number, owned, spec, text, time};
use crate::model::UserId;
use crate::model::account::{Card, User, fold};
use crate::model::names::skeleton;

const BY_EMAIL: &str = "email-index";
const BY_NAME: &str = "username-index";
const GSI2PK: &str = "GSI2PK";
const PROFILE: &str = "PROFILE";
const ACCOUNTS: &str = "accounts";
const LOOKS: &str = "looksClaimed";

/// The table of users.
#[derive(Clone, Debug)]
pub(crate) struct Users {
    pub(super) table: String,
}

impl Users {
    pub(super) fn spec(&self) -> TableSpec {
        spec(&self.table)
            .index(BY_EMAIL, KeySpec::simple(KeyAttribute::s(GSI1PK)))
            .index(BY_NAME, KeySpec::simple(KeyAttribute::s(GSI2PK)))
    }

    /// All that is a user's.
    pub(crate) fn partition(&self, user: UserId) -> Partition<'_> {
        Partition::new(&self.table, user_pk(user))
    }

    /// Reads a profile (AP-U1).
    pub(crate) fn get(&self, user: UserId) -> Get {
        Get::new(&self.table, profile_key(user))
    }

    /// Whether an item of a reading over several tables is one of these.
    pub(crate) fn is_mine(&self, table: &str) -> bool {
        table == self.table
    }

    /// Finds the user with an address (AP-U2).
    pub(crate) fn query_email(&self, email: &str) -> Query {
        Query::new(&self.table, GSI1PK, fold(email)).index(BY_EMAIL).limit(1)
    }

    /// Finds the user with a name (AP-U3).
    pub(crate) fn query_name(&self, username: &str) -> Query {
        Query::new(&self.table, GSI2PK, fold(username)).index(BY_NAME).limit(1)
    }

    /// The user must be there.
    pub(crate) fn exists(&self, user: UserId) -> TransactItem {
        Check::new(&self.table, profile_key(user), attr(PK).exists()).into()
    }

    /// Reads whose a name is, and whose what it looks like.
    pub(crate) fn get_claims(&self, username: &str) -> [Get; 2] {
        [name_key(username), look_key(username)].map(|key| Get::new(&self.table, key))
    }

    /// Makes a user: the profile, then the claims of address, name and look, each if nobody has it.
    pub(crate) fn put_new(&self, user: &User) -> [TransactItem; 4] {
        let free = || attr(PK).not_exists();
        [
            Put::new(&self.table, profile(user)).when(free()).into(),
            self.claim(email_key(&user.email), user.id),
            self.claim(name_key(&user.username), user.id),
            self.claim(look_key(&user.username), user.id),
        ]
    }

    /// Claims the look of the name of a user from before looks were claimed.
    pub(crate) fn claim_look(&self, username: &str, user: UserId) -> TransactItem {
        self.claim(look_key(username), user)
    }

    fn claim(&self, key: Item, user: UserId) -> TransactItem {
        let item = key.with("userId", user.to_string());
        Put::new(&self.table, item).when(attr(PK).not_exists()).into()
    }

    /// Changes a user, if it is still as it was.
    pub(crate) fn change(&self, before: &User, after: &User) -> TransactItem {
        Put::new(&self.table, profile(after)).when(same(before)).into()
    }

    /// Claims what is new of a name: the name itself, and what it looks like.
    pub(crate) fn claim_name(&self, before: &User, after: &User) -> Vec<TransactItem> {
        let (old, new) = (&before.username, &after.username);
        let pairs = [(name_key(old), name_key(new)), (look_key(old), look_key(new))];
        let new = pairs.into_iter().filter(|(old, new)| old != new).map(|(_, new)| new);
        new.map(|key| self.claim(key, after.id)).collect()
    }

    /// Gives up what a changed name leaves behind: the name itself, and what it looked like, if the
    /// user `has_look`.
    pub(crate) fn leave_name(
        &self,
        before: &User,
        after: &User,
        has_look: bool,
    ) -> Vec<TransactItem> {
        let (old, new) = (&before.username, &after.username);
        let mut pairs = vec![(name_key(old), name_key(new))];
        pairs.extend(has_look.then(|| (look_key(old), look_key(new))));
        let left = pairs.into_iter().filter(|(old, new)| old != new);
        left.map(|(old, _)| self.disclaim(old, before.id)).collect()
    }

    fn disclaim(&self, key: Item, user: UserId) -> TransactItem {
        Delete::new(&self.table, key).when(attr("userId").eq(user.to_string())).into()
    }

    /// Removes a user with its claims and its `credential`, if it is still as it was. It `has_look`
    /// if what its name looks like is its own claim.
    pub(crate) fn delete(
        &self,
        user: &User,
        credential: Option<&Item>,
        has_look: bool,
    ) -> Vec<TransactItem> {
        let delete = |key: Item| Delete::new(&self.table, key).into();
        let mut writes = vec![
            Delete::new(&self.table, profile_key(user.id)).when(same(user)).into(),
            delete(email_key(&user.email)),
            delete(name_key(&user.username)),
            delete(credential_key(user.id)),
        ];
        writes.extend(has_look.then(|| self.disclaim(look_key(&user.username), user.id)));
        let identity = credential.and_then(|credential| text(credential, "identity"));
        writes.extend(identity.map(|digest| delete(identity_key(digest))));
        writes
    }

    /// Whose an identity of another issuer is.
    pub(crate) fn get_identity(&self, issuer: &str, subject: &str) -> Get {
        Get::new(&self.table, identity_key(&identity(issuer, subject)))
    }

    /// Claims an identity of another issuer, by which the user is known again.
    pub(crate) fn put_identity(
        &self,
        issuer: &str,
        subject: &str,
        user: UserId,
    ) -> Vec<TransactItem> {
        let identity = identity(issuer, subject);
        let known = credential_key(user).with("identity", identity.as_str());
        vec![self.claim(identity_key(&identity), user), Put::new(&self.table, known).into()]
    }

    /// Reads by what a user is known again.
    pub(crate) fn get_credential(&self, user: UserId) -> Get {
        Get::new(&self.table, credential_key(user))
    }

    /// Keeps the hash of a password.
    pub(crate) fn put_credential(&self, user: UserId, hash: &str) -> TransactItem {
        Put::new(&self.table, credential_key(user).with("hash", hash)).into()
    }

    /// Changes the hash of a password, if it is still the one that was compared.
    pub(crate) fn change_credential(&self, user: UserId, old: &str, new: &str) -> TransactItem {
        let update = Update::new(&self.table, credential_key(user)).set("hash", new);
        update.when(attr("hash").eq(old)).into()
    }

    /// Counts one more account, if there are fewer than `max`.
    pub(crate) fn count_account(&self, max: u64) -> TransactItem {
        let free = attr(ACCOUNTS).not_exists().or(attr(ACCOUNTS).lt(max));
        Update::new(&self.table, total_key()).add(ACCOUNTS, 1_u64).when(free).into()
    }

    /// Counts one account less.
    pub(crate) fn discount_account(&self) -> TransactItem {
        Update::new(&self.table, total_key()).add(ACCOUNTS, -1_i64).into()
    }

    /// Reads how many accounts are counted.
    pub(crate) fn get_accounts(&self) -> Get {
        Get::new(&self.table, total_key())
    }

    /// Corrects that number, if it is still the one that was read.
    pub(crate) fn put_accounts(&self, counted: Option<u64>, found: u64) -> Update {
        let unchanged = match counted {
            Some(counted) => attr(ACCOUNTS).eq(counted),
            None => attr(ACCOUNTS).not_exists(),
        };
        Update::new(&self.table, total_key()).set(ACCOUNTS, found).when(unchanged)
    }

    /// Notes that the looks of all names are claimed.
    pub(crate) fn note_looks(&self) -> Update {
        Update::new(&self.table, total_key()).set(LOOKS, true)
    }

    /// The names of all users, page by page.
    pub(crate) fn scan_names(&self) -> Scan {
        let scan = Scan::new(&self.table).filter(attr(SK).eq(PROFILE));
        scan.project([attr("userId"), attr("username")])
    }

    /// Some items of users, as many as `limit`: profiles, and what lies among them.
    pub(crate) fn scan_people(&self, limit: u32) -> Scan {
        Scan::new(&self.table).limit(limit)
    }

    /// The ids of all users, page by page.
    pub(crate) fn scan_ids(&self) -> Scan {
        let scan = Scan::new(&self.table).filter(attr(SK).eq(PROFILE));
        scan.project([attr("userId")])
    }
}

/// The user of an item.
pub(crate) fn read(item: &Item) -> Option<User> {
    Some(User {
        id: id(item, "userId")?,
        email: owned(item, "email"),
        username: owned(item, "username"),
        display_name: owned(item, "displayName"),
        bio: owned(item, "bio"),
        created: time(item, "createdAt")?,
        updated: time(item, "updatedAt")?,
    })
}

/// What stands beside the posts of an item's user.
pub(crate) fn read_card(item: &Item) -> Option<Card> {
    Some(Card {
        id: id(item, "userId")?,
        username: owned(item, "username"),
        display_name: owned(item, "displayName"),
    })
}

/// The user and the name of an item of `scan_names`.
pub(crate) fn read_name(item: &Item) -> Option<(UserId, String)> {
    Some((id(item, "userId")?, owned(item, "username")))
}

/// Whether the looks of all names are claimed.
pub(crate) fn has_looks(item: Option<&Item>) -> bool {
    item.and_then(|item| item.get(LOOKS)) == Some(&table::Value::Bool(true))
}

/// The user that a claim or a profile names.
pub(crate) fn read_id(item: &Item) -> Option<UserId> {
    id(item, "userId")
}

/// How many accounts are counted; nothing before the first count.
pub(crate) fn read_accounts(item: Option<&Item>) -> Option<u64> {
    let item = item.filter(|item| item.get(ACCOUNTS).is_some())?;
    Some(number(item, ACCOUNTS))
}

/// The hash of a password.
pub(crate) fn read_hash(item: &Item) -> Option<String> {
    text(item, "hash").map(str::to_owned)
}

fn same(user: &User) -> table::Condition {
    attr("updatedAt").eq(user.updated.to_string())
}

fn profile(user: &User) -> Item {
    profile_key(user.id)
        .with("userId", user.id.to_string())
        .with("email", user.email.as_str())
        .with("username", user.username.as_str())
        .with("displayName", user.display_name.as_str())
        .with("bio", user.bio.as_str())
        .with("createdAt", iso(user.created))
        .with("updatedAt", iso(user.updated))
        .with(GSI1PK, fold(&user.email))
        .with(GSI2PK, fold(&user.username))
}

fn iso(time: Timestamp) -> String {
    time.to_string()
}

fn user_pk(user: UserId) -> String {
    format!("USER#{user}")
}

/// What the whole house holds.
fn total_key() -> Item {
    key("TOTAL".to_owned(), "TOTAL")
}

fn profile_key(user: UserId) -> Item {
    key(user_pk(user), PROFILE)
}

fn credential_key(user: UserId) -> Item {
    key(user_pk(user), "CREDENTIAL")
}

fn email_key(email: &str) -> Item {
    key(format!("EMAIL#{}", fold(email)), "CLAIM")
}

fn name_key(username: &str) -> Item {
    key(format!("NAME#{}", fold(username)), "CLAIM")
}

fn look_key(username: &str) -> Item {
    key(format!("LOOK#{}", skeleton(username)), "CLAIM")
}

/// Issuers and subjects may hold anything, so both go by their digest.
fn identity(issuer: &str, subject: &str) -> String {
    digest(&format!("{}#{issuer}#{subject}", issuer.len()))
}

fn identity_key(digest: &str) -> Item {
    key(format!("ISSUER#{digest}"), "CLAIM")
}
