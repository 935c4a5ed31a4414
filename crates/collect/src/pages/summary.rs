//! The public page: the last half hour of each source, and what share of it came.

use base::Timestamp;
use maud::{Markup, html};

use super::markup::{no_sources, pager};
use super::words::Words;
use super::{DESK, Listed};
use crate::model::slot::spell;
use crate::model::tally::Tally;
use crate::ops::read::Summary;

/// Width and height of the bars of a half hour, in the units of their picture.
const WIDTH: u64 = 12;
const HEIGHT: u64 = 44;

/// A source and its last half hour.
pub(super) struct Half {
    pub(super) name: String,
    pub(super) metric: String,
    pub(super) is_paused: bool,
    pub(super) summary: Summary,
}

pub(super) fn render(words: &Words, halves: &[Half], listed: &Listed, more: bool) -> Markup {
    html! {
        div .stack {
            div .row .spread {
                div { h1 { (words.title) } p .lead { (words.lead) } }
                a .button href=(DESK) { (words.operate) }
            }
            ul .minute-legend .hint {
                li { span .key data-minute="whole" {} (words.whole) }
                li { span .key data-minute="partial" {} (words.partial) }
                li { span .key data-minute="nothing" { "○" } (words.nothing) }
            }
            @for half in halves { (card(words, half)) }
            @if halves.is_empty() { (no_sources(words, listed)) }
            (pager(words, super::HOME, listed, halves.last().map(|half| half.name.as_str()), more))
        }
    }
}

fn card(words: &Words, half: &Half) -> Markup {
    let minutes = &half.summary.minutes;
    let last = minutes.last().and_then(|(_, tally)| tally.value());
    html! {
        article .card .half {
            div .row .spread {
                div { h2 { bdi { (half.name) } } p .hint { bdi { (half.metric) } } }
                @if half.is_paused { span .badge { (words.paused) } }
                dl .figures {
                    div { dt { (words.coverage) } dd { (share(&half.summary.total())) } }
                    div { dt { (words.last_minute) } dd { (number(last)) } }
                }
            }
            (picture(words, minutes))
            details {
                summary { (words.minutes) }
                table {
                    thead { tr { th scope="col" { (words.time) } th scope="col" { (words.count) }
                        th scope="col" { (words.coverage) } } }
                    tbody {
                        @for (time, tally) in minutes.iter().rev() {
                            tr {
                                td { time datetime=(spell(*time)) { (spell(*time)) } }
                                td { (number(tally.value())) }
                                td { (share(tally)) " " (kind(words, tally).1) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Bars of thirty minutes. A minute with holes is drawn open, one without a value is a circle: that
/// can be told without colours.
fn picture(words: &Words, minutes: &[(Timestamp, Tally)]) -> Markup {
    let most = minutes.iter().filter_map(|(_, tally)| tally.value()).max().unwrap_or(0).max(1);
    let width = minutes.len() as u64 * WIDTH;
    html! {
        svg .minutes viewBox={ "0 0 " (width) " " (HEIGHT + 8) } role="img" aria-label=(words.minutes) {
            line x1="0" x2=(width) y1=(HEIGHT + 4) y2=(HEIGHT + 4) {}
            @for (index, (time, tally)) in (0_u64..).zip(minutes) {
                @let (minute, name) = kind(words, tally);
                @let told = format!("{} · {} · {name}", spell(*time), number(tally.value()));
                g data-minute=(minute) {
                    title { (told) }
                    @match tally.value() {
                        Some(value) => {
                            // Too small to be seen is not nothing.
                            @let height = (value as f64 / most as f64 * HEIGHT as f64).max(2.0);
                            rect x=(index * WIDTH + 2) y={ (format!("{:.1}", (HEIGHT + 4) as f64 - height)) }
                                width=(WIDTH - 4) height={ (format!("{height:.1}")) } {}
                        }
                        None if tally.expected > 0 => {
                            circle cx=(index * WIDTH + WIDTH / 2) cy=(HEIGHT - 2) r="3.5" {}
                        }
                        None => {}
                    }
                }
            }
        }
    }
}

fn kind(words: &Words, tally: &Tally) -> (&'static str, &'static str) {
    match tally.coverage() {
        Some(1.0) => ("whole", words.whole),
        Some(0.0) => ("nothing", words.nothing),
        Some(_) => ("partial", words.partial),
        None => ("none", words.unexpected),
    }
}

fn number(value: Option<u64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// A share in percent, never rounded up to a whole that it is not.
fn share(tally: &Tally) -> String {
    let percent = |share: f64| format!("{} %", (share * 1000.0).floor() / 10.0);
    tally.coverage().map_or_else(|| "–".to_owned(), percent)
}
