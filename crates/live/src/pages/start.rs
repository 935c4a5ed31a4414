//! Where one starts a room or joins one.

use maud::{Markup, html};

use super::markup::needs_script;
use super::words::Words;
use crate::limits::CODE_LENGTH;

pub(super) fn render(words: &Words) -> Markup {
    html! {
        div .stack {
            div .welcome { h1 { (words.title) } p .lead { (words.lead) } }
            div .pair {
                (join(words))
                section .card aria-labelledby="start-title" {
                    h2 #start-title { (words.start_title) }
                    form #start .stack .scripted {
                        div .field {
                            label for="name" { (words.room_name) }
                            input #name name="name" autocomplete="off" placeholder=(words.room_example)
                                aria-describedby="start-hint";
                            p #start-hint .hint { (words.start_hint) }
                        }
                        p #problem .notice .alert role="alert" {}
                        button .primary { (words.start) }
                    }
                    (needs_script(words))
                }
            }
            (how(words))
            section #mine .scripted .stack aria-labelledby="mine-title" {
                h2 #mine-title { (words.mine_title) }
                ul #rooms .rooms {}
                p .empty { (words.mine_empty) }
                button #more type="button" hidden { (words.more) }
            }
            template #room {
                li {
                    a { bdi data-slot="name" {} }
                    span .hint { time {} }
                    code data-slot="code" {}
                    span .badge data-slot="status" {}
                }
            }
        }
    }
}

/// How a talk goes, in three steps.
fn how(words: &Words) -> Markup {
    html! {
        ol .how {
            @for (title, text) in &words.how {
                li { p .title { (title) } p .hint { (text) } }
            }
        }
    }
}

/// What a code that nobody knows leads to.
pub(super) fn room_gone(words: &Words) -> Markup {
    html! {
        div .stack .narrow {
            div { h1 { (words.room_gone_title) } p .lead { (words.room_gone) } }
            (join(words))
        }
    }
}

fn join(words: &Words) -> Markup {
    html! {
        section .card aria-labelledby="join-title" {
            h2 #join-title { (words.join_title) }
            form .stack action="/live/join" {
                div .field {
                    label for="code" { (words.code) }
                    input #code .code name="code" required autocomplete="off" autocapitalize="characters"
                        spellcheck="false" maxlength=(CODE_LENGTH * 2) placeholder="······"
                        aria-describedby="code-hint";
                    p #code-hint .hint { (words.code_hint) }
                }
                button .primary { (words.join) }
            }
        }
    }
}
