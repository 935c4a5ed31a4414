//! The host's desk. The server renders what everybody may know; the rest comes to the browser that
//! holds the credential.

use maud::{Markup, html};

use super::markup::{Draft, comments, compose, needs_script, states, way_in};
use super::words::Words;
use crate::model::{Comment, Room};

/// What slow mode can be set to here, in seconds.
const PACES: [u64; 5] = [5, 10, 30, 60, 300];

pub(super) fn render(words: &Words, room: &Room, address: &str) -> Markup {
    html! {
        div .stack {
            div .row .spread {
                div { p .hint { (words.desk) } h1 { bdi { (room.name) } } }
                (counts(words))
            }
            (needs_script(words))
            p #stranger .notice .alert hidden { (words.not_host) }
            (states(words, room))
            p #told .notice role="status" {}
            div #desk .desk hidden {
                section .stack aria-labelledby="log-title" {
                    h2 #log-title { (words.comments) }
                    (tools(words))
                    (comments(words, &[], words.log_empty, &|_: Option<&Comment>| actions(words)))
                }
                div .side .stack {
                    (join_card(words, room, address))
                    details .card open {
                        summary { h2 { (words.say_as_host) } }
                        (compose(words, room, &Draft::default()))
                    }
                    (settings(words))
                    (finish(words))
                }
            }
        }
    }
}

fn counts(words: &Words) -> Markup {
    let counted =
        [("viewers", words.here_now), ("total", words.comments), ("waiting", words.waiting)];
    html! {
        dl .counts .scripted {
            @for (name, label) in counted {
                div { dt { (label) } dd data-slot=(name) { "–" } }
            }
        }
    }
}

fn tools(words: &Words) -> Markup {
    let filters = [
        ("", words.filter_all),
        ("is-waiting", words.waiting),
        ("unanswered", words.filter_unanswered),
        ("is-pinned", words.pinned),
        ("is-hidden", words.hidden),
    ];
    html! {
        div .row .tools {
            label .unseen for="search" { (words.search) }
            input #search type="search" placeholder=(words.search) autocomplete="off";
            label .unseen for="filter" { (words.filter) }
            select #filter {
                @for (value, label) in filters { option value=(value) { (label) } }
            }
        }
    }
}

fn actions(words: &Words) -> Markup {
    let actions = [
        ("restore", words.act_restore),
        ("hide", words.act_hide),
        ("pin", words.act_pin),
        ("unpin", words.act_unpin),
        ("answer", words.act_answer),
        ("unanswer", words.act_unanswer),
        ("block", words.act_block),
    ];
    html! {
        div .row .actions {
            @for (act, label) in actions {
                button .small type="button" data-act=(act) {
                    (label) span .unseen {
                        " " bdi data-slot="nickname" {} " " bdi data-slot="content" {}
                    }
                }
            }
            span .likes { span aria-hidden="true" { "♥ " } span .unseen { (words.like) }
                span data-slot="likes" {} }
        }
    }
}

fn join_card(words: &Words, room: &Room, address: &str) -> Markup {
    let host = address.split_once("//").map_or(address, |(_, host)| host);
    let is_loopback =
        host.starts_with("localhost") || host.starts_with("127.") || host.starts_with("[::1]");
    html! {
        details .card .join-card open {
            summary { h2 { (words.join_card) } }
            (way_in(words, room, address))
            @if is_loopback { p .hint { (words.loopback) } }
            div .row {
                a .button .primary href={ "/live/wall/" (room.id) } target="_blank" { (words.open_wall) }
                button #copy type="button" { (words.copy_link) }
            }
        }
    }
}

fn settings(words: &Words) -> Markup {
    let switches =
        [("paused", words.set_paused), ("pre", words.set_pre), ("reactions", words.set_reactions)];
    html! {
        details .card open {
            summary { h2 { (words.settings) } }
            form #settings .stack {
                div {
                    @for (name, label) in switches {
                        label .switch { (label) input type="checkbox" name=(name); }
                    }
                    label .switch {
                        (words.set_slow)
                        select .short name="slow" {
                            option value="0" { (words.slow_off) }
                            @for pace in PACES {
                                option value=(pace) {
                                    (words.slow_seconds.replace("{n}", &pace.to_string()))
                                }
                            }
                        }
                    }
                }
                div .field {
                    label for="blocked-words" { (words.blocked_words) }
                    textarea #blocked-words name="words" rows="2" aria-describedby="blocked-hint" {}
                    p #blocked-hint .hint { (words.blocked_words_hint) }
                    div .row { button { (words.save) } }
                }
                div .row .spread {
                    span { (words.blocked_users) ": " span data-slot="blocked" { "0" } }
                    button #unblock .small type="button" { (words.unblock_all) }
                }
            }
        }
    }
}

fn finish(words: &Words) -> Markup {
    html! {
        details .card open {
            summary { h2 { (words.finish) } }
            div .row {
                button type="button" data-export="csv" { (words.export_csv) }
                button type="button" data-export="json" { (words.export_json) }
            }
            div .row {
                button #close .danger type="button" { (words.close) }
                button #reopen type="button" hidden { (words.reopen) }
                button #delete .danger type="button" { (words.delete) }
            }
        }
    }
}
