//! What the pages say, in Japanese and English.

use crate::Language;

/// The words of one language.
pub(super) struct Words {
    pub(super) set_up_title: &'static str,
    pub(super) set_up_lead: &'static str,
    pub(super) password: &'static str,
    pub(super) password_rule: &'static str,
    pub(super) password_again: &'static str,
    pub(super) set_up: &'static str,
    pub(super) sign_in_title: &'static str,
    pub(super) sign_in: &'static str,
    pub(super) sign_in_hint: &'static str,
    pub(super) signed_in_title: &'static str,
    pub(super) signed_in_lead: &'static str,
    pub(super) sign_out: &'static str,
    pub(super) sign_out_all: &'static str,
    pub(super) sign_out_all_hint: &'static str,
    pub(super) link_gone_title: &'static str,
    pub(super) link_gone: &'static str,
    pub(super) wrong: &'static str,
    pub(super) short: &'static str,
    pub(super) long: &'static str,
    pub(super) differ: &'static str,
    pub(super) wait: &'static str,
    pub(super) not_set_up: &'static str,
    pub(super) malformed: &'static str,
}

/// The words of a language.
pub(super) fn of(language: Language) -> &'static Words {
    match language {
        Language::En => &EN,
        Language::Ja => &JA,
    }
}

static EN: Words = Words {
    set_up_title: "Set up this house",
    set_up_lead: "Choose the operator's password. It is needed to open the console.",
    password: "Password",
    password_rule: "At least 12 characters. A sentence is easier to remember than a word.",
    password_again: "The same password again",
    set_up: "Set password and sign in",
    sign_in_title: "Sign in",
    sign_in: "Sign in",
    sign_in_hint: "Forgotten it? Run `nagaya operator link` on the house's machine for a new set-up link.",
    signed_in_title: "You are signed in",
    signed_in_lead: "This browser may look after the house.",
    sign_out: "Sign out",
    sign_out_all: "Sign out everywhere",
    sign_out_all_hint: "Ends the sessions of all browsers, this one too.",
    link_gone_title: "This link does not work",
    link_gone: "It was used before, is too old, or was replaced by a newer one. Run `nagaya operator link` on the house's machine to get another.",
    wrong: "That is not the password.",
    short: "The password needs at least 12 characters.",
    long: "The password is too long.",
    differ: "The two passwords differ.",
    wait: "Too many tries. Please wait a moment and try again.",
    not_set_up: "This house has no password yet. Open the set-up link that it printed when it was started.",
    malformed: "The form did not arrive whole. Please try again.",
};

static JA: Words = Words {
    set_up_title: "長屋の初期設定",
    set_up_lead: "管理者のパスワードを決めてください。管理画面を開くときに使います。",
    password: "パスワード",
    password_rule: "12文字以上。単語よりも文のほうが覚えやすく、安全です。",
    password_again: "パスワード(確認)",
    set_up: "設定してログイン",
    sign_in_title: "ログイン",
    sign_in: "ログイン",
    sign_in_hint: "お忘れの場合は、長屋が動いているマシンで `nagaya operator link` を実行すると、新しい設定用リンクが表示されます。",
    signed_in_title: "ログインしています",
    signed_in_lead: "このブラウザーで長屋を管理できます。",
    sign_out: "ログアウト",
    sign_out_all: "すべての端末からログアウト",
    sign_out_all_hint: "このブラウザーを含む、すべてのログイン状態を終了します。",
    link_gone_title: "このリンクは使えません",
    link_gone: "使用済みか、期限切れか、新しいリンクに置き換えられています。長屋が動いているマシンで `nagaya operator link` を実行すると、新しいリンクが表示されます。",
    wrong: "パスワードが違います。",
    short: "パスワードは12文字以上にしてください。",
    long: "パスワードが長すぎます。",
    differ: "2つのパスワードが一致しません。",
    wait: "試行回数が多すぎます。しばらく待ってからもう一度お試しください。",
    not_set_up: "まだパスワードが設定されていません。起動時に表示された設定用リンクを開いてください。",
    malformed: "フォームを正しく受け取れませんでした。もう一度お試しください。",
};
