//! What the desk's forms do. Each ends with a way back to where it was sent from, or with the desk
//! and why it was refused.

use std::collections::BTreeMap;

use edge::{Failure, Form, IntoResponse, Reader, Redirect, Response, State};
use serde::Deserialize;

use super::desk::Notes;
use super::form::{self, Fields};
use super::{DESK, Listed, Pages, words};
use crate::api::operate::BackfillForm;
use crate::error::Error;

/// Something that is done with a source.
#[derive(Debug, Deserialize)]
pub(super) struct Act {
    name: String,
    act: String,
    #[serde(flatten)]
    listed: Listed,
}

/// Pauses, resumes, asks, previews, deletes or purges a source; adds or removes the practice one.
pub(super) async fn act(
    State(pages): State<Pages>,
    reader: Reader,
    Form(act): Form<Act>,
) -> Result<Response, Failure> {
    let (collect, name) = (pages.collect(), &act.name);
    let done = match act.act.as_str() {
        "pause" => collect.pause_source(name).await.map(|()| "paused"),
        "resume" => collect.resume_source(name).await.map(|()| "resumed"),
        "trigger" => collect.trigger(name).await.map(|_entry| "asked"),
        "delete" => collect.delete_source(name).await.map(|()| "deleted"),
        "purge" => collect.purge_source(name).await.map(|()| "purging"),
        "practise" => collect.start_practice().await.map(|()| "practising"),
        "end-practice" => collect.end_practice().await.map(|()| "practised"),
        "preview" => match collect.preview(name).await {
            Ok(preview) => {
                let notes = Notes { preview: Some((name.clone(), preview)), ..Notes::default() };
                return Ok(pages.desk(reader, &act.listed, notes).await?.into_response());
            }
            Err(error) => Err(error),
        },
        other => Err(Error::invalid(format!("a source cannot `{other}`"))),
    };
    let place = format!("#source-{name}");
    pages.ended(reader, &act.listed, done, &place).await
}

/// Adds or changes a source.
pub(super) async fn save(
    State(pages): State<Pages>,
    reader: Reader,
    Form(fields): Form<Fields>,
) -> Result<Response, Failure> {
    let was = fields.get("was").cloned().unwrap_or_default();
    let saved = match form::read(&fields) {
        Ok(source) => pages.collect().set_source(&source, !was.is_empty()).await.map(|()| source),
        Err(error) => Err(error),
    };
    match saved.map_err(|error| (error.to_string(), Failure::from(error))) {
        Ok(source) => {
            let listed = Listed { q: source.name, ..Listed::default() };
            pages.ended(reader, &listed, Ok("saved"), "").await
        }
        Err((_, failure)) if failure.status().is_server_error() => Err(failure),
        Err((told, failure)) => {
            let page = pages.form(reader, &form::without_secrets(fields), &was, Some(&told));
            Ok(page.with_status(failure.status()).into_response())
        }
    }
}

/// Begins a backfill, or counts what it would ask for.
pub(super) async fn backfill(
    State(pages): State<Pages>,
    reader: Reader,
    Form(fields): Form<BTreeMap<String, String>>,
) -> Result<Response, Failure> {
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let (show, q, after) = (field("show"), field("q"), field("after"));
    let listed = Listed { show, q, after, of: field("of") };
    let counted = pages.order(&fields).await;
    match counted {
        Ok(Some(count)) => {
            let words = words::of(reader.language);
            let told = Some(words.would_ask.replace("{n}", &count.to_string()));
            let notes = Notes { told, ..Notes::default() };
            Ok(pages.desk(reader, &listed, notes).await?.into_response())
        }
        Ok(None) => pages.ended(reader, &listed, Ok("begun"), "#backfills-title").await,
        Err(error) => pages.ended(reader, &listed, Err(error), "").await,
    }
}

/// What is done with dead letters.
#[derive(Debug, Deserialize)]
pub(super) struct Letters {
    act: String,
    #[serde(default)]
    id: String,
    #[serde(flatten)]
    listed: Listed,
}

/// Replays a dead letter, or replays or removes all, or all of a source.
pub(super) async fn letters(
    State(pages): State<Pages>,
    reader: Reader,
    Form(letters): Form<Letters>,
) -> Result<Response, Failure> {
    let (collect, of) = (pages.collect(), letters.listed.letters_of());
    let asks = &collect.asks;
    let done = match letters.act.as_str() {
        "replay" => match asks.replay(&letters.id).await {
            Ok(true) => Ok("replayed"),
            Ok(false) => Err(Error::NoSuchLetter(letters.id.replace('#', "."))),
            Err(error) => Err(error.into()),
        },
        "replay-all" => collect.replay_letters(of, None).await.map(|_count| "all_replayed"),
        "purge" => collect.purge_letters(of, None).await.map(|_count| "purged"),
        other => Err(Error::invalid(format!("dead letters cannot `{other}`"))),
    };
    pages.ended(reader, &letters.listed, done, "#dead-letters").await
}

impl Pages {
    /// Begins the backfill of a form; how many slots, if that is all it wants to know.
    async fn order(&self, fields: &BTreeMap<String, String>) -> Result<Option<u64>, Error> {
        let collect = self.collect();
        let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        let (name, rate) = (field("name"), field("rate"));
        // A browser leaves out seconds that are nought, and knows no zone here.
        let time = |name: &str| match field(name) {
            text if text.len() == "2025-12-02T10:23".len() => format!("{text}:00Z"),
            text => format!("{text}Z"),
        };
        let form = BackfillForm {
            from: time("from"),
            to: time("to"),
            order: field("order").to_owned(),
            rate: rate.parse().map_err(|_| {
                Error::invalid(format!("rate must be a whole number, not `{rate}`"))
            })?,
            reprocess: field("reprocess").to_owned(),
            dry_run: !field("dryRun").is_empty(),
        };
        let active = collect.sources.get(name)?;
        let backfill = collect.order_backfill(&active, form.order()?)?;
        if form.dry_run {
            return collect.count_wanted(&backfill).await.map(Some);
        }
        collect.start_backfill(&backfill).await.map(|()| None)
    }

    /// Leads back to the desk with what was done, or shows it with why it was not.
    async fn ended(
        &self,
        reader: Reader,
        listed: &Listed,
        done: Result<&'static str, Error>,
        place: &str,
    ) -> Result<Response, Failure> {
        match done.map_err(|error| (error.to_string(), Failure::from(error))) {
            Ok(told) => {
                let query = listed.query();
                let and = if query.is_empty() { "" } else { "&" };
                let plain =
                    |letter: &char| letter.is_ascii_alphanumeric() || "#._-".contains(*letter);
                let place: String = place.chars().filter(plain).collect();
                Ok(Redirect::to(&format!("{DESK}?{query}{and}told={told}{place}")).into_response())
            }
            Err((_, failure)) if failure.status().is_server_error() => Err(failure),
            Err((told, failure)) => {
                let notes = Notes { problem: Some(told), ..Notes::default() };
                let page = self.desk(reader, listed, notes).await?;
                Ok(page.with_status(failure.status()).into_response())
            }
        }
    }
}
