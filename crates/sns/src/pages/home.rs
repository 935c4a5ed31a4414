//! The timeline, the form above it, and what to begin with while there are no posts of others.

use maud::{Markup, html};

use super::lists;
use super::words::Words;
use crate::options::Registration;

pub(super) fn render(words: &Words, registration: Registration) -> Markup {
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
        (start(words, registration))
    }
}

/// The first steps of somebody who follows nobody yet.
fn start(words: &Words, registration: Registration) -> Markup {
    let invite = match registration {
        Registration::Open => Some(words.start_invite),
        Registration::Invite => Some(words.start_invite_code),
        Registration::Closed => None,
    };
    html! {
        section #start .card .start hidden aria-labelledby="start-title" {
            h2 #start-title { (words.start) }
            ol .steps {
                li { (words.start_post) }
                @if let Some(invite) = invite {
                    li {
                        (invite)
                        p .row {
                            code #own-address {}
                            button #copy .small type="button" hidden { (words.start_copy) }
                        }
                    }
                }
                li { (words.start_find) }
            }
        }
    }
}
