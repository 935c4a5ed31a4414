//! A fact's way, read from the changes that it leaves in the table: told, handed to a consumer,
//! done by it, given up.

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

/// Which step of a fact it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactStepKind {
    /// It was told, in the transaction that made it true.
    Told {
        /// What happened: `sns.post.made`.
        kind: String,
        /// To what.
        subject: Option<String>,
        /// The request that it came of.
        cause: Option<Cause>,
    },
    /// It lies in the queue of a consumer.
    Handed(String),
    /// A consumer has taken it up, or holds it for longer.
    Taken {
        /// Who.
        consumer: String,
        /// How often it was taken up by now.
        tries: u64,
    },
    /// A consumer could not do it now, and tries again later.
    Postponed(String),
    /// A consumer has done what it does with it.
    Done(String),
    /// A consumer gave it up.
    Buried(String),
}

impl FactStep {
    /// The step that a change is, if it is one.
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
            // What was taken up before is written anew for a later time.
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
