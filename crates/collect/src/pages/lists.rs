//! What the desk lists below its rows: dead letters, and deleted sources.

use dispatch::DeadLetter;
use maud::{Markup, html};

use super::DESK;
use super::desk::Desk;
use super::markup::place;
use super::words::Words;
use crate::Collect;
use crate::jobs::read_letter;
use crate::model::slot::spell;

pub(super) fn dead_letters(words: &Words, desk: &Desk<'_>) -> Markup {
    let letters = &desk.letters.letters;
    let of = desk.listed.letters_of();
    html! {
        section #dead-letters .stack .list aria-labelledby="letters-title" {
            h2 #letters-title { (words.dead_letters) }
            p .hint { (words.letters_lead) }
            p #new-letters .notice .alert role="status" hidden {
                (words.new_letters) " " a href="" { (words.reload) }
            }
            form .row .sieve action={ (DESK) "#dead-letters" } {
                label for="of" { (words.letters_of) }
                input #of name="of" value=(desk.listed.of) autocomplete="off" autocapitalize="none"
                    spellcheck="false";
                button .small { (words.find) span .unseen { " " (words.dead_letters) } }
                @if of.is_some() { a .button .small href={ (DESK) "#dead-letters" } { (words.all) } }
            }
            ul .lines { @for one in letters { (letter(words, desk, one)) } }
            p .empty { (words.no_letters) }
            div .row {
                @if let Some(next) = &desk.letters.next {
                    @let query = desk.listed.query();
                    a .button .small href={ (DESK) "?" (query) "&letters=" (next.replace('#', ".")) "#dead-letters" } {
                        (words.more_letters)
                    }
                }
                @if !letters.is_empty() { (all_letters(words, desk, of)) }
            }
        }
    }
}

/// What is done with all dead letters, or with those of a source.
fn all_letters(words: &Words, desk: &Desk<'_>, of: Option<&str>) -> Markup {
    let (purge, sure) = match of {
        Some(name) => (words.purge_of, words.purge_of_sure.replace("{name}", name)),
        None => (words.purge, words.purge_sure.to_owned()),
    };
    html! {
        form method="post" action="/collect/operate/letters" {
            (place(desk.listed))
            button .small name="act" value="replay-all" { (words.replay_all) }
        }
        details .danger {
            summary { (purge) }
            form method="post" action="/collect/operate/letters" {
                (place(desk.listed))
                button .small .danger name="act" value="purge" { (sure) }
            }
        }
    }
}

/// Sources that are deleted, and whose slots are still there.
pub(super) fn gone_sources(words: &Words, collect: &Collect, desk: &Desk<'_>) -> Markup {
    let gone = collect.sources.gone();
    html! {
        @if !gone.is_empty() {
            section #gone .stack .list aria-labelledby="gone-title" {
                h2 #gone-title { (words.gone) }
                p .hint { (words.gone_lead) }
                ul .lines {
                    @for active in gone.values() {
                        @let name = &active.source.name;
                        li {
                            div .row .spread {
                                strong { bdi { (name) } }
                                span .hint { bdi { (active.source.metric) } }
                                a .button .small href={ "/collect/series/" (name) } {
                                    (words.series) span .unseen { " " (name) }
                                }
                                details .danger {
                                    summary { (words.purge_source) span .unseen { " " (name) } }
                                    form method="post" action="/collect/operate/act" {
                                        input type="hidden" name="name" value=(name);
                                        (place(desk.listed))
                                        button .small .danger name="act" value="purge" {
                                            (words.purge_source_sure.replace("{name}", name))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn letter(words: &Words, desk: &Desk<'_>, letter: &DeadLetter) -> Markup {
    let (sources, slot) = match read_letter(&letter.body) {
        Some((sources, ask)) => (sources.join(", "), spell(ask.slot.from())),
        None => (String::from_utf8_lossy(&letter.body).into_owned(), String::new()),
    };
    html! {
        li {
            div .row .spread {
                strong { bdi { (sources) } }
                @if !slot.is_empty() {
                    span { (words.slot) " " time datetime=(slot) data-seconds { (slot) } }
                }
                span .hint { (words.died) " " time datetime=(letter.died.to_string()) data-seconds {
                    (spell(letter.died)) } }
                form method="post" action="/collect/operate/letters" {
                    input type="hidden" name="id" value=(letter.id);
                    (place(desk.listed))
                    button .small name="act" value="replay" {
                        (words.replay) span .unseen { " " (sources) " " (slot) }
                    }
                }
            }
            p .hint { "✕ " (words.reason(&letter.reason)) }
        }
    }
}
