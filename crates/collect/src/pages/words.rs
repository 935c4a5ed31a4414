//! What the pages say, in Japanese and English. One type holds all words, so that a missing one
//! does not compile. What modules say is part of it and handed to them as data.

mod en;
mod ja;

use edge::Language;
use serde::Serialize;

use super::reasons::{WRITTEN, translate};
use crate::model::kind::{Kind, Mode, Readers};
use crate::model::policy::Policy;
use crate::model::tally::State;

/// The words of one language. `{n}` is a number.
pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    pub(super) operate: &'static str,
    pub(super) no_sources: &'static str,
    pub(super) no_match: &'static str,
    pub(super) practice_lead: &'static str,
    pub(super) practice_start: &'static str,
    pub(super) practice_desk: &'static str,
    pub(super) practice_hint: &'static str,
    pub(super) practice_badge: &'static str,
    pub(super) practice_end: &'static str,
    pub(super) coverage: &'static str,
    pub(super) last_minute: &'static str,
    pub(super) minutes: &'static str,
    pub(super) time: &'static str,
    pub(super) count: &'static str,
    pub(super) least: &'static str,
    pub(super) greatest: &'static str,
    pub(super) mean: &'static str,
    pub(super) last_value: &'static str,
    pub(super) read_by: &'static str,
    pub(super) whole: &'static str,
    pub(super) partial: &'static str,
    pub(super) nothing: &'static str,
    pub(super) unexpected: &'static str,
    pub(super) desk: &'static str,
    pub(super) all: &'static str,
    pub(super) troubled: &'static str,
    pub(super) paused_ones: &'static str,
    pub(super) search: &'static str,
    pub(super) find: &'static str,
    pub(super) add: &'static str,
    pub(super) public_page: &'static str,
    pub(super) console: &'static str,
    pub(super) dead_letters: &'static str,
    pub(super) legend: &'static str,
    pub(super) strip: &'static str,
    pub(super) values: &'static str,
    pub(super) values_gaps: &'static str,
    pub(super) lateness: &'static str,
    pub(super) above: &'static str,
    pub(super) up_to: &'static str,
    pub(super) next_poll: &'static str,
    pub(super) every: &'static str,
    pub(super) paused: &'static str,
    pub(super) resting: &'static str,
    pub(super) of_settings: &'static str,
    pub(super) last_answer: &'static str,
    pub(super) pause: &'static str,
    pub(super) resume: &'static str,
    pub(super) trigger: &'static str,
    pub(super) preview: &'static str,
    pub(super) preview_title: &'static str,
    pub(super) preview_url: &'static str,
    pub(super) preview_status: &'static str,
    pub(super) preview_verdict: &'static str,
    pub(super) preview_took: &'static str,
    pub(super) preview_cut: &'static str,
    pub(super) no_answer: &'static str,
    pub(super) more: &'static str,
    pub(super) edit: &'static str,
    pub(super) delete: &'static str,
    pub(super) delete_sure: &'static str,
    pub(super) csv: &'static str,
    pub(super) backfill: &'static str,
    pub(super) backfills: &'static str,
    pub(super) no_backfills: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) from_local: &'static str,
    pub(super) to_local: &'static str,
    pub(super) order: &'static str,
    pub(super) newest_first: &'static str,
    pub(super) oldest_first: &'static str,
    pub(super) rate: &'static str,
    pub(super) reprocess: &'static str,
    pub(super) reprocess_none: &'static str,
    pub(super) reprocess_failed: &'static str,
    pub(super) reprocess_all: &'static str,
    pub(super) start: &'static str,
    pub(super) count_only: &'static str,
    pub(super) would_ask: &'static str,
    pub(super) progress: &'static str,
    pub(super) running: &'static str,
    pub(super) done: &'static str,
    pub(super) sources_count: &'static str,
    pub(super) no_letters: &'static str,
    pub(super) letters_lead: &'static str,
    pub(super) replay: &'static str,
    pub(super) purge: &'static str,
    pub(super) purge_sure: &'static str,
    pub(super) purge_of: &'static str,
    pub(super) purge_of_sure: &'static str,
    pub(super) replay_all: &'static str,
    pub(super) letters_of: &'static str,
    pub(super) gone: &'static str,
    pub(super) gone_lead: &'static str,
    pub(super) series: &'static str,
    pub(super) purge_source: &'static str,
    pub(super) purge_source_sure: &'static str,
    pub(super) backfill_instant: &'static str,
    pub(super) more_letters: &'static str,
    pub(super) slot: &'static str,
    pub(super) source: &'static str,
    pub(super) died: &'static str,
    pub(super) next_page: &'static str,
    pub(super) first_page: &'static str,
    pub(super) offline: &'static str,
    pub(super) changed: &'static str,
    pub(super) new_letters: &'static str,
    pub(super) reload: &'static str,
    pub(super) file_problem: &'static str,
    pub(super) refused: &'static str,
    pub(super) new_source: &'static str,
    pub(super) edit_source: &'static str,
    pub(super) save: &'static str,
    pub(super) back: &'static str,
    pub(super) f_name: &'static str,
    pub(super) f_name_hint: &'static str,
    pub(super) f_metric: &'static str,
    pub(super) f_metric_hint: &'static str,
    pub(super) f_base: &'static str,
    pub(super) f_base_hint: &'static str,
    pub(super) f_path: &'static str,
    pub(super) f_path_hint: &'static str,
    pub(super) f_interval: &'static str,
    pub(super) f_interval_hint: &'static str,
    pub(super) f_lag: &'static str,
    pub(super) f_lag_hint: &'static str,
    pub(super) f_pointer: &'static str,
    pub(super) f_pointer_hint: &'static str,
    pub(super) f_echo: &'static str,
    pub(super) f_headers: &'static str,
    pub(super) f_headers_hint: &'static str,
    pub(super) f_misfire: &'static str,
    pub(super) f_overlap: &'static str,
    pub(super) f_deadline: &'static str,
    pub(super) f_deadline_hint: &'static str,
    pub(super) f_retention: &'static str,
    pub(super) f_retention_hint: &'static str,
    pub(super) f_kind: &'static str,
    pub(super) f_kind_hint: &'static str,
    pub(super) f_mode: &'static str,
    pub(super) f_mode_hint: &'static str,
    pub(super) f_readers: &'static str,
    pub(super) f_readers_hint: &'static str,
    pub(super) mode_usual: &'static str,
    pub(super) mode_windowed: &'static str,
    pub(super) mode_instant: &'static str,
    pub(super) kind_count: &'static str,
    pub(super) kind_gauge: &'static str,
    pub(super) readers_everyone: &'static str,
    pub(super) readers_key: &'static str,
    pub(super) readers_operator: &'static str,
    pub(super) p_skip: &'static str,
    pub(super) p_buffer_one: &'static str,
    pub(super) p_buffer_all: &'static str,
    pub(super) p_allow_all: &'static str,

    /// In the order of [`WRITTEN`].
    pub(super) reasons: [&'static str; WRITTEN.len()],
    pub(super) states: States,
    pub(super) told: Told,
    pub(super) said: Said,
}

/// What the states of a slot are called; the last two are only the page's.
#[derive(Debug, Serialize)]
pub(super) struct States {
    pub(super) ok: &'static str,
    pub(super) late: &'static str,
    pub(super) retrying: &'static str,
    pub(super) failed: &'static str,
    pub(super) missing: &'static str,
    pub(super) conflict: &'static str,
    pub(super) waiting: &'static str,
    pub(super) none: &'static str,
}

/// What is said of what was done.
pub(super) struct Told {
    paused: &'static str,
    resumed: &'static str,
    asked: &'static str,
    saved: &'static str,
    deleted: &'static str,
    replayed: &'static str,
    purged: &'static str,
    all_replayed: &'static str,
    purging: &'static str,
    begun: &'static str,
    practising: &'static str,
    practised: &'static str,
}

/// What modules say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) in_seconds: &'static str,
    pub(super) now: &'static str,
    pub(super) late_by: &'static str,
    pub(super) count: &'static str,
    pub(super) no_answer: &'static str,
    pub(super) took: &'static str,
}

impl Words {
    /// What a state is called.
    pub(super) fn state(&self, state: State) -> &'static str {
        match state {
            State::Ok => self.states.ok,
            State::Late => self.states.late,
            State::Retrying => self.states.retrying,
            State::Failed => self.states.failed,
            State::Missing => self.states.missing,
            State::Conflict => self.states.conflict,
        }
    }

    /// Why a slot has no value, which the ledger keeps in English.
    pub(super) fn reason(&self, reason: &str) -> String {
        translate(&self.reasons, reason)
    }

    /// What a policy means.
    pub(super) fn policy(&self, policy: Policy) -> &'static str {
        match policy {
            Policy::Skip => self.p_skip,
            Policy::BufferOne => self.p_buffer_one,
            Policy::BufferAll => self.p_buffer_all,
            Policy::AllowAll => self.p_allow_all,
        }
    }

    /// What a kind of values is called.
    pub(super) fn kind(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Count => self.kind_count,
            Kind::Gauge => self.kind_gauge,
        }
    }

    /// What a mode is called.
    pub(super) fn mode(&self, mode: Mode) -> &'static str {
        match mode {
            Mode::Windowed => self.mode_windowed,
            Mode::Instant => self.mode_instant,
        }
    }

    /// Who reads.
    pub(super) fn readers(&self, readers: Readers) -> &'static str {
        match readers {
            Readers::Everyone => self.readers_everyone,
            Readers::Key => self.readers_key,
            Readers::Operator => self.readers_operator,
        }
    }

    /// What is said of what was done, by its word in an address.
    pub(super) fn told(&self, word: &str) -> Option<&'static str> {
        Some(match word {
            "paused" => self.told.paused,
            "resumed" => self.told.resumed,
            "asked" => self.told.asked,
            "saved" => self.told.saved,
            "deleted" => self.told.deleted,
            "replayed" => self.told.replayed,
            "purged" => self.told.purged,
            "all_replayed" => self.told.all_replayed,
            "purging" => self.told.purging,
            "begun" => self.told.begun,
            "practising" => self.told.practising,
            "practised" => self.told.practised,
            _ => return None,
        })
    }
}

/// The words of a language.
pub(super) fn of(language: Language) -> &'static Words {
    match language {
        Language::En => &en::WORDS,
        Language::Ja => &ja::WORDS,
    }
}
