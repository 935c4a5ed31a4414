//! What keeps the house: who may come in and what was done (access), and what it was told
//! (settings).

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use edge::{
    ApiKey, Audited, Failure, Form, IntoResponse, OperatorSession, Page, Path, Reader, Redirect,
    Response, SignedIn, State, StatusCode,
};
use maud::{Markup, html};
use serde::Deserialize;

use super::words::{KeepWords, Words, of};
use super::{Kind, Pages, time};
use crate::ShownSetting;
use crate::limits::KEY_DAYS_MAX;

pub(super) async fn show_access(
    State(pages): State<Arc<Pages>>,
    session: OperatorSession,
    reader: Reader,
) -> Result<Page, Failure> {
    pages.access(reader, &session, None, None).await
}

/// What the form of a key says.
#[derive(Debug, Deserialize)]
pub(super) struct KeyForm {
    name: String,
    #[serde(default)]
    scopes: String,
    #[serde(default)]
    id: String,
    /// For how many days it works; nothing for ever.
    #[serde(default)]
    days: String,
}

/// Makes a key, and shows its secret this once.
pub(super) async fn make_key(
    State(pages): State<Arc<Pages>>,
    session: OperatorSession,
    reader: Reader,
    Form(form): Form<KeyForm>,
) -> Result<Response, Failure> {
    let scopes: Vec<String> = form.scopes.split_whitespace().map(str::to_owned).collect();
    let expires = match expiry(&form.days, pages.console.clock.now()) {
        Ok(expires) => expires,
        Err(problem) => {
            let page = pages.access(reader, &session, None, Some(problem)).await?;
            return Ok(page.with_status(StatusCode::BAD_REQUEST).into_response());
        }
    };
    match pages.console.keys.create(form.name.trim(), &scopes, expires).await {
        Ok(secret) => {
            Ok(pages.access(reader, &session, Some(&secret.text), None).await?.into_response())
        }
        Err(error @ edge::Error::Store(_)) => Err(failure(error)),
        Err(error) => {
            let page = pages.access(reader, &session, None, Some(error.to_string())).await?;
            Ok(page.with_status(StatusCode::BAD_REQUEST).into_response())
        }
    }
}

fn failure(error: edge::Error) -> Failure {
    match error {
        edge::Error::Store(error) => Failure::of_store(&error),
        other => Failure::internal(other.to_string()),
    }
}

/// When a key ends that is good for so many days.
fn expiry(days: &str, now: Timestamp) -> Result<Option<Timestamp>, String> {
    if days.trim().is_empty() {
        return Ok(None);
    }
    let days = days.trim().parse::<u64>().ok().filter(|days| (1..=KEY_DAYS_MAX).contains(days));
    let days = days.ok_or_else(|| format!("a key is good for 1 to {KEY_DAYS_MAX} days"))?;
    Ok(now.checked_add(Duration::from_secs(days * 24 * 60 * 60)))
}

pub(super) async fn revoke_key(
    State(pages): State<Arc<Pages>>,
    Form(form): Form<KeyForm>,
) -> Result<Redirect, Failure> {
    let id = Some(form.id.as_str()).filter(|id| !id.is_empty());
    match pages.console.keys.revoke(&form.name, id).await {
        // Somebody else was faster, or the button was pressed twice: what was wanted is so.
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

pub(super) async fn show_settings(State(pages): State<Arc<Pages>>, reader: Reader) -> Page {
    let words = of(reader.language);
    // What somebody has set is why somebody looks.
    let (set, left): (Vec<_>, Vec<_>) =
        pages.console.settings.iter().partition(|setting| !setting.origin.is_empty());
    let content = html! {
        div .stack {
            div { h1 { (words.keep.settings) } p .hint { (words.keep.settings_hint) } }
            section .card aria-labelledby="set" {
                h2 #set { (words.keep.were_set) }
                @if set.is_empty() { p .hint { (words.keep.none_set) } }
                @else { (settings_table(&words.keep, words.keep.were_set, &set)) }
            }
            section .card aria-labelledby="left" {
                h2 #left { (words.keep.were_left) }
                (settings_table(&words.keep, words.keep.were_left, &left))
            }
        }
    };
    pages.plain(reader, words.keep.settings, Kind::Settings, &content)
}

/// Settings with their values, and where they come from if that is somewhere.
fn settings_table(words: &KeepWords, title: &str, settings: &[&ShownSetting]) -> Markup {
    let have_origin = settings.iter().any(|setting| !setting.origin.is_empty());
    html! {
        div .scroll tabindex="0" role="region" aria-label=(title) { table .listing .stacked {
            thead { tr {
                th { (words.setting) } th { (words.value) }
                @if have_origin { th { (words.origin) } }
            } }
            tbody { @for setting in settings { tr {
                th scope="row" { (setting.key) p .hint { (with_code(&setting.about)) } }
                td .wrap { @if setting.is_secret { (words.kept_secret) } @else { code { (setting.value) } } }
                @if have_origin { td .wrap { (setting.origin) } }
            } } }
        } }
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

impl Pages {
    async fn access(
        &self,
        reader: Reader,
        session: &OperatorSession,
        secret: Option<&str>,
        problem: Option<String>,
    ) -> Result<Page, Failure> {
        let words = of(reader.language);
        let keys = self.console.keys.list().await;
        let keys = keys.map_err(failure)?;
        let sessions = self.operator.list_sessions().await;
        let sessions = sessions.map_err(failure)?;
        let audited = self.operator.list_deeds().await;
        let audited = audited.map_err(failure)?;
        let content = html! {
            div .stack {
                (render_keys(words, &keys, secret, problem.as_deref()))
                (render_sessions(words, &sessions, &session.id()))
                (render_audit(&words.keep, &audited))
            }
        };
        Ok(self.plain(reader, words.keep.access, Kind::Access, &content))
    }
}

fn render_keys(
    words: &Words,
    keys: &[ApiKey],
    secret: Option<&str>,
    problem: Option<&str>,
) -> Markup {
    let keep = &words.keep;
    html! {
        h1 { (keep.access) }
        @if let Some(problem) = problem { p .notice .alert role="alert" { (problem) } }
        @if let Some(secret) = secret {
            div .notice role="status" { p { (keep.secret_once) } p { code .wrap { (secret) } } }
        }
        section .card aria-labelledby="keys" {
            h2 #keys { (keep.keys) }
            ul .letters { @for key in keys { @for secret in &key.secrets {
                li .row .spread {
                    span .wrap { strong { (key.name) } " " (key.scopes.join(" ")) }
                    span .hint { (keep.made_at) " " (time(secret.created))
                        " · " (keep.used_at) " " @if let Some(used) = secret.last_used { (time(used)) } @else { "–" }
                        " · " (keep.ends) " " @if let Some(end) = secret.expires { (time(end)) } @else { (keep.no_end) } }
                    form method="post" action="/console/access/revoke" data-confirm=(keep.confirm_revoke) {
                        input type="hidden" name="name" value=(key.name);
                        input type="hidden" name="id" value=(secret.id);
                        button .small .danger { (keep.revoke) span .unseen { " " (key.name) } }
                    }
                }
            } } }
            p .empty { (keep.no_keys) }
            form .pair method="post" action="/console/access" {
                div .field { label for="name" { (keep.key_name) } input #name name="name" required; }
                div .field { label for="scopes" { (keep.scopes) } input #scopes name="scopes" placeholder="collect:operate"; }
                div .field { label for="days" { (keep.good_for_days) }
                    input #days name="days" type="number" min="1" max=(KEY_DAYS_MAX); }
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
