//! Facts as waterfalls: a bar for each step, from when the fact was told.

use dispatch::FactStepKind;
use maud::{Markup, html};

use super::words::FlowWords;
use crate::facts::{FactStory, StoryStep};

/// The width of a waterfall, in the units of its drawing.
const WIDTH: f64 = 100.0;

pub(super) fn render(words: &FlowWords, stories: &[FactStory]) -> Markup {
    html! {
        section .card aria-labelledby="facts" {
            h2 #facts { (words.facts) }
            ul .letters { @for story in stories { li { (fact(words, story)) } } }
            @if stories.is_empty() { p .hint { (words.no_facts) } }
        }
    }
}

fn fact(words: &FlowWords, story: &FactStory) -> Markup {
    let last = story.steps.iter().map(|step| step.at_ms).max().unwrap_or(story.told_ms);
    let whole = (last - story.told_ms).max(1);
    html! {
        details {
            summary {
                span .wrap { strong { (story.kind) } " " (story.subject.as_deref().unwrap_or_default()) }
                span .hint { (last - story.told_ms) " ms" }
            }
            table .attributes .fall { tbody {
                @for step in &story.steps { (bar(words, story, step, whole)) }
            } }
        }
    }
}

fn bar(words: &FlowWords, story: &FactStory, step: &StoryStep, whole: u64) -> Markup {
    let (name, consumer) = match &step.kind {
        FactStepKind::Told { .. } => (words.was_told, ""),
        FactStepKind::Handed(consumer) => (words.was_handed, consumer.as_str()),
        FactStepKind::Done(consumer) => (words.was_done, consumer.as_str()),
        FactStepKind::Buried(consumer) => (words.was_buried, consumer.as_str()),
    };
    let behind = step.at_ms.saturating_sub(story.told_ms);
    let width = (behind as f64 / whole as f64 * WIDTH).max(1.0);
    html! { tr {
        th scope="row" { (name) " " (consumer) }
        td .number { "+" (behind) " ms" }
        td {
            svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect width=(width) height="8" {}
            }
            span .hint { (step.tables.join(", ")) }
        }
    } }
}
