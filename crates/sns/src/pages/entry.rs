//! The way in: log in, or make an account.

use maud::{Markup, html};

use super::words::Words;
use crate::limits::{EMAIL_BYTES_MAX, PASSWORD_LETTERS, USERNAME_LETTERS};
use crate::options::Registration;

pub(super) fn render(words: &Words, registration: Registration) -> Markup {
    html! {
        div #entry .entry .scripted hidden {
            div .welcome { h1 { (words.title) } p .lead { (words.lead) } }
            // A browser that has logged in before has the other order (`frame.js`).
            div .pair {
                @match registration {
                    Registration::Open => { (register(words, false)) (log_in(words)) },
                    Registration::Invite => { (register(words, true)) (log_in(words)) },
                    Registration::Closed => { (log_in(words)) p .notice { (words.closed) } },
                }
            }
        }
    }
}

fn log_in(words: &Words) -> Markup {
    html! {
        form #log-in .card aria-labelledby="log-in-title" {
            h2 #log-in-title { (words.log_in) }
            (email(words, "log-in-email", "username", None))
            div .field {
                label for="log-in-password" { (words.password) }
                input #log-in-password name="password" type="password" required
                    autocomplete="current-password";
            }
            p .notice .alert role="alert" {}
            button { (words.log_in) }
        }
    }
}

fn register(words: &Words, needs_invite: bool) -> Markup {
    let (min, max) = (USERNAME_LETTERS.start(), USERNAME_LETTERS.end());
    html! {
        form #register .card aria-labelledby="register-title" {
            h2 #register-title { (words.register) }
            (email(words, "register-email", "email", Some(words.email_hint)))
            div .field {
                label for="register-name" { (words.username) }
                input #register-name name="username" required autocomplete="off"
                    autocapitalize="none" spellcheck="false" minlength=(min) maxlength=(max)
                    pattern="[A-Za-z0-9_\\-]+" title=(words.username_hint)
                    aria-describedby="register-name-hint";
                p #register-name-hint .hint { (words.username_hint) }
            }
            (new_password(words, "register-password", "password", words.password))
            @if needs_invite {
                div .field {
                    label for="invite" { (words.invite) }
                    input #invite name="invite" required autocomplete="off" spellcheck="false";
                }
            }
            p .notice .alert role="alert" {}
            button .primary { (words.register_now) }
        }
    }
}

fn email(words: &Words, id: &str, autocomplete: &str, hint: Option<&str>) -> Markup {
    let hint_id = format!("{id}-hint");
    html! {
        div .field {
            label for=(id) { (words.email) }
            input id=(id) name="email" type="email" required autocomplete=(autocomplete)
                maxlength=(EMAIL_BYTES_MAX) aria-describedby=[hint.map(|_| &hint_id)];
            @if let Some(hint) = hint { p id=(hint_id) .hint { (hint) } }
        }
    }
}

/// A field for a password that is to be made up.
pub(super) fn new_password(words: &Words, id: &str, name: &str, label: &str) -> Markup {
    let (min, max) = (PASSWORD_LETTERS.start(), PASSWORD_LETTERS.end());
    html! {
        div .field {
            label for=(id) { (label) }
            input id=(id) name=(name) type="password" required autocomplete="new-password"
                minlength=(min) maxlength=(max) aria-describedby={ (id) "-hint" };
            p id={ (id) "-hint" } .hint { (words.password_hint) }
        }
    }
}
