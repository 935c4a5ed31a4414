//! What failures say in Japanese.

use crate::error::Error;

/// The message of an error.
pub(super) fn japanese(error: &Error) -> String {
    match error {
        Error::Invalid(told) => format!("値が正しくありません: {told}"),
        Error::EmailTaken => "このメールアドレスは登録済みです".to_owned(),
        Error::UsernameTaken(name) => format!("ユーザー名「{name}」は使われています"),
        Error::IdentityTaken => "この認証情報は登録済みです".to_owned(),
        Error::RegistrationClosed => "新規登録は受け付けていません".to_owned(),
        Error::InviteInvalid => "招待コードが無効です".to_owned(),
        Error::LoginFailed => "メールアドレスまたはパスワードが違います".to_owned(),
        Error::TooManyFailures { wait } => {
            let seconds = wait.as_secs();
            format!("ログインの失敗が多すぎます。{seconds} 秒後にもう一度お試しください")
        }
        Error::Busy { wait } => {
            let seconds = wait.as_secs();
            format!("混み合っています。{seconds} 秒後にもう一度お試しください")
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
        Error::Settings(_) | Error::Keys(_) | Error::Facts(_) | Error::Store(_) => {
            "サーバー側で問題が起きました".to_owned()
        }
    }
}
