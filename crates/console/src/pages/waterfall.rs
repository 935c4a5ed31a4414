//! Facts as waterfalls: a bar for each step, as long as it took, where it stands in time.

use base::{Cause, Timestamp};
use dispatch::FactStepKind;
use maud::{Markup, html};

use super::time;
use super::words::FlowWords;
use crate::facts::{FactStory, StoryStep};

/// The width of a waterfall, in the units of its drawing, and the least that is seen.
const WIDTH: f64 = 100.0;
const THIN: f64 = 1.0;

/// The newest facts; nothing where they cannot be followed.
pub(super) fn render(words: &FlowWords, stories: Option<&[FactStory]>) -> Markup {
    html! {
        section .card aria-labelledby="facts" {
            h2 #facts { (words.facts) }
            @match stories {
                None => p .hint { (words.facts_elsewhere) },
                Some([]) => p .hint { (words.no_facts) },
                Some(stories) => ul .letters { @for story in stories { li { (fact(words, story)) } } },
            }
        }
    }
}

fn fact(words: &FlowWords, story: &FactStory) -> Markup {
    let whole = story.steps.iter().map(|step| story.behind(step)).max().unwrap_or_default();
    let tries = story.retries();
    html! {
        details {
            summary {
                span .wrap { strong { (story.kind) } " " (story.subject.as_deref().unwrap_or_default()) }
                span .hint {
                    (time(Timestamp::from_millis(story.told_ms))) " · "
                    @if tries > 0 { (words.was_retried) " " (tries) " · " }
                    (whole) " ms"
                }
            }
            table .attributes .fall { tbody {
                @if let Some(cause) = &story.cause { (request(words, cause, story.told(), whole)) }
                @for (index, step) in story.steps.iter().enumerate() {
                    (bar(words, step, story.begun(index), story.behind(step), whole))
                }
            } }
        }
    }
}

/// The request that a fact came of, from when it came to when the fact was true.
fn request(words: &FlowWords, cause: &Cause, told: u64, whole: u64) -> Markup {
    let trace = cause.traceparent.split('-').nth(1).unwrap_or_default();
    html! { tr {
        th scope="row" { (words.was_asked) " " (cause.request) }
        td .number { (told) " ms" }
        td { (drawn("asked", 0, told, whole)) span .hint { (words.trace) " " code { (trace) } } }
    } }
}

/// A bar from one millisecond to another.
fn drawn(class: &str, from: u64, to: u64, whole: u64) -> Markup {
    let (left, width) = place(from, to, whole);
    html! {
        svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect .(class) x=(left) width=(width) height="8" {}
        }
    }
}

/// A step that lasted from one millisecond to another, counted from the beginning.
fn bar(words: &FlowWords, step: &StoryStep, from: u64, to: u64, whole: u64) -> Markup {
    let (name, consumer) = match &step.kind {
        FactStepKind::Told { .. } => (words.was_told, ""),
        FactStepKind::Handed(consumer) => (words.was_handed, consumer.as_str()),
        FactStepKind::Taken { consumer, .. } => (words.was_taken, consumer.as_str()),
        FactStepKind::Postponed(consumer) => (words.was_postponed, consumer.as_str()),
        FactStepKind::Done(consumer) => (words.was_done, consumer.as_str()),
        FactStepKind::Buried(consumer) => (words.was_buried, consumer.as_str()),
    };
    html! { tr {
        th scope="row" {
            (name) " " (consumer)
            @if let FactStepKind::Taken { tries, .. } = &step.kind { @if *tries > 1 { " × " (tries) } }
        }
        td .number { "+" (to) " ms" }
        td {
            (drawn("step", from, to, whole))
            span .hint { (step.tables.join(", ")) }
        }
    } }
}

/// Where a bar begins, and how wide it is.
fn place(from: u64, to: u64, whole: u64) -> (f64, f64) {
    let at = |ms: u64| ms as f64 / whole.max(1) as f64 * WIDTH;
    let left = at(from).min(WIDTH - THIN);
    (left, (at(to) - left).max(THIN))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_bar_begins_where_the_step_did_and_is_always_seen() {
        assert_eq!(place(0, 0, 0), (0.0, 1.0));
        assert_eq!(place(0, 50, 200), (0.0, 25.0));
        assert_eq!(place(50, 200, 200), (25.0, 75.0));
        assert_eq!(place(200, 200, 200), (99.0, 1.0));
    }
}
