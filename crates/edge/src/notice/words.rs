//! What the page of a failure says, in Japanese and English.

use axum::http::StatusCode;

use crate::Language;

/// A title, and what the reader can do.
type Told = (&'static str, &'static str);

/// The words of one language.
pub(super) struct Words {
    not_found: Told,
    not_allowed: Told,
    wait: Told,
    ours: Told,
    other: Told,
    pub(super) trace: &'static str,
    pub(super) home: &'static str,
}

impl Words {
    /// What is said of a status.
    pub(super) fn of_status(&self, status: StatusCode) -> Told {
        match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => self.not_found,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.not_allowed,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => self.wait,
            status if status.is_server_error() => self.ours,
            _ => self.other,
        }
    }
}

/// The words of a language.
pub(super) fn of(language: Language) -> &'static Words {
    match language {
        Language::En => &EN,
        Language::Ja => &JA,
    }
}

static EN: Words = Words {
    not_found: ("There is nothing here", "The address may be mistyped, or what was here is gone."),
    not_allowed: ("This is not open to you", "Sign in first, or ask who looks after this house."),
    wait: ("One moment, please", "Much is going on. Wait a little and try again."),
    ours: (
        "Something went wrong",
        "That is our doing, not yours. Try again; if it stays so, tell who looks after this house.",
    ),
    other: ("That did not work", "This address was not asked in a way that it understands."),
    trace: "For the log:",
    home: "To the front of the house",
};

static JA: Words = Words {
    not_found: (
        "ページが見つかりません",
        "アドレスが間違っているか、すでになくなった可能性があります。",
    ),
    not_allowed: (
        "このページは開けません",
        "ログインするか、この長屋の管理者にお問い合わせください。",
    ),
    wait: (
        "少しお待ちください",
        "ただいま混み合っています。しばらくしてからもう一度お試しください。",
    ),
    ours: (
        "問題が発生しました",
        "こちら側の問題です。もう一度お試しください。続く場合は、この長屋の管理者にお知らせください。",
    ),
    other: ("うまくいきませんでした", "このアドレスでは受け付けられない要求でした。"),
    trace: "ログの手がかり:",
    home: "入り口へ戻る",
};
