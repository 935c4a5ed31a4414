//! The pages themselves.

use axum::http::StatusCode;
use maud::{Markup, html};

use super::{SET_UP, SIGN_IN, SIGN_OUT, SIGN_OUT_ALL};
use crate::limits::guard::PASSWORD_LETTERS_MIN;
use crate::notice::{frame, with_code};
use crate::operator::words;
use crate::{Page, Reader};

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
    frame(reader, words.set_up_title, &format!("token={token}&"), &form).with_status(status(notice))
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
    frame(reader, words.sign_in_title, &format!("next={next}&"), &form).with_status(status(notice))
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
    frame(reader, words.signed_in_title, "", &forms)
}

/// What a link that does not work leads to.
pub(super) fn link_gone(reader: Reader) -> Page {
    let words = words::of(reader.language);
    let text = html! { p .lead { (with_code(words.link_gone)) } };
    frame(reader, words.link_gone_title, "", &text).with_status(StatusCode::GONE)
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
