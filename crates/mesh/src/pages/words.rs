//! What the pages say: in English, in Japanese, and for children who read no kanji yet in hiragana
//! alone.

mod en;
mod hiragana;
mod ja;

use edge::{Language, Reader};
use serde::Serialize;

/// The words of one language.
pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    pub(super) console: &'static str,
    /// Other ways of writing the same language, by their tags.
    pub(super) scripts: &'static [(&'static str, &'static str)],
    pub(super) way: WayWords,
    pub(super) empty: &'static str,
    pub(super) empty_hint: &'static str,
    pub(super) practice: &'static str,
    pub(super) practice_hint: &'static str,
    pub(super) practice_start: &'static str,
    pub(super) more: &'static str,
    pub(super) domain: &'static str,
    pub(super) domain_hint: &'static str,
    pub(super) look: &'static str,
    pub(super) ends_at: &'static str,
    pub(super) host: &'static str,
    pub(super) name: &'static str,
    pub(super) save: &'static str,
    pub(super) remove: &'static str,
    pub(super) end_all: &'static str,
    pub(super) end_all_question: &'static str,
    pub(super) end_all_yes: &'static str,
    pub(super) said: Said,
    pub(super) join: JoinWords,
}

/// How pupils come in, for their teacher.
pub(super) struct WayWords {
    pub(super) title: &'static str,
    pub(super) qr_label: &'static str,
    pub(super) only_here: &'static str,
    pub(super) steps: [&'static str; 3],
    pub(super) page: &'static str,
    pub(super) endpoint: &'static str,
    pub(super) copy_endpoint: &'static str,
    pub(super) key: &'static str,
    pub(super) copy_key: &'static str,
    pub(super) key_hint: &'static str,
}

/// What modules say about a class.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) connecting: &'static str,
    live: &'static str,
    away: &'static str,
    event: &'static str,
    /// `{left}` is a time such as 49:07.
    left: &'static str,
    pub(super) groups: Count,
    pub(super) people: Count,
    pub(super) name_of: &'static str,
    pub(super) save_named: &'static str,
    pub(super) remove_named: &'static str,
    pub(super) confirm_remove: &'static str,
    pub(super) end: &'static str,
    pub(super) end_named: &'static str,
    pub(super) confirm_end: &'static str,
    practice_name: &'static str,
    practice_event: &'static str,
    /// Names of two values.
    practice_values: [&'static str; 2],
    practice_failed: &'static str,
    name_failed: &'static str,
    copied: &'static str,
    copy_failed: &'static str,
}

/// What the page for pupils says.
pub(super) struct JoinWords {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    pub(super) without_script: &'static str,
    pub(super) key: &'static str,
    pub(super) use_key: &'static str,
    pub(super) steps_title: &'static str,
    pub(super) steps: [&'static str; 3],
    pub(super) groups: &'static str,
    pub(super) no_groups: &'static str,
    pub(super) said: JoinSaid,
}

/// What the module of that page says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JoinSaid {
    checking: &'static str,
    reached: &'static str,
    no_key: &'static str,
    wrong_key: &'static str,
    away: &'static str,
    copied: &'static str,
    copy_failed: &'static str,
}

/// A number of things, in the grammar of its language.
#[derive(Debug, Serialize)]
pub(super) struct Count {
    one: &'static str,
    other: &'static str,
}

impl Count {
    pub(super) fn of(&self, count: usize) -> String {
        let sentence = if count == 1 { self.one } else { self.other };
        sentence.replace("{n}", &count.to_string())
    }
}

/// A sentence with the name that it is about.
pub(super) fn named(sentence: &str, name: &str) -> String {
    sentence.replace("{name}", name)
}

/// The words for a reader.
pub(super) fn of(reader: Reader) -> &'static Words {
    match reader.language {
        Language::En => &en::EN,
        Language::Ja if reader.is_kana => &hiragana::HIRAGANA,
        Language::Ja => &ja::JA,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::hiragana::HIRAGANA;
    use super::{Count, Words};

    /// All texts in what modules get.
    fn texts(of: &Json, into: &mut Vec<String>) {
        match of {
            Json::String(text) => into.push(text.clone()),
            Json::Array(parts) => parts.iter().for_each(|part| texts(part, into)),
            Json::Object(parts) => parts.values().for_each(|part| texts(part, into)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn all(words: &Words) -> Vec<String> {
        let Words { way, join, .. } = words;
        let page = [
            words.title,
            words.lead,
            words.console,
            words.empty,
            words.empty_hint,
            words.practice,
            words.practice_hint,
            words.practice_start,
            words.more,
            words.domain,
            words.domain_hint,
            words.look,
            words.ends_at,
            words.host,
            words.name,
            words.save,
            words.remove,
            words.end_all,
            words.end_all_question,
            words.end_all_yes,
        ];
        let ways = [
            way.title,
            way.qr_label,
            way.only_here,
            way.page,
            way.endpoint,
            way.copy_endpoint,
            way.key,
            way.copy_key,
            way.key_hint,
        ];
        let joins = [
            join.title,
            join.lead,
            join.without_script,
            join.key,
            join.use_key,
            join.steps_title,
            join.groups,
            join.no_groups,
        ];
        let lists = [&page[..], &ways, &way.steps, &joins, &join.steps];
        let mut found: Vec<String> =
            lists.iter().flat_map(|list| list.iter().copied().map(str::to_owned)).collect();
        texts(&serde_json::to_value(&words.said).unwrap(), &mut found);
        texts(&serde_json::to_value(&join.said).unwrap(), &mut found);
        found
    }

    #[test]
    fn the_words_for_children_hold_no_kanji() {
        for word in all(&HIRAGANA) {
            let is_kanji = |letter: char| ('\u{4e00}'..='\u{9fff}').contains(&letter);
            let is_katakana = |letter: char| ('ァ'..='ヺ').contains(&letter);
            assert!(!word.contains(is_kanji) && !word.contains(is_katakana), "{word}");
        }
    }

    #[test]
    fn a_count_has_the_right_plural() {
        let count = Count { one: "{n} group", other: "{n} groups" };
        assert_eq!([0, 1, 2].map(|n| count.of(n)), ["0 groups", "1 group", "2 groups"]);
    }
}
