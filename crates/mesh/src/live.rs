//! What is pushed to the members of a group, and in which forms.
//!
//! A push travels as one text, the same on every instance. Subscribers see it through a selection
//! (`select.rs`); each different selection of an audience is rendered once, however many share it.

pub(crate) mod select;

use std::collections::HashMap;
use std::sync::Arc;

use base::{Clock, Timestamp};
use hub::{ChannelSpec, Hub, Text, View};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::Mesh;
use crate::error::Error;
use crate::limits::{PUSH_BYTES_MAX, PUSHES_KEPT};
use crate::live::select::Selection;
use crate::model::{Event, GroupKey, Report, SensorData};
use crate::ops::recent::Recent;

/// A message to all members of a group. Exactly one of the three is there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Push {
    pub(crate) group_id: String,
    pub(crate) domain: String,
    pub(crate) body: Body,
}

/// What a message tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Body {
    /// What changed at a node.
    Status {
        node_id: String,
        /// Keys and values.
        data: Vec<(String, String)>,
        timestamp_ms: u64,
        /// The beginning of the node's stay, for other instances; nothing from earlier versions.
        #[serde(default)]
        since_ms: Option<u64>,
    },
    /// What happened.
    Events { fired_by: String, events: Vec<PushedEvent>, timestamp_ms: u64 },
    /// The group is no more.
    Dissolve { message: String },
}

/// An event in a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PushedEvent {
    pub(crate) name: String,
    pub(crate) fired_by: String,
    pub(crate) payload: Option<String>,
    pub(crate) timestamp_ms: u64,
    pub(crate) cursor: String,
    pub(crate) order_key: Option<String>,
}

impl PushedEvent {
    /// As it is read later: with the server's time, which can be told as `since`.
    pub(crate) fn logged(event: &Event) -> PushedEvent {
        PushedEvent { timestamp_ms: event.cursor.ms, ..PushedEvent::from(event) }
    }
}

impl From<&Event> for PushedEvent {
    /// As it is pushed: with the sender's time.
    fn from(event: &Event) -> PushedEvent {
        PushedEvent {
            name: event.name.clone(),
            fired_by: event.fired_by.clone(),
            payload: event.payload.clone(),
            timestamp_ms: event.fired_at.millis(),
            cursor: event.cursor.text(),
            order_key: event.order_key.clone(),
        }
    }
}

impl Push {
    /// What changed at a node, as it was sent.
    pub(crate) fn status(group: &GroupKey, told: &Report) -> Push {
        let pair = |item: &SensorData| (item.key.clone(), item.value.clone());
        Push::new(
            group,
            Body::Status {
                node_id: told.node_id.clone(),
                data: told.data.iter().map(pair).collect(),
                timestamp_ms: told.timestamp.millis(),
                since_ms: Some(told.since.millis()),
            },
        )
    }

    /// What happened.
    pub(crate) fn events(
        group: &GroupKey,
        fired_by: &str,
        events: &[Event],
        now: Timestamp,
    ) -> Push {
        Push::new(
            group,
            Body::Events {
                fired_by: fired_by.to_owned(),
                events: events.iter().map(PushedEvent::from).collect(),
                timestamp_ms: now.millis(),
            },
        )
    }

    /// The group is no more.
    pub(crate) fn dissolve(group: &GroupKey, message: String) -> Push {
        Push::new(group, Body::Dissolve { message })
    }

    fn new(group: &GroupKey, body: Body) -> Push {
        Push { group_id: group.id.clone(), domain: group.domain.clone(), body }
    }

    /// Whether it is small enough to be pushed.
    pub(crate) fn check_size(&self) -> Result<(), Error> {
        let bytes = self.text().len();
        if bytes > PUSH_BYTES_MAX {
            let told = format!("a message is at most {PUSH_BYTES_MAX} bytes, not {bytes}");
            return Err(Error::invalid(told));
        }
        Ok(())
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers always have a JSON form")
    }

    fn read(text: &Text) -> Option<Push> {
        serde_json::from_str(text.as_str()).ok()
    }
}

/// The topic of a group.
pub(crate) fn topic(group: &GroupKey) -> String {
    group.full_id()
}

impl Mesh {
    /// Tells all members.
    pub(crate) fn publish(&self, push: &Push) {
        let group = GroupKey { id: push.group_id.clone(), domain: push.domain.clone() };
        self.groups.publish(&topic(&group), push.text());
    }
}

/// The selections that subscribers see pushes through, each under a number while somebody has it.
#[derive(Clone, Default)]
pub(crate) struct Selections {
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    last: u64,
    views: HashMap<Arc<Selection>, u64>,
    selections: HashMap<u64, (Arc<Selection>, usize)>,
}

/// A subscriber's hold on a selection.
pub(crate) struct Selected {
    pub(crate) view: View,
    selections: Selections,
}

impl Selections {
    /// The number of a selection, for as long as the answer is held.
    pub(crate) fn hold(&self, selection: Selection) -> Selected {
        let mut held = self.held.lock();
        let number = match held.views.get(&selection) {
            Some(number) => *number,
            None => {
                held.last += 1;
                let (number, selection) = (held.last, Arc::new(selection));
                held.views.insert(Arc::clone(&selection), number);
                held.selections.insert(number, (selection, 0));
                number
            }
        };
        if let Some((_, holders)) = held.selections.get_mut(&number) {
            *holders += 1;
        }
        Selected { view: View(number), selections: self.clone() }
    }

    fn find(&self, view: View) -> Option<Arc<Selection>> {
        self.held.lock().selections.get(&view.0).map(|(selection, _)| Arc::clone(selection))
    }
}

impl Drop for Selected {
    fn drop(&mut self) {
        let mut held = self.selections.held.lock();
        let Some((selection, holders)) = held.selections.get_mut(&self.view.0) else { return };
        *holders -= 1;
        if *holders == 0 {
            let selection = Arc::clone(selection);
            held.selections.remove(&self.view.0);
            held.views.remove(&selection);
        }
    }
}

/// The channel of all groups. What other instances push is noted as `recent`: the store has it a moment
/// later.
pub(crate) fn channel(
    hub: &Hub,
    selections: &Selections,
    recent: &Arc<Recent>,
    clock: &Clock,
) -> hub::Channel {
    let selections = selections.clone();
    let mut spec = ChannelSpec::new("mesh.group", PUSHES_KEPT).rendered(move |text, view| {
        let selection = selections.find(view)?;
        selection.render(&Push::read(text)?).map(Text::from)
    });
    if hub.is_shared() {
        let (recent, clock) = (Arc::clone(recent), clock.clone());
        spec = spec.observed(move |_, text| {
            if let Some(push) = Push::read(text) {
                hear(&recent, push, &clock);
            }
        });
    }
    hub.channel(spec)
}

/// Notes what a push of any instance says about the statuses of its group.
fn hear(recent: &Recent, push: Push, clock: &Clock) {
    let group = GroupKey { id: push.group_id, domain: push.domain };
    match push.body {
        Body::Status { node_id, data, timestamp_ms, since_ms: Some(since_ms) } => {
            let item = |(key, value)| SensorData { key, value };
            let report = Report {
                node_id,
                since: Timestamp::from_millis(since_ms),
                data: data.into_iter().map(item).collect(),
                timestamp: Timestamp::from_millis(timestamp_ms),
            };
            // One that is beyond the bounds was refused where it was sent.
            if let Ok(status) = report.status() {
                recent.hear(&group, status, clock.instant());
            }
        }
        Body::Dissolve { .. } => recent.forget(&group),
        Body::Status { since_ms: None, .. } | Body::Events { .. } => {}
    }
}
