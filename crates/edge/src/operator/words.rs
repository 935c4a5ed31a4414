//! What the pages say, in Japanese and English.

use axum::http::{HeaderMap, header};

/// The words of one language.
pub(super) struct Words {
    pub(super) lang: &'static str,
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

/// The language that the browser asks for.
pub(super) fn of(headers: &HeaderMap) -> &'static Words {
    let lines = headers.get_all(header::ACCEPT_LANGUAGE).into_iter();
    let lines = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    let wishes = lines.filter_map(wish);
    // Of equal wishes the first counts.
    let best = wishes.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map_or(&EN, |(words, _)| words)
}

/// A known language and how much it is wished for, in thousandths.
fn wish(part: &str) -> Option<(&'static Words, u16)> {
    let (tag, weight) = part.split_once(';').unwrap_or((part, "q=1"));
    let weight: f32 = weight.trim().strip_prefix("q=")?.parse().ok()?;
    let tag = tag.trim().split('-').next()?;
    let words = [&JA, &EN].into_iter().find(|words| words.lang.eq_ignore_ascii_case(tag))?;
    (weight > 0.0).then_some((words, (weight.min(1.0) * 1_000.0) as u16))
}

static EN: Words = Words {
    lang: "en",
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
    lang: "ja",
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

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::of;

    #[test]
    fn the_language_is_the_one_most_wished_for() {
        for (wish, lang) in [
            ("", "en"),
            ("ja", "ja"),
            ("ja-JP,ja;q=0.9,en;q=0.8", "ja"),
            ("en-US,en;q=0.9,ja;q=0.8", "en"),
            ("fr, ja;q=0.4, en;q=0.3", "ja"),
            ("en;q=0.1,ja;q=0.2", "ja"),
            ("ja;q=0,en;q=0.1", "en"),
            ("ja;q=0", "en"),
            ("*", "en"),
            ("JA", "ja"),
            (";;;,ja;q=x,,en", "en"),
            ("jav", "en"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(wish));
            assert_eq!(of(&headers).lang, lang, "{wish}");
        }
        assert_eq!(of(&HeaderMap::new()).lang, "en");
    }
}
