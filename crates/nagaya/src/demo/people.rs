//! The people of a demonstration. They do not exist; their names are common ones.

/// Somebody who plays, posts and comments.
pub(super) struct Person {
    /// What an account or a player is called in addresses.
    pub(super) handle: &'static str,
    pub(super) name: &'static str,
}

const fn person(handle: &'static str, name: &'static str) -> Person {
    Person { handle, name }
}

/// Everybody. The first of them have accounts.
pub(super) const PEOPLE: [Person; 24] = [
    person("hanako_sato", "佐藤 花子"),
    person("ada_okafor", "Ada Okafor"),
    person("ren_suzuki", "鈴木 蓮"),
    person("sakura_takahashi", "高橋 さくら"),
    person("ben_larsen", "Ben Larsen"),
    person("kenta_tanaka", "田中 健太"),
    person("grace_kim", "Grace Kim"),
    person("misaki_ito", "伊藤 美咲"),
    person("diego_alvarez", "Diego Álvarez"),
    person("aoi_watanabe", "渡辺 葵"),
    person("priya_nair", "Priya Nair"),
    person("sota_yamamoto", "山本 颯太"),
    person("emma_dubois", "Emma Dubois"),
    person("yui_nakamura", "中村 結衣"),
    person("li_wei", "李 偉"),
    person("haruto_kobayashi", "小林 陽翔"),
    person("noor_haddad", "Noor Haddad"),
    person("rin_kato", "加藤 凛"),
    person("jonas_weber", "Jonas Weber"),
    person("mei_yoshida", "吉田 芽衣"),
    person("minjun_park", "박 민준"),
    person("daiki_yamada", "山田 大輝"),
    person("olga_novak", "Olga Nováková"),
    person("akari_sasaki", "佐々木 明里"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::PEOPLE;

    #[test]
    fn everybody_has_a_handle_and_a_name_of_their_own() {
        let handles: BTreeSet<_> = PEOPLE.iter().map(|person| person.handle).collect();
        let names: BTreeSet<_> = PEOPLE.iter().map(|person| person.name).collect();
        assert_eq!((handles.len(), names.len()), (PEOPLE.len(), PEOPLE.len()));
        let is_plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(handles.iter().all(|handle| handle.chars().all(is_plain)));
    }
}
