//! The host's desk. The server renders what everybody may know; the rest comes to the browser that
//! holds the credential.

use maud::{Markup, html};

use super::link::Link;
use super::markup::{Draft, comments, compose, needs_script, states, way_in};
use super::room_path;
use super::words::Words;
use crate::model::{Comment, Room, WallArea, WallJoin};

/// What slow mode can be set to here, in seconds.
const PACES: [u64; 5] = [5, 10, 30, 60, 300];
/// Heights of letters that can be chosen for the walls, in hundredths of the screen's height.
const LETTERS: [u64; 6] = [4, 5, 6, 8, 10, 12];

pub(super) fn render(words: &Words, room: &Room, link: &Link) -> Markup {
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
                    (next_steps(words, room))
                    h2 #log-title { (words.comments) }
                    (tools(words))
                    (comments(words, &[], words.log_empty, &|_: Option<&Comment>| actions(words)))
                }
                div .side .stack {
                    (join_card(words, room, link))
                    (wall(words))
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

/// What a host does first, as long as there is no comment.
fn next_steps(words: &Words, room: &Room) -> Markup {
    let [wall, code, comment] = &words.next_steps;
    html! {
        div #next .card .next {
            h2 { (words.next_title) }
            ol .steps {
                li {
                    p { (wall.text) }
                    a .button .primary href={ "/live/wall/" (room.id) } target="_blank" { (wall.link) }
                }
                li {
                    p { (code.text) }
                    p .code { (room.code) }
                }
                li {
                    p { (comment.text) }
                    a .button href=(room_path(&room.code)) target="_blank" { (comment.link) }
                }
            }
        }
    }
}

fn join_card(words: &Words, room: &Room, link: &Link) -> Markup {
    html! {
        details .card .join-card open {
            summary { h2 { (words.join_card) } }
            (way_in(words, room, link))
            @if link.is_local() { p .hint { (words.loopback) } }
            div .row {
                a .button .primary href={ "/live/wall/" (room.id) } target="_blank" { (words.open_wall) }
                button #copy type="button" data-link=(link.whole()) { (words.copy_link) }
            }
        }
    }
}

/// What all walls of the room show.
fn wall(words: &Words) -> Markup {
    let switches = [("hidden", words.wall_hidden), ("paused", words.wall_paused)];
    let join = WallJoin::ALL.map(|join| match join {
        WallJoin::Auto => (join.word(), words.wall_join_auto),
        WallJoin::Full => (join.word(), words.wall_join_full),
        WallJoin::Corner => (join.word(), words.wall_join_corner),
        WallJoin::Off => (join.word(), words.wall_join_off),
    });
    let area = WallArea::ALL.map(|area| match area {
        WallArea::Full => (area.word(), words.wall_area_full),
        WallArea::Top => (area.word(), words.wall_area_top),
        WallArea::Bottom => (area.word(), words.wall_area_bottom),
        WallArea::Left => (area.word(), words.wall_area_left),
        WallArea::Right => (area.word(), words.wall_area_right),
    });
    html! {
        details .card open {
            summary { h2 { (words.wall_control) } }
            form #walls .stack {
                p .hint { (words.wall_hint) }
                div {
                    @for (name, label) in switches {
                        label .switch { (label) input type="checkbox" name=(name); }
                    }
                    label .switch {
                        (words.wall_letters)
                        select .short name="letters" {
                            option value="0" { (words.wall_letters_auto) }
                            @for letters in LETTERS {
                                option value=(letters) { (letters) " %" }
                            }
                        }
                    }
                }
                (choice("join", words.wall_join, &join))
                (choice("area", words.wall_area, &area))
            }
        }
    }
}

/// One of a few, side by side.
fn choice(name: &str, legend: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        fieldset .choice {
            legend { (legend) }
            div .options {
                @for (value, label) in options {
                    label data-value=(value) {
                        input type="radio" name=(name) value=(value); span { (label) }
                    }
                }
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
