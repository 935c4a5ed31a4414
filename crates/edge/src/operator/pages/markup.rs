//! The pages themselves.

use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};

use super::{SET_UP, SIGN, SIGN_IN, SIGN_OUT, SIGN_OUT_ALL, STYLE};
use crate::limits::guard::PASSWORD_LETTERS_MIN;
use crate::operator::words;
use crate::{Language, Page, Reader};

/// What a page says about the form that came before it.
#[derive(Clone, Copy)]
pub(super) struct Notice {
    pub(super) status: StatusCode,
    pub(super) text: &'static str,
}

/// Where the password is chosen.
pub(super) fn set_up(reader: Reader, token: &str, notice: Option<Notice>) -> Page {
    let words = words::of(reader.language);
    let form = html! {
        p .lead { (words.set_up_lead) }
        (alert(notice))
        form method="post" action=(SET_UP) {
            input type="hidden" name="token" value=(token);
            (account())
            label for="password" { (words.password) }
            input #password type="password" name="password" required autofocus
                minlength=(PASSWORD_LETTERS_MIN) autocomplete="new-password"
                aria-describedby="rule" aria-invalid=[notice.map(|_| "true")];
            p #rule .hint { (words.password_rule) }
            label for="again" { (words.password_again) }
            input #again type="password" name="again" required
                minlength=(PASSWORD_LETTERS_MIN) autocomplete="new-password";
            button { (words.set_up) }
        }
    };
    page(reader, words.set_up_title, &format!("token={token}&"), &form).with_status(status(notice))
}

/// Where the password is asked for.
pub(super) fn sign_in(reader: Reader, next: &str, notice: Option<Notice>) -> Page {
    let words = words::of(reader.language);
    let form = html! {
        (alert(notice))
        form method="post" action=(SIGN_IN) {
            input type="hidden" name="next" value=(next);
            (account())
            label for="password" { (words.password) }
            input #password type="password" name="password" required autofocus
                autocomplete="current-password" aria-invalid=[notice.map(|_| "true")];
            button { (words.sign_in) }
        }
        p .hint { (with_code(words.sign_in_hint)) }
    };
    page(reader, words.sign_in_title, &format!("next={next}&"), &form).with_status(status(notice))
}

/// The way out.
pub(super) fn sign_out(reader: Reader) -> Page {
    let words = words::of(reader.language);
    let forms = html! {
        p .lead { (words.signed_in_lead) }
        form method="post" action=(SIGN_OUT) { button { (words.sign_out) } }
        form method="post" action=(SIGN_OUT_ALL) {
            button .quiet aria-describedby="all" { (words.sign_out_all) }
            p #all .hint { (words.sign_out_all_hint) }
        }
    };
    page(reader, words.signed_in_title, "", &forms)
}

/// What a link that does not work leads to.
pub(super) fn link_gone(reader: Reader) -> Page {
    let words = words::of(reader.language);
    let text = html! { p .lead { (with_code(words.link_gone)) } };
    page(reader, words.link_gone_title, "", &text).with_status(StatusCode::GONE)
}

/// `query` is what the address must say besides the language.
fn page(reader: Reader, title: &str, query: &str, content: &Markup) -> Page {
    let others = Language::ALL.into_iter().filter(|other| *other != reader.language);
    let document = html! {
        (DOCTYPE)
        html lang=(reader.language.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Nagaya" }
                link rel="icon" type="image/svg+xml" href=(SIGN);
                link rel="stylesheet" href=(STYLE);
            }
            body {
                main {
                    header {
                        (roof()) p { "Nagaya" }
                        nav { @for other in others {
                            a href={ "?" (query) "lang=" (other.tag()) } lang=(other.tag())
                                hreflang=(other.tag()) { (other.name()) }
                        } }
                    }
                    h1 { (title) }
                    (content)
                }
            }
        }
    };
    Page::new(document).with_reader(reader)
}

fn status(notice: Option<Notice>) -> StatusCode {
    notice.map_or(StatusCode::OK, |notice| notice.status)
}

fn alert(notice: Option<Notice>) -> Markup {
    html! { @if let Some(notice) = notice { p .alert role="alert" { (notice.text) } } }
}

/// For password managers, which keep a password under a name.
fn account() -> Markup {
    html! {
        input type="text" name="username" value="operator" autocomplete="username" hidden;
    }
}

/// A long house: one roof, five doors.
fn roof() -> Markup {
    html! {
        svg viewBox="0 0 64 32" width="64" height="32" aria-hidden="true" {
            path .roof d="M2 14 L10 3 H54 L62 14 Z" {}
            path .wall d="M5 14 H59 V30 H5 Z" {}
            @for door in 0..5 {
                rect .door x=(9 + door * 10) y="19" width="6" height="11" {}
            }
        }
    }
}

/// Words between backticks are things to type.
fn with_code(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
