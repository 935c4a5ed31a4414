//! The words of the overview and of the search.

use edge::Language;
use serde::Serialize;

use crate::steps::STEPS;

/// The words of one language.
pub(in crate::pages) struct OverviewWords {
    pub(in crate::pages) calm: &'static str,
    pub(in crate::pages) problems: &'static str,
    pub(in crate::pages) steps: &'static str,
    pub(in crate::pages) steps_hint: &'static str,
    /// In the order of the steps.
    pub(in crate::pages) step: [StepWords; STEPS.len()],
    /// With the step's name behind it.
    pub(in crate::pages) dismiss: &'static str,
    pub(in crate::pages) span: &'static str,
    pub(in crate::pages) minute: &'static str,
    pub(in crate::pages) hour: &'static str,
    pub(in crate::pages) now: &'static str,
    /// What a line shows, behind the name of what it is of.
    pub(in crate::pages) line: &'static str,
    pub(in crate::pages) search: &'static str,
    pub(in crate::pages) search_label: &'static str,
    pub(in crate::pages) search_none: &'static str,
    pub(in crate::pages) search_more: &'static str,
    pub(in crate::pages) search_late: &'static str,
    pub(in crate::pages) said: OverviewSaid,
}

/// A first step.
pub(in crate::pages) struct StepWords {
    pub(in crate::pages) name: &'static str,
    pub(in crate::pages) hint: &'static str,
    pub(in crate::pages) path: &'static str,
}

/// What the overview's module says, with numbers as in [`super::Said`].
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::pages) struct OverviewSaid {
    /// Of rooms in which nothing happened in the last minute.
    idle: [(&'static str, &'static str); 5],
    pub(in crate::pages) left: &'static str,
    /// The unit of rates.
    pub(in crate::pages) rate: &'static str,
    /// A rate at a line, with its unit.
    pub(in crate::pages) scale: &'static str,
    writes: &'static str,
    messages: &'static str,
    facts: &'static str,
    tries: &'static str,
    pub(in crate::pages) connections: &'static str,
    ago: &'static str,
    pub(in crate::pages) minute: &'static str,
    hour: &'static str,
}

impl OverviewSaid {
    /// The sentence about a room in which nothing happened in the last minute.
    pub(in crate::pages) fn idle(&self, room: &str) -> &'static str {
        let found = self.idle.iter().find(|(name, _)| *name == room);
        found.map_or("", |(_, sentence)| sentence)
    }
}

/// The words of a language.
pub(in crate::pages) fn of(language: Language) -> &'static OverviewWords {
    match language {
        Language::En => &EN,
        Language::Ja => &JA,
    }
}

const fn step(name: &'static str, hint: &'static str, path: &'static str) -> StepWords {
    StepWords { name, hint, path }
}

static EN: OverviewWords = OverviewWords {
    calm: "Nothing needs your attention.",
    problems: "Needs attention",
    steps: "First steps",
    steps_hint: "Each disappears when it is done.",
    step: [
        step(
            "Open a class",
            "The class page has the mesh key and the card to join with.",
            "/mesh/class",
        ),
        step("Start a live room", "Show its QR code and send the first comment.", "/live"),
        step(
            "Add the practice source",
            "One click on the desk, and the first value arrives.",
            "/collect/operate",
        ),
        step("Play the sample game", "The first play makes the first board.", "/score/play"),
        step("Invite somebody", "The first account opens the timeline.", "/sns"),
        step(
            "Make a backup",
            "It takes a moment, also while the server works.",
            "/console/backups",
        ),
        step(
            "Serve over TLS",
            "Set a certificate, or the https address of a proxy.",
            "/console/settings",
        ),
    ],
    dismiss: "Dismiss",
    span: "Time span of the charts",
    minute: "1 min",
    hour: "1 h",
    now: "now",
    line: "events a second",
    search: "Search",
    search_label: "Pages, tables, sources, games, rooms, people and settings",
    search_none: "Nothing is called that.",
    search_more: "There are more. More letters find fewer.",
    search_late: "Some rooms did not answer in time.",
    said: OverviewSaid {
        idle: [
            ("mesh", "No message in the last minute; {m} [group is|groups are] open."),
            ("sns", "No post in the last minute; {m} [person is|people are] connected."),
            ("live", "No comment in the last minute; {m} [room has|rooms have] an audience."),
            ("collect", "No source was called in the last minute."),
            ("score", "No play in the last minute; {m} [board is|boards are] watched."),
        ],
        left: "{n} [step|steps] left",
        rate: "events/s",
        scale: "{n}/s",
        writes: "{n} [write|writes]/s",
        messages: "{n} [message|messages]",
        facts: "{n} [fact|facts]",
        tries: "{n} [try|tries]",
        connections: "{n} [connection|connections]",
        ago: "{n} ago",
        minute: "1 min ago",
        hour: "1 h ago",
    },
};

static JA: OverviewWords = OverviewWords {
    calm: "対応が必要な問題はありません。",
    problems: "対応が必要な問題",
    steps: "はじめの一歩",
    steps_hint: "完了した項目は自動で消えます。",
    step: [
        step("教室を開く", "教室のページに、メッシュのキーと参加カードがあります。", "/mesh/class"),
        step("ライブルームを開く", "QR コードを表示して、最初のコメントを送信します。", "/live"),
        step(
            "練習用のデータ元を追加する",
            "ワンクリックで追加でき、最初の値が届きます。",
            "/collect/operate",
        ),
        step("サンプルゲームで遊ぶ", "最初のプレイがランキングに載ります。", "/score/play"),
        step("だれかを招待する", "最初のアカウントでタイムラインが始まります。", "/sns"),
        step("バックアップを作成する", "稼働中でも、すぐに作成できます。", "/console/backups"),
        step(
            "TLS で公開する",
            "証明書か、プロキシの https の URL を設定します。",
            "/console/settings",
        ),
    ],
    dismiss: "表示しない",
    span: "グラフの期間",
    minute: "1分",
    hour: "1時間",
    now: "現在",
    line: "1秒あたりの件数",
    search: "検索",
    search_label: "ページ、テーブル、データ元、ゲーム、ルーム、人、設定",
    search_none: "見つかりませんでした。",
    search_more: "ほかにもあります。文字を増やすと絞り込めます。",
    search_late: "時間内に応答しなかった部屋があります。",
    said: OverviewSaid {
        idle: [
            ("mesh", "直近1分のメッセージはありません。{m}グループが開いています。"),
            ("sns", "直近1分の投稿はありません。{m}人が接続中です。"),
            ("live", "直近1分のコメントはありません。{m}ルームに観客がいます。"),
            ("collect", "直近1分に取得したデータ元はありません。"),
            ("score", "直近1分のプレイはありません。{m}件のランキングが表示されています。"),
        ],
        left: "残り{n}件",
        rate: "件/秒",
        scale: "{n}/秒",
        writes: "{n}件/秒",
        messages: "{n}件",
        facts: "{n}件",
        tries: "{n}回",
        connections: "{n}件の接続",
        ago: "{n}前",
        minute: "1分前",
        hour: "1時間前",
    },
};
