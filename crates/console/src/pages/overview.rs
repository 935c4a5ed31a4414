//! The overview: what needs the operator, what was not tried yet, five tiles, and what stands below
//! all rooms. The server draws it, and `overview.js` keeps it true.

use kit::Problem;
use maud::{Markup, html};

use super::words::overview::OverviewWords;
use super::words::{Said, Words};
use crate::numbers::ROOMS;
use crate::overview::{Moment, Tile};
use crate::steps::STEPS;

/// A line, in the units of its drawing.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 32.0;
/// Seconds or minutes that a line shows.
const SLOTS: f64 = 60.0;

/// What the page shows.
pub(super) struct Shown<'s> {
    pub(super) now: &'s Moment,
    /// The last minute of each room, and of the store's writes.
    pub(super) lines: &'s [Vec<f64>],
    pub(super) problems: &'s [Problem],
    /// The first steps that are still to be done.
    pub(super) steps: &'s [&'static str],
    /// Whether the store is the house's own, whose figures it knows.
    pub(super) is_own: bool,
}

/// The whole page.
pub(super) fn render(words: &Words, own: &OverviewWords, is_ja: bool, shown: &Shown<'_>) -> Markup {
    html! {
        div .stack {
            div .row .spread {
                h1 { (words.overview) }
                div .row {
                    (spans(own))
                    p .pulse #state role="status" { (words.said.connecting) }
                }
            }
            (problems(own, is_ja, shown.problems))
            (steps(own, shown.steps))
            ul .tiles {
                @for (index, name) in ROOMS.iter().enumerate() {
                    (tile(words, own, index, name, shown))
                }
            }
            (store(words, own, shown))
            (flow(words, own, shown.now))
        }
    }
}

fn spans(own: &OverviewWords) -> Markup {
    html! {
        fieldset .spans.scripted #spans {
            legend .unseen { (own.span) }
            label { input type="radio" name="span" value="minute" checked; (own.minute) }
            label { input type="radio" name="span" value="hour"; (own.hour) }
        }
    }
}

fn problems(own: &OverviewWords, is_ja: bool, problems: &[Problem]) -> Markup {
    html! {
        section #problems aria-label=(own.problems) aria-live="polite" {
            p .calm #calm hidden[!problems.is_empty()] { (own.calm) }
            ul #problem-list {
                @for problem in problems {
                    li { (problem_link(problem, if is_ja { &problem.ja } else { &problem.en })) }
                }
            }
            template #problem-one { li { a .problem href="" { span data-slot="says" {} } } }
        }
    }
}

fn problem_link(problem: &Problem, says: &str) -> Markup {
    html! {
        a .problem .urgent[problem.is_urgent] href=(problem.path) data-problem=(problem.id) {
            span data-slot="says" { (says) }
        }
    }
}

fn steps(own: &OverviewWords, open: &[&'static str]) -> Markup {
    let left = fill(own.said.left, &[("n", open.len() as f64)]);
    html! {
        section .card #steps hidden[open.is_empty()] aria-labelledby="steps-title" {
            div .row .spread {
                h2 #steps-title { (own.steps) }
                p .hint { span #steps-left { (left) } " · " (own.steps_hint) }
            }
            ul .steps {
                @for (step, words) in STEPS.iter().zip(&own.step) {
                    li data-step=(step) hidden[!open.contains(step)] {
                        a .step href=(words.path) {
                            strong { (words.name) }
                            span .hint { (words.hint) }
                        }
                        form method="post" action="/console/steps" {
                            input type="hidden" name="step" value=(step);
                            button .small.quiet title=(own.dismiss)
                                aria-label={ (own.dismiss) ": " (words.name) } { "×" }
                        }
                    }
                }
            }
        }
    }
}

fn tile(words: &Words, own: &OverviewWords, index: usize, name: &str, shown: &Shown<'_>) -> Markup {
    let tile = shown.now.tiles.get(index).copied().unwrap_or_default();
    let (path, title) = words.rooms.get(index).copied().unwrap_or_default();
    html! {
        li .card .tile data-room=(name) {
            h2 { a href=(path) { (title) } " " span .hint { "/" (name) } }
            p .rate { strong data-slot="rate" { (tile.rate) } " " span .hint { (own.said.rate) } }
            (chart(own, title, shown.lines.get(index)))
            p .sentence data-slot="sentence" { (sentence(&words.said, own, name, &tile)) }
        }
    }
}

/// A line with its scale. What is under the pointer is written by the module.
fn chart(own: &OverviewWords, of: &str, line: Option<&Vec<f64>>) -> Markup {
    let line = line.map(Vec::as_slice).unwrap_or_default();
    let most = line.iter().copied().fold(1.0, f64::max);
    html! {
        div .chart role="img" aria-label={ (of) ": " (own.line) } {
            svg .line viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none"
                aria-hidden="true" {
                polygon points=(area(line)) {}
                polyline points=(points(line)) {}
            }
            span .most data-slot="most" { (fill(own.said.scale, &[("n", most)])) }
            span .least { "0" }
            span .from data-slot="from" { (own.said.minute) }
            span .to { (own.now) }
            span .cursor hidden {}
            span .reading data-slot="reading" hidden {}
        }
    }
}

/// One human sentence about a room.
fn sentence(said: &Said, own: &OverviewWords, room: &str, tile: &Tile) -> String {
    let sentence = match tile.deeds + tile.failures == 0.0 {
        true => own.said.idle(room),
        false => said.sentence(room),
    };
    fill(sentence, &[("n", tile.deeds), ("m", tile.topics), ("f", tile.failures)])
}

/// The sentence with its numbers, and after each the form of the word that goes with it.
fn fill(sentence: &str, numbers: &[(&str, f64)]) -> String {
    let mut parts = sentence.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (slot, mut rest) = part.split_once('}').unwrap_or((part, ""));
        let number = numbers.iter().find(|(name, _)| *name == slot).map_or(0.0, |(_, n)| *n);
        text.push_str(&number.to_string());
        if let Some((forms, behind)) = rest.strip_prefix(" [").and_then(|at| at.split_once(']')) {
            let (one, many) = forms.split_once('|').unwrap_or((forms, forms));
            text.push(' ');
            text.push_str(if number == 1.0 { one } else { many });
            rest = behind;
        }
        text.push_str(rest);
    }
    text
}

/// The line's points: the oldest at the left, the newest at the right end, the greatest at the top.
fn points(line: &[f64]) -> String {
    let most = line.iter().copied().fold(1.0, f64::max);
    let first = SLOTS - line.len() as f64;
    let place = |(index, rate): (usize, &f64)| {
        let x = (first + index as f64) / (SLOTS - 1.0) * WIDTH;
        format!("{x:.1},{:.1}", HEIGHT - 1.0 - rate / most * (HEIGHT - 2.0))
    };
    line.iter().enumerate().map(place).collect::<Vec<_>>().join(" ")
}

/// What lies under the line.
fn area(line: &[f64]) -> String {
    let points = points(line);
    match points.split_once(',') {
        Some((left, _)) => format!("{left},{HEIGHT} {points} {WIDTH},{HEIGHT}"),
        None => points,
    }
}

fn store(words: &Words, own: &OverviewWords, shown: &Shown<'_>) -> Markup {
    html! {
        section .card #store aria-labelledby="store-title" {
            h2 #store-title { a href="/console/backups" { (words.store) } }
            @if shown.is_own {
                dl .strip {
                    (figure(words.writes, "writes"))
                    (figure(words.commit, "commit"))
                    (figure(words.size, "size"))
                    (figure(words.backup, "backup"))
                }
                (chart(own, words.writes, shown.lines.get(ROOMS.len())))
            } @else { p .hint { (words.store_elsewhere) } }
        }
    }
}

fn flow(words: &Words, own: &OverviewWords, now: &Moment) -> Markup {
    let readers = fill(own.said.connections, &[("n", now.readers)]);
    html! {
        div .pair {
            section .card #queues aria-labelledby="queues-title" {
                h2 #queues-title { a href="/console/flow" { (words.queues) } }
                dl .strip {
                    (figure(words.depth, "depth"))
                    (figure(words.oldest, "oldest"))
                    (figure(words.dead, "dead"))
                }
            }
            section .card #facts aria-labelledby="facts-title" {
                h2 #facts-title { a href="/console/flow" { (words.facts) } }
                dl .strip {
                    (figure(words.told, "told"))
                    (figure(words.done, "done"))
                    (figure(words.retried, "retried"))
                    (figure(words.dead, "factsDead"))
                }
            }
        }
        p .hint { (words.readers) " " span #readers { (readers) } }
    }
}

/// A figure with its name. Modules write it, in the units that people like.
fn figure(name: &str, slot: &str) -> Markup {
    html! { div { dt { (name) } dd data-slot=(slot) { "–" } } }
}

#[cfg(test)]
mod tests {
    use super::{area, fill, points};

    #[test]
    fn words_follow_their_numbers() {
        let sentence = "{n} [person is|people are] here, {f} failed.";
        let told = |n, f| fill(sentence, &[("n", n), ("f", f)]);
        assert_eq!(told(1.0, 2.0), "1 person is here, 2 failed.");
        assert_eq!(told(0.0, 1.0), "0 people are here, 1 failed.");
        assert_eq!(
            fill("直近1分で{n}件({m}人)。", &[("n", 3.0), ("m", 1.0)]),
            "直近1分で3件(1人)。"
        );
    }

    #[test]
    fn a_line_ends_at_the_right_and_its_greatest_touches_the_top() {
        assert_eq!(points(&[]), "");
        assert_eq!(points(&[0.0, 4.0]), "118.0,31.0 120.0,1.0");
        assert_eq!(points(&[0.0; 60]).split(' ').next(), Some("0.0,31.0"));
        assert_eq!(area(&[0.0, 4.0]), "118.0,32 118.0,31.0 120.0,1.0 120,32");
        assert_eq!(area(&[]), "");
    }
}
