//! The list of items: keys first, then a column for each attribute that the items of the page have,
//! those that most of them have first.

use std::collections::BTreeMap;

use maud::{Markup, html};
use table::{Item, Value};

use super::{Seen, View};
use crate::browse::{key_of, key_text, spoken, spoken_key};
use crate::limits::{CELL_LETTERS_MAX, COLUMNS_MAX};
use crate::past::is_open;

/// A column: an attribute, and its type if all items of the page have the same.
#[derive(Debug, PartialEq, Eq)]
struct Column {
    name: String,
    kind: Option<&'static str>,
    is_key: bool,
}

/// The columns of some items; `keys` come first.
fn columns(items: &[Item], keys: &[&str]) -> Vec<Column> {
    let mut seen: BTreeMap<String, (usize, Option<&'static str>)> = BTreeMap::new();
    for (name, value) in items.iter().flat_map(Item::iter) {
        let kind = value.kind().name();
        let held = seen.entry(name.to_string()).or_insert((0, Some(kind)));
        held.0 += 1;
        held.1 = held.1.filter(|known| *known == kind);
    }
    let key = |name: &&str| {
        let kind = seen.get(*name).and_then(|(_, kind)| *kind);
        Column { name: (*name).to_owned(), kind, is_key: true }
    };
    let mut columns: Vec<Column> = keys.iter().map(key).collect();
    let others = seen.iter().filter(|(name, _)| !keys.contains(&name.as_str()));
    let mut others: Vec<_> = others.collect();
    others.sort_by_key(|(name, (count, _))| (std::cmp::Reverse(*count), (*name).clone()));
    columns.extend(others.into_iter().map(|(name, (_, kind))| Column {
        name: name.clone(),
        kind: *kind,
        is_key: false,
    }));
    columns
}

impl View<'_> {
    pub(super) fn grid(&self, seen: &Seen) -> Markup {
        let items = &seen.found.page.items;
        if items.is_empty() {
            return html! { div { p .empty { (self.words.no_items) } } };
        }
        let own = self.spec.key.attributes().map(|attribute| attribute.name.as_str());
        let index = key_of(self.spec, &self.asked.index).unwrap_or(&self.spec.key);
        let index = index.attributes().map(|attribute| attribute.name.as_str());
        let mut keys: Vec<&str> = own.collect();
        let more: Vec<&str> = index.filter(|name| !keys.contains(name)).collect();
        keys.extend(more);
        let mut columns = columns(items, &keys);
        let left = columns.len().saturating_sub(COLUMNS_MAX);
        columns.truncate(COLUMNS_MAX);
        html! {
            div .scroll .sheet tabindex="0" role="region" aria-label=(self.spec.name) {
                table .grid {
                    thead { tr {
                        @for column in &columns {
                            th scope="col" .key[column.is_key] { (column.name)
                                @if let Some(kind) = column.kind { " " span .type { (kind) } } }
                        }
                    } }
                    tbody { @for item in items { (self.line(seen, item, &columns)) } }
                }
            }
            @if left > 0 { p .hint { (self.words.more_columns) " " (left) } }
        }
    }

    fn line(&self, seen: &Seen, item: &Item, columns: &[Column]) -> Markup {
        let is_open = is_open(self.spec, seen.opened.as_ref(), item);
        let address = self.address(&self.asked.opening(key_text(self.spec, item)));
        html! {
            tr aria-current=[is_open.then_some("true")] {
                @for (place, column) in columns.iter().enumerate() {
                    @if place == 0 {
                        th scope="row" { a .open href={ (address) "#item" } aria-label=(spoken_key(self.spec, item)) {
                            (item.get(&column.name).map(|value| cut(&spoken(value))).unwrap_or_default())
                        } }
                    } @else {
                        (self.cell(seen, item, column))
                    }
                }
            }
        }
    }

    fn cell(&self, seen: &Seen, item: &Item, column: &Column) -> Markup {
        let Some(value) = item.get(&column.name) else { return html! { td .none { "–" } } };
        let is_number = matches!(value, Value::N(_));
        let kind = column.kind.is_none().then(|| value.kind().name());
        html! {
            td .number[is_number] {
                @if let Some(kind) = kind { span .type { (kind) } " " }
                (cut(&spoken(value)))
                @if let Some(end) = self.end_of(&column.name, value) {
                    br; span .hint { (self.end(end, seen.at)) }
                }
            }
        }
    }
}

/// A value as far as a column is wide.
fn cut(text: &str) -> String {
    let one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
    match text.char_indices().nth(CELL_LETTERS_MAX) {
        None => text.chars().map(one_line).collect(),
        Some((end, _)) => {
            let begin = text.get(..end).unwrap_or(text);
            begin.chars().map(one_line).chain(['…']).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use table::Item;

    use super::{columns, cut};

    #[test]
    fn keys_come_first_and_then_what_most_items_have() {
        let items = [
            Item::new().with("pk", "a").with("sk", 1).with("rare", 1).with("n", 1).with("s", "x"),
            Item::new().with("pk", "b").with("sk", 2).with("n", "one").with("s", "y"),
        ];
        let columns = columns(&items, &["pk", "sk"]);
        let told: Vec<(&str, Option<&str>)> =
            columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
        let wanted = [
            ("pk", Some("S")),
            ("sk", Some("N")),
            ("n", None),
            ("s", Some("S")),
            ("rare", Some("N")),
        ];
        assert_eq!(told, wanted, "a column of several types has none of its own");
    }

    #[test]
    fn a_wide_value_is_cut_between_letters() {
        assert_eq!(cut("長\n屋"), "長 屋");
        let cut = cut(&"長".repeat(100));
        assert_eq!((cut.chars().count(), cut.ends_with('…')), (61, true));
    }
}
