//! What failures say in Japanese.

use base::Error as TextError;

use crate::error::{Error, Flaw, spelled};
use crate::limits::{
    BATCH_MAX, CONTENT_BYTES_MAX, EMAIL_BYTES_MAX, FOLLOWING_MAX, PASSWORD_LETTERS, RENAMES_MAX,
    USERNAME_LETTERS,
};

/// Units of a wait: seconds, minutes, hours, days.
const UNITS: [&str; 4] = ["秒", "分", "時間", "日"];

/// The message of an error.
pub(super) fn japanese(error: &Error) -> String {
    match error {
        Error::Invalid(flaw) => flawed(flaw),
        Error::EmailTaken => "このメールアドレスは登録済みです".to_owned(),
        Error::UsernameTaken(name) => {
            format!(
                "ユーザー名「{name}」は、すでに使われているか、使われている名前と紛らわしいため使えません"
            )
        }
        Error::UsernameReserved(name) => format!("ユーザー名「{name}」は予約されています"),
        Error::UsernameHeld(name) => {
            format!("ユーザー名「{name}」は最近まで使われていたため、まだ使えません")
        }
        Error::RenamedTooOften { wait } => {
            let wait = spelled(*wait, UNITS);
            format!(
                "ユーザー名の変更は30日間に{RENAMES_MAX}回までです。{wait}後にもう一度お試しください"
            )
        }
        Error::IdentityTaken => "この認証情報は登録済みです".to_owned(),
        Error::RegistrationClosed => "新規登録は受け付けていません".to_owned(),
        Error::AccountsFull(max) => {
            format!("登録できるアカウント数の上限（{max}件）に達しています")
        }
        Error::InviteInvalid => "招待コードが無効です".to_owned(),
        Error::LoginFailed => "メールアドレスまたはパスワードが違います".to_owned(),
        Error::TooManyFailures { wait } => {
            let wait = spelled(*wait, UNITS);
            format!("パスワードの間違いが多すぎます。{wait}後にもう一度お試しください")
        }
        Error::Busy { wait } => {
            let wait = spelled(*wait, UNITS);
            format!("混み合っています。{wait}後にもう一度お試しください")
        }
        Error::TokenInvalid => "トークンが無効です".to_owned(),
        Error::PasswordWrong => "現在のパスワードが違います".to_owned(),
        Error::NotYours => "他の人のものは変更できません".to_owned(),
        Error::Blocked => "このユーザーとはやり取りできません".to_owned(),
        Error::NoSuchUser(id) => format!("ユーザー「{id}」は見つかりません"),
        Error::NoSuchPost(id) => format!("投稿「{id}」は見つかりません"),
        Error::Oneself => "自分自身をフォローすることはできません".to_owned(),
        Error::AlreadyFollowing => "すでにフォローしています".to_owned(),
        Error::NotFollowing => "フォローしていません".to_owned(),
        Error::AlreadyLiked => "すでに「いいね」しています".to_owned(),
        Error::NotLiked => "「いいね」していません".to_owned(),
        Error::Contended => "混み合っています。もう一度お試しください".to_owned(),
        Error::Settings(_) | Error::Hub(_) | Error::Keys(_) | Error::Facts(_) | Error::Store(_) => {
            "サーバー側で問題が起きました".to_owned()
        }
    }
}

/// What is wrong with a value.
fn flawed(flaw: &Flaw) -> String {
    let (least, most) = (USERNAME_LETTERS.start(), USERNAME_LETTERS.end());
    match flaw {
        Flaw::Text { field, error } => format!("{}は{}", named(field), of_text(error)),
        Flaw::ContentTooLarge(bytes) => {
            format!("投稿は{CONTENT_BYTES_MAX}バイトまでです（現在{bytes}バイト）")
        }
        Flaw::Username(_) => {
            format!("ユーザー名は半角の英数字と _ - で{least}〜{most}文字にしてください")
        }
        Flaw::Email => {
            format!("メールアドレスを正しく入力してください（{EMAIL_BYTES_MAX}バイトまで）")
        }
        Flaw::Password(letters) => {
            let (least, most) = (PASSWORD_LETTERS.start(), PASSWORD_LETTERS.end());
            format!("パスワードは{least}〜{most}文字にしてください（現在{letters}文字）")
        }
        Flaw::EmailFixed => "メールアドレスは変更できません".to_owned(),
        Flaw::PasswordElsewhere => {
            "パスワードは PUT /sns/v1/auth/password で変更してください".to_owned()
        }
        Flaw::NamesMissing => "初めての方は email と username が必要です".to_owned(),
        Flaw::Cursor(text) => format!("「{text}」はこの一覧のカーソルではありません"),
        Flaw::TwoBeginnings => "cursor と offset は同時に使えません".to_owned(),
        Flaw::Range { name, least, most, text } => {
            format!("{name} は {least} から {most} までです（指定: {text}）")
        }
        Flaw::Batch { name, count } => {
            format!("{name} は1〜{BATCH_MAX}件です（現在{count}件）")
        }
        Flaw::FollowsTooMany => format!("フォローできるのは{FOLLOWING_MAX}人までです"),
        Flaw::OnlyOthers => "自分自身にはできません".to_owned(),
    }
}

/// What a field is called.
fn named(field: &str) -> &str {
    match field {
        "content" => "投稿",
        "displayName" => "表示名",
        "bio" => "自己紹介",
        other => other,
    }
}

/// What is wrong with a text, behind its name.
fn of_text(error: &TextError) -> String {
    match error {
        TextError::TextTooShort { min, .. } => format!("{min}文字以上にしてください"),
        TextError::TextTooLong { graphemes, max } => {
            format!("{max}文字までです（現在{graphemes}文字）")
        }
        TextError::TextTooManyBytes { bytes, max } => {
            format!("{max}バイトまでです（現在{bytes}バイト）")
        }
        TextError::TextForbidden { .. } => "使えない文字を含んでいます".to_owned(),
        TextError::NotATime(_) | TextError::Elapsed(_) => "正しくありません".to_owned(),
    }
}
