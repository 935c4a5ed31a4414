//! Reports that the store may not have yet, or not show yet.
//!
//! A report is acknowledged when it is here; it is saved with others a moment later. Reports of other
//! instances are kept here too, as they are heard: the instance that took them saves them. Whoever reads
//! statuses merges these with those of the store.
//!
//! - **Invariant:** a report that was acknowledged here is in the store, or unsaved here.
//! - **Invariant:** what was saved stays a while longer, because an index may lag behind its table.

use std::collections::HashMap;

use base::{Monotonic, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Mutex as Turn, Notify};

use crate::limits::REPORTS_KEPT_FOR;
use crate::model::{GroupKey, Status};

/// The reports of the last seconds.
#[derive(Default)]
pub(crate) struct Recent {
    held: Mutex<Held>,
    /// Tells the job that saves that there is something to do.
    noted: Notify,
    /// One saves at a time.
    pub(super) saving: Turn<()>,
    /// Why the last save failed, if it did. Reports are refused until one succeeds.
    pub(super) failure: Mutex<Option<table::Error>>,
}

#[derive(Default)]
struct Held {
    groups: HashMap<GroupKey, HashMap<String, Entry>>,
    bytes: usize,
}

struct Entry {
    status: Status,
    /// When its group ends, if it must be saved.
    unsaved: Option<Timestamp>,
    kept_since: Monotonic,
}

/// What is to be saved.
#[derive(Clone, Debug)]
pub(super) struct Unsaved {
    pub(super) group: GroupKey,
    pub(super) group_end: Timestamp,
    pub(super) status: Status,
}

impl Recent {
    /// Keeps what this instance has taken, for it to save; the group ends at `group_end`.
    pub(super) fn take(
        &self,
        group: &GroupKey,
        status: Status,
        group_end: Timestamp,
        now: Monotonic,
    ) {
        self.note(group, status, Some(group_end), now);
    }

    /// Keeps what was heard from another instance, or is in the store already.
    pub(crate) fn hear(&self, group: &GroupKey, status: Status, now: Monotonic) {
        self.note(group, status, None, now);
    }

    fn note(&self, group: &GroupKey, status: Status, unsaved: Option<Timestamp>, now: Monotonic) {
        let held = &mut *self.held.lock();
        let nodes = held.groups.entry(group.clone()).or_default();
        let before = nodes.remove(&status.node_id);
        held.bytes -= before.as_ref().map_or(0, Entry::bytes);
        let entry = match before {
            None => Entry { status, unsaved, kept_since: now },
            Some(before) => Entry {
                status: before.status.merged(status),
                unsaved: unsaved.or(before.unsaved),
                kept_since: now,
            },
        };
        held.bytes += entry.bytes();
        nodes.insert(entry.status.node_id.clone(), entry);
        self.noted.notify_one();
    }

    /// Waits until there is something.
    pub(crate) async fn noted(&self) {
        while self.held.lock().groups.is_empty() {
            self.noted.notified().await;
        }
    }

    /// What a node reported lately.
    pub(super) fn find(&self, group: &GroupKey, node_id: &str) -> Option<Status> {
        let held = self.held.lock();
        held.groups.get(group)?.get(node_id).map(|entry| entry.status.clone())
    }

    /// What the nodes of a group reported lately.
    pub(super) fn of_group(&self, group: &GroupKey) -> Vec<Status> {
        let held = self.held.lock();
        let nodes = held.groups.get(group).into_iter().flat_map(HashMap::values);
        nodes.map(|entry| entry.status.clone()).collect()
    }

    /// In which groups a node of this id reported lately.
    pub(super) fn groups_of(&self, node_id: &str) -> Vec<GroupKey> {
        let held = self.held.lock();
        let groups = held.groups.iter().filter(|(_, nodes)| nodes.contains_key(node_id));
        groups.map(|(group, _)| group.clone()).collect()
    }

    /// Forgets a group that is gone, with what was not saved of it.
    pub(crate) fn forget(&self, group: &GroupKey) {
        let held = &mut *self.held.lock();
        let nodes = held.groups.remove(group).unwrap_or_default();
        held.bytes -= nodes.values().map(Entry::bytes).sum::<usize>();
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.held.lock().bytes
    }

    /// Everything that is to be saved. It counts as saved until it is given back.
    pub(super) fn take_unsaved(&self) -> Vec<Unsaved> {
        let held = &mut *self.held.lock();
        let mut unsaved = Vec::new();
        for (group, nodes) in &mut held.groups {
            for entry in nodes.values_mut() {
                let Some(group_end) = entry.unsaved.take() else { continue };
                let (group, status) = (group.clone(), entry.status.clone());
                unsaved.push(Unsaved { group, group_end, status });
            }
        }
        unsaved
    }

    /// What could not be saved is still to be saved, unless its group is gone.
    pub(super) fn give_back(&self, unsaved: &[Unsaved]) {
        let held = &mut *self.held.lock();
        for one in unsaved {
            let nodes = held.groups.get_mut(&one.group);
            if let Some(entry) = nodes.and_then(|nodes| nodes.get_mut(&one.status.node_id)) {
                entry.unsaved = Some(one.group_end);
            }
        }
    }

    /// Forgets what was saved long enough ago, or all that was saved.
    pub(super) fn prune(&self, now: Monotonic, all: bool) {
        let held = &mut *self.held.lock();
        let mut bytes = 0;
        held.groups.retain(|_, nodes| {
            nodes.retain(|_, entry| {
                let is_young = now.since(entry.kept_since) < REPORTS_KEPT_FOR;
                entry.unsaved.is_some() || (is_young && !all)
            });
            bytes += nodes.values().map(Entry::bytes).sum::<usize>();
            !nodes.is_empty()
        });
        held.bytes = bytes;
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        /// What an entry takes besides its variables.
        const ENTRY_BYTES: usize = 256;
        self.status.bytes() + ENTRY_BYTES
    }
}
