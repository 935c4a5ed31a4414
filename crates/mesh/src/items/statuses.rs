//! Statuses in the table, and the marks of nodes that left.

use std::collections::HashMap;

use base::Timestamp;
use table::{Get, Item, Put, Query, TransactItem, Value, attr};

use super::{BY_GROUP, BY_NODE, LATEST, TABLE, afterlife, group_pk, instant, number, text, time};
use crate::model::{GroupKey, Reading, Status};

/// A status as the store holds it.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    pub(crate) status: Status,
    /// Grows with every write.
    version: u64,
}

/// Reads what a node reported.
pub(crate) fn get_status(group: &GroupKey, node_id: &str) -> Get {
    Get::new(TABLE, status_key(group, node_id))
}

/// What the nodes of a group reported, by node.
pub(crate) fn query_statuses(group: &GroupKey) -> Query {
    Query::new(TABLE, "GSI1PK", group_pk(group)).index(BY_GROUP)
}

/// In which groups a node of this id has reported.
pub(crate) fn query_groups_of(node_id: &str) -> Query {
    Query::new(TABLE, "GSI2PK", format!("NODE#{node_id}"))
        .index(BY_NODE)
        .project([attr("groupId"), attr("domain")])
}

/// The group in an item that has one.
pub(crate) fn read_key_of_group(item: &Item) -> Option<GroupKey> {
    Some(GroupKey { id: text(item, "groupId")?, domain: text(item, "domain")? })
}

/// Saves what a node reported, if nobody else did since `before` was read. It goes with the group.
pub(crate) fn put_status(
    group: &GroupKey,
    status: &Status,
    before: Option<&Saved>,
    group_end: Timestamp,
) -> TransactItem {
    write_status(group, status, before, afterlife(group_end)).into()
}

pub(super) fn write_status(
    group: &GroupKey,
    status: &Status,
    before: Option<&Saved>,
    ttl: u64,
) -> Put {
    let pair = |item: &Reading| {
        Value::M(Item::new().with("key", item.key.as_str()).with("value", item.value.as_str()))
    };
    let times = status.data.iter().map(|item| Value::from(item.at.millis())).collect();
    let mut item = status_key(group, &status.node_id)
        .with("GSI1PK", group_pk(group))
        .with("GSI1SK", format!("STATUS#{}", status.node_id))
        .with("GSI2PK", format!("NODE#{}", status.node_id))
        .with("GSI2SK", group.full_id())
        .with("groupId", group.id.as_str())
        .with("domain", group.domain.as_str())
        .with("nodeId", status.node_id.as_str())
        .with("since", status.since.millis())
        .with("data", Value::L(status.data.iter().map(pair).collect()))
        .with("times", Value::L(times))
        .with("timestamp", status.timestamp.to_string())
        .with("version", before.map_or(0, |saved| saved.version) + 1)
        .with("ttl", ttl);
    if status.has_left {
        item.insert("left", true);
    }
    let unchanged = match before {
        Some(before) => attr("version").eq(before.version),
        None => attr("pk").not_exists(),
    };
    Put::new(TABLE, item).when(unchanged)
}

/// The status in an item.
pub(crate) fn read_status(item: &Item) -> Option<Saved> {
    let (Some(Value::L(data)), Some(Value::L(times))) = (item.get("data"), item.get("times"))
    else {
        return None;
    };
    let data = data.iter().zip(times).map(|(pair, at)| match pair {
        Value::M(pair) => Some(Reading {
            key: text(pair, "key")?,
            value: text(pair, "value")?,
            at: Timestamp::from_millis(at.as_n()?.floor_u64()?),
        }),
        _ => None,
    });
    let status = Status {
        node_id: text(item, "nodeId")?,
        since: time(item, "since")?,
        data: data.collect::<Option<Vec<_>>>()?,
        timestamp: instant(item, "timestamp")?,
        has_left: matches!(item.get("left"), Some(Value::Bool(true))),
    };
    Some(Saved { status, version: number(item, "version")? })
}

/// Statuses by the groups and nodes whose they are.
pub(crate) fn read_statuses(items: &[(String, Item)]) -> HashMap<(GroupKey, String), Saved> {
    let read = |(_, item): &(String, Item)| {
        let (group, saved) = (read_key_of_group(item)?, read_status(item)?);
        Some(((group, saved.status.node_id.clone()), saved))
    };
    items.iter().filter_map(read).collect()
}

fn status_key(group: &GroupKey, node_id: &str) -> Item {
    Item::new().with("pk", format!("NODE#{node_id}@{}", group.id)).with("sk", LATEST)
}
