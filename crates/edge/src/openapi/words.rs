//! What the page itself says, in Japanese and English. What rooms say of their operations is
//! English, as programmers read it elsewhere.

use crate::Language;

/// The words of one language.
pub(super) struct Words {
    pub(super) language: Language,
    pub(super) title: &'static str,
    pub(super) skip: &'static str,
    pub(super) rooms: &'static str,
    pub(super) heading: &'static str,
    pub(super) lead: &'static str,
    pub(super) base: &'static str,
    pub(super) home: &'static str,
    pub(super) version: &'static str,
    pub(super) schemas: &'static str,
    pub(super) deprecated: &'static str,
    pub(super) required: &'static str,
    pub(super) try_it: &'static str,
    pub(super) parameters: &'static str,
    pub(super) name: &'static str,
    pub(super) place: &'static str,
    pub(super) kind: &'static str,
    pub(super) meaning: &'static str,
    pub(super) body: &'static str,
    pub(super) answers: &'static str,
    pub(super) member: &'static str,
    pub(super) as_schema: &'static str,
    /// Before and behind what a list holds.
    pub(super) list_of: (&'static str, &'static str),
    pub(super) or: &'static str,
    pub(super) and: &'static str,
}

/// The words of a language.
pub(super) fn of(language: Language) -> &'static Words {
    match language {
        Language::En => &EN,
        Language::Ja => &JA,
    }
}

static EN: Words = Words {
    language: Language::En,
    title: "The house's interfaces",
    skip: "Skip to the content",
    rooms: "Rooms",
    heading: "Interfaces",
    lead: "Every room of this house describes itself in OpenAPI 3.1. This page shows the same documents.",
    base: "Base address:",
    home: "Front of the house",
    version: "version",
    schemas: "Schemas",
    deprecated: "deprecated",
    required: "required",
    try_it: "Try it",
    parameters: "Parameters",
    name: "Name",
    place: "In",
    kind: "Type",
    meaning: "Meaning",
    body: "Body",
    answers: "Answers",
    member: "Member",
    as_schema: "As JSON Schema",
    list_of: ("list of ", ""),
    or: " or ",
    and: " and ",
};

static JA: Words = Words {
    language: Language::Ja,
    title: "長屋の API",
    skip: "本文へ移動",
    rooms: "部屋",
    heading: "API",
    lead: "各部屋の API は OpenAPI 3.1 で記述されています。このページは同じ文書をそのまま表示しています。操作の説明は英語です。",
    base: "ベースアドレス:",
    home: "入り口",
    version: "バージョン",
    schemas: "スキーマ",
    deprecated: "非推奨",
    required: "必須",
    try_it: "試す",
    parameters: "パラメーター",
    name: "名前",
    place: "場所",
    kind: "型",
    meaning: "意味",
    body: "本文",
    answers: "応答",
    member: "メンバー",
    as_schema: "JSON Schema で表示",
    list_of: ("", " のリスト"),
    or: " または ",
    and: " かつ ",
};
