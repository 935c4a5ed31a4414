//! What the pages say, in Japanese and English. One type holds all words, so that a missing one
//! does not compile. What modules say is part of it and handed to them as data.

mod en;
mod ja;

use edge::Language;
use serde::Serialize;

/// A way to somewhere: its path and its name.
pub(super) type Way = (&'static str, &'static str);

/// The words of one language.
pub(super) struct Words {
    pub(super) front: Front,
    pub(super) console: &'static str,
    pub(super) overview: &'static str,
    pub(super) desks: &'static [Way],
    pub(super) leave: &'static str,
    /// The names of the rooms, in their order.
    pub(super) rooms: [&'static str; 5],
    pub(super) a_second: &'static str,
    pub(super) store: &'static str,
    pub(super) stopped: &'static str,
    pub(super) writes: &'static str,
    pub(super) commit: &'static str,
    pub(super) size: &'static str,
    pub(super) backup: &'static str,
    pub(super) queues: &'static str,
    pub(super) depth: &'static str,
    pub(super) oldest: &'static str,
    pub(super) dead: &'static str,
    pub(super) facts: &'static str,
    pub(super) told: &'static str,
    pub(super) done: &'static str,
    pub(super) retried: &'static str,
    pub(super) readers: &'static str,
    pub(super) said: Said,
}

/// The words of the front.
pub(super) struct Front {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    pub(super) speaks: &'static str,
    pub(super) rooms: [RoomWords; 5],
    pub(super) house: &'static str,
    pub(super) house_hint: &'static str,
    pub(super) ways: &'static [Way],
}

/// One room on the front.
pub(super) struct RoomWords {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) purpose: &'static str,
    pub(super) speaks: &'static str,
    pub(super) links: &'static [Way],
}

/// What modules say. `{n}` is how often a room did what it is there for in the last minute, `{f}`
/// how often that failed, `{m}` how many take part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) connecting: &'static str,
    live: &'static str,
    away: &'static str,
    pub(super) quiet: &'static str,
    sentences: Sentences,
    never: &'static str,
    a_second: &'static str,
    most: &'static str,
}

#[derive(Debug, Serialize)]
struct Sentences {
    mesh: &'static str,
    sns: &'static str,
    live: &'static str,
    collect: &'static str,
    score: &'static str,
}

impl Said {
    /// The sentence about a room.
    pub(super) fn sentence(&self, room: &str) -> &'static str {
        match room {
            "mesh" => self.sentences.mesh,
            "sns" => self.sentences.sns,
            "live" => self.sentences.live,
            "collect" => self.sentences.collect,
            _ => self.sentences.score,
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
