//! The wall: what the projector shows, and OBS.

use maud::{Markup, html};

use super::link::Link;
use super::markup::{comments, way_in};
use super::words::Words;
use crate::model::{Comment, Room};

pub(super) fn render(words: &Words, room: &Room, list: &[Comment], link: &Link) -> Markup {
    html! {
        h1 .unseen { bdi { (room.name) } }
        div #stage .stage {
            div #flow .scripted {}
            section .list aria-label=(words.comments) {
                (comments(words, list, words.wall_empty, &|_: Option<&Comment>| html! {}))
            }
            div #burst aria-hidden="true" {}
            aside #pinned .pin aria-live="polite" hidden {
                p .who { span .badge .strong { (words.pinned) } bdi data-slot="nickname" {} }
                p .said dir="auto" data-slot="content" {}
            }
            aside #join .corner hidden { (way_in(words, room, link)) }
            p #note .note role="status" {}
        }
        div #bar .bar .scripted role="toolbar" aria-label=(words.controls) {
            @for (act, key, label) in keys(words) {
                button .small type="button" data-act=(act) aria-label=(label) title=(label) { (key) }
            }
        }
        dialog #help aria-labelledby="help-title" {
            div .row .spread {
                h2 #help-title { (words.key_title) }
                form method="dialog" { button .small { (words.close_help) } }
            }
            dl .keys {
                @for (_, key, label) in keys(words) {
                    div { dt { kbd { (key) } } dd { (label) } }
                }
            }
            p .hint { (words.obs_hint) }
        }
    }
}

/// What can be done with the wall: the word that the module knows, its key, and what it is.
fn keys(words: &Words) -> [(&'static str, &'static str, &'static str); 10] {
    [
        ("panic", "H", words.key_panic),
        ("pause", "␣", words.key_pause),
        ("list", "L", words.key_list),
        ("larger", "+", words.key_size),
        ("smaller", "−", words.key_smaller),
        ("faster", "]", words.key_speed),
        ("slower", "[", words.key_slower),
        ("density", "D", words.key_density),
        ("join", "Q", words.key_join),
        ("help", "?", words.key_help),
    ]
}
