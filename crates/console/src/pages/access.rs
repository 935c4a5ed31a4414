//! Who may come in, and what was done: the shared key of the mesh, API keys, sessions, the audit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use edge::{
    ApiKey, ApiSecret, Audited, Failure, Form, IntoResponse, Language, OperatorSession, Page, Path,
    Reader, Redirect, Response, SharedKey, SignedIn, State, StatusCode,
};
use maud::{Markup, html};
use serde::Deserialize;

use super::words::{self, AccessWords, KeepWords, Words, of};
use super::{Kind, Pages, time, with_code};
use crate::limits::{KEY_DAYS_MAX, KEY_SECRETS_SHOWN};

/// What the names of the checkboxes begin with.
const SCOPE: &str = "scope:";
/// How long a key lasts that nobody decides about.
const USUAL_DAYS: &str = "90";

pub(super) async fn show(
    State(pages): State<Arc<Pages>>,
    session: OperatorSession,
    reader: Reader,
) -> Result<Page, Failure> {
    pages.access(reader, &session, Outcome::Nothing).await
}

/// What the form of a key says.
#[derive(Debug, Deserialize)]
pub(super) struct KeyForm {
    name: String,
    #[serde(default)]
    id: String,
    /// For how many days it works; nothing for a key without an end.
    #[serde(default)]
    days: String,
    /// Whether it is one more secret of a key that is there, with the same scopes.
    #[serde(default)]
    another: String,
    /// The scopes that are selected, each a checkbox of its own.
    #[serde(flatten)]
    others: BTreeMap<String, String>,
}

/// What came of a form.
enum Outcome {
    Nothing,
    Secret(String),
    Problem(String),
}

/// Makes a key, and shows its secret this once.
pub(super) async fn make_key(
    State(pages): State<Arc<Pages>>,
    session: OperatorSession,
    reader: Reader,
    Form(form): Form<KeyForm>,
) -> Result<Response, Failure> {
    let outcome = pages.make(reader.language, &form).await?;
    let is_wrong = matches!(outcome, Outcome::Problem(_));
    let page = pages.access(reader, &session, outcome).await?;
    let page = if is_wrong { page.with_status(StatusCode::BAD_REQUEST) } else { page };
    Ok(page.into_response())
}

fn failure(error: edge::Error) -> Failure {
    match error {
        edge::Error::Store(error) => Failure::of_store(&error),
        other => Failure::internal(other.to_string()),
    }
}

/// When a key ends that is good for so many days. Nothing if the days cannot be.
fn expiry(days: &str, now: Timestamp) -> Option<Option<Timestamp>> {
    if days.trim().is_empty() {
        return Some(None);
    }
    let days = days.trim().parse::<u64>().ok().filter(|days| (1..=KEY_DAYS_MAX).contains(days))?;
    Some(now.checked_add(Duration::from_secs(days * 24 * 60 * 60)))
}

pub(super) async fn revoke_key(
    State(pages): State<Arc<Pages>>,
    Form(form): Form<KeyForm>,
) -> Result<Redirect, Failure> {
    let id = Some(form.id.as_str()).filter(|id| !id.is_empty());
    match pages.console.keys.revoke(&form.name, id).await {
        // Somebody else was faster, or the button was pressed twice: the key is gone as wanted.
        Ok(_) | Err(edge::Error::NoSuchKey(_)) => Ok(Redirect::to("/console/access")),
        Err(error) => Err(failure(error)),
    }
}

/// Ends the session of one browser. The path names it, and so does the audit.
pub(super) async fn end_session(
    State(pages): State<Arc<Pages>>,
    Path(id): Path<String>,
) -> Result<Redirect, Failure> {
    let ended = pages.operator.end_session(&id).await;
    ended.map_err(failure)?;
    Ok(Redirect::to("/console/access"))
}

impl Pages {
    async fn make(&self, language: Language, form: &KeyForm) -> Result<Outcome, Failure> {
        let words = words::access(language);
        let scopes: Vec<String> = form
            .others
            .keys()
            .filter_map(|name| name.strip_prefix(SCOPE))
            .map(str::to_owned)
            .collect();
        let Some(expires) = expiry(&form.days, self.console.clock.now()) else {
            return Ok(Outcome::Problem(words.bad_days.to_owned()));
        };
        if scopes.is_empty() && form.another.is_empty() {
            return Ok(Outcome::Problem(words.no_scope.to_owned()));
        }
        match self.console.keys.create(form.name.trim(), &scopes, expires).await {
            Ok(secret) => Ok(Outcome::Secret(secret.text)),
            Err(error @ edge::Error::Store(_)) => Err(failure(error)),
            Err(error) => Ok(Outcome::Problem(error.to_string())),
        }
    }

    async fn access(
        &self,
        reader: Reader,
        session: &OperatorSession,
        outcome: Outcome,
    ) -> Result<Page, Failure> {
        let (words, own) = (of(reader.language), words::access(reader.language));
        let keys = self.console.keys.list().await.map_err(failure)?;
        let sessions = self.operator.list_sessions().await.map_err(failure)?;
        let audited = self.operator.list_deeds().await.map_err(failure)?;
        let now = self.console.clock.now();
        let content = html! {
            div .stack {
                div { h1 { (words.keep.access) } p .hint { (own.lead) } }
                (render_outcome(&words.keep, own, &outcome))
                @for key in self.console.keys.shared() { (render_shared(&words.keep, own, &key)) }
                (render_keys(&words.keep, own, &keys, now))
                (render_form(&words.keep, own, reader.language))
                (render_sessions(words, &sessions, &session.id()))
                (render_audit(&words.keep, &audited))
            }
        };
        Ok(self.plain(reader, words.keep.access, Kind::Access, &content))
    }
}

fn render_outcome(keep: &KeepWords, words: &AccessWords, outcome: &Outcome) -> Markup {
    html! {
        @match outcome {
            Outcome::Nothing => {},
            Outcome::Problem(problem) => p .notice .alert role="alert" { (problem) },
            Outcome::Secret(secret) => {
                div .notice role="status" {
                    p { strong { (keep.secret_once) } }
                    p .row { code #made .wrap { (secret) } (copy(words, secret, words.secret)) }
                    p .hint { (words.header) " " code .wrap { "x-api-key: " (secret) } }
                }
            }
        }
    }
}

/// A button that puts a text on the clipboard. Without script the text itself is there to select.
pub(super) fn copy(words: &AccessWords, text: &str, object: &str) -> Markup {
    html! {
        button .small .scripted type="button" data-copy=(text) data-copied=(words.copied) {
            span { (words.copy) } span .unseen { " " (object) }
        }
    }
}

fn used(keep: &KeepWords, words: &AccessWords, last: Option<Timestamp>) -> Markup {
    html! {
        @match last {
            Some(last) => { (keep.used_at) " " (time(last)) },
            None => (words.never_used),
        }
    }
}

fn render_shared(keep: &KeepWords, words: &AccessWords, key: &SharedKey) -> Markup {
    html! {
        section .card aria-labelledby="shared" {
            h2 #shared { (words.shared) }
            p .hint { (with_code(words.shared_hint)) }
            div .row .spread {
                span .row { code #shared-key .wrap { (key.text()) } (copy(words, key.text(), words.shared)) }
                span .hint { (used(keep, words, key.last_used())) }
            }
            p { a href={ "/" (key.name()) } { (words.shared_example) } }
        }
    }
}

fn render_keys(keep: &KeepWords, words: &AccessWords, keys: &[ApiKey], now: Timestamp) -> Markup {
    html! {
        section .card aria-labelledby="keys" {
            h2 #keys { (keep.keys) }
            @if !keys.is_empty() { p .hint { (words.another_hint) " " (words.used_hint) } }
            ul .letters { @for key in keys {
                li {
                    div .row .spread .wide {
                        span .row {
                            strong .wrap { (key.name) }
                            @for scope in &key.scopes { code .badge { (scope) } }
                        }
                        @if key.secrets.len() < KEY_SECRETS_SHOWN {
                            form method="post" action="/console/access" {
                                input type="hidden" name="name" value=(key.name);
                                input type="hidden" name="another" value="yes";
                                button .small { (words.another) span .unseen { " " (key.name) } }
                            }
                        }
                    }
                    @for secret in &key.secrets { (render_secret(keep, words, key, secret, now)) }
                }
            } }
            p .empty { (keep.no_keys) }
        }
    }
}

fn render_secret(
    keep: &KeepWords,
    words: &AccessWords,
    key: &ApiKey,
    secret: &ApiSecret,
    now: Timestamp,
) -> Markup {
    let has_ended = secret.expires.is_some_and(|end| end <= now);
    // The name alone is enough where there is nothing to confuse it with.
    let called = match key.secrets.len() {
        1 => key.name.clone(),
        _ => format!("{}/{}", key.name, secret.id),
    };
    html! {
        div .row .spread .wide {
            span .hint {
                (words.secret) " " code { (secret.id) }
                " · " (keep.made_at) " " (time(secret.created))
                " · " (used(keep, words, secret.last_used))
                " · " @if has_ended { strong { (words.ended) } " " } @else { (keep.ends) " " }
                @if let Some(end) = secret.expires { (time(end)) } @else { (keep.no_end) }
            }
            form method="post" action="/console/access/revoke" data-confirm=(keep.confirm_revoke) {
                input type="hidden" name="name" value=(key.name);
                input type="hidden" name="id" value=(secret.id);
                button .small .danger { (keep.revoke) span .unseen { " " (called) } }
            }
        }
    }
}

fn render_form(keep: &KeepWords, words: &AccessWords, language: Language) -> Markup {
    html! {
        section .card aria-labelledby="new-key" {
            h2 #new-key { (words.new_key) }
            form .stack method="post" action="/console/access" {
                div .field {
                    label for="name" { (keep.key_name) }
                    input #name name="name" required maxlength="40" pattern="[a-z0-9][a-z0-9\\-]*"
                        autocomplete="off" spellcheck="false" aria-describedby="name-hint";
                    p #name-hint .hint { (words.name_hint) }
                }
                fieldset aria-describedby="scopes-hint" {
                    legend { (keep.scopes) }
                    p #scopes-hint .hint { (words.scopes_hint) }
                    @for (scope, about) in words::scopes(language) {
                        label .scope {
                            input type="checkbox" name={ (SCOPE) (scope) };
                            span { code { (scope) } br; span .hint { (about) } }
                        }
                    }
                }
                div .field {
                    label for="days" { (words.lifetime) }
                    select #days name="days" {
                        @for (days, called) in words.lifetimes {
                            option value=(days) selected[days == USUAL_DAYS] { (called) }
                        }
                    }
                }
                div .row { button .primary { (keep.make_key) } }
            }
        }
    }
}

/// The browsers that are signed in; `here` is the one that looks.
fn render_sessions(words: &Words, sessions: &[SignedIn], here: &str) -> Markup {
    let keep = &words.keep;
    html! {
        section .card aria-labelledby="sessions" {
            h2 #sessions { (keep.sessions) }
            p .hint { (keep.sessions_hint) }
            ul .letters {
                @for session in sessions {
                    li .row .spread {
                        span .wrap {
                            strong { (session.browser.as_deref().unwrap_or(keep.some_browser)) }
                            @if let Some(from) = &session.from { " " (from) }
                            " " code { (session.id) }
                        }
                        span .hint { (keep.since) " " (time(session.since)) " · " (keep.seen) " " (time(session.seen)) }
                        @if session.id == here { span .badge { (keep.this_browser) } } @else {
                            form method="post" action={ "/console/access/sessions/" (session.id) "/end" }
                                data-confirm=(keep.confirm_end) {
                                button .small .danger { (keep.end_session) span .unseen { " " (session.id) } }
                            }
                        }
                    }
                }
            }
            div .row {
                form method="post" action="/console/sign-out" { button { (words.leave) } }
                form method="post" action="/console/sign-out-everywhere" { button .danger { (keep.everywhere) } }
            }
        }
    }
}

/// What was done, the newest first.
fn render_audit(words: &KeepWords, audited: &Audited) -> Markup {
    html! {
        section .card aria-labelledby="audit" {
            h2 #audit { (words.audit) }
            p .hint { (words.audit_hint) }
            @if !audited.is_whole { p .notice .alert role="alert" { (words.audit_broken) } }
            @else if !audited.deeds.is_empty() { p { (words.audit_whole) } }
            @if audited.deeds.is_empty() { p { (words.no_audit) } } @else {
                div .scroll .bounded tabindex="0" role="group" aria-label=(words.audit) { table .listing {
                    thead { tr {
                        th .number { (words.number) } th { (words.when) } th { (words.request) }
                        th .number { (words.answer) } th { (words.from) }
                    } }
                    tbody { @for deed in &audited.deeds { tr {
                        td .number { (deed.number) } td { (time(deed.at())) }
                        td { (deed.request) } td .number { (deed.status) } td { (deed.from) }
                    } } }
                } }
            }
            p { (words.audit_elsewhere) " " a href="/score/operate" { "/score/operate" } }
        }
    }
}
