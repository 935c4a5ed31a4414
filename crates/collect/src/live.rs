//! What is pushed to the operator's page: slots as they are settled, and what goes on beside them.
//!
//! A topic for the slots of each source, and one for the whole room. Nothing is kept: who was away is
//! told of the gap and reads the ledger again, which knows more than any history would.

use base::Timestamp;
use hub::{Channel, ChannelSpec, History, Hub};
use serde::Serialize;
use serde_json::{Number as JsonNumber, Value as JsonValue, json};
use utoipa::ToSchema;

use crate::model::backfill::Backfill;
use crate::model::decimal::Decimal;
use crate::model::slot::spell;
use crate::model::tally::Entry;

/// The topic of what is not a slot.
pub(crate) const ROOM: &str = "room";

/// The topic of a source's slots.
pub(crate) fn slots_topic(source: &str) -> String {
    format!("slots/{source}")
}

/// What the room pushes.
#[derive(Clone, Debug)]
pub(crate) struct Pushes {
    channel: Channel,
}

impl Pushes {
    pub(crate) fn new(hub: &Hub) -> Pushes {
        Pushes { channel: hub.channel(ChannelSpec::new("collect.room", History::NONE)) }
    }

    pub(crate) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// What is known of a slot now, and whether its source is left alone.
    pub(crate) fn slot(&self, source: &str, entry: &Entry, is_resting: bool) {
        let push = json!({
            "type": "slot",
            "source": source,
            "resting": is_resting,
            "slot": SlotAnswer::from(entry),
        });
        self.channel.publish(&slots_topic(source), push.to_string());
    }

    /// A source was added, changed or taken away.
    pub(crate) fn source(&self, name: &str) {
        self.tell(&json!({ "type": "source", "source": name }));
    }

    /// How far a backfill is.
    pub(crate) fn backfill(&self, backfill: &Backfill) {
        self.tell(&json!({ "type": "backfill", "backfill": BackfillAnswer::from(backfill) }));
    }

    /// A slot was given up.
    pub(crate) fn dead_letter(&self, source: &str) {
        self.tell(&json!({ "type": "dead-letter", "source": source }));
    }

    fn tell(&self, push: &JsonValue) {
        self.channel.publish(ROOM, push.to_string());
    }
}

/// A value as JSON: whole where it is whole, so that every client reads it exactly.
pub(crate) fn value_json(value: Decimal) -> JsonNumber {
    let whole = value.to_i64().map(JsonNumber::from);
    whole.or_else(|| JsonNumber::from_f64(value.to_f64())).unwrap_or_else(|| 0.into())
}

/// A slot of the ledger.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlotAnswer {
    #[schema(example = "2025-12-02T10:23:00Z")]
    from: String,
    #[schema(example = "2025-12-02T10:23:05Z")]
    to: String,
    /// `ok`, `late`, `retrying`, `failed`, `missing` or `conflict`.
    #[schema(example = "ok")]
    status: &'static str,
    /// Its value; null if none came.
    #[schema(value_type = Option<f64>)]
    count: Option<JsonNumber>,
    /// What a later answer said instead.
    #[schema(value_type = Option<f64>)]
    other_count: Option<JsonNumber>,
    /// Calls that were made for it.
    attempts: u32,
    latency_ms: Option<u64>,
    /// How long after its time the call began.
    lateness_ms: Option<u64>,
    collected_at: Option<String>,
    /// Why it has no value: what went wrong first.
    reason: Option<String>,
}

impl From<&Entry> for SlotAnswer {
    fn from(entry: &Entry) -> SlotAnswer {
        SlotAnswer {
            from: spell(entry.slot.from()),
            to: spell(entry.slot.to()),
            status: entry.state.word(),
            count: entry.count.map(value_json),
            other_count: entry.other_count.map(value_json),
            attempts: entry.attempts,
            latency_ms: entry.latency_ms,
            lateness_ms: entry.lateness_ms,
            collected_at: entry.collected_at.map(|time: Timestamp| time.to_string()),
            reason: entry.reason.clone(),
        }
    }
}

/// A backfill and how far it is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackfillAnswer {
    id: String,
    /// Names of sources; several when the house caught up.
    sources: Vec<String>,
    #[schema(example = "2025-12-02T10:00:00Z")]
    from: String,
    #[schema(example = "2025-12-02T11:00:00Z")]
    to: String,
    /// `newest_first` or `oldest_first`.
    order: &'static str,
    /// Calls a second; while the house catches up, of all its backfills together.
    rate: u64,
    /// `none`, `failed` or `all`.
    reprocess: &'static str,
    created_at: String,
    /// `running` or `done`.
    state: &'static str,
    /// Slots of all its sources.
    total: u64,
    /// Slots whose value came.
    done: u64,
    /// Slots whose value did not come at once, or cannot come any more.
    failed: u64,
    /// Slots that nobody wanted again.
    skipped: u64,
}

impl From<&Backfill> for BackfillAnswer {
    fn from(backfill: &Backfill) -> BackfillAnswer {
        let progress = backfill.progress;
        BackfillAnswer {
            id: backfill.id.clone(),
            sources: backfill.sources.clone(),
            from: spell(backfill.from),
            to: spell(backfill.to),
            order: if backfill.newest_first { "newest_first" } else { "oldest_first" },
            rate: backfill.rate,
            reprocess: backfill.reprocess.word(),
            created_at: backfill.created_at.to_string(),
            state: if backfill.is_done() { "done" } else { "running" },
            total: backfill.slots(),
            done: progress.done,
            failed: progress.failed,
            skipped: progress.skipped,
        }
    }
}
