//! The query bar: which items, of which instant. A form whose fields stand in the address.

use maud::{Markup, html};
use table::{Durability, KeySpec};

use super::{View, exact};
use crate::browse::key_of;

/// Instants that are proposed: from a slip of the hand to a week.
const PROPOSED: [&str; 6] = ["-1m", "-5m", "-1h", "-12h", "-1d", "-7d"];

impl View<'_> {
    pub(super) fn bar(&self) -> Markup {
        let (words, spec, asked) = (self.words, self.spec, self.asked);
        let key = key_of(spec, &asked.index).unwrap_or(&spec.key);
        // Choosing another one changes what is asked for: a module writes the names of its key.
        let place = |value: &str, name: &str, key: &KeySpec| {
            let sort = key.sort.as_ref().map(|sort| sort.name.as_str());
            html! {
                option value=(value) selected[value == asked.index] data-partition=(key.partition.name)
                    data-sort=[sort] { (name) " — " (key) }
            }
        };
        html! {
            form .card .bar method="get" action=(self.path()) {
                div .field .wide { label for="index" { (words.where_) }
                    select #index name="index" {
                        (place("", &spec.name, &spec.key))
                        @for index in &spec.indexes { (place(&index.name, &index.name, &index.key)) }
                    } }
                div .field { label for="partition" { span #partition-name { (key.partition.name) } " =" }
                    input #partition name="partition" value=(asked.partition) placeholder=(words.all) autocomplete="off"; }
                (self.sort_field(key))
                div .field .narrow { label for="order" { (words.order) }
                    select #order name="order" {
                        (option("", words.up, &asked.order)) (option("down", words.down, &asked.order))
                    } }
                div .field { label for="filter" { (words.filter) }
                    input #filter .code name="filter" value=(asked.filter) placeholder="n > 10 AND begins_with(s, \"a\")"
                        autocomplete="off" spellcheck="false"; }
                (self.instant_field())
                div .row .acts { button .primary { (words.query) } a .button href=(self.path()) { (words.clear) } }
                (self.reaches())
            }
        }
    }

    fn sort_field(&self, key: &KeySpec) -> Markup {
        let (words, asked) = (self.words, self.asked);
        let sort = key.sort.as_ref().map_or(words.no_sort_key, |sort| sort.name.as_str());
        let ways = [
            ("eq", "="),
            ("begins", words.begins),
            ("lt", "<"),
            ("le", "≤"),
            ("gt", ">"),
            ("ge", "≥"),
            ("between", words.between),
        ];
        html! {
            div .field .wide { label for="sort" #sort-name data-none=(words.no_sort_key) { (sort) }
                div .sorts {
                    select #op name="op" aria-label=(words.compares) {
                        @for (value, name) in ways { (option(value, name, &asked.op)) }
                    }
                    input #sort name="sort" value=(asked.sort) autocomplete="off";
                    input #until name="until" value=(asked.until) aria-label=(words.until) placeholder=(words.until) autocomplete="off";
                } }
        }
    }

    /// The instant that is looked at, where there is a past.
    fn instant_field(&self) -> Markup {
        let (words, asked) = (&self.words.past, self.asked);
        let has_past = self.reach.flatten().is_some() && self.is_durable();
        html! {
            @if has_past {
                div .field .wide { label for="at" { (words.as_of) }
                    div .sorts {
                        input #at name="at" value=(asked.at) placeholder=(words.now) list="instants"
                            autocomplete="off" aria-describedby="at-hint";
                        input #pick .scripted type="datetime-local" step="1" aria-label=(words.pick);
                    }
                    datalist #instants { @for instant in PROPOSED { option value=(instant) {} } }
                }
            }
        }
    }

    /// How far back looks reach, or why they do not.
    fn reaches(&self) -> Markup {
        let words = &self.words.past;
        html! {
            p #at-hint .hint .whole {
                @match self.reach {
                    None => (words.elsewhere),
                    Some(_) if !self.is_durable() => (words.ephemeral),
                    Some(None) => (words.no_reach),
                    Some(Some(reach)) => {
                        (words.hint) " " (words.reaches) " " (exact(reach.begins))
                        @if reach.is_whole { " " (words.is_whole) }
                    }
                }
            }
        }
    }

    pub(super) fn is_durable(&self) -> bool {
        self.spec.durability == Durability::Durable
    }
}

fn option(value: &str, name: &str, chosen: &str) -> Markup {
    html! { option value=(value) selected[value == chosen] { (name) } }
}
