//! The operator's desk: a row for each source, and backfills. Dead letters and deleted sources are
//! `lists.rs`.

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use dispatch::DeadLetters;
use maud::{Markup, html};

use super::lists::{dead_letters, gone_sources};
use super::markup::{Offer, choice, no_sources, pager, place};
use super::strip::{bars, cells, histogram, last_slots, legend, strip, tell};
use super::words::Words;
use super::{DESK, HOME, Listed};
use crate::Collect;
use crate::api::upstream::Preview;
use crate::error::Error;
use crate::limits::{BACKFILL_RATE_MAX, BACKFILL_RATE_USUAL, CHART_SLOTS};
use crate::model::backfill::Backfill;
use crate::model::kind::Mode;
use crate::model::slot::{HOUR_S, Slot, spell};
use crate::model::tally::Entry;
use crate::ops::sources::Active;

/// What is said at the head of the desk, or in one of its rows.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// What was done.
    pub(super) told: Option<String>,
    /// Why something was not.
    pub(super) problem: Option<String>,
    /// An answer that somebody wanted to see, and whose.
    pub(super) preview: Option<(String, Preview)>,
    /// Where the list of dead letters goes on.
    pub(super) letters_after: Option<String>,
}

/// What the desk shows.
pub(super) struct Desk<'d> {
    pub(super) listed: &'d Listed,
    pub(super) rows: Vec<Row>,
    pub(super) more: bool,
    pub(super) backfills: Vec<Backfill>,
    pub(super) letters: DeadLetters,
    pub(super) notes: Notes,
}

/// A source and its last slots.
pub(super) struct Row {
    active: Arc<Active>,
    now: Timestamp,
    slots: Vec<Slot>,
    entries: Vec<Entry>,
}

impl Row {
    pub(super) async fn load(collect: &Collect, active: Arc<Active>) -> Result<Row, Error> {
        let now = collect.clock.now();
        let slots = last_slots(active.source.rhythm, now, CHART_SLOTS);
        let entries = match (slots.first(), slots.last()) {
            (Some(first), Some(last)) => {
                collect.list_entries(&active, first.from(), last.to()).await?
            }
            _ => Vec::new(),
        };
        Ok(Row { active, now, slots, entries })
    }

    /// When it is asked next, if it is.
    fn next_call(&self) -> Option<Timestamp> {
        let span = self.active.open_span()?;
        let rhythm = self.active.source.rhythm;
        let coming = rhythm.last_due(self.now).map_or(span.from, Slot::to).max(span.from);
        Some(rhythm.due(Slot::holding(coming, rhythm.interval_s)))
    }
}

pub(super) fn render(words: &Words, collect: &Collect, desk: &Desk<'_>) -> Markup {
    let last = desk.rows.last().map(|row| row.active.source.name.as_str());
    let is_new = collect.sources.all().is_empty()
        && collect.sources.gone().is_empty()
        && desk.backfills.is_empty()
        && desk.letters.letters.is_empty();
    html! {
        div .stack {
            div .row .spread {
                h1 { (words.desk) }
                div .row {
                    a .button href="/console" { (words.console) }
                    a .button href=(HOME) { (words.public_page) }
                    // Where nothing is, the offer below has the same button.
                    @if !is_new { a .button .primary href="/collect/operate/new" { (words.add) } }
                }
            }
            (notices(words, collect, &desk.notes))
            @if !is_new { (overview(words, collect, desk.listed)) }
            @if !desk.rows.is_empty() { (legend(words)) }
            @for row in &desk.rows { (source(words, desk, row)) }
            @if desk.rows.is_empty() { (no_sources(words, desk.listed, Offer::Forms)) }
            (pager(words, DESK, desk.listed, last, desk.more))
            // A house that has had no source has none of these either.
            @if !is_new {
                (backfills(words, &desk.backfills))
                (dead_letters(words, desk))
                (gone_sources(words, collect, desk))
            }
        }
    }
}

fn notices(words: &Words, collect: &Collect, notes: &Notes) -> Markup {
    html! {
        p #offline .notice .alert role="status" hidden { (words.offline) }
        p #changed .notice role="status" hidden { (words.changed) " " a href="" { (words.reload) } }
        @if let Some(told) = &notes.told { p .notice role="status" { (told) } }
        @if let Some(problem) = &notes.problem {
            p .notice .alert role="alert" { (words.refused) " " span lang="en" { (problem) } }
        }
        @if let Some(problem) = collect.sources.file_problem() {
            p .notice .alert { (words.file_problem) " " span lang="en" { (problem) } }
        }
    }
}

/// Which sources there are, and ways to some of them.
fn overview(words: &Words, collect: &Collect, listed: &Listed) -> Markup {
    let all = collect.sources.all();
    let count = |is: fn(&Active) -> bool| all.values().filter(|active| is(active)).count();
    let kinds = [
        ("", words.all, all.len()),
        ("troubled", words.troubled, count(Active::is_troubled)),
        ("paused", words.paused_ones, count(Active::is_paused)),
    ];
    html! {
        div .row .spread .overview {
            nav .row aria-label=(words.source) {
                @for (show, label, count) in kinds {
                    @let other = Listed { show: show.to_owned(), ..Listed::default() };
                    a .button .small href={ (DESK) "?" (other.query()) }
                        aria-current=[(listed.show == show).then_some("page")] {
                        (label) " " span .number { (count) }
                    }
                }
            }
            form .row action=(DESK) role="search" {
                input type="hidden" name="show" value=(listed.show);
                label .unseen for="q" { (words.search) }
                input #q type="search" name="q" value=(listed.q) placeholder=(words.search)
                    autocomplete="off" autocapitalize="none" spellcheck="false";
                button { (words.find) }
            }
        }
    }
}

fn source(words: &Words, desk: &Desk<'_>, row: &Row) -> Markup {
    let Active { source, is_fixed, pulse, .. } = &*row.active;
    let (rhythm, is_paused) = (source.rhythm, row.active.is_paused());
    let shown = cells(&row.slots, &row.active.spans, &row.entries);
    let is_resting = pulse.breaker.lock().is_open();
    html! {
        article .card .source id={ "source-" (source.name) } data-name=(source.name)
            data-interval=(rhythm.interval_s) data-delay=(rhythm.lag_s * 1000 + rhythm.offset_ms)
            data-kind=(source.kind.word()) data-paused[is_paused] {
            div .row .spread {
                div {
                    h2 { bdi { (source.name) } }
                    p .hint { bdi { (source.metric) } " · "
                        (words.every.replace("{n}", &rhythm.interval_s.to_string())) " · "
                        (words.kind(source.kind)) " · " (words.mode(source.mode)) " · "
                        (words.read_by) " " (words.readers(source.readers)) }
                }
                p .row .badges {
                    @if *is_fixed { span .badge { (words.of_settings) } }
                    @if row.active.is_practice() { span .badge { (words.practice_badge) } }
                    @if is_paused { span .badge .strong { "❙❙ " (words.paused) } }
                    span .badge .strong .resting hidden[!is_resting] { "⚠ " (words.resting) }
                }
                (next_call(words, row))
            }
            (strip(words, &shown))
            p .reading .hint {
                (words.last_answer) ": "
                span data-slot="last" { (last_answer(words, row)) }
            }
            div .graphs {
                figure .scripted {
                    figcaption { (words.values) span .number data-slot="pointed" {} }
                    div .chart role="img" aria-label=(words.values_gaps) {}
                }
                figure {
                    figcaption { (words.lateness) }
                    (histogram(words, &bars(&row.entries)))
                }
            }
            (actions(words, desk, row))
            (preview(words, desk.notes.preview.as_ref().filter(|(name, _)| *name == source.name)))
            (more(words, desk, row))
        }
    }
}

fn next_call(words: &Words, row: &Row) -> Markup {
    html! {
        @if let Some(next) = row.next_call() {
            p .next {
                span .hint { (words.next_poll) } " "
                strong .number data-slot="next" { time datetime=(next.to_string()) data-seconds { (spell(next)) } }
            }
        }
    }
}

fn last_answer(words: &Words, row: &Row) -> String {
    let last = row.entries.last();
    let told = last
        .map(|entry| tell(words, entry.slot, super::strip::Shown::Known(entry.state), Some(entry)));
    told.unwrap_or_else(|| words.no_answer.to_owned())
}

fn actions(words: &Words, desk: &Desk<'_>, row: &Row) -> Markup {
    let turn = match row.active.is_paused() {
        true => ("resume", words.resume),
        false => ("pause", words.pause),
    };
    let end = row.active.is_practice().then_some(("end-practice", words.practice_end));
    let acts = [turn, ("trigger", words.trigger), ("preview", words.preview)];
    html! {
        form .row .acts method="post" action="/collect/operate/act" {
            input type="hidden" name="name" value=(row.active.source.name);
            (place(desk.listed))
            @for (act, label) in acts.into_iter().chain(end) {
                button .small name="act" value=(act) {
                    (label) span .unseen { " " (row.active.source.name) }
                }
            }
        }
    }
}

fn preview(words: &Words, shown: Option<&(String, Preview)>) -> Markup {
    let preview = shown.map(|(_, preview)| preview);
    let text = |text: Option<String>| text.unwrap_or_default();
    let verdict = preview.map(|preview| match &preview.verdict {
        Ok(count) => format!("✓ {}", words.said.count.replace("{n}", &count.to_string())),
        Err(trouble) => format!("✕ {}", words.reason(&trouble.to_string())),
    });
    let status = preview.map(|preview| {
        let status = preview.status.map_or(words.no_answer.to_owned(), |status| status.to_string());
        format!("{status} {}", preview.content_type.as_deref().unwrap_or_default())
    });
    let took = preview.map(|it| words.said.took.replace("{n}", &it.latency_ms.to_string()));
    let lines = [
        ("verdict", words.preview_verdict, text(verdict)),
        ("status", words.preview_status, text(status)),
        ("took", words.preview_took, text(took)),
        ("url", words.preview_url, text(preview.map(|preview| preview.url.clone()))),
    ];
    html! {
        section .preview hidden[preview.is_none()] aria-label=(words.preview_title) {
            h3 { (words.preview_title) }
            dl {
                @for (slot, label, value) in lines {
                    div { dt { (label) } dd data-slot=(slot) { (value) } }
                }
            }
            pre tabindex="0" aria-label=(words.preview_title) data-slot="body" {
                (text(preview.map(|preview| preview.body.clone())))
            }
            p .hint .cut hidden[preview.is_none_or(|preview| !preview.is_cut)] { (words.preview_cut) }
        }
    }
}

/// What is seldom needed.
fn more(words: &Words, desk: &Desk<'_>, row: &Row) -> Markup {
    let name = &row.active.source.name;
    html! {
        div .more {
            details {
                summary { (words.backfill) span .unseen { " " (name) } }
                @if row.active.source.mode == Mode::Instant { p .hint { (words.backfill_instant) } }
                (backfill_form(words, desk, row))
            }
            details {
                summary { (words.more) span .unseen { " " (name) } }
                div .row {
                    a .button .small href={ "/collect/series/" (name) } data-csv {
                        (words.csv) span .unseen { " " (name) }
                    }
                    @if !row.active.is_fixed {
                        a .button .small href={ "/collect/operate/edit/" (name) } {
                            (words.edit) span .unseen { " " (name) }
                        }
                    }
                }
                @if !row.active.is_fixed {
                    details .danger {
                        summary { (words.delete) span .unseen { " " (name) } }
                        form method="post" action="/collect/operate/act" {
                            input type="hidden" name="name" value=(name);
                            (place(desk.listed))
                            button .small .danger name="act" value="delete" { (words.delete_sure) }
                        }
                    }
                }
            }
        }
    }
}

fn backfill_form(words: &Words, desk: &Desk<'_>, row: &Row) -> Markup {
    let hour = row.now.checked_sub(Duration::from_secs(HOUR_S)).unwrap_or_default();
    let field = |time: Timestamp| spell(time).trim_end_matches('Z').to_owned();
    let orders = [("newest_first", words.newest_first), ("oldest_first", words.oldest_first)];
    let kinds = [
        ("none", words.reprocess_none),
        ("failed", words.reprocess_failed),
        ("all", words.reprocess_all),
    ];
    html! {
        form .backfill method="post" action="/collect/operate/backfill" {
            input type="hidden" name="name" value=(row.active.source.name);
            (place(desk.listed))
            // A browser with script has the reader's zone here (`desk.js`).
            label .field { span data-local=(words.from_local) { (words.from) }
                input type="datetime-local" name="from" step="1" required value=(field(hour)); }
            label .field { span data-local=(words.to_local) { (words.to) }
                input type="datetime-local" name="to" step="1" required value=(field(row.now)); }
            label .field { (words.reprocess) (choice("reprocess", kinds, "none")) }
            label .field { (words.order) (choice("order", orders, "newest_first")) }
            label .field { (words.rate)
                input type="number" name="rate" min="1" max=(BACKFILL_RATE_MAX) required
                    value=(BACKFILL_RATE_USUAL); }
            div .row {
                button .small .primary { (words.start) }
                button .small name="dryRun" value="true" { (words.count_only) }
            }
        }
    }
}

fn backfills(words: &Words, backfills: &[Backfill]) -> Markup {
    html! {
        section .stack .list aria-labelledby="backfills-title" {
            h2 #backfills-title { (words.backfills) }
            ul #backfills .lines {
                @for one in backfills { (backfill(words, Some(one))) }
            }
            p .empty { (words.no_backfills) }
            template #backfill { (backfill(words, None)) }
        }
    }
}

/// A backfill, or the template of one.
fn backfill(words: &Words, one: Option<&Backfill>) -> Markup {
    let progress = one.map(|one| one.progress).unwrap_or_default();
    let total = one.map_or(1, Backfill::slots);
    let behind = progress.done + progress.failed + progress.skipped;
    let sentence = words
        .progress
        .replace("{done}", &progress.done.to_string())
        .replace("{failed}", &progress.failed.to_string())
        .replace("{skipped}", &progress.skipped.to_string())
        .replace("{total}", &total.to_string());
    let who = one.map_or(String::new(), |one| match one.sources.as_slice() {
        [only] => only.clone(),
        many => words.sources_count.replace("{n}", &many.len().to_string()),
    });
    let is_done = one.is_some_and(Backfill::is_done);
    let time = |time: Option<Timestamp>| time.map(spell).unwrap_or_default();
    html! {
        li data-backfill=(one.map_or("", |one| &one.id)) data-done[is_done] {
            p .row .spread {
                strong { bdi data-slot="who" { (who) } }
                span .hint {
                    time datetime=(time(one.map(|one| one.from))) { (time(one.map(|one| one.from))) } " – "
                    time datetime=(time(one.map(|one| one.to))) { (time(one.map(|one| one.to))) }
                }
                span .badge .is-running { (words.running) }
                span .badge .is-done { (words.done) }
            }
            progress value=(behind) max=(total) aria-label=(words.backfills) {}
            p .hint .number data-slot="progress" data-sentence=(words.progress)
                data-many=(words.sources_count) { (sentence) }
        }
    }
}
