//! A class in one moment, as the server renders it and as the modules get it.

use base::Timestamp;
use serde::Serialize;

use super::practice;
use crate::limits::LEASE_INTERVALS;
use crate::model::{Status, Terms, naming};
use crate::ops::class::{Gathering, Labels};

/// A class in one moment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    pub(super) now_ms: u64,
    pub(super) groups: Vec<ShownGroup>,
    /// Groups that are not shown.
    pub(super) more: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownGroup {
    pub(super) id: String,
    pub(super) name: String,
    /// When the group ends, in UTC.
    pub(super) ends_at: String,
    pub(super) expires_ms: u64,
    /// Whether this page plays the group, so that a teacher sees how a class looks.
    pub(super) is_practice: bool,
    /// The host first.
    pub(super) nodes: Vec<ShownNode>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownNode {
    pub(super) id: String,
    /// What people call it.
    pub(super) name: String,
    /// What Smalruby shows for it, if that is not its name.
    pub(super) alias: String,
    /// The name that the teacher gave, or nothing.
    pub(super) label: String,
    /// The language of the name, if that is known.
    pub(super) lang: &'static str,
    pub(super) is_host: bool,
    /// When it was last heard of: its lease began then.
    heard_ms: u64,
    /// How long a lease is.
    lease_ms: u64,
    pub(super) data: Vec<(String, String)>,
}

impl Shown {
    pub(super) fn of(
        (gatherings, count): &(Vec<Gathering>, usize),
        labels: &Labels,
        terms: &Terms,
        now: Timestamp,
    ) -> Shown {
        let groups: Vec<ShownGroup> =
            gatherings.iter().map(|gathering| shown(gathering, labels, terms)).collect();
        Shown { now_ms: now.millis(), more: count.saturating_sub(groups.len()), groups }
    }

    /// Groups of the class, shown or not.
    pub(super) fn group_count(&self) -> usize {
        self.groups.len() + self.more
    }

    /// Nodes of the groups that are shown.
    pub(super) fn node_count(&self) -> usize {
        self.groups.iter().map(|group| group.nodes.len()).sum()
    }
}

fn shown(gathering: &Gathering, labels: &Labels, terms: &Terms) -> ShownGroup {
    let Gathering { group, nodes, statuses } = gathering;
    let data = |id: &str| {
        let status: Option<&Status> = statuses.iter().find(|status| status.node_id == id);
        let pairs = status.map(|status| status.data.iter());
        pairs.into_iter().flatten().map(|item| (item.key.clone(), item.value.clone())).collect()
    };
    let node = |id: &str, lease: Timestamp, interval: std::time::Duration, is_host| {
        let lease_ms = LEASE_INTERVALS * u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        let label = labels.get(id).cloned().unwrap_or_default();
        let hiragana = naming::hiragana(id);
        let lang = if label.is_empty() && hiragana.is_some() { "ja" } else { "" };
        let own = hiragana.unwrap_or_else(|| id.to_owned());
        let (name, alias) =
            if label.is_empty() { (own, String::new()) } else { (label.clone(), own) };
        ShownNode {
            id: id.to_owned(),
            name,
            alias,
            label,
            lang,
            is_host,
            heard_ms: lease.millis().saturating_sub(lease_ms),
            lease_ms,
            data: data(id),
        }
    };
    let host = node(&group.host_id, group.host_lease, terms.host_interval, true);
    let members = nodes.iter().filter(|member| member.id != group.host_id);
    let members =
        members.map(|member| node(&member.id, member.lease, terms.member_interval, false));
    ShownGroup {
        id: group.key.id.clone(),
        name: group.name.clone(),
        ends_at: group.expires_at.to_string(),
        expires_ms: group.expires_at.millis(),
        is_practice: group.host_id == practice::HOST,
        nodes: std::iter::once(host).chain(members).collect(),
    }
}
