//! What the page says: in English, in Japanese, and for children who read no kanji yet in hiragana
//! alone.

use edge::{Language, Reader};
use serde::Serialize;

/// The words of one language.
pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    pub(super) console: &'static str,
    /// Other ways of writing the same language, by their tags.
    pub(super) scripts: &'static [(&'static str, &'static str)],
    pub(super) empty: &'static str,
    pub(super) empty_hint: &'static str,
    pub(super) more: &'static str,
    pub(super) domain: &'static str,
    pub(super) look: &'static str,
    pub(super) ends_in: &'static str,
    pub(super) people: &'static str,
    pub(super) host: &'static str,
    pub(super) end: &'static str,
    pub(super) confirm_end: &'static str,
    pub(super) remove: &'static str,
    pub(super) confirm_remove: &'static str,
    pub(super) said: Said,
}

/// What modules say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) connecting: &'static str,
    live: &'static str,
    away: &'static str,
    event: &'static str,
}

/// The words for a reader.
pub(super) fn of(reader: Reader) -> &'static Words {
    match reader.language {
        Language::En => &EN,
        Language::Ja if reader.is_kana => &HIRAGANA,
        Language::Ja => &JA,
    }
}

const EN: Words = Words {
    title: "Class",
    lead: "Every group as it is now: the host in the middle, members around it.",
    console: "Console",
    scripts: &[],
    empty: "No group is open in this class.",
    empty_hint: "A group appears here as soon as somebody hosts one.",
    more: "Groups that are not shown:",
    domain: "Class (domain)",
    look: "Look",
    ends_in: "ends in",
    people: "Who is here",
    host: "host",
    end: "End class",
    confirm_end: "End this group for everybody in it?",
    remove: "Remove",
    confirm_remove: "Remove this member from the group?",
    said: Said {
        connecting: "Connecting …",
        live: "Live",
        away: "No connection; trying again …",
        event: "{name} ← {who}",
    },
};

const JA: Words = Words {
    title: "教室",
    lead: "今のグループのようす。真ん中がホスト、まわりが参加者です。",
    console: "管理画面",
    scripts: &[("ja-Hira", "ひらがな")],
    empty: "この教室で開かれているグループはありません。",
    empty_hint: "だれかがホストになると、ここに表示されます。",
    more: "表示していないグループ:",
    domain: "教室(ドメイン)",
    look: "表示",
    ends_in: "終了まで",
    people: "参加者",
    host: "ホスト",
    end: "授業を終了",
    confirm_end: "このグループを全員終了しますか?",
    remove: "退出させる",
    confirm_remove: "この参加者をグループから退出させますか?",
    said: Said {
        connecting: "接続しています…",
        live: "ライブ",
        away: "接続が切れました。再接続しています…",
        event: "{name} ← {who}",
    },
};

const HIRAGANA: Words = Words {
    title: "きょうしつ",
    lead: "いまの ぐるーぷの ようす。まんなかが ほすと、まわりが なかまです。",
    console: "かんりがめん",
    scripts: &[("ja", "漢字")],
    empty: "いま ひらいている ぐるーぷは ありません。",
    empty_hint: "だれかが ほすとに なると、ここに でます。",
    more: "ここに ない ぐるーぷ:",
    domain: "きょうしつ(どめいん)",
    look: "みる",
    ends_in: "おわりまで",
    people: "ここに いる ひと",
    host: "ほすと",
    end: "じゅぎょうを おわる",
    confirm_end: "この ぐるーぷを おわりますか?",
    remove: "ぬけさせる",
    confirm_remove: "この なかまを ぐるーぷから ぬけさせますか?",
    said: Said {
        connecting: "つないで います…",
        live: "つながって います",
        away: "つながりが きれました。もういちど つないで います…",
        event: "{name} ← {who}",
    },
};

#[cfg(test)]
mod tests {
    use super::{HIRAGANA, Said};

    #[test]
    fn the_words_for_children_hold_no_kanji() {
        let Said { connecting, live, away, event } = HIRAGANA.said;
        let words = [
            HIRAGANA.title,
            HIRAGANA.lead,
            HIRAGANA.console,
            HIRAGANA.empty,
            HIRAGANA.empty_hint,
            HIRAGANA.more,
            HIRAGANA.domain,
            HIRAGANA.look,
            HIRAGANA.ends_in,
            HIRAGANA.people,
            HIRAGANA.host,
            HIRAGANA.end,
            HIRAGANA.confirm_end,
            HIRAGANA.remove,
            HIRAGANA.confirm_remove,
            connecting,
            live,
            away,
            event,
        ];
        for word in words {
            let is_kanji = |letter: char| ('\u{4e00}'..='\u{9fff}').contains(&letter);
            let is_katakana = |letter: char| ('ァ'..='ヺ').contains(&letter);
            assert!(!word.contains(is_kanji) && !word.contains(is_katakana), "{word}");
        }
    }
}
