//! The item that is open beside the list: all of its values, an editor, ways to copy it, and its past.

use base::Timestamp;
use maud::{Markup, html};
use table::{Item, Value, item_to_json, plain, value_to_json};

use super::{Problem, Seen, View, exact};
use crate::browse::{Asked, key_text, spoken, spoken_key};
use crate::past::Opened;

impl View<'_> {
    pub(super) fn opened(&self, seen: &Seen, opened: &Opened) -> Markup {
        let words = self.words;
        let (shown, is_past) = (opened.shown(), opened.is_past());
        let problem = self.beside.problem.as_ref().filter(|problem| problem.is_of_item);
        let name = spoken_key(self.spec, &opened.key);
        html! {
            aside #item .card .item tabindex="-1" aria-labelledby="item-name" {
                div .row .spread {
                    h2 #item-name .wrap { (name) }
                    a .button .small .close href=(self.address(&self.asked.closed())) aria-label=(words.close) { "✕" }
                }
                @if let Some(Problem { text, .. }) = problem { p .notice .alert role="alert" { (text) } }
                @match shown {
                    Some(item) => {
                        (self.attributes(item, seen.at.filter(|_| is_past)))
                        @if is_past { (self.restore(opened, item)) }
                        @else { (self.editor(item)) }
                        (self.copies(item, seen.at))
                    }
                    None => {
                        div { p .empty { (if is_past { words.no_item_then } else { words.no_item_now }) } }
                        @if let Some(draft) = self.beside.draft_of(false) {
                            pre .code { (draft.text) }
                        }
                    }
                }
                @if self.reach.flatten().is_some() && self.is_durable() { (self.history(opened)) }
            }
        }
    }

    fn attributes(&self, item: &Item, at: Option<Timestamp>) -> Markup {
        let words = self.words;
        let keys = self.spec.key.attributes().map(|attribute| attribute.name.as_str());
        let keys: Vec<&str> = keys.collect();
        let own = keys.iter().filter_map(|name| Some((*name, item.get(name)?)));
        let is_other = |name: &str| !keys.contains(&name);
        let all = own.chain(item.iter().filter(|(name, _)| is_other(name)));
        html! {
            table .attributes {
                thead .unseen { tr { th { (words.attribute) } th { (words.type_) } th { (words.value) } } }
                tbody { @for (name, value) in all {
                    tr { th scope="row" .wrap { (name) } td { span .type { (value.kind().name()) } }
                        td { (whole(value))
                            @if let Some(end) = self.end_of(name, value) { " " span .badge { (self.end(end, at)) } } } }
                } }
            }
        }
    }

    fn editor(&self, item: &Item) -> Markup {
        let words = self.words;
        let loaded = item_to_json(item);
        let draft = self.beside.draft_of(false);
        // After a refusal, what was loaded then is still what may be written over.
        let was = draft.map_or_else(|| loaded.to_string(), |draft| draft.was.clone());
        let text = serde_json::to_string_pretty(&loaded).unwrap_or_default();
        let text = draft.map_or(text.as_str(), |draft| draft.text.as_str());
        html! {
            details .part open[draft.is_some()] { summary { (words.edit) }
                form .field method="post" action={ (self.path()) "/put" } {
                    (self.way_back(self.asked))
                    input type="hidden" name="was" value=(was);
                    textarea .code name="item" rows="10" spellcheck="false" aria-label=(words.edit) { (text) }
                    div .row { button .primary { (words.save_changes) } }
                }
                form method="post" action={ (self.path()) "/delete" } data-confirm=(words.confirm_delete) {
                    (self.way_back(self.asked))
                    input type="hidden" name="item" value=(key_text(self.spec, item));
                    button .danger .small { (words.delete) }
                }
            }
        }
    }

    fn restore(&self, opened: &Opened, item: &Item) -> Markup {
        let words = &self.words.past;
        let was = opened.now.as_ref().map(|now| item_to_json(now).to_string()).unwrap_or_default();
        // The version that is shown, also where none was chosen.
        let version = opened.versions.as_ref().and_then(|versions| versions.chosen());
        let version = version.map_or_else(String::new, |version| version.change.to_string());
        html! {
            @if opened.now.as_ref() == Some(item) { p .hint { (words.no_difference) } }
            @else {
                form .field method="post" action={ (self.path()) "/restore" } data-confirm=(words.confirm_restore) {
                    (self.way_back(&Asked { version, ..self.asked.clone() }))
                    input type="hidden" name="item" value=(key_text(self.spec, &opened.key));
                    input type="hidden" name="was" value=(was);
                    div .row { button .primary { (words.restore) } }
                    p .hint { (words.restore_hint) }
                }
            }
        }
    }

    /// The item in other forms, to be copied.
    fn copies(&self, item: &Item, at: Option<Timestamp>) -> Markup {
        let words = self.words;
        let typed = serde_json::to_string_pretty(&item_to_json(item)).unwrap_or_default();
        let forms = [
            ("json", "JSON", plain::write(item)),
            ("typed", "DynamoDB JSON", typed),
            ("command", words.command, self.command(item, at)),
        ];
        html! {
            details .part { summary { (words.copy_as) }
                @for (id, name, text) in &forms {
                    div .copy {
                        div .row .spread { strong { (name) }
                            button .small .scripted type="button" data-copy={ "copy-" (id) } data-done=(words.copied) { (words.copy) " " (name) } }
                        pre .code id={ "copy-" (id) } tabindex="0" { (text) }
                    }
                }
            }
        }
    }

    /// The command that prints the item.
    fn command(&self, item: &Item, at: Option<Timestamp>) -> String {
        let keys = self.spec.key.attributes();
        let pairs = keys.filter_map(|attribute| {
            let value = item.get(&attribute.name)?;
            Some(quoted(&format!("{}={}", attribute.name, spoken(value).trim_matches('"'))))
        });
        let pairs: Vec<String> = pairs.collect();
        let at = at.map(|at| format!(" --at {at}")).unwrap_or_default();
        format!("nagaya table get {} {}{at}", quoted(&self.spec.name), pairs.join(" "))
    }

    /// The second at which an item ends, if the value is what says so.
    pub(super) fn end_of(&self, name: &str, value: &Value) -> Option<u64> {
        value.as_n()?.floor_u64().filter(|_| self.spec.ttl.as_deref() == Some(name))
    }

    /// When an item ends: counted down to now, as a time in the past.
    pub(super) fn end(&self, end: u64, at: Option<Timestamp>) -> Markup {
        let time = Timestamp::from_seconds(end).unwrap_or(self.now);
        html! {
            (self.words.expires) " "
            @if at.is_none() { span data-ttl=(end) { (time) } " · " }
            (exact(time))
        }
    }
}

/// All of a value.
pub(super) fn whole(value: &Value) -> Markup {
    match value {
        Value::M(_) | Value::L(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => {
            let json = value_to_json(value);
            let inner = json.as_object().and_then(|typed| typed.values().next());
            let text = serde_json::to_string_pretty(inner.unwrap_or(&json)).unwrap_or_default();
            html! { pre .code .wrap { (text) } }
        }
        _ => html! { span .value .wrap { (spoken(value)) } },
    }
}

/// A word of a command line.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.=:/@".contains(letter);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_word_of_a_command_line_is_quoted_where_it_must_be() {
        assert_eq!(super::quoted("pk=a:b"), "pk=a:b");
        assert_eq!(super::quoted("pk=it's $HOME"), r"'pk=it'\''s $HOME'");
    }
}
