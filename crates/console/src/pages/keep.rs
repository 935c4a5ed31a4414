//! What keeps the house: who may come in (access), what can be brought back (backups), and what it
//! was told (settings).

use std::sync::Arc;

use base::Timestamp;
use edge::{
    ApiKey, Failure, Form, IntoResponse, Page, Query, Reader, Redirect, Response, SignedIn, State,
    StatusCode,
};
use maud::{Markup, html};
use serde::Deserialize;
use table::Backup;

use super::words::{Words, of};
use super::{Kind, Pages};
use crate::limits::BACKUPS_SHOWN;

/// What an address says.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Looked {
    #[serde(default)]
    told: String,
}

pub(super) async fn show_access(
    State(pages): State<Arc<Pages>>,
    reader: Reader,
) -> Result<Page, Failure> {
    pages.access(reader, None, None).await
}

/// What the form of a key says.
#[derive(Debug, Deserialize)]
pub(super) struct KeyForm {
    name: String,
    #[serde(default)]
    scopes: String,
    #[serde(default)]
    id: String,
}

/// Makes a key, and shows its secret this once.
pub(super) async fn make_key(
    State(pages): State<Arc<Pages>>,
    reader: Reader,
    Form(form): Form<KeyForm>,
) -> Result<Response, Failure> {
    let scopes: Vec<String> = form.scopes.split_whitespace().map(str::to_owned).collect();
    match pages.console.keys.create(form.name.trim(), &scopes, None).await {
        Ok(secret) => Ok(pages.access(reader, Some(&secret.text), None).await?.into_response()),
        Err(error @ edge::Error::Store(_)) => Err(Failure::internal(error.to_string())),
        Err(error) => {
            let page = pages.access(reader, None, Some(error.to_string())).await?;
            Ok(page.with_status(StatusCode::BAD_REQUEST).into_response())
        }
    }
}

pub(super) async fn revoke_key(
    State(pages): State<Arc<Pages>>,
    Form(form): Form<KeyForm>,
) -> Result<Redirect, Failure> {
    let id = Some(form.id.as_str()).filter(|id| !id.is_empty());
    let revoked = pages.console.keys.revoke(&form.name, id).await;
    revoked.map_err(|error| Failure::internal(error.to_string()))?;
    Ok(Redirect::to("/console/access"))
}

pub(super) async fn show_backups(
    State(pages): State<Arc<Pages>>,
    Query(looked): Query<Looked>,
    reader: Reader,
) -> Result<Page, Failure> {
    let words = of(reader.language);
    let told = match looked.told.as_str() {
        "made" => Some(words.keep.made),
        "whole" => Some(words.keep.whole),
        _ => None,
    };
    pages.backups(reader, told, None).await
}

/// What a button says.
#[derive(Debug, Deserialize)]
pub(super) struct BackupForm {
    act: String,
    #[serde(default)]
    id: String,
}

/// Makes a backup, or reads one whole to see that nothing of it is damaged.
pub(super) async fn back_up(
    State(pages): State<Arc<Pages>>,
    reader: Reader,
    Form(form): Form<BackupForm>,
) -> Result<Response, Failure> {
    let Some(store) = pages.console.store.clone() else { return Err(no_backups()) };
    let done = match form.act.as_str() {
        "create" => store.backups().create().await.map(|_| "made"),
        _ => match pages.list_backups().await?.into_iter().find(|backup| backup.id == form.id) {
            None => return Err(no_backups()),
            Some(backup) => {
                let verified = tokio::task::spawn_blocking(move || table::verify(&backup.path));
                let verified = verified.await.map_err(|cause| Failure::internal(cause.to_string()));
                verified?.map(|_| "whole")
            }
        },
    };
    pages.console.look_for_backups().await;
    match done {
        Ok(told) => Ok(Redirect::to(&format!("/console/backups?told={told}")).into_response()),
        Err(error) => {
            let page = pages.backups(reader, None, Some(error.to_string())).await?;
            Ok(page.with_status(StatusCode::INTERNAL_SERVER_ERROR).into_response())
        }
    }
}

fn no_backups() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "no_such_backup", "there is no such backup")
}

pub(super) async fn show_settings(State(pages): State<Arc<Pages>>, reader: Reader) -> Page {
    let words = of(reader.language);
    let content = html! {
        div .stack {
            h1 { (words.keep.settings) }
            p .hint { (words.keep.settings_hint) }
            div .scroll tabindex="0" role="region" aria-label=(words.keep.settings) { table .listing {
                thead { tr { th { (words.keep.setting) } th { (words.keep.value) } th { (words.keep.origin) } } }
                tbody { @for setting in &pages.console.settings { tr {
                    th scope="row" { (setting.key) p .hint { (setting.about) } }
                    td .wrap { @if setting.is_secret { (words.keep.kept_secret) } @else { code { (setting.value) } } }
                    td .wrap { @if setting.origin.is_empty() { span .hint { (words.keep.default) } } @else { (setting.origin) } }
                } } }
            } }
        }
    };
    pages.plain(reader, words.keep.settings, Kind::Settings, &content)
}

impl Pages {
    async fn access(
        &self,
        reader: Reader,
        secret: Option<&str>,
        problem: Option<String>,
    ) -> Result<Page, Failure> {
        let words = of(reader.language);
        let keys = self.console.keys.list().await;
        let keys = keys.map_err(|error| Failure::internal(error.to_string()))?;
        let sessions = self.operator.list_sessions().await;
        let sessions = sessions.map_err(|error| Failure::internal(error.to_string()))?;
        let content = render_access(words, &keys, &sessions, secret, problem.as_deref());
        Ok(self.plain(reader, words.keep.access, Kind::Access, &content))
    }

    async fn list_backups(&self) -> Result<Vec<Backup>, Failure> {
        let Some(store) = self.console.store.clone() else { return Ok(Vec::new()) };
        let listed = tokio::task::spawn_blocking(move || store.backups().list()).await;
        let listed = listed.map_err(|cause| Failure::internal(cause.to_string()))?;
        listed.map_err(|error| Failure::internal(error.to_string()))
    }

    async fn backups(
        &self,
        reader: Reader,
        told: Option<&str>,
        problem: Option<String>,
    ) -> Result<Page, Failure> {
        let words = of(reader.language);
        let backups = self.list_backups().await?;
        let content = render_backups(words, &backups, told, problem.as_deref());
        Ok(self.plain(reader, words.keep.backups, Kind::Backups, &content))
    }
}

fn render_access(
    words: &Words,
    keys: &[ApiKey],
    sessions: &[SignedIn],
    secret: Option<&str>,
    problem: Option<&str>,
) -> Markup {
    let keep = &words.keep;
    html! {
        div .stack {
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
                            " · " (keep.used_at) " " @if let Some(used) = secret.last_used { (time(used)) } @else { "–" } }
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
                    div .row { button .primary { (keep.make_key) } }
                }
            }
            section .card aria-labelledby="sessions" {
                h2 #sessions { (keep.sessions) }
                p .hint { (keep.sessions_hint) }
                ul .letters {
                    @for session in sessions {
                        li .row .spread {
                            span { (keep.since) " " (time(session.since)) }
                            span .hint { (keep.seen) " " (time(session.seen)) }
                        }
                    }
                }
                div .row {
                    form method="post" action="/console/sign-out" { button { (words.leave) } }
                    form method="post" action="/console/sign-out-everywhere" { button .danger { (keep.everywhere) } }
                }
            }
            section .card { h2 { (keep.audit) } p { (keep.audit_hint) " " a href="/score/operate" { "/score/operate" } } }
        }
    }
}

fn render_backups(
    words: &Words,
    backups: &[Backup],
    told: Option<&str>,
    problem: Option<&str>,
) -> Markup {
    let keep = &words.keep;
    let act = |act: &str, id: &str, name: &str| {
        html! {
            form method="post" action="/console/backups" {
                input type="hidden" name="act" value=(act);
                input type="hidden" name="id" value=(id);
                button .small[act != "create"] .primary[act == "create"] { (name) span .unseen { " " (id) } }
            }
        }
    };
    html! {
        div .stack {
            h1 { (keep.backups) }
            @if let Some(told) = told { p .notice role="status" { (told) } }
            @if let Some(problem) = problem { p .notice .alert role="alert" { (problem) } }
            (act("create", "", keep.create))
            ul .letters {
                @for backup in backups.iter().rev().take(BACKUPS_SHOWN) {
                    li .row .spread {
                        span { (time(Timestamp::from_millis(backup.created_ms))) }
                        span .hint .wrap { (backup.id) " · " span data-bytes=(backup.bytes()) { (backup.bytes()) } }
                        (act("verify", &backup.id, keep.verify))
                    }
                }
            }
            p .empty { (keep.no_backups) }
            section .card { h2 { (keep.restore) } p { (keep.restore_hint) }
                pre .code { "nagaya backup restore --at 2026-01-31T09:00:00Z --to restored" } }
        }
    }
}

fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at.to_string()) { (at.to_string()) } }
}
