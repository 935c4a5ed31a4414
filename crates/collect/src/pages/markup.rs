//! Pieces that pages share.

use maud::{Markup, html};

use super::Listed;
use super::words::Words;

/// What is said where no source is.
pub(super) fn no_sources(words: &Words, listed: &Listed) -> Markup {
    let told = if listed.is_plain() { words.no_sources } else { words.no_match };
    // Alone, for beside a list that holds something it would not be shown.
    html! { div { p .empty { (told) } } }
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
