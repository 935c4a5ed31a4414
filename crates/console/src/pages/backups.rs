//! Backups, and the instants that can be brought back.
//!
//! A house is never restored into itself: what the page does is to try it, so that the command that
//! it shows is known to work.

use std::sync::Arc;

use base::Timestamp;
use edge::{
    Failure, Form, IntoResponse, Page, Query, Reader, Redirect, Response, State, StatusCode,
};
use maud::{Markup, html};
use serde::Deserialize;
use table::{Backup, Restored};

use super::words::{KeepWords, of};
use super::{Kind, Pages, time};
use crate::limits::BACKUPS_SHOWN;

/// What an address says.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Looked {
    #[serde(default)]
    told: String,
}

/// What happened before the page.
#[derive(Default)]
struct Beside {
    told: Option<&'static str>,
    problem: Option<String>,
    /// The instant of a restore as it was written, and what it would bring back.
    at: Option<String>,
    tried: Option<Restored>,
}

pub(super) async fn show(
    State(pages): State<Arc<Pages>>,
    Query(looked): Query<Looked>,
    reader: Reader,
) -> Result<Page, Failure> {
    let words = &of(reader.language).keep;
    let told = match looked.told.as_str() {
        "made" => Some(words.made),
        "deleted" => Some(words.backup_deleted),
        "whole" => Some(words.whole),
        _ => None,
    };
    pages.backups(reader, Beside { told, ..Beside::default() }).await
}

/// What a button says.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    act: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    at: String,
}

/// Makes or deletes a backup, reads one whole to see that nothing of it is damaged, or tries a
/// restore.
pub(super) async fn act(
    State(pages): State<Arc<Pages>>,
    reader: Reader,
    Form(asked): Form<Asked>,
) -> Result<Response, Failure> {
    let Some(store) = pages.console.store.clone() else { return Err(no_backups()) };
    let done = match asked.act.as_str() {
        "try" => return pages.try_restore(reader, asked.at).await,
        "create" => store.backups().create().await.map(|_| "made"),
        "delete" => match store.backups().delete(&asked.id).await {
            Ok(false) => return Err(no_backups()),
            deleted => deleted.map(|_| "deleted"),
        },
        _ => match pages.list_backups().await?.into_iter().find(|backup| backup.id == asked.id) {
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
            let status = Failure::of_store(&error).status();
            let beside = Beside { problem: Some(error.to_string()), ..Beside::default() };
            let page = pages.backups(reader, beside).await?;
            Ok(page.with_status(status).into_response())
        }
    }
}

fn no_backups() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "no_such_backup", "there is no such backup")
}

impl Pages {
    async fn list_backups(&self) -> Result<Vec<Backup>, Failure> {
        let Some(store) = self.console.store.clone() else { return Ok(Vec::new()) };
        let listed = tokio::task::spawn_blocking(move || store.backups().list()).await;
        let listed = listed.map_err(|cause| Failure::internal(cause.to_string()))?;
        listed.map_err(|error| Failure::of_store(&error))
    }

    /// Whether the house as it was at an instant could be restored.
    async fn try_restore(&self, reader: Reader, at: String) -> Result<Response, Failure> {
        let Some(store) = self.console.store.clone() else { return Err(no_backups()) };
        let instant = at.trim().parse::<Timestamp>().map_err(|error| error.to_string());
        let instant = instant.and_then(|instant| match instant > self.console.clock.now() {
            true => Err(format!("{instant} has not come yet")),
            false => Ok(instant),
        });
        let tried = match instant {
            Err(problem) => Err(problem),
            Ok(instant) => {
                store.backups().try_restore(instant).await.map_err(|error| error.to_string())
            }
        };
        let (tried, problem) = match tried {
            Ok(restored) => (Some(restored), None),
            Err(problem) => (None, Some(problem)),
        };
        let status = if tried.is_some() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        let beside = Beside { told: None, problem, at: Some(at), tried };
        Ok(self.backups(reader, beside).await?.with_status(status).into_response())
    }

    async fn backups(&self, reader: Reader, beside: Beside) -> Result<Page, Failure> {
        let words = of(reader.language);
        let backups = self.list_backups().await?;
        let now = self.console.clock.now();
        let content = match &self.console.store {
            Some(store) => {
                let kept = store.backups().kept_days();
                render(&words.keep, &backups, kept, &beside, now)
            }
            None => elsewhere(&words.keep),
        };
        Ok(self.plain(reader, words.keep.backups, Kind::Backups, &content))
    }
}

/// A house on DynamoDB has the backups that DynamoDB makes.
fn elsewhere(words: &KeepWords) -> Markup {
    html! { div .stack { h1 { (words.backups) } p .notice { (words.backups_elsewhere) } } }
}

fn render(
    words: &KeepWords,
    backups: &[Backup],
    kept_days: Option<u64>,
    beside: &Beside,
    now: Timestamp,
) -> Markup {
    let act = |act: &str, id: &str, name: &str| {
        let confirm = (act == "delete").then_some(words.confirm_delete_backup);
        html! {
            form method="post" action="/console/backups" data-confirm=[confirm] {
                input type="hidden" name="act" value=(act);
                input type="hidden" name="id" value=(id);
                button .small[act != "create"] .primary[act == "create"] .danger[act == "delete"] {
                    (name) span .unseen { " " (id) }
                }
            }
        }
    };
    let kept = kept_days.map(|days| words.kept_days.replace("{n}", &days.to_string()));
    html! {
        div .stack {
            h1 { (words.backups) }
            @if let Some(told) = beside.told { p .notice role="status" { (told) } }
            @if let Some(problem) = &beside.problem { p .notice .alert role="alert" { (problem) } }
            (act("create", "", words.create))
            p .hint { (kept.as_deref().unwrap_or(words.kept_for_good)) }
            ul .letters {
                @for backup in backups.iter().rev().take(BACKUPS_SHOWN) {
                    li .row .spread {
                        span { (time(Timestamp::from_millis(backup.created_ms))) }
                        span .hint .wrap { (backup.id) " · " span data-bytes=(backup.bytes()) { (backup.bytes()) } }
                        div .row {
                            (act("verify", &backup.id, words.verify))
                            (act("delete", &backup.id, words.delete_backup))
                        }
                    }
                }
            }
            p .empty { (words.no_backups) }
            (restore(words, beside, now))
        }
    }
}

/// A point in time: which, whether it can be had, and how.
fn restore(words: &KeepWords, beside: &Beside, now: Timestamp) -> Markup {
    let at = beside.at.clone().unwrap_or_else(|| now.to_string());
    html! {
        section .card aria-labelledby="restore" {
            h2 #restore { (words.restore) }
            p { (words.restore_hint) }
            form .pair method="post" action="/console/backups" {
                input type="hidden" name="act" value="try";
                div .field { label for="at" { (words.instant) }
                    input #at name="at" value=(at) required spellcheck="false"; }
                div .row { button { (words.try_it) } }
            }
            @if let Some(Restored { last_change, tables, items }) = &beside.tried {
                div .notice role="status" {
                    p { (words.would_work) }
                    dl .strip {
                        div { dt { (words.tables) } dd data-number=(tables) { (tables) } }
                        div { dt { (words.items) } dd data-number=(items) { (items) } }
                        div { dt { (words.last_change) } dd data-number=(last_change) { (last_change) } }
                    }
                }
            }
            pre .code { "nagaya backup restore --at " (at.trim()) " --to restored" }
        }
    }
}
