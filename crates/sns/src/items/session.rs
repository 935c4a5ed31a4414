//! What identity remembers for a while: sessions, tickets, invitations, failed log-ins, where an
//! account has logged in, names that were given up.

use base::Timestamp;
use table::{
    BatchWrite, Delete, Get, Item, Put, Query, Return, SortCondition, TableSpec, TransactItem,
    Update, attr,
};

use super::{PK, TTL, id, key, number, owned, spec, text};
use crate::model::UserId;
use crate::model::account::{Failures, Session, fold};
use crate::model::names::{Hold, skeleton};

/// The table of sessions.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    pub(super) table: String,
}

/// What opens one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) user: UserId,
    pub(crate) session: String,
    /// When the token is over with which it was asked for.
    pub(crate) ends: Timestamp,
    /// Until when it can be used.
    pub(crate) until: Timestamp,
}

impl Sessions {
    pub(super) fn spec(&self) -> TableSpec {
        spec(&self.table).expiring_by(TTL)
    }

    /// Reads a session.
    pub(crate) fn get(&self, user: UserId, session: &str) -> Get {
        Get::new(&self.table, session_key(user, session))
    }

    /// All sessions of a user.
    pub(crate) fn query(&self, user: UserId) -> Query {
        let of = Query::new(&self.table, PK, format!("USER#{user}"));
        of.sort("SK", SortCondition::begins_with("SESSION#")).consistent()
    }

    /// Begins a session.
    pub(crate) fn put(&self, session: &Session) -> TransactItem {
        Put::new(&self.table, session_item(session)).into()
    }

    /// Goes on with a session under another refresh token, if the old one is still good.
    pub(crate) fn rotate(&self, before: &Session, after: &Session) -> Put {
        let unused = attr("refresh").eq(before.refresh.as_str());
        Put::new(&self.table, session_item(after)).when(unused)
    }

    /// Ends a session.
    pub(crate) fn delete(&self, user: UserId, session: &str) -> Delete {
        Delete::new(&self.table, session_key(user, session))
    }

    /// Remembers a ticket by its digest.
    pub(crate) fn put_ticket(&self, digest: &str, ticket: &Ticket) -> Put {
        let item = ticket_key(digest)
            .with("userId", ticket.user.to_string())
            .with("session", ticket.session.as_str())
            .with("ends", ticket.ends.millis())
            .with("until", ticket.until.millis())
            .with(TTL, ticket.until.seconds() + 1);
        Put::new(&self.table, item)
    }

    /// Takes a ticket, once.
    pub(crate) fn take_ticket(&self, digest: &str) -> Delete {
        Delete::new(&self.table, ticket_key(digest)).returning(Return::AllOld)
    }

    /// Remembers an invitation by its digest.
    pub(crate) fn put_invite(&self, digest: &str, until: Timestamp) -> Put {
        let item = invite_key(digest).with("until", until.millis()).with(TTL, until.seconds() + 1);
        Put::new(&self.table, item)
    }

    /// Reads an invitation.
    pub(crate) fn get_invite(&self, digest: &str) -> Get {
        Get::new(&self.table, invite_key(digest))
    }

    /// Uses an invitation up, if it is good.
    pub(crate) fn use_invite(&self, digest: &str, now: Timestamp) -> TransactItem {
        let good = attr("until").gt(now.millis());
        Delete::new(&self.table, invite_key(digest)).when(good).into()
    }

    /// Reads the failed guesses of an address, an account, or both.
    pub(crate) fn get_failures(&self, of: &str) -> Get {
        Get::new(&self.table, failures_key(of))
    }

    /// Counts failed guesses, if nobody counted meanwhile.
    pub(crate) fn put_failures(
        &self,
        of: &str,
        before: Option<Failures>,
        after: Failures,
    ) -> Update {
        let unchanged = match before {
            Some(before) => {
                attr("until").eq(before.until.millis()).and(attr("count").eq(before.count))
            }
            None => attr(PK).not_exists(),
        };
        Update::new(&self.table, failures_key(of))
            .set("count", after.count)
            .set("last", after.last.millis())
            .set("until", after.until.millis())
            .set(TTL, after.until.seconds() + 1)
            .when(unchanged)
    }

    /// Takes one guess back.
    pub(crate) fn discount_failure(&self, of: &str) -> Update {
        let update = Update::new(&self.table, failures_key(of)).add("count", -1_i64);
        update.when(attr("count").gt(0_u64))
    }

    /// Reads whether an account has logged in from a place.
    pub(crate) fn get_known(&self, account: &str, place: &Place) -> Get {
        Get::new(&self.table, known_key(account, place))
    }

    /// All devices from which an account has logged in.
    pub(crate) fn query_devices(&self, account: &str) -> Query {
        self.query_known(account).sort("SK", SortCondition::begins_with("D#"))
    }

    /// All places from which an account has logged in.
    pub(crate) fn query_known(&self, account: &str) -> Query {
        Query::new(&self.table, PK, format!("KNOWN#{account}")).consistent()
    }

    /// Removes an item that a query found.
    pub(crate) fn remove(&self, item: &Item) -> BatchWrite {
        let of = |name: &str| owned(item, name);
        BatchWrite::Delete { table: self.table.clone(), key: key(of(PK), of("SK")) }
    }

    /// Remembers that an account has logged in from a place.
    pub(crate) fn put_known(&self, account: &str, place: &Place, until: Timestamp) -> Put {
        let item = known_key(account, place).with("until", until.millis());
        Put::new(&self.table, item.with(TTL, until.seconds() + 1))
    }

    /// Forgets failed guesses.
    pub(crate) fn delete_failures(&self, of: &str) -> Delete {
        Delete::new(&self.table, failures_key(of))
    }

    /// Reads the holds of a name: of itself, and of what looks like it.
    pub(crate) fn get_holds(&self, username: &str) -> [Get; 2] {
        hold_keys(username).map(|key| Get::new(&self.table, key))
    }

    /// Holds a name that its owner gives up, as far as the owner's new name does not look like it.
    pub(crate) fn hold_name(
        &self,
        username: &str,
        hold: Hold,
        new: Option<&str>,
    ) -> Vec<TransactItem> {
        let kept = new.map(hold_keys);
        let given_up = |key: &Item| kept.as_ref().is_none_or(|kept| !kept.contains(key));
        let put = |key: Item| {
            let item = key.with("userId", hold.by.to_string()).with("until", hold.until.millis());
            Put::new(&self.table, item.with(TTL, hold.until.seconds() + 1)).into()
        };
        hold_keys(username).into_iter().filter(given_up).map(put).collect()
    }

    /// Lets go of a name that `user` takes; nobody else may hold it.
    pub(crate) fn release_name(
        &self,
        username: &str,
        user: UserId,
        now: Timestamp,
    ) -> [TransactItem; 2] {
        hold_keys(username).map(|key| {
            let own = attr("userId").eq(user.to_string());
            let over = attr("until").le(now.millis());
            let free = attr(PK).not_exists().or(over).or(own);
            Delete::new(&self.table, key).when(free).into()
        })
    }

    /// The changes of a user's name that count, oldest first.
    pub(crate) fn query_renames(&self, user: UserId) -> Query {
        Query::new(&self.table, PK, format!("RENAMED#{user}")).consistent()
    }

    /// Notes a change of a user's name, until it does not count any more.
    pub(crate) fn put_rename(
        &self,
        user: UserId,
        now: Timestamp,
        until: Timestamp,
    ) -> TransactItem {
        let item = key(format!("RENAMED#{user}"), now.to_string()).with("until", until.millis());
        Put::new(&self.table, item.with(TTL, until.seconds() + 1)).into()
    }
}

/// Where an account has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An address.
    Address(String),
    /// A device, by the digest of its token.
    Device(String),
}

/// The session of an item.
pub(crate) fn read(item: &Item) -> Option<Session> {
    Some(Session {
        user: id(item, "userId")?,
        id: text(item, "session")?.to_owned(),
        refresh: owned(item, "refresh"),
        created: Timestamp::from_millis(number(item, "created")),
        used: Timestamp::from_millis(number(item, "used")),
    })
}

/// The ticket of an item.
pub(crate) fn read_ticket(item: &Item) -> Option<Ticket> {
    Some(Ticket {
        user: id(item, "userId")?,
        session: text(item, "session")?.to_owned(),
        ends: Timestamp::from_millis(number(item, "ends")),
        until: Timestamp::from_millis(number(item, "until")),
    })
}

/// Until when an account is known at a place, an invitation is good, or a change of a name counts.
pub(crate) fn read_until(item: &Item) -> Timestamp {
    Timestamp::from_millis(number(item, "until"))
}

/// The failures of an item.
pub(crate) fn read_failures(item: &Item) -> Failures {
    // Rows from before there were delays have no `last`; they lapse within ten minutes.
    let [last, until] = ["last", "until"].map(|name| Timestamp::from_millis(number(item, name)));
    Failures { count: number(item, "count"), last, until }
}

/// The hold of an item.
pub(crate) fn read_hold(item: &Item) -> Option<Hold> {
    Some(Hold { by: id(item, "userId")?, until: read_until(item) })
}

fn session_item(session: &Session) -> Item {
    session_key(session.user, &session.id)
        .with("userId", session.user.to_string())
        .with("session", session.id.as_str())
        .with("refresh", session.refresh.as_str())
        .with("created", session.created.millis())
        .with("used", session.used.millis())
        .with(TTL, session.ends().seconds() + 1)
}

fn session_key(user: UserId, session: &str) -> Item {
    key(format!("USER#{user}"), format!("SESSION#{session}"))
}

fn ticket_key(digest: &str) -> Item {
    key(format!("TICKET#{digest}"), "TICKET")
}

fn invite_key(digest: &str) -> Item {
    key(format!("INVITE#{digest}"), "INVITE")
}

fn known_key(account: &str, place: &Place) -> Item {
    let place = match place {
        Place::Address(address) => format!("A#{address}"),
        Place::Device(digest) => format!("D#{digest}"),
    };
    key(format!("KNOWN#{account}"), place)
}

fn hold_keys(username: &str) -> [Item; 2] {
    let (name, look) = (fold(username), skeleton(username));
    [format!("HELD#NAME#{name}"), format!("HELD#LOOK#{look}")].map(|pk| key(pk, "HELD"))
}

fn failures_key(of: &str) -> Item {
    key(format!("FAIL#{of}"), "FAIL")
}
