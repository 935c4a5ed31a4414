//! What the console asks a room. Every room implements [`Ask`], and the binary hands the rooms to
//! the console as a list: so the console knows no room, and no room knows the console.

use std::pin::Pin;

use edge::Language;

/// What a room answers later.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A room that can be asked by the console.
pub trait Ask: Send + Sync {
    /// The room's name: the first word of its paths.
    fn name(&self) -> &'static str;

    /// At most `limit` things of the room whose names hold `wanted`, the best first. `wanted` is
    /// not empty. A room answers from memory or by one read; what takes longer is
    /// left out of the results.
    fn search<'a>(&'a self, wanted: &'a str, limit: usize) -> Answer<'a, Vec<Found>>;

    /// Whether the room was ever used. It costs at most one small read.
    fn was_used(&self) -> Answer<'_, bool>;

    /// What in the room needs the operator now. It is asked every second, so it comes from what the
    /// room counts anyway.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }
}

/// Something that has a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub kind: FoundKind,
    /// What it is called.
    pub name: String,
    /// What distinguishes it from others of the same name: may be empty.
    pub hint: String,
    /// Where its page is.
    pub path: String,
}

/// What a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundKind {
    /// A page of the server.
    Page,
    /// A table of the store.
    Table,
    /// A setting.
    Setting,
    /// A group of a class.
    Group,
    /// A person.
    Person,
    /// A room with an audience.
    Room,
    /// A source of values.
    Source,
    /// A game.
    Game,
}

impl FoundKind {
    /// The word for it.
    pub fn name(self, language: Language) -> &'static str {
        let (en, ja) = match self {
            FoundKind::Page => ("Page", "ページ"),
            FoundKind::Table => ("Table", "テーブル"),
            FoundKind::Setting => ("Setting", "設定"),
            FoundKind::Group => ("Group", "グループ"),
            FoundKind::Person => ("Person", "人"),
            FoundKind::Room => ("Room", "ルーム"),
            FoundKind::Source => ("Source", "データ元"),
            FoundKind::Game => ("Game", "ゲーム"),
        };
        match language {
            Language::En => en,
            Language::Ja => ja,
        }
    }
}

/// Something that needs the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which problem, for programs: `failing_sources`.
    pub id: &'static str,
    /// Whether something is lost or stands still; otherwise it will be one day.
    pub is_urgent: bool,
    /// The whole sentence, in English.
    pub en: String,
    /// The same in Japanese.
    pub ja: String,
    /// Where something can be done about it.
    pub path: &'static str,
}

/// Whether `name` holds `wanted`, whatever the case of their letters.
pub fn matches(name: &str, wanted: &str) -> bool {
    name.to_lowercase().contains(&wanted.to_lowercase())
}
