//! The steps of a fact, read from the changes in the table: sent, handed to a consumer, handled by
//! it, or given up.

use base::Cause;
use table::{Change, ChangeKind, Item, Value};

use super::fact::Fact;
use crate::items::TABLE;

/// One step of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactStep {
    /// The fact's id.
    pub fact: String,
    /// Which step.
    pub kind: FactStepKind,
}

/// The kind of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactStepKind {
    /// The fact was sent, in the transaction of its change.
    Told {
        /// What happened: `sns.post.made`.
        kind: String,
        /// The thing that it is about.
        subject: Option<String>,
        /// The request that caused it.
        cause: Option<Cause>,
    },
    /// The fact is in the queue of a consumer.
    Handed(String),
    /// A consumer took the fact or extended its lease.
    Taken {
        /// The consumer.
        consumer: String,
        /// The number of deliveries so far.
        tries: u64,
    },
    /// A consumer could not handle the fact now and retries later.
    Postponed(String),
    /// A consumer has handled the fact.
    Done(String),
    /// A consumer gave the fact up.
    Buried(String),
}

impl FactStep {
    /// The step that a change stands for, if any.
    pub fn of(change: &Change) -> Option<FactStep> {
        if change.table != TABLE {
            return None;
        }
        let place = change.key.get("pk")?.as_s()?;
        if change.kind == ChangeKind::Modify {
            return taken(change, place);
        }
        if change.kind != ChangeKind::Insert {
            return None;
        }
        if let Some(consumer) = place.strip_prefix("M#") {
            let fact = change.key.get("sk")?.as_s()?.to_owned();
            return Some(FactStep { fact, kind: FactStepKind::Done(consumer.to_owned()) });
        }
        let fact = fact_in(change.new.as_ref()?)?;
        let kind = if place.starts_with("Q#bus.outbox#") {
            FactStepKind::Told { kind: fact.kind, subject: fact.subject, cause: fact.cause }
        } else if let Some(queue) = place.strip_prefix("Q#bus.to.") {
            let consumer = queue.rsplit_once('#')?.0.to_owned();
            // A retry writes the message again under a later time, with its count of deliveries.
            match tries(change.new.as_ref()?)? {
                0 => FactStepKind::Handed(consumer),
                _ => FactStepKind::Postponed(consumer),
            }
        } else {
            FactStepKind::Buried(place.strip_prefix("D#bus.to.")?.to_owned())
        };
        Some(FactStep { fact: fact.id, kind })
    }
}

fn taken(change: &Change, place: &str) -> Option<FactStep> {
    let consumer = place.strip_prefix("Q#bus.to.")?.rsplit_once('#')?.0.to_owned();
    let message = change.new.as_ref()?;
    let kind = FactStepKind::Taken { consumer, tries: tries(message)? };
    Some(FactStep { fact: fact_in(message)?.id, kind })
}

fn tries(message: &Item) -> Option<u64> {
    message.get("receives")?.as_n()?.floor_u64()
}

fn fact_in(message: &Item) -> Option<Fact> {
    let Some(Value::B(body)) = message.get("body") else { return None };
    Fact::from_json(body).ok()
}
