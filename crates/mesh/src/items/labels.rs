//! Names that the teacher of a class gave to its nodes.

use base::Timestamp;
use table::{Delete, Item, Put, Query, SortCondition};

use super::{TABLE, domain_pk, text};
use crate::limits::LABELS_KEPT_FOR;

/// What the sort key of a name begins with.
const LABEL: &str = "LABEL#";

/// All names of a class, by node.
pub(crate) fn query_labels(domain: &str) -> Query {
    Query::new(TABLE, "pk", domain_pk(domain)).sort("sk", SortCondition::begins_with(LABEL))
}

/// Gives a node a name.
pub(crate) fn put_label(domain: &str, node_id: &str, label: &str, now: Timestamp) -> Put {
    let item = label_key(domain, node_id)
        .with("nodeId", node_id)
        .with("label", label)
        .with("ttl", now.seconds() + LABELS_KEPT_FOR.as_secs());
    Put::new(TABLE, item)
}

/// Removes the name of a node.
pub(crate) fn delete_label(domain: &str, node_id: &str) -> Delete {
    Delete::new(TABLE, label_key(domain, node_id))
}

/// The node and its name in an item.
pub(crate) fn read_label(item: &Item) -> Option<(String, String)> {
    Some((text(item, "nodeId")?, text(item, "label")?))
}

fn label_key(domain: &str, node_id: &str) -> Item {
    Item::new().with("pk", domain_pk(domain)).with("sk", format!("{LABEL}{node_id}"))
}
