//! What stands around the content: the way to the other pages, the search, the way in for who is
//! not logged in, and the question before what cannot be undone.

use maud::{Markup, html};

use super::icons::{Icon, icon};
use super::words::Words;
use super::{HOME, NOTES, Place, entry};
use crate::limits::USERNAME_LETTERS;
use crate::options::Registration;

pub(super) fn render(
    words: &Words,
    registration: Registration,
    place: Place<'_>,
    content: &Markup,
) -> Markup {
    html! {
        p .notice .unscripted { (words.needs_script) }
        (entry::render(words, registration))
        div #inside .inside .scripted hidden {
            (rail(words, place))
            div .middle { (content) }
            (side(words))
        }
        p #told .toast role="status" {}
        (question(words))
    }
}

fn rail(words: &Words, place: Place<'_>) -> Markup {
    let current = |is: bool| is.then_some("page");
    html! {
        nav .rail aria-label=(words.pages) {
            a href=(HOME) aria-current=[current(place == Place::Home)] {
                (icon(Icon::House)) span { (words.home) }
            }
            a href=(NOTES) aria-current=[current(place == Place::Notes)] {
                (icon(Icon::Bell)) span { (words.notes) }
                span #unread .badge .strong hidden {
                    span data-slot="unread" {} span .unseen { (words.unread) }
                }
            }
            a #own href=(HOME) { (icon(Icon::Person)) span { (words.profile) } }
        }
    }
}

fn side(words: &Words) -> Markup {
    html! {
        aside .side {
            form .search action="/sns/find" role="search" {
                label .unseen for="find" { (words.find) }
                input #find name="username" type="search" required placeholder=(words.find)
                    autocomplete="off" autocapitalize="none" spellcheck="false"
                    maxlength=(USERNAME_LETTERS.end() + 1);
                button { (icon(Icon::Lens)) span .unseen { (words.find_now) } }
            }
            div .me {
                span #my-face .face aria-hidden="true" {}
                p {
                    strong { bdi #my-name {} }
                    span .hint { bdi #my-handle {} }
                }
                button #leave .small type="button" { (words.log_out) }
            }
        }
    }
}

/// The question before what cannot be undone.
fn question(words: &Words) -> Markup {
    html! {
        dialog #ask aria-labelledby="asked" {
            form method="dialog" .card {
                h2 #asked {}
                div .row {
                    button .danger value="yes" { (words.delete) }
                    button value="no" autofocus { (words.keep) }
                }
            }
        }
    }
}
