//! The words of the front.

use edge::Language;

use super::Way;

/// The words of one language.
pub(in crate::pages) struct Front {
    pub(in crate::pages) title: &'static str,
    pub(in crate::pages) lead: &'static str,
    pub(in crate::pages) about: &'static str,
    pub(in crate::pages) in_use: &'static str,
    pub(in crate::pages) ready: &'static str,
    pub(in crate::pages) stopped: &'static str,
    /// In the order of the rooms.
    pub(in crate::pages) rooms: [RoomWords; 5],
    pub(in crate::pages) house: &'static str,
    pub(in crate::pages) house_hint: &'static str,
    /// The first one is what an operator wants.
    pub(in crate::pages) ways: &'static [Way],
}

/// One room on the front.
pub(in crate::pages) struct RoomWords {
    pub(in crate::pages) name: &'static str,
    pub(in crate::pages) path: &'static str,
    pub(in crate::pages) purpose: &'static str,
    pub(in crate::pages) speaks: &'static str,
    /// What somebody does there first.
    pub(in crate::pages) first: Way,
    pub(in crate::pages) more: &'static [Way],
}

/// The words of a language.
pub(in crate::pages) fn of(language: Language) -> &'static Front {
    match language {
        Language::En => &EN,
        Language::Ja => &JA,
    }
}

static EN: Front = Front {
    title: "Welcome",
    lead: "Five realtime backends under one roof.",
    about: "One program and one directory of data. Open a room, and it works.",
    in_use: "In use now",
    ready: "Ready",
    stopped: "Not writing",
    rooms: [
        RoomWords {
            name: "Mesh",
            path: "/mesh",
            purpose: "Connects a classroom: Smalruby and Scratch projects share values and events.",
            speaks: "GraphQL · AppSync · graphql-transport-ws · SSE",
            first: ("/mesh/class", "Open the class"),
            more: &[("/mesh/schema.graphql", "Schema")],
        },
        RoomWords {
            name: "SNS",
            path: "/sns",
            purpose: "A social network of your own: posts, follows, likes and a live timeline.",
            speaks: "REST · WebSocket · SSE",
            first: ("/sns", "Sign up or sign in"),
            more: &[],
        },
        RoomWords {
            name: "Live",
            path: "/live",
            purpose: "Puts the comments of an audience on the presenter's screen as they are written.",
            speaks: "REST · WebSocket · SSE",
            first: ("/live", "Start or join a room"),
            more: &[],
        },
        RoomWords {
            name: "Collect",
            path: "/collect",
            purpose: "Calls HTTP APIs every few seconds and charts what came, and what did not.",
            speaks: "REST · SSE",
            first: ("/collect", "See the last half hour"),
            more: &[("/collect/operate", "Add a source")],
        },
        RoomWords {
            name: "Score",
            path: "/score",
            purpose: "Rankings for your games that cheats do not pass.",
            speaks: "REST · SSE",
            first: ("/score/play", "Play the sample game"),
            more: &[("/score", "Rankings")],
        },
    ],
    house: "The server",
    house_hint: "For its operator, and for those who build on it.",
    ways: &[
        ("/console", "Console"),
        ("/openapi", "API"),
        ("/readyz", "Status"),
        ("/metrics", "Metrics"),
    ],
};

static JA: Front = Front {
    title: "ようこそ",
    lead: "ひとつの屋根の下に、五つのリアルタイムバックエンド。",
    about: "プログラムひとつ、データのディレクトリーひとつ。部屋を開けば、すぐに使えます。",
    in_use: "使用中",
    ready: "準備完了",
    stopped: "書き込み停止中",
    rooms: [
        RoomWords {
            name: "メッシュ",
            path: "/mesh",
            purpose: "Smalruby や Scratch の作品どうしが、教室の中で値とイベントを共有できます。",
            speaks: "GraphQL · AppSync · graphql-transport-ws · SSE",
            first: ("/mesh/class", "教室を開く"),
            more: &[("/mesh/schema.graphql", "スキーマ")],
        },
        RoomWords {
            name: "SNS",
            path: "/sns",
            purpose: "自分たちだけのソーシャルネットワーク。投稿、フォロー、いいね、動くタイムライン。",
            speaks: "REST · WebSocket · SSE",
            first: ("/sns", "登録・ログイン"),
            more: &[],
        },
        RoomWords {
            name: "ライブ",
            path: "/live",
            purpose: "客席のコメントが、書かれたそばから発表者の画面に流れます。",
            speaks: "REST · WebSocket · SSE",
            first: ("/live", "ルームを開く・参加する"),
            more: &[],
        },
        RoomWords {
            name: "収集",
            path: "/collect",
            purpose: "HTTP API を数秒ごとに呼び出し、届いた値も、届かなかった値も記録します。",
            speaks: "REST · SSE",
            first: ("/collect", "直近30分を見る"),
            more: &[("/collect/operate", "データ元を追加")],
        },
        RoomWords {
            name: "スコア",
            path: "/score",
            purpose: "不正なスコアを通さない、ゲームのランキング。",
            speaks: "REST · SSE",
            first: ("/score/play", "サンプルゲームで遊ぶ"),
            more: &[("/score", "ランキング")],
        },
    ],
    house: "サーバー",
    house_hint: "管理する人と、この上に作る人のために。",
    ways: &[
        ("/console", "管理画面"),
        ("/openapi", "API"),
        ("/readyz", "稼働状況"),
        ("/metrics", "メトリクス"),
    ],
};
