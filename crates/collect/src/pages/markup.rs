//! Pieces that pages share.

use maud::{Markup, html};

use super::words::Words;
use super::{DESK, Listed};
use crate::model::practice::NAME;

/// What the reader of an empty list may do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// Add sources, as the operator.
    Forms,
    /// Go to the operator's desk, and sign in there.
    Desk,
}

/// What stands where no source is: without a search, what to begin with.
pub(super) fn no_sources(words: &Words, listed: &Listed, offer: Offer) -> Markup {
    if !listed.is_plain() {
        // Alone, for beside a list that holds something it would not be shown.
        return html! { div { p .empty { (words.no_match) } } };
    }
    html! {
        section .card .begin aria-labelledby="begin-title" {
            h2 #begin-title { (words.no_sources) }
            p { (words.practice_lead) }
            @match offer {
                Offer::Forms => form .row method="post" action="/collect/operate/act" {
                    input type="hidden" name="name" value=(NAME);
                    button .primary name="act" value="practise" { (words.practice_start) }
                    a .button href="/collect/operate/new" { (words.add) }
                },
                Offer::Desk => p .row { a .button .primary href=(DESK) { (words.practice_desk) } },
            }
            p .hint { (words.practice_hint) }
        }
    }
}

/// The ways to other pages of a list.
pub(super) fn pager(
    words: &Words,
    path: &str,
    listed: &Listed,
    last: Option<&str>,
    more: bool,
) -> Markup {
    let first = Listed { after: String::new(), ..listed.clone() };
    html! {
        @if more || !listed.after.is_empty() {
            nav .row .pager {
                @if !listed.after.is_empty() {
                    a .button href={ (path) "?" (first.query()) } { (words.first_page) }
                }
                @if let (true, Some(last)) = (more, last) {
                    @let next = Listed { after: last.to_owned(), ..listed.clone() };
                    a .button href={ (path) "?" (next.query()) } { (words.next_page) }
                }
            }
        }
    }
}

/// What a form needs to lead back to where it was.
pub(super) fn place(listed: &Listed) -> Markup {
    html! {
        @for (name, value) in listed.fields() { input type="hidden" name=(name) value=(value); }
    }
}

/// A choice, one of which holds.
pub(super) fn choice<'a>(
    name: &str,
    choices: impl IntoIterator<Item = (&'a str, &'a str)>,
    chosen: &str,
) -> Markup {
    html! {
        select name=(name) {
            @for (value, label) in choices {
                option value=(value) selected[value == chosen] { (label) }
            }
        }
    }
}
