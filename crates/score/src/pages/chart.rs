//! The distribution of a board as a drawing: the worst on the left, the best on the right, and the
//! line that a play must reach while the board is full. `chart.js` draws the same again.

use maud::{Markup, html};

use super::words::{Words, grouped, seconds};
use crate::api::distribution::Distribution;
use crate::model::game::Field;

/// The drawing's size in its own units.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 160.0;
/// Between two bars.
const GAP: f64 = 3.0;
/// The height of a bar that is not empty, at least.
const LEAST: f64 = 3.0;

pub(super) fn render(words: &Words, distribution: &Distribution) -> Markup {
    let Distribution { field, steps, line, top_n, .. } = distribution;
    let (worst, best) = (steps.first().map(|step| step.from), steps.last().map(|step| step.to));
    let told = |value: Option<i64>| value.map(|value| number(*field, value)).unwrap_or_default();
    let said = match line {
        Some(line) => words.said.line.replace("{value}", &number(*field, *line)),
        None => words.said.not_full.to_owned(),
    };
    let said = said.replace("{n}", &top_n.to_string());
    html! {
        section #chart .card aria-labelledby="chart-title" hidden[steps.is_empty()] {
            h2 #chart-title { (words.distribution) " " span .hint { (words.field(*field)) } }
            svg .chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none"
                role="img" aria-labelledby="chart-title chart-said" {
                g #bars { (bars(distribution)) }
                line #line .line x1=(place(distribution)) x2=(place(distribution)) y1="0" y2=(HEIGHT)
                    visibility=[line.is_none().then_some("hidden")] {}
            }
            p .row .spread .axis {
                span data-slot="worst" { (told(worst)) }
                span data-slot="best" { (told(best)) }
            }
            p #chart-said .hint { (said) }
        }
    }
}

fn bars(distribution: &Distribution) -> Markup {
    let steps = &distribution.steps;
    let most = steps.iter().map(|step| step.count).max().unwrap_or(1).max(1) as f64;
    let width = WIDTH / steps.len().max(1) as f64;
    html! {
        @for (index, step) in steps.iter().enumerate() {
            @let height = if step.count == 0 { 0.0 } else {
                (step.count as f64 / most * HEIGHT).max(LEAST)
            };
            rect x=(round(index as f64 * width + GAP / 2.0)) width=(round(width - GAP))
                y=(round(HEIGHT - height)) height=(round(height)) rx="2" {}
        }
    }
}

/// Where the line stands: between the steps, as far as its value is into its own.
fn place(distribution: &Distribution) -> f64 {
    let ends = (distribution.steps.first(), distribution.steps.last());
    let (Some(line), (Some(first), Some(last))) = (distribution.line, ends) else { return 0.0 };
    let span = (last.to - first.from) as f64;
    let share = if span == 0.0 { 0.0 } else { (line - first.from) as f64 / span };
    round(share.clamp(0.0, 1.0) * WIDTH)
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A field's value as people read it.
fn number(field: Field, value: i64) -> String {
    match field {
        Field::Score => grouped(value),
        Field::TimeMs => seconds(value),
        Field::UpdatedAt => {
            let time = base::Timestamp::from_millis(value.unsigned_abs()).to_string();
            time.get(..10).unwrap_or_default().to_owned()
        }
    }
}
