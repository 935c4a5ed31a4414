//! What the pages say, in Japanese and English. One type holds all words, so that a missing one
//! does not compile. What modules say is part of it and handed to them as data.

mod en;
mod ja;

use edge::Language;
use serde::Serialize;

/// The words of one language. `{n}` is a number.
pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    pub(super) join_title: &'static str,
    pub(super) code: &'static str,
    pub(super) code_hint: &'static str,
    pub(super) join: &'static str,
    pub(super) start_title: &'static str,
    pub(super) room_name: &'static str,
    pub(super) start: &'static str,
    pub(super) start_hint: &'static str,
    /// The name of a room whose host gives it none.
    pub(super) room_example: &'static str,
    /// How a talk goes: a title and a sentence for each step.
    pub(super) how: [(&'static str, &'static str); 3],
    pub(super) needs_script: &'static str,
    pub(super) mine_title: &'static str,
    pub(super) mine_empty: &'static str,
    pub(super) more: &'static str,
    pub(super) room_gone_title: &'static str,
    pub(super) room_gone: &'static str,

    pub(super) closed: &'static str,
    pub(super) paused: &'static str,
    pub(super) slow: &'static str,
    pub(super) pre: &'static str,
    pub(super) offline: &'static str,
    pub(super) deleted: &'static str,

    pub(super) nickname: &'static str,
    pub(super) anonymous: &'static str,
    pub(super) comment: &'static str,
    pub(super) comment_example: &'static str,
    pub(super) send: &'static str,
    pub(super) reactions: &'static str,
    pub(super) comments: &'static str,
    pub(super) comments_empty: &'static str,
    pub(super) older: &'static str,
    pub(super) like: &'static str,
    pub(super) host: &'static str,
    pub(super) pinned: &'static str,
    pub(super) answered: &'static str,
    pub(super) waiting: &'static str,
    pub(super) hidden: &'static str,

    pub(super) desk: &'static str,
    pub(super) not_host: &'static str,
    pub(super) here_now: &'static str,
    pub(super) search: &'static str,
    pub(super) filter: &'static str,
    pub(super) filter_all: &'static str,
    pub(super) filter_unanswered: &'static str,
    pub(super) act_hide: &'static str,
    pub(super) act_restore: &'static str,
    pub(super) act_pin: &'static str,
    pub(super) act_unpin: &'static str,
    pub(super) act_answer: &'static str,
    pub(super) act_unanswer: &'static str,
    pub(super) act_block: &'static str,
    pub(super) log_empty: &'static str,
    pub(super) next_title: &'static str,
    /// Open the wall, show the code, write a comment.
    pub(super) next_steps: [Step; 3],
    pub(super) join_card: &'static str,
    pub(super) join_by: &'static str,
    pub(super) qr_label: &'static str,
    pub(super) loopback: &'static str,
    pub(super) copy_link: &'static str,
    pub(super) open_wall: &'static str,
    pub(super) wall_control: &'static str,
    pub(super) wall_hint: &'static str,
    pub(super) wall_hidden: &'static str,
    pub(super) wall_paused: &'static str,
    pub(super) wall_letters: &'static str,
    pub(super) wall_letters_auto: &'static str,
    pub(super) wall_join: &'static str,
    pub(super) wall_join_auto: &'static str,
    pub(super) wall_join_full: &'static str,
    pub(super) wall_join_corner: &'static str,
    pub(super) wall_join_off: &'static str,
    pub(super) wall_area: &'static str,
    pub(super) wall_area_full: &'static str,
    pub(super) wall_area_top: &'static str,
    pub(super) wall_area_bottom: &'static str,
    pub(super) wall_area_left: &'static str,
    pub(super) wall_area_right: &'static str,
    pub(super) settings: &'static str,
    pub(super) set_paused: &'static str,
    pub(super) set_pre: &'static str,
    pub(super) set_reactions: &'static str,
    pub(super) set_slow: &'static str,
    pub(super) slow_off: &'static str,
    pub(super) slow_seconds: &'static str,
    pub(super) blocked_words: &'static str,
    pub(super) blocked_words_hint: &'static str,
    pub(super) save: &'static str,
    pub(super) blocked_users: &'static str,
    pub(super) unblock_all: &'static str,
    pub(super) finish: &'static str,
    pub(super) close: &'static str,
    pub(super) reopen: &'static str,
    pub(super) export_csv: &'static str,
    pub(super) export_json: &'static str,
    pub(super) delete: &'static str,
    pub(super) say_as_host: &'static str,

    pub(super) wall: &'static str,
    pub(super) wall_empty: &'static str,
    pub(super) controls: &'static str,
    pub(super) key_size: &'static str,
    pub(super) key_smaller: &'static str,
    pub(super) key_speed: &'static str,
    pub(super) key_slower: &'static str,
    pub(super) key_density: &'static str,
    pub(super) key_pause: &'static str,
    pub(super) key_list: &'static str,
    pub(super) key_panic: &'static str,
    pub(super) key_join: &'static str,
    pub(super) key_help: &'static str,
    pub(super) key_title: &'static str,
    pub(super) obs_hint: &'static str,
    pub(super) close_help: &'static str,

    pub(super) said: Said,
    pub(super) problems: Problems,
}

/// What a host does next, and the words of the link that leads there; a step without a link has none.
pub(super) struct Step {
    pub(super) text: &'static str,
    pub(super) link: &'static str,
}

/// What modules say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    anonymous: &'static str,
    open: &'static str,
    closed: &'static str,
    here: &'static str,
    pub(super) waits: &'static str,
    wait: &'static str,
    offline: &'static str,
    away: &'static str,
    saved: &'static str,
    copied: &'static str,
    too_long: &'static str,
    confirm_close: &'static str,
    confirm_delete: &'static str,
    left_out: &'static str,
    paused: &'static str,
    density: [&'static str; 3],
}

/// What is said when something fails, by the code of the failure.
#[derive(Debug, Serialize)]
pub(super) struct Problems {
    rate_limited: &'static str,
    slow_mode: &'static str,
    closed: &'static str,
    paused: &'static str,
    invalid: &'static str,
    version_changed: &'static str,
    not_the_host: &'static str,
    room_not_found: &'static str,
    rooms_full: &'static str,
    comments_full: &'static str,
    room_full: &'static str,
    other: &'static str,
}

impl Problems {
    /// The sentence for a failure's code.
    pub(super) fn of(&self, code: &str) -> &'static str {
        match code {
            "rate_limited" => self.rate_limited,
            "slow_mode" => self.slow_mode,
            "closed" => self.closed,
            "paused" => self.paused,
            "invalid" => self.invalid,
            "version_changed" => self.version_changed,
            "not_the_host" => self.not_the_host,
            "room_not_found" => self.room_not_found,
            "rooms_full" => self.rooms_full,
            "comments_full" => self.comments_full,
            "room_full" => self.room_full,
            _ => self.other,
        }
    }
}

/// The words of a language.
pub(super) fn of(language: Language) -> &'static Words {
    match language {
        Language::En => &en::WORDS,
        Language::Ja => &ja::WORDS,
    }
}
