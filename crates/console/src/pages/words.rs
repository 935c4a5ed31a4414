//! What the pages say, in Japanese and English. One type holds all words, so that a missing one
//! does not compile. What modules say is part of it and handed to them as data.

mod access;
mod en;
pub(super) mod front;
mod ja;
pub(super) mod overview;
mod tables;

use edge::Language;
use serde::Serialize;

pub(super) use self::access::{AccessWords, SettingWords, access, scopes, settings};
pub(super) use self::tables::TableWords;

/// A way to somewhere: its path and its name.
pub(super) type Way = (&'static str, &'static str);

/// The words of one language.
pub(super) struct Words {
    pub(super) overview: &'static str,
    pub(super) leave: &'static str,
    /// The rooms in their order, each with its page.
    pub(super) rooms: [Way; 5],
    pub(super) store: &'static str,
    pub(super) store_elsewhere: &'static str,
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
    pub(super) tables: TableWords,
    pub(super) flow: FlowWords,
    pub(super) keep: KeepWords,
    pub(super) said: Said,
}

/// The words of what flows.
pub(super) struct FlowWords {
    pub(super) title: &'static str,
    pub(super) consumers: &'static str,
    pub(super) queue: &'static str,
    pub(super) due: &'static str,
    pub(super) sent: &'static str,
    pub(super) topics: &'static str,
    pub(super) channel: &'static str,
    pub(super) pushes: &'static str,
    pub(super) deliveries: &'static str,
    pub(super) missed: &'static str,
    pub(super) no_dead: &'static str,
    pub(super) tries: &'static str,
    pub(super) replay: &'static str,
    pub(super) replay_all: &'static str,
    pub(super) purge: &'static str,
    pub(super) confirm_purge: &'static str,
    pub(super) replayed: &'static str,
    pub(super) purged: &'static str,
    pub(super) facts: &'static str,
    pub(super) no_facts: &'static str,
    pub(super) facts_elsewhere: &'static str,
    pub(super) was_asked: &'static str,
    pub(super) trace: &'static str,
    pub(super) was_told: &'static str,
    pub(super) was_handed: &'static str,
    pub(super) was_taken: &'static str,
    pub(super) was_postponed: &'static str,
    pub(super) was_retried: &'static str,
    pub(super) was_done: &'static str,
    pub(super) was_buried: &'static str,
}

/// The words of what keeps the house.
pub(super) struct KeepWords {
    pub(super) access: &'static str,
    pub(super) keys: &'static str,
    pub(super) no_keys: &'static str,
    pub(super) key_name: &'static str,
    pub(super) scopes: &'static str,
    pub(super) make_key: &'static str,
    pub(super) secret_once: &'static str,
    pub(super) made_at: &'static str,
    pub(super) used_at: &'static str,
    pub(super) ends: &'static str,
    pub(super) no_end: &'static str,
    pub(super) revoke: &'static str,
    pub(super) confirm_revoke: &'static str,
    pub(super) sessions: &'static str,
    pub(super) sessions_hint: &'static str,
    pub(super) since: &'static str,
    pub(super) seen: &'static str,
    pub(super) everywhere: &'static str,
    pub(super) some_browser: &'static str,
    pub(super) this_browser: &'static str,
    pub(super) end_session: &'static str,
    pub(super) confirm_end: &'static str,
    pub(super) audit: &'static str,
    pub(super) audit_hint: &'static str,
    pub(super) audit_whole: &'static str,
    pub(super) audit_broken: &'static str,
    pub(super) no_audit: &'static str,
    pub(super) number: &'static str,
    pub(super) when: &'static str,
    pub(super) request: &'static str,
    pub(super) answer: &'static str,
    pub(super) from: &'static str,
    pub(super) audit_elsewhere: &'static str,
    pub(super) backups: &'static str,
    pub(super) create: &'static str,
    pub(super) verify: &'static str,
    pub(super) made: &'static str,
    pub(super) whole: &'static str,
    pub(super) delete_backup: &'static str,
    pub(super) confirm_delete_backup: &'static str,
    pub(super) backup_deleted: &'static str,
    /// With `{n}` days.
    pub(super) kept_days: &'static str,
    pub(super) kept_for_good: &'static str,
    pub(super) no_backups: &'static str,
    pub(super) backups_elsewhere: &'static str,
    pub(super) restore: &'static str,
    pub(super) restore_hint: &'static str,
    pub(super) instant: &'static str,
    pub(super) try_it: &'static str,
    pub(super) would_work: &'static str,
    pub(super) tables: &'static str,
    pub(super) items: &'static str,
    pub(super) last_change: &'static str,
    pub(super) settings: &'static str,
    pub(super) value: &'static str,
    pub(super) origin: &'static str,
    pub(super) kept_secret: &'static str,
}

/// What modules say. `{n}` is how often a room did what it is there for in the last minute, `{f}`
/// how often that failed, `{m}` how many take part. `{n} [call|calls]` is `1 call`, `2 calls`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) connecting: &'static str,
    live: &'static str,
    away: &'static str,
    sentences: Sentences,
    never: &'static str,
    over: &'static str,
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
