//! A class as the server renders it, and as modules are told of it.

use base::Timestamp;
use maud::{Markup, html};
use serde::Serialize;

use super::CLASS;
use super::words::Words;
use crate::limits::LEASE_INTERVALS;
use crate::model::{Status, Terms};
use crate::ops::class::Gathering;

/// A class in one moment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    now_ms: u64,
    groups: Vec<ShownGroup>,
    /// Groups that are not shown.
    more: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownGroup {
    id: String,
    name: String,
    expires_ms: u64,
    /// The host first.
    nodes: Vec<ShownNode>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownNode {
    id: String,
    is_host: bool,
    /// When it was last heard of: its lease began then.
    heard_ms: u64,
    /// How long a lease is.
    lease_ms: u64,
    data: Vec<(String, String)>,
}

impl Shown {
    pub(super) fn of(
        gatherings: &[Gathering],
        count: usize,
        terms: &Terms,
        now: Timestamp,
    ) -> Shown {
        let groups: Vec<ShownGroup> = gatherings.iter().map(|g| shown(g, terms)).collect();
        Shown { now_ms: now.millis(), more: count.saturating_sub(groups.len()), groups }
    }
}

fn shown(gathering: &Gathering, terms: &Terms) -> ShownGroup {
    let Gathering { group, nodes, statuses } = gathering;
    let data = |id: &str| {
        let status: Option<&Status> = statuses.iter().find(|status| status.node_id == id);
        let pairs = status.map(|status| status.data.iter());
        pairs.into_iter().flatten().map(|item| (item.key.clone(), item.value.clone())).collect()
    };
    let node = |id: &str, lease: Timestamp, interval: std::time::Duration, is_host| {
        let lease_ms = LEASE_INTERVALS * u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        ShownNode {
            id: id.to_owned(),
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
        expires_ms: group.expires_at.millis(),
        nodes: std::iter::once(host).chain(members).collect(),
    }
}

pub(super) fn render(words: &Words, domain: &str, state: &Shown) -> Markup {
    html! {
        div .stack {
            div .row .spread {
                div { h1 { (words.title) } p .lead { (words.lead) } }
                div .row {
                    p .hint #state role="status" { (words.said.connecting) }
                    @for (tag, name) in words.scripts {
                        a .button .small href={ (CLASS) "?lang=" (tag) } lang=(tag) { (name) }
                    }
                    a .button .small href="/console" { (words.console) }
                }
            }
            ul #groups .groups {
                @for group in &state.groups { (group_card(words, domain, Some(group))) }
            }
            p .empty { (words.empty) br; (words.empty_hint) }
            p .notice #more hidden[state.more == 0] { (words.more) " " span { (state.more) } }
            form .row .where method="get" action=(CLASS) {
                label for="domain" { (words.domain) }
                input #domain name="domain" value=(domain) maxlength="256";
                button { (words.look) }
            }
        }
        template #group { (group_card(words, domain, None)) }
        template #node { (node_row(words, domain, None)) }
        template #drawn { svg { (drawn_node()) } }
    }
}

fn group_card(words: &Words, domain: &str, group: Option<&ShownGroup>) -> Markup {
    let id = group.map_or("", |group| group.id.as_str());
    html! {
        li .card .group data-group=(id) {
            div .row .spread {
                h2 data-slot="name" { (group.map_or("", |group| group.name.as_str())) }
                p .hint { (words.ends_in) " " span .countdown data-slot="left" { "–" } }
            }
            svg .graph .scripted viewBox="0 0 400 400" aria-hidden="true" {
                g .threads {} g .nodes {}
            }
            p .happened role="status" data-slot="event" {}
            details {
                summary { (words.people) }
                ul .people {
                    @for node in group.iter().flat_map(|group| &group.nodes) {
                        (node_row(words, domain, Some((id, node))))
                    }
                }
            }
            form method="post" action={ (CLASS) "/end" } data-confirm=(words.confirm_end) {
                input type="hidden" name="domain" value=(domain);
                input type="hidden" name="group" value=(id);
                button .danger .small { (words.end) }
            }
        }
    }
}

fn node_row(words: &Words, domain: &str, node: Option<(&str, &ShownNode)>) -> Markup {
    let id = node.map_or("", |(_, node)| node.id.as_str());
    let told = node.map(|(_, node)| told(&node.data)).unwrap_or_default();
    let is_host = node.is_some_and(|(_, node)| node.is_host);
    html! {
        li .row .spread data-node=(id) {
            span .who { strong data-slot="id" { (id) } " "
                span .badge hidden[!is_host] { (words.host) } }
            span .told data-slot="told" { (told) }
            form method="post" action={ (CLASS) "/remove" } hidden[is_host]
                data-confirm=(words.confirm_remove) {
                input type="hidden" name="domain" value=(domain);
                input type="hidden" name="group" value=(node.map_or("", |(group, _)| group));
                input type="hidden" name="node" value=(id);
                button .small { (words.remove) span .unseen { " " (id) } }
            }
        }
    }
}

fn told(data: &[(String, String)]) -> String {
    let pairs = data.iter().map(|(key, value)| format!("{key}: {value}"));
    pairs.collect::<Vec<_>>().join("  ")
}

/// A node in a drawing: a ring that runs out, a name, and what it told.
fn drawn_node() -> Markup {
    html! {
        g .node {
            circle .body r="20" {}
            circle .ring r="24" pathLength="100" transform="rotate(-90)" {}
            text .id y="4" {}
            text .value y="40" {}
            text .value y="54" {}
        }
    }
}
