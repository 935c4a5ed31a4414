//! The versions of an item, what the chosen one changed, and what became of it until now.

use maud::{Markup, html};
use table::{ChangeKind, Item};

use super::item::whole;
use super::{View, exact};
use crate::browse::Asked;
use crate::past::{Difference, Opened, Versions, differences};

impl View<'_> {
    pub(super) fn history(&self, opened: &Opened) -> Markup {
        let words = &self.words.past;
        let Some(versions) = &opened.versions else {
            let asked = Asked { version: "last".to_owned(), ..self.asked.clone() };
            return html! { p { a .button .small href={ (self.address(&asked)) "#history" } { (words.show_history) } } };
        };
        html! {
            section #history .part .stack aria-labelledby="history-name" {
                h3 #history-name { (words.history) }
                @if versions.list.is_empty() { p .hint { (words.no_versions) } }
                @else { (self.slider(versions)) (self.list(versions)) }
                (self.ways(versions))
                // Without a choice, and of now: what the newest change did.
                @if let Some(place) = versions.chosen.or(opened.then.is_none().then_some(0)) {
                    (self.compared(opened, versions, place))
                }
            }
        }
    }

    /// A slider over the versions, the oldest to the left; a module moves to the one that is chosen.
    fn slider(&self, versions: &Versions) -> Markup {
        let last = versions.list.len().saturating_sub(1);
        let place = last - versions.chosen.unwrap_or(0).min(last);
        html! {
            @if last > 0 {
                div .field .scripted .slider {
                    label for="versions" { (self.words.past.version) ": " output #version-at for="versions" {} }
                    input #versions type="range" min="0" max=(last) value=(place);
                }
            }
        }
    }

    fn list(&self, versions: &Versions) -> Markup {
        let words = &self.words.past;
        html! {
            ol #version-list .versions aria-label=(words.versions) {
                @for (place, version) in versions.list.iter().enumerate() {
                    @let asked = Asked { version: version.change.to_string(), ..self.asked.clone() };
                    li { a href={ (self.address(&asked)) "#history" } aria-current=[(versions.chosen == Some(place)).then_some("true")] {
                        (exact(version.at)) " " span .badge { (self.kind(version.kind)) }
                    } }
                }
            }
        }
    }

    /// Older and newer pages, and how far back this one looked.
    fn ways(&self, versions: &Versions) -> Markup {
        let words = &self.words.past;
        let page = |older: String| {
            let asked = Asked { version: "last".to_owned(), older, ..self.asked.clone() };
            format!("{}#history", self.address(&asked))
        };
        html! {
            p .row .hint {
                @if let Some(to) = versions.looked_to { span { (words.looked_to) " " (exact(to)) } }
                @if let Some(older) = versions.older { a .link href=(page(older.to_string())) { (words.older) } }
                @if !self.asked.older.is_empty() { a .link href=(page(String::new())) { (words.newest) } }
            }
        }
    }

    fn compared(&self, opened: &Opened, versions: &Versions, place: usize) -> Markup {
        let words = &self.words.past;
        let Some(version) = versions.list.get(place) else { return html! {} };
        let then = version.item.as_ref();
        html! {
            h3 { (words.this_change) }
            @match versions.before(place) {
                Some(before) => (self.difference(before, then, [words.before, words.after])),
                None => p .hint { (words.before_unknown) },
            }
            h3 { (words.since_then) }
            (self.difference(then, opened.now.as_ref(), [words.then, words.now]))
        }
    }

    fn difference(&self, before: Option<&Item>, after: Option<&Item>, sides: [&str; 2]) -> Markup {
        let words = &self.words.past;
        let told = differences(before, after);
        if told.is_empty() {
            return html! { p .hint { (words.no_difference) } };
        }
        let [left, right] = sides;
        html! {
            div .scroll tabindex="0" role="region" aria-label={ (left) " – " (right) } { table .listing .difference {
                thead { tr { th { (self.words.attribute) } th { (left) } th { (right) } } }
                tbody { @for (name, difference) in &told {
                    @let (class, word, old, new) = match difference {
                        Difference::Added(new) => ("added", words.was_added, None, Some(new)),
                        Difference::Removed(old) => ("removed", words.was_removed, Some(old), None),
                        Difference::Changed(old, new) => ("changed", words.was_changed, Some(old), Some(new)),
                    };
                    tr .(class) {
                        th scope="row" .wrap { (name) " " span .badge { (word) } }
                        td { @if let Some(old) = old { del { (whole(old)) } } @else { span .none { "–" } } }
                        td { @if let Some(new) = new { ins { (whole(new)) } } @else { span .none { "–" } } }
                    }
                } }
            } }
        }
    }

    fn kind(&self, kind: ChangeKind) -> &'static str {
        let words = &self.words.past;
        match kind {
            ChangeKind::Insert => words.created,
            ChangeKind::Modify => words.modified,
            ChangeKind::Remove => words.removed,
            ChangeKind::Expire => words.expired,
        }
    }
}
