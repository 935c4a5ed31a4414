//! Flow: what waits, what was given up, and the ways to send it again.

use std::sync::Arc;

use dispatch::{DeadLetter, Queue};
use edge::{Failure, Form, Page, Query, Reader, Redirect, State, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;

use super::words::{Words, of};
use super::{Kind, Pages, waterfall};
use crate::facts::{FactStory, newest_facts};
use crate::limits::{DEAD_LETTERS_SHOWN, LETTER_LETTERS_SHOWN};
use crate::numbers::{ChannelNumbers, QueueNumbers};

/// The queues that carry facts to consumers begin so.
const BUS: &str = "bus.";

/// What an address says.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Looked {
    #[serde(default)]
    told: String,
}

/// What a button says.
#[derive(Debug, Deserialize)]
pub(super) struct Act {
    queue: String,
    act: String,
    #[serde(default)]
    id: String,
}

pub(super) async fn show(
    State(pages): State<Arc<Pages>>,
    Query(looked): Query<Looked>,
    reader: Reader,
) -> Result<Page, Failure> {
    let words = of(reader.language);
    let (queues, channels) = {
        let overview = pages.console.overview.lock();
        (overview.queues(), overview.channels())
    };
    let mut dead = Vec::new();
    for queue in pages.console.dispatch.queues() {
        let letters = queue.list_dead(None, DEAD_LETTERS_SHOWN).await.map_err(failure)?;
        if !letters.letters.is_empty() {
            dead.push((queue.name().to_owned(), letters.letters));
        }
    }
    let facts = pages.newest_facts().await?;
    dead.sort_by(|(a, _), (b, _)| a.cmp(b));
    let told = match looked.told.as_str() {
        "replayed" => Some(words.flow.replayed),
        "purged" => Some(words.flow.purged),
        _ => None,
    };
    // What wants somebody stands first, what only counts last.
    let content = html! {
        div .stack {
            h1 { (words.flow.title) }
            @if let Some(told) = told { p .notice role="status" { (told) } }
            (letters(words, &dead))
            (waterfall::render(&words.flow, facts.as_deref()))
            (counts(words, &queues, &channels))
        }
    };
    Ok(pages.plain(reader, words.flow.title, Kind::Flow, &content))
}

pub(super) async fn act(
    State(pages): State<Arc<Pages>>,
    Form(act): Form<Act>,
) -> Result<Redirect, Failure> {
    let queue = pages.console.dispatch.queues().into_iter().find(|queue| queue.name() == act.queue);
    let queue: Queue = queue.ok_or_else(|| {
        let told = format!("there is no queue `{}`", act.queue);
        Failure::new(StatusCode::NOT_FOUND, "no_such_queue", told)
    })?;
    let told = match act.act.as_str() {
        "replay" => queue.replay(&act.id).await.map(|_| "replayed"),
        "replay-all" => queue.replay_all().await.map(|_| "replayed"),
        "purge" => queue.purge().await.map(|_| "purged"),
        other => {
            let told = format!("dead letters cannot `{other}`");
            return Err(Failure::new(StatusCode::BAD_REQUEST, "invalid", told));
        }
    };
    Ok(Redirect::to(&format!("/console/flow?told={}", told.map_err(failure)?)))
}

impl Pages {
    /// The newest facts; nothing where the log of changes is not the house's own.
    async fn newest_facts(&self) -> Result<Option<Vec<FactStory>>, Failure> {
        let Some(store) = self.console.store.clone() else { return Ok(None) };
        let read = tokio::task::spawn_blocking(move || newest_facts(&store)).await;
        let read = read.map_err(|cause| Failure::internal(cause.to_string()))?;
        read.map(Some).map_err(|error| Failure::of_store(&error))
    }
}

fn letters(words: &Words, dead: &[(String, Vec<DeadLetter>)]) -> Markup {
    html! {
        section .card aria-labelledby="dead" {
            h2 #dead { (words.dead) }
            @for (queue, letters) in dead { (letters_of(words, queue, letters)) }
            @if dead.is_empty() { p .hint { (words.flow.no_dead) } }
        }
    }
}

fn counts(
    words: &Words,
    queues: &[(String, QueueNumbers)],
    channels: &[(String, ChannelNumbers)],
) -> Markup {
    let flow = &words.flow;
    let (consumers, others): (Vec<_>, Vec<_>) =
        queues.iter().partition(|(name, _)| name.starts_with(BUS));
    html! {
        (queue_table(words, flow.consumers, &consumers))
        (queue_table(words, words.queues, &others))
        section .card aria-labelledby="topics" {
            h2 #topics { (flow.topics) }
            div .scroll tabindex="0" role="group" aria-labelledby="topics" { table .listing {
                thead { tr { th { (flow.channel) } th .number { (flow.topics) }
                    th .number { (flow.pushes) } th .number { (flow.deliveries) } th .number { (flow.missed) } } }
                tbody { @for (name, channel) in channels { tr {
                    th scope="row" { (name) }
                    td .number data-number=(channel.topics) { (channel.topics) }
                    td .number data-number=(channel.pushes) { (channel.pushes) }
                    td .number data-number=(channel.deliveries) { (channel.deliveries) }
                    td .number data-number=(channel.missed) { (channel.missed) }
                } } }
            } }
        }
    }
}

fn queue_table(words: &Words, title: &str, queues: &[&(String, QueueNumbers)]) -> Markup {
    html! {
        section .card {
            h2 { (title) }
            div .scroll tabindex="0" role="region" aria-label=(title) { table .listing {
                thead { tr { th { (words.flow.queue) } th .number { (words.depth) } th .number { (words.flow.due) }
                    th .number { (words.oldest) } th .number { (words.flow.sent) } th .number { (words.done) }
                    th .number { (words.retried) } th .number { (words.dead) } } }
                tbody { @for (name, queue) in queues { tr {
                    th scope="row" { (name) }
                    td .number data-number=(queue.depth) { (queue.depth) }
                    td .number data-number=(queue.due) { (queue.due) }
                    td .number data-age=(queue.oldest_seconds) { (queue.oldest_seconds) " s" }
                    td .number data-number=(queue.sent) { (queue.sent) }
                    td .number data-number=(queue.done) { (queue.done) }
                    td .number data-number=(queue.retried) { (queue.retried) }
                    td .number data-number=(queue.dead) { (queue.dead) }
                } } }
            } }
        }
    }
}

fn letters_of(words: &Words, queue: &str, letters: &[DeadLetter]) -> Markup {
    let flow = &words.flow;
    let button = |act: &str, id: &str, name: &str, confirm: Option<&str>| {
        html! {
            form method="post" action="/console/flow" data-confirm=[confirm] {
                input type="hidden" name="queue" value=(queue);
                input type="hidden" name="act" value=(act);
                input type="hidden" name="id" value=(id);
                button .small { (name) }
            }
        }
    };
    html! {
        div .row .spread {
            h3 { (queue) }
            div .row {
                (button("replay-all", "", flow.replay_all, None))
                (button("purge", "", flow.purge, Some(flow.confirm_purge)))
            }
        }
        ul .letters {
            @for letter in letters {
                li {
                    p { time datetime=(letter.died.to_string()) { (letter.died.to_string()) }
                        " · " (flow.tries) " " (letter.receives) }
                    p .wrap { (letter.reason) }
                    pre .code { (shown(&letter.body)) }
                    (button("replay", &letter.id, flow.replay, None))
                }
            }
        }
    }
}

/// The beginning of what a message says.
fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let cut: String = text.chars().take(LETTER_LETTERS_SHOWN).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

fn failure(error: dispatch::Error) -> Failure {
    match error {
        dispatch::Error::Table(error) => Failure::of_store(&error),
        other => Failure::internal(other.to_string()),
    }
}
