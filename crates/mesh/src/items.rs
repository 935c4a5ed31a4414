//! Where the mesh lives.
//!
//! ```text
//!   table MeshV2Table
//!   pk                   sk                      item
//!   DOMAIN#<domain>      GROUP#<id>#METADATA     a group
//!   DOMAIN#<domain>      HOST#<host>             the group that this host has, so that it has one
//!   DOMAIN#<domain>      LABEL#<node>            the name that a teacher gave to a node
//!   GROUP#<id>@<domain>  NODE#<node>             a member
//!   GROUP#<id>@<domain>  EVENT#<time>#<number>   an event
//!   NODE#<node>@<id>     STATUS#LATEST           what a node reported, merged
//!
//!   index GSI1   GSI1PK DOMAIN#<domain>        GSI1SK GROUP#<created>    groups of a domain
//!                GSI1PK GROUP#<id>@<domain>    GSI1SK STATUS#<node>      statuses of a group
//!   index GSI2   GSI2PK NAME#<first>           GSI2SK <name>#<id>        groups by name
//!                GSI2PK NODE#<node>            GSI2SK <id>@<domain>      statuses of a node
//! ```
//!
//! The drawing is the seed's. Its key of a status has no tenant; here it has the group's id, which the
//! server makes, so that two schools with equal node ids stay apart. Attributes that the seed does not
//! have: milliseconds where the seed has seconds (`expiresAtMs`, `hostLease`, `lease`, `joinedAt`),
//! what conditions compare (`joins`, `eventMs`, `eventNumber`, `version`), `since` and `times` of a
//! status, `firedAt` and `orderKey` of an event, `hostSecret` of a group: a digest, which is shown to
//! the operator like the rest, because the operator ends groups anyway.
//!
//! `ttl` is when the store may forget an item, not when it lapses: items stay a while after their
//! end, so that a late call is told what happened.

mod labels;
mod statuses;

use base::Timestamp;
use table::{
    Check, Condition, Delete, Get, Item, KeyAttribute, KeySpec, Put, Query, Scan, SortCondition,
    TableSpec, TransactItem, Update, Value, attr,
};

use crate::limits::{AFTERLIFE_SECONDS, EVENTS_PER_READ, EVENTS_PER_WRITE};
use crate::model::{Cursor, Event, Group, GroupKey, Node, Status};

pub(crate) use self::labels::{delete_label, put_label, query_labels, read_label};
use self::statuses::write_status;
pub(crate) use self::statuses::{
    Saved, get_status, put_status, query_groups_of, query_statuses, read_key_of_group, read_status,
    read_statuses,
};

const TABLE: &str = "MeshV2Table";
const BY_DOMAIN: &str = "GSI1";
const BY_GROUP: &str = "GSI1";
const BY_NAME: &str = "GSI2";
const BY_NODE: &str = "GSI2";
/// The sort key of a status.
const LATEST: &str = "STATUS#LATEST";

/// The tables of earlier versions. Their rows live an hour at most, so they are not read: they go when
/// their rows have expired.
pub(crate) const OLD_TABLES: [&str; 2] = ["mesh", "mesh-status"];
/// The one of them that held the key of a class.
pub(crate) const OLD_TABLE: &str = "mesh";

/// One item, if there is any.
pub(crate) fn scan_first() -> Scan {
    Scan::new(TABLE).limit(1)
}

/// The table, for the store to make.
pub(crate) fn table() -> TableSpec {
    let key = |pk, sk| KeySpec::composite(KeyAttribute::s(pk), KeyAttribute::s(sk));
    TableSpec::new(TABLE, key("pk", "sk"))
        .index(BY_DOMAIN, key("GSI1PK", "GSI1SK"))
        .index(BY_NAME, key("GSI2PK", "GSI2SK"))
        .expiring_by("ttl")
}

// Tables of earlier versions

/// Whether a table of an old name is one of ours, and not one that somebody made under that name.
pub(crate) fn is_old_layout(spec: &TableSpec) -> bool {
    let own = table();
    spec.key == own.key && spec.ttl == own.ttl && spec.find_index(BY_DOMAIN).is_some()
}

/// Whatever of an old table has not expired.
pub(crate) fn scan_old(table: &str, now: Timestamp) -> Scan {
    let lives = attr("ttl").not_exists().or(attr("ttl").gt(now.seconds()));
    Scan::new(table).filter(lives).project([attr("pk")])
}

/// Reads the key that a class shares, where earlier versions kept it.
pub(crate) fn get_key() -> Get {
    Get::new(OLD_TABLE, room_key())
}

/// Removes it from there.
pub(crate) fn delete_key() -> Delete {
    Delete::new(OLD_TABLE, room_key())
}

/// The key in its item.
pub(crate) fn read_key(item: &Item) -> Option<String> {
    text(item, "key")
}

fn room_key() -> Item {
    Item::new().with("pk", "ROOM").with("sk", "KEY")
}

// Groups

/// Reads a group.
pub(crate) fn get_group(key: &GroupKey) -> Get {
    Get::new(TABLE, group_key(key))
}

/// Reads which group a host has.
pub(crate) fn get_host(domain: &str, host_id: &str) -> Get {
    Get::new(TABLE, host_key(domain, host_id))
}

/// The group's id in a host's item.
pub(crate) fn host_group(item: &Item) -> Option<String> {
    text(item, "groupId")
}

/// The groups of a domain, by creation.
pub(crate) fn query_groups(domain: &str) -> Query {
    Query::new(TABLE, "GSI1PK", domain_pk(domain)).index(BY_DOMAIN)
}

/// The groups whose names begin so, by name.
pub(crate) fn query_names(prefix: &str) -> Query {
    let first: String = prefix.chars().take(1).collect();
    Query::new(TABLE, "GSI2PK", format!("NAME#{first}"))
        .index(BY_NAME)
        .sort("GSI2SK", SortCondition::begins_with(prefix))
}

/// Makes a group, and makes it its host's, instead of the one that was `before`.
pub(crate) fn put_group(group: &Group, before: Option<&str>) -> Vec<TransactItem> {
    let first: String = group.name.chars().take(1).collect();
    let mut item = group_key(&group.key)
        .with("GSI1PK", domain_pk(&group.key.domain))
        .with("GSI1SK", format!("GROUP#{}", group.created_at))
        .with("GSI2PK", format!("NAME#{first}"))
        .with("GSI2SK", format!("{}#{}", group.name, group.key.id))
        .with("groupId", group.key.id.as_str())
        .with("domain", group.key.domain.as_str())
        .with("name", group.name.as_str())
        .with("hostId", group.host_id.as_str())
        .with("createdAt", group.created_at.to_string())
        .with("expiresAt", group.expires_at.seconds())
        .with("expiresAtMs", group.expires_at.millis())
        .with("hostLease", group.host_lease.millis())
        .with("useWebSocket", group.use_web_socket)
        .with("joins", group.joins)
        .with("eventMs", group.last_event.ms)
        .with("eventNumber", group.last_event.number)
        .with("ttl", afterlife(group.host_lease));
    if let Some(secret) = &group.host_secret {
        item.insert("hostSecret", secret.as_str());
    }
    let host = host_key(&group.key.domain, &group.host_id)
        .with("groupId", group.key.id.as_str())
        .with("ttl", afterlife(group.expires_at));
    let unchanged = match before {
        Some(before) => attr("groupId").eq(before),
        None => attr("pk").not_exists(),
    };
    vec![
        Put::new(TABLE, item).when(attr("pk").not_exists()).into(),
        Put::new(TABLE, host).when(unchanged).into(),
    ]
}

/// The group in an item.
pub(crate) fn read_group(item: &Item) -> Option<Group> {
    Some(Group {
        key: GroupKey { id: text(item, "groupId")?, domain: text(item, "domain")? },
        name: text(item, "name")?,
        host_id: text(item, "hostId")?,
        host_secret: text(item, "hostSecret"),
        created_at: instant(item, "createdAt")?,
        expires_at: time(item, "expiresAtMs")?,
        host_lease: time(item, "hostLease")?,
        use_web_socket: matches!(item.get("useWebSocket"), Some(Value::Bool(true))),
        joins: number(item, "joins")?,
        last_event: Cursor { ms: number(item, "eventMs")?, number: number(item, "eventNumber")? },
    })
}

/// Moves the host's lease.
pub(crate) fn renew_host(group: &Group, lease: Timestamp, now: Timestamp) -> Update {
    Update::new(TABLE, group_key(&group.key))
        .set("hostLease", lease.millis())
        .set("ttl", afterlife(lease))
        .when(is_alive(now))
}

/// Notes that the end of a group that has lapsed was told, once.
pub(crate) fn note_lapse(group: &Group, now: Timestamp) -> Update {
    let untold = attr("pk").exists().and(attr("lapseTold").not_exists());
    Update::new(TABLE, group_key(&group.key))
        .set("lapseTold", true)
        .when(untold.and(!is_alive(now)))
}

/// Removes a group, whatever its state, and with it what made it its host's, if that is so.
pub(crate) fn delete_group(group: &Group, is_its_hosts: bool) -> Vec<TransactItem> {
    let mine = attr("hostId").eq(group.host_id.as_str());
    let mut writes = vec![Delete::new(TABLE, group_key(&group.key)).when(mine).into()];
    if is_its_hosts {
        let host = host_key(&group.key.domain, &group.host_id);
        let of_this = attr("groupId").eq(group.key.id.as_str());
        writes.push(Delete::new(TABLE, host).when(of_this).into());
    }
    writes
}

fn is_alive(now: Timestamp) -> Condition {
    attr("hostLease").gt(now.millis()).and(attr("expiresAtMs").gt(now.millis()))
}

fn group_key(key: &GroupKey) -> Item {
    Item::new().with("pk", domain_pk(&key.domain)).with("sk", format!("GROUP#{}#METADATA", key.id))
}

fn host_key(domain: &str, host_id: &str) -> Item {
    Item::new().with("pk", domain_pk(domain)).with("sk", format!("HOST#{host_id}"))
}

fn domain_pk(domain: &str) -> String {
    format!("DOMAIN#{domain}")
}

fn group_pk(key: &GroupKey) -> String {
    format!("GROUP#{}@{}", key.id, key.domain)
}

// Nodes

/// Reads a member.
pub(crate) fn get_node(group: &GroupKey, node_id: &str) -> Get {
    Get::new(TABLE, node_key(group, node_id))
}

/// The members of a group, by id.
pub(crate) fn query_nodes(group: &GroupKey) -> Query {
    Query::new(TABLE, "pk", group_pk(group))
        .sort("sk", SortCondition::begins_with("NODE#"))
        .consistent()
}

/// Admits a node, if nobody else was admitted meanwhile.
pub(crate) fn put_node(
    group: &Group,
    node: &Node,
    interval_seconds: u64,
    now: Timestamp,
) -> Vec<TransactItem> {
    let item = node_key(&group.key, &node.id)
        .with("nodeId", node.id.as_str())
        .with("name", node.name())
        .with("groupId", group.key.id.as_str())
        .with("domain", group.key.domain.as_str())
        .with("heartbeatIntervalSeconds", interval_seconds)
        .with("joinedAt", node.joined_at.millis())
        .with("lease", node.lease.millis())
        .with("ttl", afterlife(node.lease));
    let count = Update::new(TABLE, group_key(&group.key))
        .set("joins", group.joins + 1)
        .when(is_alive(now).and(attr("joins").eq(group.joins)));
    vec![count.into(), Put::new(TABLE, item).into()]
}

/// Moves a member's lease, if it is still the same stay.
pub(crate) fn renew_node(group: &GroupKey, node: &Node, lease: Timestamp) -> Update {
    Update::new(TABLE, node_key(group, &node.id))
        .set("lease", lease.millis())
        .set("ttl", afterlife(lease))
        .when(attr("joinedAt").eq(node.joined_at.millis()))
}

/// That the node is still in the group as it was when it was looked at.
pub(crate) fn still_member(group: &GroupKey, node: &Node) -> TransactItem {
    let same = attr("joinedAt").eq(node.joined_at.millis());
    Check::new(TABLE, node_key(group, &node.id), same).into()
}

/// Removes a member and what it reported. The mark stays until every instance has saved what it had
/// gathered: what comes late does not bring the member back.
pub(crate) fn delete_node(
    group: &GroupKey,
    before: Option<&Saved>,
    mark: &Status,
) -> Vec<TransactItem> {
    let ttl = mark.timestamp.seconds() + AFTERLIFE_SECONDS;
    vec![
        Delete::new(TABLE, node_key(group, &mark.node_id)).into(),
        write_status(group, mark, before, ttl).into(),
    ]
}

/// The member in an item.
pub(crate) fn read_node(item: &Item) -> Option<Node> {
    Some(Node {
        id: text(item, "nodeId")?,
        joined_at: time(item, "joinedAt")?,
        lease: time(item, "lease")?,
    })
}

fn node_key(group: &GroupKey, node_id: &str) -> Item {
    Item::new().with("pk", group_pk(group)).with("sk", format!("NODE#{node_id}"))
}

// Events

/// The events of a group after a place, oldest first: as many as a read answers, and those that may
/// belong to the write of the last one.
pub(crate) fn query_events(group: &GroupKey, after: Cursor) -> Query {
    let limit = u32::try_from(EVENTS_PER_READ + EVENTS_PER_WRITE).unwrap_or(u32::MAX);
    // `EVENT$` follows every `EVENT#…`.
    let stretch = SortCondition::between(format!("{}\u{1}", after.text()), "EVENT$");
    Query::new(TABLE, "pk", group_pk(group)).sort("sk", stretch).limit(limit).consistent()
}

/// Appends events to the log of a group, if nobody else did meanwhile.
pub(crate) fn put_events(
    group: &Group,
    events: &[Event],
    forget_at: Timestamp,
    now: Timestamp,
) -> Vec<TransactItem> {
    let last = events.last().map_or(group.last_event, |event| event.cursor);
    let turn = Update::new(TABLE, group_key(&group.key))
        .set("eventMs", last.ms)
        .set("eventNumber", last.number)
        .when(is_alive(now).and(attr("eventNumber").eq(group.last_event.number)));
    let mut writes = vec![turn.into()];
    for event in events {
        let mut item = Item::new()
            .with("pk", group_pk(&group.key))
            .with("sk", event.cursor.text())
            .with("eventName", event.name.as_str())
            .with("firedByNodeId", event.fired_by.as_str())
            .with("groupId", group.key.id.as_str())
            .with("domain", group.key.domain.as_str())
            .with("timestamp", event.cursor.time().to_string())
            .with("firedAt", event.fired_at.to_string())
            .with("ttl", forget_at.seconds() + 1);
        if let Some(payload) = &event.payload {
            item.insert("payload", payload.as_str());
        }
        if let Some(order_key) = &event.order_key {
            item.insert("orderKey", order_key.as_str());
        }
        writes.push(Put::new(TABLE, item).into());
    }
    writes
}

/// The event in an item.
pub(crate) fn read_event(item: &Item) -> Option<Event> {
    Some(Event {
        name: text(item, "eventName")?,
        fired_by: text(item, "firedByNodeId")?,
        payload: text(item, "payload"),
        fired_at: instant(item, "firedAt")?,
        cursor: Cursor::parse(item.get("sk")?.as_s()?)?,
        order_key: text(item, "orderKey"),
    })
}

// Everything of a group

/// The keys of all members, events and statuses of a group that is gone, page by page.
pub(crate) fn query_remains(group: &GroupKey) -> [Query; 2] {
    let rows = Query::new(TABLE, "pk", group_pk(group)).consistent();
    [rows, query_statuses(group)].map(|query| query.project([attr("pk"), attr("sk")]))
}

/// When the store may forget what lapses at `end`.
fn afterlife(end: Timestamp) -> u64 {
    end.seconds() + 1 + AFTERLIFE_SECONDS
}

fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name)?.as_s().map(str::to_owned)
}

fn number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n()?.floor_u64()
}

fn time(item: &Item, name: &str) -> Option<Timestamp> {
    number(item, name).map(Timestamp::from_millis)
}

/// A time that is written out.
fn instant(item: &Item, name: &str) -> Option<Timestamp> {
    item.get(name)?.as_s()?.parse().ok()
}
