//! What the pages of access and settings say beside the words that they share with others.

use edge::Language;

/// The words of the access page.
pub(crate) struct AccessWords {
    pub(crate) lead: &'static str,
    pub(crate) shared: &'static str,
    pub(crate) shared_hint: &'static str,
    pub(crate) shared_example: &'static str,
    pub(crate) copy: &'static str,
    pub(crate) copied: &'static str,
    pub(crate) never_used: &'static str,
    pub(crate) used_hint: &'static str,
    pub(crate) secret: &'static str,
    pub(crate) ended: &'static str,
    pub(crate) new_key: &'static str,
    pub(crate) name_hint: &'static str,
    pub(crate) scopes_hint: &'static str,
    pub(crate) no_scope: &'static str,
    pub(crate) another: &'static str,
    pub(crate) another_hint: &'static str,
    pub(crate) lifetime: &'static str,
    /// Days, and how they are called; no days for a key without an end.
    pub(crate) lifetimes: [(&'static str, &'static str); 5],
    pub(crate) bad_days: &'static str,
    pub(crate) header: &'static str,
}

/// The words of the settings page.
pub(crate) struct SettingWords {
    pub(crate) lead: &'static str,
    pub(crate) search: &'static str,
    pub(crate) find: &'static str,
    pub(crate) filter: &'static str,
    pub(crate) all: &'static str,
    pub(crate) set: &'static str,
    pub(crate) changeable: &'static str,
    /// With `{n}` settings.
    pub(crate) found: &'static str,
    pub(crate) found_one: &'static str,
    pub(crate) nothing_found: &'static str,
    pub(crate) default: &'static str,
    pub(crate) empty: &'static str,
    pub(crate) by_default: &'static str,
    pub(crate) since: &'static str,
    pub(crate) at_start: &'static str,
    pub(crate) change: &'static str,
    pub(crate) new_value: &'static str,
    pub(crate) apply: &'static str,
    pub(crate) now_hint: &'static str,
    pub(crate) restart_hint: &'static str,
    pub(crate) keep_hint: &'static str,
    pub(crate) in_file: &'static str,
    pub(crate) in_environment: &'static str,
    pub(crate) changed: &'static str,
    pub(crate) fixed: &'static str,
    pub(crate) is_now: &'static str,
    pub(crate) needs_restart: &'static str,
    /// Before and after what a value must be.
    pub(crate) expected: (&'static str, &'static str),
}

/// A scope and what it allows.
pub(crate) type Scope = (&'static str, &'static str);

/// What programs may be allowed, most used first.
pub(crate) fn scopes(language: Language) -> [Scope; 5] {
    match language {
        Language::En => [
            ("mesh", "Take part in the mesh: query groups, report values, follow events."),
            ("collect:read", "Read the sources that are for holders of a key."),
            (
                "collect:operate",
                "Manage sources: add, change, pause, backfill, delete. Reads all of them.",
            ),
            (
                "score:operate",
                "Manage games: set and delete games, ban players, delete and import scores.",
            ),
            (
                "sns:operate",
                "Look after the social network: invitations, recounts, rebuilt timelines.",
            ),
        ],
        Language::Ja => [
            ("mesh", "メッシュに参加する: グループの照会、値の報告、イベントの受信。"),
            ("collect:read", "キーを持つ人に公開されたソースを読む。"),
            (
                "collect:operate",
                "ソースを管理する: 追加、変更、一時停止、さかのぼり取得、削除。すべてのソースを読めます。",
            ),
            (
                "score:operate",
                "ゲームを管理する: ゲームの設定と削除、プレイヤーの利用停止、スコアの削除と取り込み。",
            ),
            ("sns:operate", "SNS を管理する: 招待、数え直し、タイムラインの作り直し。"),
        ],
    }
}

/// The words of the access page in a language.
pub(crate) fn access(language: Language) -> &'static AccessWords {
    match language {
        Language::En => &ACCESS_EN,
        Language::Ja => &ACCESS_JA,
    }
}

/// The words of the settings page in a language.
pub(crate) fn settings(language: Language) -> &'static SettingWords {
    match language {
        Language::En => &SETTINGS_EN,
        Language::Ja => &SETTINGS_JA,
    }
}

static ACCESS_EN: AccessWords = AccessWords {
    lead: "Keys for programs, the browsers that are signed in, and what was changed.",
    shared: "Mesh key",
    shared_hint: "A class shares this key. It stands in every project that joins the mesh, and never ends. The setting `mesh.api_key` replaces it.",
    shared_example: "Class page",
    copy: "Copy",
    copied: "Copied",
    never_used: "never used",
    used_hint: "Uses are recorded to the minute.",
    secret: "Secret",
    ended: "ended",
    new_key: "New key",
    name_hint: "Lower-case letters, digits and hyphens. It appears in logs.",
    scopes_hint: "A key can do only what you select here.",
    no_scope: "Select at least one scope.",
    another: "New secret",
    another_hint: "A key can have two secrets at once, so that a program gets the new one before you revoke the old one.",
    lifetime: "Expires",
    lifetimes: [
        ("7", "in 7 days"),
        ("30", "in 30 days"),
        ("90", "in 90 days"),
        ("365", "in a year"),
        ("", "never"),
    ],
    bad_days: "A key is valid for 1 to 3650 days, or without an end.",
    header: "Programs send it as this header:",
};

static ACCESS_JA: AccessWords = AccessWords {
    lead: "プログラム用のキー、ログイン中のブラウザー、変更の記録です。",
    shared: "メッシュのキー",
    shared_hint: "クラス全員で使うキーです。メッシュに参加するすべてのプロジェクトに入れます。期限はありません。設定 `mesh.api_key` で別のキーにできます。",
    shared_example: "クラスのページ",
    copy: "コピー",
    copied: "コピーしました",
    never_used: "未使用",
    used_hint: "使用日時は分単位で記録します。",
    secret: "シークレット",
    ended: "期限切れ",
    new_key: "新しいキー",
    name_hint: "英小文字、数字、ハイフンが使えます。ログに表示されます。",
    scopes_hint: "このキーでできるのは、ここで選んだことだけです。",
    no_scope: "スコープを一つ以上選んでください。",
    another: "シークレットを追加",
    another_hint: "一つのキーはシークレットを同時に二つまで持てます。新しいものをプログラムに渡してから、古いものを無効にできます。",
    lifetime: "有効期限",
    lifetimes: [("7", "7日"), ("30", "30日"), ("90", "90日"), ("365", "1年"), ("", "なし")],
    bad_days: "有効期限は1日から3650日までか、期限なしです。",
    header: "プログラムからは次のヘッダーで送ります:",
};

static SETTINGS_EN: SettingWords = SettingWords {
    lead: "Every value, and where it comes from: command line, environment, file or default.",
    search: "Search settings",
    find: "Search",
    filter: "Show",
    all: "All",
    set: "Set here",
    changeable: "Can change now",
    found: "{n} settings",
    found_one: "1 setting",
    nothing_found: "No setting matches.",
    default: "Default",
    empty: "(empty)",
    by_default: "default",
    since: "changed here",
    at_start: "At the next start",
    change: "Change",
    new_value: "New value",
    apply: "Change now",
    now_hint: "A change takes effect at once on this instance, until it restarts.",
    restart_hint: "This setting needs a restart. Put one of these lines in place and restart.",
    keep_hint: "To keep the value after a restart, put one of these lines in place.",
    in_file: "In `nagaya.toml`",
    in_environment: "In the environment",
    changed: "The setting is changed until the next restart:",
    fixed: "This setting cannot change while the server runs:",
    is_now: "changes now",
    needs_restart: "needs a restart",
    expected: ("This value does not fit. Expected: ", "."),
};

static SETTINGS_JA: SettingWords = SettingWords {
    lead: "すべての値と、その由来 (コマンドライン、環境変数、ファイル、既定値) です。",
    search: "設定を検索",
    find: "検索",
    filter: "表示",
    all: "すべて",
    set: "変更したもの",
    changeable: "すぐに変えられるもの",
    found: "{n}件",
    found_one: "1件",
    nothing_found: "一致する設定はありません。",
    default: "既定値",
    empty: "(空)",
    by_default: "既定値",
    since: "ここで変更",
    at_start: "次の起動時",
    change: "変更する",
    new_value: "新しい値",
    apply: "今すぐ変更",
    now_hint: "変更はこのインスタンスですぐに有効になり、再起動するまで続きます。",
    restart_hint: "この設定には再起動が必要です。次のどちらかを書いて、再起動してください。",
    keep_hint: "再起動後も残すには、次のどちらかを書いてください。",
    in_file: "`nagaya.toml` の場合",
    in_environment: "環境変数の場合",
    changed: "次の再起動まで、設定を変更しました:",
    fixed: "この設定は動作中には変更できません:",
    is_now: "すぐに反映",
    needs_restart: "再起動が必要",
    expected: ("この値は使えません。指定できる値: ", "。"),
};
