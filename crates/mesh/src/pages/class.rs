//! The markup of a class. Lists and forms work without script; `assets/class.js` keeps them up to
//! date and draws the groups.

use kit::qr;
use maud::{Markup, html};

use super::CLASS;
use super::entry::Entry;
use super::shown::{Shown, ShownGroup, ShownNode};
use super::words::{Words, named};
use crate::limits::LABEL_CHARACTERS_MAX;

pub(super) fn render(words: &Words, domain: &str, state: &Shown, entry: &Entry) -> Markup {
    html! {
        div .stack {
            div .row .spread {
                div { h1 { (words.title) } p .lead { (words.lead) } }
                div .row {
                    p .hint .scripted #state role="status" { (words.said.connecting) }
                    @for (tag, name) in words.scripts {
                        a .button .small href={ (CLASS) "?lang=" (tag) } lang=(tag) { (name) }
                    }
                    a .button .small href="/console" { (words.console) }
                }
            }
            (ways_in(words, state, entry))
            (overview(words, domain, state))
            ul #groups .groups {
                @for group in &state.groups { (group_card(words, domain, Some(group))) }
            }
            (nothing_yet(words))
            p .notice #more hidden[state.more == 0] { (words.more) " " span { (state.more) } }
            form .row .where method="get" action=(CLASS) {
                label for="domain" { (words.domain) }
                input #domain name="domain" value=(domain) maxlength="256";
                button { (words.look) }
                p .hint { (words.domain_hint) }
            }
        }
        template #group { (group_card(words, domain, None)) }
        template #node { (node_row(words, domain, None)) }
        template #drawn { svg { (drawn_node()) } }
        template #tile { (tile()) }
    }
}

/// How pupils come in: the QR code and address of their page, and what their editor needs.
fn ways_in(words: &Words, state: &Shown, entry: &Entry) -> Markup {
    let way = &words.way;
    html! {
        details #ways .card open[state.groups.is_empty()] {
            summary { h2 { (way.title) } }
            div .ways {
                div .scan { (qr(&entry.link(), way.qr_label)) }
                div .stack {
                    @if entry.is_of_this_computer() {
                        p .notice .alert { (way.only_here) " " code { "--http-listen 0.0.0.0:8080" } }
                    }
                    ol .steps { @for step in way.steps { li { (step) } } }
                    dl .facts {
                        dt { (way.page) }
                        dd { a href=(entry.link()) { (entry.page()) } }
                        (fact(way.endpoint, &entry.endpoint(), "endpoint", way.copy_endpoint))
                        (fact(way.key, entry.key, "key", way.copy_key))
                    }
                    p .hint { (way.key_hint) }
                }
            }
        }
    }
}

/// A value that people copy into an editor.
pub(super) fn fact(name: &str, value: &str, id: &str, copy: &str) -> Markup {
    html! {
        dt { (name) }
        dd { code id=(id) .copied-whole { (value) } " "
            button .small .scripted type="button" data-copies=(id) { (copy) } " "
            span .hint role="status" data-copied=(id) {} }
    }
}

/// How much goes on, and the way to end all of it: a question that also asks without script.
fn overview(words: &Words, domain: &str, state: &Shown) -> Markup {
    let said = &words.said;
    let count = state.group_count();
    html! {
        div #overview .row .spread hidden[count == 0] {
            p { strong data-slot="groups" { (said.groups.of(count)) } ", "
                span data-slot="people" { (said.people.of(state.node_count())) } }
            details .asking {
                summary .button .small .danger { (words.end_all) }
                form method="post" action={ (CLASS) "/end-all" } {
                    input type="hidden" name="domain" value=(domain);
                    p { (words.end_all_question) }
                    button .danger { (words.end_all_yes) }
                }
            }
        }
    }
}

/// What the page shows while there are no groups.
fn nothing_yet(words: &Words) -> Markup {
    html! {
        div .empty {
            p { (words.empty) } p { (words.empty_hint) }
            p .scripted { (words.practice_hint) }
            p .scripted { button #practice .primary type="button" { (words.practice_start) } }
            p #practice-state role="status" {}
        }
    }
}

fn group_card(words: &Words, domain: &str, group: Option<&ShownGroup>) -> Markup {
    let id = group.map_or("", |group| group.id.as_str());
    let name = group.map_or("", |group| group.name.as_str());
    let is_practice = group.is_some_and(|group| group.is_practice);
    let count = group.map_or(0, |group| group.nodes.len());
    html! {
        li .card .group data-group=(id) {
            div .row .spread {
                h2 { span data-slot="name" { (name) } " "
                    span .badge hidden[!is_practice] data-part="practice" { (words.practice) } }
                p .hint { (words.ends_at) " " (end_time(group)) " "
                    span .countdown .scripted data-slot="left" { "–" } }
            }
            svg .graph .scripted viewBox="0 0 400 400" aria-hidden="true" {
                g .threads {} g .nodes {}
            }
            div .tiles .scripted aria-hidden="true" hidden {}
            p .happened role="status" data-slot="event" {}
            details {
                summary { span { span data-slot="count" { (words.said.people.of(count)) }
                    span .unseen { " " span data-slot="name" { (name) } } } }
                ul .people {
                    @for node in group.iter().flat_map(|group| &group.nodes) {
                        (node_row(words, domain, Some((id, node))))
                    }
                }
            }
            (end_form(words, domain, id, name, is_practice))
        }
    }
}

fn end_time(group: Option<&ShownGroup>) -> Markup {
    let at = group.map_or("", |group| group.ends_at.as_str());
    // Without script it is the server's time, which says its zone.
    html! { time datetime=(at) { (at.get(11..16).unwrap_or_default()) " UTC" } }
}

/// Ends a group after a question. The practice group is removed by one click.
fn end_form(words: &Words, domain: &str, id: &str, name: &str, is_practice: bool) -> Markup {
    let question = (!is_practice).then(|| named(words.said.confirm_end, name));
    html! {
        form .ending method="post" action={ (CLASS) "/end" }
            data-confirm=[question] {
            input type="hidden" name="domain" value=(domain);
            input type="hidden" name="group" value=(id);
            button .danger .small aria-label=(named(words.said.end_named, name)) {
                (words.said.end)
            }
        }
    }
}

fn node_row(words: &Words, domain: &str, node: Option<(&str, &ShownNode)>) -> Markup {
    let (group, node) = node.map_or(("", None), |(group, node)| (group, Some(node)));
    let text = |of: fn(&ShownNode) -> &str| node.map_or("", of);
    let (id, name) = (text(|node| &node.id), text(|node| &node.name));
    let told = node.map(|node| told(&node.data)).unwrap_or_default();
    let is_host = node.is_some_and(|node| node.is_host);
    let said = &words.said;
    html! {
        li data-node=(id) {
            p .row .who {
                strong data-slot="name" lang=[some(text(|node| node.lang))] title=(id) { (name) }
                span .hint lang="ja" data-slot="alias" { (text(|node| &node.alias)) }
                span .badge hidden[!is_host] { (words.host) }
                span .told data-slot="told" { (told) }
            }
            div .row {
                form .row .naming method="post" action={ (CLASS) "/name" } {
                    input type="hidden" name="domain" value=(domain);
                    input type="hidden" name="node" value=(id);
                    input name="name" value=(text(|node| &node.label)) autocomplete="off"
                        maxlength=(LABEL_CHARACTERS_MAX) placeholder=(words.name)
                        aria-label=(named(said.name_of, name));
                    button .small aria-label=(named(said.save_named, name)) { (words.save) }
                }
                form .removing method="post" action={ (CLASS) "/remove" } hidden[is_host]
                    data-confirm=(named(said.confirm_remove, name)) {
                    input type="hidden" name="domain" value=(domain);
                    input type="hidden" name="group" value=(group);
                    input type="hidden" name="node" value=(id);
                    button .small aria-label=(named(said.remove_named, name)) { (words.remove) }
                }
            }
        }
    }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn told(data: &[(String, String)]) -> String {
    let pairs = data.iter().map(|(key, value)| format!("{key}: {value}"));
    pairs.collect::<Vec<_>>().join("  ")
}

/// A node in a drawing: a ring that runs out, a name in one line or two, and two values.
fn drawn_node() -> Markup {
    html! {
        g .node {
            circle .body r="27" {}
            circle .ring r="31" pathLength="100" transform="rotate(-90)" {}
            text .id {} text .id {}
            text .value y="47" {} text .value y="61" {}
        }
    }
}

/// A node in a grid, where a group is too large for a drawing.
fn tile() -> Markup {
    html! {
        div .tile {
            svg .dial viewBox="-12 -12 24 24" {
                circle .around r="9" {}
                circle .ring r="9" pathLength="100" transform="rotate(-90)" {}
            }
            strong data-slot="name" {}
            span .value {} span .value {} span .value {}
        }
    }
}
