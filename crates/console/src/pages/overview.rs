//! The overview: five tiles, and what stands below all rooms.

use maud::{Markup, html};

use super::words::{Said, Words};
use crate::numbers::ROOMS;
use crate::overview::{Moment, Tile};

/// The line of a tile, in the units of its drawing.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 28.0;
/// Seconds that a line shows.
const SECONDS: f64 = 60.0;

/// The whole page. `is_own` says whether the store is the house's own, whose figures it knows.
pub(super) fn render(words: &Words, now: &Moment, lines: &[Vec<f64>], is_own: bool) -> Markup {
    html! {
        div .stack {
            div .row .spread {
                h1 { (words.overview) }
                p .hint #state role="status" { (words.said.connecting) }
            }
            ul .tiles {
                @for (index, name) in ROOMS.iter().enumerate() {
                    (tile(words, index, name, now.tiles.get(index), lines.get(index)))
                }
            }
            (store(words, now, is_own))
            (flow(words, now))
        }
    }
}

fn tile(
    words: &Words,
    index: usize,
    name: &str,
    tile: Option<&Tile>,
    line: Option<&Vec<f64>>,
) -> Markup {
    let tile = tile.copied().unwrap_or_default();
    let (path, title) = words.rooms.get(index).copied().unwrap_or_default();
    html! {
        li .card .tile data-room=(name) {
            h2 { a href=(path) { (title) } " " span .hint { "/" (name) } }
            svg .line viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none"
                aria-hidden="true" {
                polyline points=(points(line.map(Vec::as_slice).unwrap_or_default())) {}
            }
            p .rate { strong data-slot="rate" { (tile.rate) } " " (words.a_second) }
            p data-slot="sentence" { (sentence(&words.said, name, &tile)) }
        }
    }
}

/// One human sentence about a room.
fn sentence(said: &Said, room: &str, tile: &Tile) -> String {
    if tile.deeds + tile.failures == 0.0 {
        return said.quiet.to_owned();
    }
    let sentence = said.sentence(room);
    fill(sentence, &[("n", tile.deeds), ("m", tile.topics), ("f", tile.failures)])
}

/// The sentence with its numbers, and behind each the form of the word that goes with it.
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

/// The line's points: a minute from left to right, the greatest at the top.
fn points(line: &[f64]) -> String {
    let most = line.iter().copied().fold(1.0, f64::max);
    let first = SECONDS - line.len() as f64;
    let place = |(index, rate): (usize, &f64)| {
        let x = (first + index as f64) / (SECONDS - 1.0) * WIDTH;
        format!("{x:.1},{:.1}", HEIGHT - 1.0 - rate / most * (HEIGHT - 2.0))
    };
    line.iter().enumerate().map(place).collect::<Vec<_>>().join(" ")
}

fn store(words: &Words, now: &Moment, is_own: bool) -> Markup {
    let store = &now.store;
    html! {
        section .card #store aria-labelledby="store-title" {
            h2 #store-title { (words.store) }
            p .notice .alert #stopped hidden[store.is_writable != Some(false)] { (words.stopped) }
            @if is_own {
                dl .strip {
                    (figure(words.writes, "writes"))
                    (figure(words.commit, "commit"))
                    (figure(words.size, "size"))
                    (figure(words.backup, "backup"))
                }
            } @else { p .hint { (words.store_elsewhere) } }
        }
    }
}

fn flow(words: &Words, now: &Moment) -> Markup {
    html! {
        div .pair {
            section .card #queues aria-labelledby="queues-title" {
                h2 #queues-title { (words.queues) }
                dl .strip {
                    (figure(words.depth, "depth"))
                    (figure(words.oldest, "oldest"))
                    (figure(words.dead, "dead"))
                }
            }
            section .card #facts aria-labelledby="facts-title" {
                h2 #facts-title { (words.facts) }
                dl .strip {
                    (figure(words.told, "told"))
                    (figure(words.done, "done"))
                    (figure(words.retried, "retried"))
                    (figure(words.dead, "factsDead"))
                }
            }
        }
        p .hint { (words.readers) " " span #readers { (now.readers) } }
    }
}

/// A figure with its name. Modules write it, in the units that people like.
fn figure(name: &str, slot: &str) -> Markup {
    html! { div { dt { (name) } dd data-slot=(slot) { "–" } } }
}

#[cfg(test)]
mod tests {
    use super::{fill, points};

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
        assert_eq!(points(&[0.0, 4.0]), "118.0,27.0 120.0,1.0");
        assert_eq!(points(&[0.0; 60]).split(' ').next(), Some("0.0,27.0"));
    }
}
