//! What the pages say, in Japanese and English. One type holds all words, so that a missing one
//! does not compile. What modules say is part of it and handed to them as data.

mod en;
mod ja;

use edge::Language;
use serde::Serialize;

/// The words of one language.
pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    pub(super) needs_script: &'static str,
    pub(super) log_in: &'static str,
    pub(super) register: &'static str,
    pub(super) register_now: &'static str,
    pub(super) closed: &'static str,
    pub(super) email: &'static str,
    pub(super) email_hint: &'static str,
    pub(super) username: &'static str,
    pub(super) username_hint: &'static str,
    pub(super) password: &'static str,
    pub(super) password_hint: &'static str,
    pub(super) invite: &'static str,

    pub(super) pages: &'static str,
    pub(super) home: &'static str,
    pub(super) notes: &'static str,
    pub(super) unread: &'static str,
    pub(super) profile: &'static str,
    pub(super) find: &'static str,
    pub(super) find_now: &'static str,
    pub(super) log_out: &'static str,
    pub(super) back_home: &'static str,
    pub(super) delete: &'static str,
    pub(super) keep: &'static str,
    pub(super) more: &'static str,
    pub(super) away: &'static str,

    pub(super) content: &'static str,
    pub(super) content_example: &'static str,
    pub(super) letters_left: &'static str,
    pub(super) send: &'static str,
    pub(super) timeline_empty: &'static str,
    pub(super) start: &'static str,
    pub(super) start_post: &'static str,
    pub(super) start_invite: &'static str,
    pub(super) start_invite_code: &'static str,
    pub(super) start_copy: &'static str,
    pub(super) start_find: &'static str,
    pub(super) post: &'static str,
    pub(super) no_post: &'static str,
    pub(super) like: &'static str,
    pub(super) delete_post: &'static str,
    pub(super) likers: &'static str,
    pub(super) likers_empty: &'static str,
    pub(super) notes_empty: &'static str,

    pub(super) no_user: &'static str,
    pub(super) since: &'static str,
    pub(super) lists: &'static str,
    pub(super) posts: &'static str,
    pub(super) likes: &'static str,
    pub(super) followers: &'static str,
    pub(super) following: &'static str,
    pub(super) posts_empty: &'static str,
    pub(super) likes_empty: &'static str,
    pub(super) followers_empty: &'static str,
    pub(super) following_empty: &'static str,
    pub(super) blocks: &'static str,
    pub(super) mutes: &'static str,
    pub(super) blocks_empty: &'static str,
    pub(super) mutes_empty: &'static str,
    pub(super) settings: &'static str,
    pub(super) display_name: &'static str,
    pub(super) bio: &'static str,
    pub(super) save: &'static str,
    pub(super) change_password: &'static str,
    pub(super) current_password: &'static str,
    pub(super) new_password: &'static str,
    pub(super) log_out_all: &'static str,
    pub(super) delete_account: &'static str,

    pub(super) said: Said,
}

/// What modules say. `{n}` is a number.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) follow: &'static str,
    following: &'static str,
    pub(super) block: &'static str,
    blocked: &'static str,
    pub(super) mute: &'static str,
    muted: &'static str,
    followed_you: &'static str,
    liked_yours: &'static str,
    fresh: &'static str,
    ask_post: &'static str,
    ask_account: &'static str,
    posted: &'static str,
    deleted: &'static str,
    saved: &'static str,
    copied: &'static str,
    offline: &'static str,
}

/// The words of a language.
pub(super) fn of(language: Language) -> &'static Words {
    match language {
        Language::En => &en::WORDS,
        Language::Ja => &ja::WORDS,
    }
}
