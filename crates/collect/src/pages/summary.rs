//! The public page: the last half hour of each source, and what share of it came.

use base::Timestamp;
use maud::{Markup, html};

use super::markup::{Offer, no_sources, pager};
use super::words::Words;
use super::{DESK, Listed};
use crate::model::decimal::Decimal;
use crate::model::kind::Kind;
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
    pub(super) kind: Kind,
    pub(super) summary: Summary,
}

pub(super) fn render(
    words: &Words,
    halves: &[Half],
    listed: &Listed,
    more: bool,
    is_operator: bool,
) -> Markup {
    let offer = if is_operator { Offer::Forms } else { Offer::Desk };
    html! {
        div .stack {
            div .row .spread {
                div { h1 { (words.title) } p .lead { (words.lead) } }
                a .button href=(DESK) { (words.operate) }
            }
            @if !halves.is_empty() {
                ul .minute-legend .hint {
                    li { span .key data-minute="whole" {} (words.whole) }
                    li { span .key data-minute="partial" {} (words.partial) }
                    li { span .key data-minute="nothing" { "○" } (words.nothing) }
                }
            }
            @for half in halves { (card(words, half)) }
            @if halves.is_empty() { (no_sources(words, listed, offer)) }
            (pager(words, super::HOME, listed, halves.last().map(|half| half.name.as_str()), more))
        }
    }
}

fn card(words: &Words, half: &Half) -> Markup {
    let (minutes, total) = (&half.summary.minutes, half.summary.total());
    let last = minutes.last().and_then(|(_, tally)| tally.value(half.kind));
    let figures = [
        (words.least, total.min),
        (words.greatest, total.max),
        (words.mean, total.mean()),
        (words.last_value, total.last),
    ];
    let is_gauge = half.kind == Kind::Gauge;
    html! {
        article .card .half {
            div .row .spread {
                div { h2 { bdi { (half.name) } }
                    p .hint { bdi { (half.metric) } " · " (words.kind(half.kind)) } }
                @if half.is_paused { span .badge { (words.paused) } }
                dl .figures {
                    div { dt { (words.coverage) } dd { (share(&total)) } }
                    @if is_gauge {
                        @for (name, figure) in figures { div { dt { (name) } dd { (number(figure)) } } }
                    } @else {
                        div { dt { (words.last_minute) } dd { (number(last)) } }
                    }
                }
            }
            (picture(words, half.kind, minutes))
            details {
                summary { (words.minutes) span .unseen { " " (half.name) } }
                div .scroll tabindex="0" role="group" aria-label={ (words.minutes) " " (half.name) } {
                    (table(words, half.kind, minutes))
                }
            }
        }
    }
}

fn table(words: &Words, kind: Kind, minutes: &[(Timestamp, Tally)]) -> Markup {
    let is_gauge = kind == Kind::Gauge;
    let value = if is_gauge { words.mean } else { words.count };
    let more = [words.least, words.greatest, words.last_value];
    html! {
        table {
            thead { tr {
                th scope="col" { (words.time) } th scope="col" { (value) }
                @if is_gauge { @for name in more { th scope="col" { (name) } } }
                th scope="col" { (words.coverage) }
            } }
            tbody {
                @for (time, tally) in minutes.iter().rev() {
                    tr {
                        td { time datetime=(spell(*time)) { (spell(*time)) } }
                        td { (number(tally.value(kind))) }
                        @if is_gauge {
                            @for figure in [tally.min, tally.max, tally.last] {
                                td { (number(figure)) }
                            }
                        }
                        td { (share(tally)) " " (coverage(words, tally).1) }
                    }
                }
            }
        }
    }
}

/// Bars of thirty minutes. A minute with holes is drawn open, one without a value is a circle: that
/// can be told without colours. They begin at zero, or at the least value of a gauge below it.
fn picture(words: &Words, kind: Kind, minutes: &[(Timestamp, Tally)]) -> Markup {
    let values = || minutes.iter().filter_map(|(_, tally)| tally.value(kind)).map(Decimal::to_f64);
    let least = values().fold(0.0, f64::min);
    let most = values().fold(least, f64::max);
    // All the same is a line of low bars, not of none.
    let range = if most > least { most - least } else { 1.0 };
    let width = minutes.len() as u64 * WIDTH;
    html! {
        svg .minutes viewBox={ "0 0 " (width) " " (HEIGHT + 8) } role="img" aria-label=(words.minutes) {
            line x1="0" x2=(width) y1=(HEIGHT + 4) y2=(HEIGHT + 4) {}
            @for (index, (time, tally)) in (0_u64..).zip(minutes) {
                @let (minute, name) = coverage(words, tally);
                @let told = format!(" · {} · {name}", number(tally.value(kind)));
                g data-minute=(minute) {
                    title data-time=(spell(*time)) data-rest=(told) { (spell(*time)) (told) }
                    @match tally.value(kind) {
                        Some(value) => {
                            // Too small to be seen is not nothing.
                            @let height = ((value.to_f64() - least) / range * HEIGHT as f64).max(2.0);
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

fn coverage(words: &Words, tally: &Tally) -> (&'static str, &'static str) {
    match tally.coverage() {
        Some(1.0) => ("whole", words.whole),
        Some(0.0) => ("nothing", words.nothing),
        Some(_) => ("partial", words.partial),
        None => ("none", words.unexpected),
    }
}

/// A value, with as many decimals as a reader takes in: three, and more where the value is so small
/// that three would say nought.
fn number(value: Option<Decimal>) -> String {
    let rounded = |value: Decimal| {
        if value.is_whole() {
            return value.to_string();
        }
        let value = value.to_f64();
        let zeros = usize::try_from(-(value.abs().log10().floor() as i64)).unwrap_or(0);
        let decimals = zeros.max(1) + 2;
        format!("{value:.decimals$}").trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    value.map_or_else(|| "–".to_owned(), rounded)
}

/// A share in percent, never rounded up to a whole that it is not.
fn share(tally: &Tally) -> String {
    let percent = |share: f64| format!("{} %", (share * 1000.0).floor() / 10.0);
    tally.coverage().map_or_else(|| "–".to_owned(), percent)
}

#[cfg(test)]
mod tests {
    use super::number;
    use crate::model::decimal::Decimal;

    #[test]
    fn a_small_value_is_never_shown_as_nought() {
        let shown = |text: &str| number(Decimal::parse(text));
        assert_eq!(shown("-0.000412"), "-0.000412");
        assert_eq!(shown("0.0000987654"), "0.0000988");
        assert_eq!((shown("21.30049"), shown("-3.5")), ("21.3".to_owned(), "-3.5".to_owned()));
        assert_eq!((shown("1200"), shown("x")), ("1200".to_owned(), "–".to_owned()));
    }
}
