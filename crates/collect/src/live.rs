//! What is pushed to the operator's page: slots as they are settled, and what goes on beside them.
//!
//! A topic for the slots of each source, and one for the whole room. Nothing is kept: who was away is
//! told of the gap and reads the ledger again, which knows more than any history would.

use base::Timestamp;
use hub::{Channel, ChannelSpec, History, Hub};
use serde_json::{Value as JsonValue, json};

use crate::model::backfill::Backfill;
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
            "slot": slot_json(entry),
        });
        self.channel.publish(&slots_topic(source), push.to_string());
    }

    /// A source was added, changed or taken away.
    pub(crate) fn source(&self, name: &str) {
        self.tell(&json!({ "type": "source", "source": name }));
    }

    /// How far a backfill is.
    pub(crate) fn backfill(&self, backfill: &Backfill) {
        self.tell(&json!({ "type": "backfill", "backfill": backfill_json(backfill) }));
    }

    /// A slot was given up.
    pub(crate) fn dead_letter(&self, source: &str) {
        self.tell(&json!({ "type": "dead-letter", "source": source }));
    }

    fn tell(&self, push: &JsonValue) {
        self.channel.publish(ROOM, push.to_string());
    }
}

/// A slot as it is told.
pub(crate) fn slot_json(entry: &Entry) -> JsonValue {
    json!({
        "from": spell(entry.slot.from()),
        "to": spell(entry.slot.to()),
        "status": entry.state.word(),
        "count": entry.count,
        "otherCount": entry.other_count,
        "attempts": entry.attempts,
        "latencyMs": entry.latency_ms,
        "latenessMs": entry.lateness_ms,
        "collectedAt": entry.collected_at.map(|time: Timestamp| time.to_string()),
        "reason": entry.reason,
    })
}

/// A backfill as it is told.
pub(crate) fn backfill_json(backfill: &Backfill) -> JsonValue {
    let progress = backfill.progress;
    json!({
        "id": backfill.id,
        "sources": backfill.sources,
        "from": spell(backfill.from),
        "to": spell(backfill.to),
        "order": if backfill.newest_first { "newest_first" } else { "oldest_first" },
        "rate": backfill.rate,
        "reprocess": backfill.reprocess.word(),
        "createdAt": backfill.created_at.to_string(),
        "state": if backfill.is_done() { "done" } else { "running" },
        "total": backfill.slots(),
        "done": progress.done,
        "failed": progress.failed,
        "skipped": progress.skipped,
    })
}
