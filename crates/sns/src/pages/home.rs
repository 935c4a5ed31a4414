//! The timeline, and the form above it.

use maud::{Markup, html};

use super::lists;
use super::words::Words;

pub(super) fn render(words: &Words) -> Markup {
    html! {
        h1 .unseen { (words.home) }
        form #compose .compose {
            span #compose-face .face aria-hidden="true" {}
            div .field {
                label .unseen for="text" { (words.content) }
                textarea #text name="content" placeholder=(words.content_example)
                    aria-describedby="left compose-problem" {}
                p #compose-problem .notice .alert role="alert" {}
                div .row .spread {
                    p .hint { span #left {} span .unseen { (words.letters_left) } }
                    button .primary disabled { (words.send) }
                }
            }
        }
        p #away .notice .alert role="status" hidden { (words.away) }
        button #fresh .fresh type="button" hidden {}
        (lists::posts(words, words.timeline_empty))
    }
}
